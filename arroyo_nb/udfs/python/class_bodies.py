"""Whether a class is what a source says: a notebook changes classes after they were
defined, and what is written of one is its source."""

from __future__ import annotations

import ast
from abc import ABCMeta
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from arroyo_nb.udfs.python.source_text import SourceText


def is_class_of(cls: type, source: SourceText, names: Mapping[str, Any]) -> bool:
    """Whether a source defines a class as it is now.

    Parameters
    ----------
    cls
        The class.
    source
        A definition of one of its name.
    names
        What the names of its module mean.
    """
    (node,) = ast.parse(source.text).body
    # A metaclass makes of them what it wants: an Enum has members.
    if not isinstance(node, ast.ClassDef) or type(cls) not in (type, ABCMeta):
        return True
    own = vars(cls)
    first = source.first_line - 1
    slots = own.get("__slots__", ())
    found = {slots} if isinstance(slots, str) else {*slots}
    for item in node.body:
        match item:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                found.add(name)
                if not _is_method(item, own.get(name), source.file, first):
                    return False
            case ast.Assign(targets, value):
                for target in targets:
                    if not isinstance(target, ast.Name):
                        return False
                    found.add(target.id)
                    if not _is_value(value, own.get(target.id), names):
                        return False
            case ast.AnnAssign(target=ast.Name(name), value=value):
                found.add(name)
                if value is not None and not _is_default(value, name, cls, names):
                    return False
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case _:  # such as an `if`: nobody knows what it does
                return False
    is_named_tuple = issubclass(cls, tuple)
    return all(
        name in found or name.startswith(("__", "_abc_", *["_"] * is_named_tuple))
        for name in own
    )


def _is_method(
    node: ast.FunctionDef | ast.AsyncFunctionDef, value: Any, file: str, first: int
) -> bool:
    """Whether an attribute is the method that is defined there."""
    if isinstance(value, property):
        value = value.fget
    function = getattr(value, "__func__", value)  # of staticmethod and classmethod
    if not isinstance(function, FunctionType):
        return bool(node.decorator_list)  # which may make anything
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    lines = {node.lineno, *(d.lineno for d in node.decorator_list)}
    is_there = code.co_firstlineno - first in lines
    return code.co_filename == file and code.co_name == node.name and is_there


def _is_default(node: ast.expr, name: str, cls: type, names: Mapping[str, Any]) -> bool:
    """Whether an annotated attribute has the value of its definition."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("field"):
        return True  # of a dataclass, which keeps it elsewhere
    return _is_value(node, vars(cls).get(name), names)


def _is_value(node: ast.expr, value: Any, names: Mapping[str, Any]) -> bool:
    """Whether a value is that of an expression: of a literal, or of a name."""
    if isinstance(node, ast.Name):
        return node.id in names and names[node.id] is value
    try:
        return is_same(ast.literal_eval(node), value)
    except ValueError:
        return False


def is_same(read: Any, value: Any) -> bool:
    """Whether two values are equal and of the same types, to the last element."""
    if type(read) is not type(value):
        return False
    if isinstance(value, dict | tuple | list) and len(read) != len(value):
        return False
    if isinstance(value, dict):
        pairs = zip(read.items(), value.items(), strict=True)
        return all(is_same(one, other) for one, other in pairs)
    if isinstance(value, tuple | list):
        return all(map(is_same, read, value))
    return bool(read == value)
