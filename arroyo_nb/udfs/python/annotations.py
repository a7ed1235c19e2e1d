"""Annotations of Python as types of the dialect, read from source and never run.

Names are looked up as Python would: imports, classes and assignments of the module.
Source: arroyo-semantics g.3; beyond it dates, decimals, bytes, lists and dataclasses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTERVAL,
    TEXT,
    Decimal,
    Field,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)

DECIMAL = Decimal(38, 18)
"""What a function that gives ``Decimal`` gives; an argument keeps its own digits."""

TYPES: dict[str, Type] = {
    "int": BIGINT,
    "float": DOUBLE,
    "str": TEXT,
    "bool": BOOLEAN,
    "bytes": BYTEA,
    "datetime.datetime": Timestamp(),
    "datetime.date": DATE,
    "datetime.timedelta": INTERVAL,
    "decimal.Decimal": DECIMAL,
}
"""Annotation -> type."""

_WRITTEN = {type_: path.rpartition(".")[2] for path, type_ in TYPES.items()}

LISTS = ("list", "typing.List")
SEQUENCES = ("collections.abc.Sequence", "typing.Sequence")
ARRAYS = ("pyarrow.Array", "pyarrow.lib.Array", "pandas.Series")
"""Annotations of a whole batch."""

_OPTIONAL, _UNION = "typing.Optional", "typing.Union"
_DATACLASS = "dataclasses.dataclass"


class UnknownType(CatalogProblem):
    """An annotation that is no type of the dialect."""


@dataclass(frozen=True)
class Annotated:
    """What an annotation says.

    Parameters
    ----------
    type
        The type; of a list for an aggregate that of its elements.
    optional
        Whether NULL is a value; of such a list whether it may be among them.
    is_list
        Whether it is ``list[T]``.
    """

    type: Type
    optional: bool = False
    is_list: bool = False


class Module:
    """What the names of a module mean, as far as its text says.

    Parameters
    ----------
    tree
        The module.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._within: list[str] = []

    def path(self, node: ast.expr) -> str:
        """The dotted path that a name or an attribute means; empty where it is none.

        >>> module = Module(ast.parse("import datetime as dt"))
        >>> module.path(ast.parse("dt.date", mode="eval").body)
        'datetime.date'
        """
        match node:
            case ast.Name(name):
                return self._imports.get(name, name)
            case ast.Attribute(value, name):
                owner = self.path(value)
                return f"{owner}.{name}" if owner else ""
            case _:
                return ""

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the module, by name."""
        return {n.name: n for n in self._tree.body if isinstance(n, ast.ClassDef)}

    def is_dataclass(self, name: str) -> bool:
        """Whether a class of the module is a dataclass."""
        found = self.classes.get(name)
        return found is not None and any(
            self.path(d.func if isinstance(d, ast.Call) else d) == _DATACLASS
            for d in found.decorator_list
        )

    def annotated(self, node: ast.expr) -> Annotated:
        """What an annotation says.

        Raises
        ------
        UnknownType
            When it is none of the types that a function may have.
        """
        node = _parsed(node)
        inner = self._optional(node)
        if inner is not None:
            found = self.annotated(inner)
            if found.is_list:
                raise UnknownType(f"Unsupported Python type: {ast.unparse(node)}")
            return Annotated(found.type, optional=True)
        if isinstance(node, ast.Subscript):
            path = self.path(node.value)
            if path in LISTS:
                element = self.annotated(node.slice)
                return Annotated(
                    ListOf(element.type) if element.is_list else element.type,
                    optional=element.optional,
                    is_list=True,
                )
            if path in SEQUENCES:
                return Annotated(ListOf(self.value(node.slice).type))
        return Annotated(self._plain(node))

    def value(self, node: ast.expr) -> Annotated:
        """What an annotation says of one value: a list is one."""
        found = self.annotated(node)
        return Annotated(ListOf(found.type)) if found.is_list else found

    def is_batch(self, node: ast.expr) -> bool:
        """Whether an annotation is that of a whole batch."""
        return self.path(_parsed(node)) in ARRAYS

    def _plain(self, node: ast.expr) -> Type:
        path = self.path(node)
        if path in TYPES:
            return TYPES[path]
        if path in self._within:
            raise UnknownType(f"Unsupported Python type: {path} contains itself")
        self._within.append(path)
        try:
            if self.is_dataclass(path):
                return self._struct(self.classes[path])
            if path in self._aliases:
                return self.value(self._aliases[path]).type
        finally:
            self._within.pop()
        # Of List[int] what stands before the brackets.
        outer = node.value if isinstance(node, ast.Subscript) else node
        raise UnknownType(
            f"Unsupported Python type: {ast.unparse(node)}",
            hint=_hint(path or ast.unparse(outer)),
        )

    def _struct(self, of: ast.ClassDef) -> StructOf:
        # NULL may be in any field: SQL's structs do not say where it is not.
        fields = [
            Field(item.target.id, self.value(item.annotation).type)
            for item in self.body(of)
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
        if not fields:
            raise UnknownType(f"Unsupported Python type: {of.name} has no fields")
        return StructOf(tuple(fields))

    def body(self, of: ast.ClassDef) -> list[ast.stmt]:
        """What is in a class, of the classes that it extends first."""
        found = (self.classes.get(self.path(base)) for base in of.bases)
        bases = [base for base in found if base is not None and base.lineno < of.lineno]
        return [item for base in bases for item in self.body(base)] + of.body

    def _optional(self, node: ast.expr) -> ast.expr | None:
        """The type beside None; None: NULL is no value of it."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            either = (node.left, node.right)
        elif isinstance(node, ast.Subscript) and self.path(node.value) == _OPTIONAL:
            return node.slice
        elif isinstance(node, ast.Subscript) and self.path(node.value) == _UNION:
            inner = node.slice
            elements = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if len(elements) != 2:
                return None
            either = (elements[0], elements[1])
        else:
            return None
        typed = [one for one in either if not _is_none(one)]
        return typed[0] if len(typed) == 1 else None

    @cached_property
    def _imports(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in self._tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found

    @cached_property
    def _aliases(self) -> dict[str, ast.expr]:
        return {
            node.targets[0].id: node.value
            for node in self._tree.body
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Name | ast.Attribute | ast.Subscript)
        }


def written(type_: Type) -> str:
    """A type as a function's author writes it, where there is an annotation of it.

    >>> written(BIGINT), written(ListOf(TEXT))
    ('int', 'list[str]')
    """
    if isinstance(type_, ListOf):
        return f"list[{written(type_.element)}]"
    return _WRITTEN.get(type_, str(type_))


def _parsed(node: ast.expr) -> ast.expr:
    """An annotation that is written as a text, as an expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            inner = ast.parse(node.value, mode="eval").body
        # ValueError: it has a NUL.
        except (SyntaxError, ValueError):
            return node
        return ast.copy_location(inner, node)
    return node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _hint(path: str) -> str:
    last = path.rpartition(".")[2]
    if last in ("List", "list", "Sequence"):
        if path in ("List", "Sequence"):
            return f"import it first: from typing import {path}"
        return f"say of what: {last.lower()}[int]"
    if path in ("Optional", "Union"):
        return f"import it first: from typing import {path}"
    known = ", ".join(name.rpartition(".")[2] for name in TYPES)
    return f"write {known}, list[T], T | None, or a dataclass beside the function"
