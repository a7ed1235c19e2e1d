"""Whether a class is what a source says: a notebook changes classes after they were
defined, and what is written of one is its source."""

from __future__ import annotations

import ast
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from arroyo_nb.udfs.python.source_text import SourceText

_ABSENT = object()
_PURE = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Set),
    *(ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context),
    *(ast.JoinedStr, ast.FormattedValue, ast.Starred),
)
"""What expressions may have whose value is looked up again: nothing is called."""


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
    return isinstance(node, ast.ClassDef) and _Body(source, names).defines(node, cls)


class _Body:
    """Compares classes with their bodies in one source."""

    def __init__(self, source: SourceText, names: Mapping[str, Any]) -> None:
        self._file = source.file
        self._before = source.first_line - 1
        self._names = names

    def defines(self, node: ast.ClassDef, cls: Any) -> bool:
        """Whether a class is that of a definition."""
        # A metaclass makes of them what it wants: an Enum has members.
        if type(cls) not in (type, ABCMeta):
            return isinstance(cls, type)
        own = vars(cls)
        slots = own.get("__slots__", ())
        found = {slots} if isinstance(slots, str) else {*slots}
        for item in node.body:
            for name, is_same in self._of_item(item, cls):
                if not is_same:
                    return False
                found.add(name)
        is_named_tuple = issubclass(cls, tuple)
        return all(
            name in found or name.startswith(("__", "_abc_", *["_"] * is_named_tuple))
            for name in own
        )

    def _of_item(self, item: ast.stmt, cls: type) -> Iterator[tuple[str, bool]]:
        """The names that a statement of a body binds, each with whether it is as it
        was."""
        own = vars(cls)
        match item:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                yield name, self._is_method(item, own.get(name))
            case ast.ClassDef(name):
                yield name, self.defines(item, own.get(name))
            case ast.Assign(targets, value):
                for target in targets:
                    yield from self._assigned(target, value, own)
            case ast.AnnAssign(target=ast.Name(name), value=None):
                yield name, _default(cls, name) is _ABSENT
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                # What a call such as field() gives of a dataclass is kept elsewhere.
                is_field = isinstance(value, ast.Call) and _is_dataclass(cls)
                yield name, is_field or self._is_value(value, _default(cls, name), own)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case _:  # such as an `if`: nobody knows what it does
                yield "", False

    def _assigned(
        self, target: ast.expr, value: ast.expr, own: Mapping[str, Any]
    ) -> Iterator[tuple[str, bool]]:
        match target, value:
            case ast.Name(name), _:
                yield name, self._is_value(value, own.get(name, _ABSENT), own)
            case ast.Tuple(elts), ast.Tuple(elts=values) if len(elts) == len(values):
                for one, its_value in zip(elts, values, strict=True):
                    yield from self._assigned(one, its_value, own)
            case _:
                yield "", False

    def _is_method(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, value: Any
    ) -> bool:
        """Whether an attribute is the method that is defined there."""
        if isinstance(value, property):
            functions = [value.fget, value.fset, value.fdel]
            return any(self._is_function(node, f) for f in functions if f is not None)
        function = getattr(value, "__func__", value)  # of staticmethod and classmethod
        if not isinstance(function, FunctionType):
            return bool(node.decorator_list)  # which may make anything
        return self._is_function(node, function)

    def _is_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, function: Any
    ) -> bool:
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        lines = (node.lineno, *(d.lineno for d in node.decorator_list))
        code = function.__code__
        return code.co_name == node.name and self._stands_at(code, lines)

    def _is_value(self, node: ast.expr, value: Any, own: Mapping[str, Any]) -> bool:
        """Whether a value is that of an expression."""
        if isinstance(node, ast.Lambda):
            code = getattr(value, "__code__", None)
            return code is not None and self._stands_at(code, (node.lineno,))
        if not all(isinstance(part, _PURE) for part in ast.walk(node)):
            return False
        names = {**self._names, **own}
        parts = ast.walk(node)
        owners = (part.value for part in parts if isinstance(part, ast.Attribute))
        # Attributes of modules only: those of others may compute anything.
        if not all(
            isinstance(o, ast.Name) and isinstance(names.get(o.id), ModuleType)
            for o in owners
        ):
            return False
        try:
            read = eval(compile(ast.Expression(node), "<value>", "eval"), names)
        except Exception:
            return False
        return read is value or is_same(read, value)

    def _stands_at(self, code: Any, lines: tuple[int, ...]) -> bool:
        is_there = code.co_firstlineno - self._before in lines
        return is_there and bool(code.co_filename == self._file)


def _is_dataclass(cls: type) -> bool:
    return "__dataclass_fields__" in vars(cls)


def _default(cls: type, name: str) -> Any:
    """What an annotated attribute is where an object has no own; :data:`_ABSENT`:
    nothing."""
    value = vars(cls).get(name, _ABSENT)
    defaults = vars(cls).get("_field_defaults")
    if defaults is not None and issubclass(cls, tuple):
        return defaults.get(name, _ABSENT)
    if isinstance(value, MemberDescriptorType):  # of __slots__
        field = vars(cls).get("__dataclass_fields__", {}).get(name)
        found = getattr(field, "default", MISSING)
        return _ABSENT if found is MISSING else found
    return value


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
