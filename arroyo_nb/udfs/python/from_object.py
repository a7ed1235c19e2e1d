"""A decorated function of a running Python as a definition."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from contextlib import suppress
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs import decorators
from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.python.class_bodies import is_class_of, is_same
from arroyo_nb.udfs.python.definitions import definitions
from arroyo_nb.udfs.python.loading import batch_call
from arroyo_nb.udfs.python.loading import load as load_text
from arroyo_nb.udfs.python.module_text import (
    Definition,
    Import,
    Meaning,
    Unwritable,
    has_plain_defaults,
    module_text,
)
from arroyo_nb.udfs.python.source_text import class_sources, in_cell, source_text

LONGEST = 100_000
"""Characters of a value that become source."""


def udf_of(made: Any) -> Udf:
    """The definition of a function or class.

    Raises
    ------
    ArroyoError
        When its source cannot be read, or its signature has no meaning in SQL.
    """
    if not isinstance(inspect.unwrap(made), FunctionType | type):
        raise CatalogProblem(
            f"a function or a class is needed: this is {_with_article(made)}",
            hint="write a def whose arguments and result are annotated",
        )
    if made.__name__ == "<lambda>":
        raise CatalogProblem(
            "a lambda cannot be a UDF: it has no name and no types",
            hint="write a def: def twice(x: int) -> int",
        )
    source = source_text(made)
    text, hindrance = module_text(source.text, _LiveNames(made))

    def load_made(udf: Udf) -> Any:
        return batch_call(udf, made)

    # What its text says is what it is, here as on a cluster: names that mean something
    # else later change nothing.
    load = load_made if hindrance else load_text
    try:
        found = definitions(ScriptText(text), load)
    except ArroyoError as error:
        raise in_cell(error, text, source) from None
    (udf,) = (u for u in found if u.name == made.__name__.lower())
    line = source.first_line + _decorators(source.text)
    return replace(udf, not_portable=hindrance, cell_line=line)


def _decorators(text: str) -> int:
    """Lines before a definition."""
    (node,) = ast.parse(text).body
    return node.lineno - 1


def _with_article(made: Any) -> str:
    kind = type(made).__name__
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


class _LiveNames:
    """The names of the module, or the notebook, that something is defined in."""

    def __init__(self, made: Any) -> None:
        self._module = made.__module__
        self._values, self._ambiguous = _names_of(made)

    def meaning(self, name: str) -> Meaning | None:
        """What a name means by its value."""
        if name not in self._values:
            return None
        if name in self._ambiguous:
            return Unwritable("which means another thing in its module")
        value = self._values[name]
        if isinstance(value, ModuleType):
            return Import(value.__name__)
        # With its decorators, such as one that keeps results.
        if isinstance(inspect.unwrap(value), FunctionType | type):
            return self._defined(name, value)
        if _is_long(value):
            return Unwritable(f"a value of more than {LONGEST:,} characters")
        if (text := _written(value)) is not None:
            return Definition(f"{name} = {text}")
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        for path in (getattr(value, n, None) for n in ("__qualname__", "_name")):
            if path and module and getattr(module, str(path), None) is value:
                return _import(value, module.__name__, path)
        return Unwritable(f"a value of type {type(value).__name__}")

    def has_module(self, path: str) -> bool:
        """Whether there is a module of that path, which was imported."""
        return path in sys.modules

    def _defined(self, name: str, value: Any) -> Meaning:
        is_own = value.__module__ == self._module
        if not is_own or value.__qualname__.rpartition(".")[2] != name:
            return _import(value, value.__module__, value.__qualname__)
        if isinstance(value, type):
            return self._class(value)
        own = inspect.unwrap(value)
        if own.__closure__:
            return Unwritable("a function that another one made")
        try:
            text = source_text(value).text
        except CatalogProblem:
            return Unwritable("whose source cannot be read")
        if own is not value and "@" not in text.lstrip()[:1]:
            return Unwritable("a function that another one made")
        if not has_plain_defaults(ast.parse(text).body[0]):
            return Unwritable("whose defaults are computed")
        if not _has_plain_attributes(value) or not _has_its_defaults(value, text):
            return Unwritable("which may have changed since its definition")
        return Definition(text)

    def _class(self, value: type) -> Meaning:
        sources = list(class_sources(value))
        if not sources:
            return Unwritable("whose source cannot be read")
        for source in sources:
            if is_class_of(value, source, self._values):
                return Definition(source.text)
        return Unwritable("which may have changed since its definition")


def _import(value: Any, module: str, path: str) -> Meaning:
    if module == decorators.__name__:
        return Import("arroyo_nb", path)
    # What wraps a function bears its name.
    if (
        module == "__main__"
        or getattr(sys.modules.get(module), path, None) is not value
    ):
        return Unwritable("which cannot be imported")
    return Import(module, path)


def _names_of(made: Any) -> tuple[dict[str, Any], set[str]]:
    """What the names in its source mean where it was defined, and those that mean
    another thing to the functions that it calls."""
    if isinstance(made, type):
        functions = [v for v in vars(made).values() if isinstance(v, FunctionType)]
        return (dict(functions[0].__globals__) if functions else {}), set()
    found = inspect.unwrap(made)
    names = dict(found.__globals__)
    cells = zip(found.__code__.co_freevars, found.__closure__ or (), strict=True)
    ambiguous = set[str]()
    for name, cell in cells:
        with suppress(ValueError):  # one that is empty: its own name
            value = cell.cell_contents
            if name in names and names[name] is not value:
                ambiguous.add(name)
            names[name] = value
    return names, ambiguous


def _has_its_defaults(function: FunctionType, text: str) -> bool:
    """Whether nobody has given a function other defaults."""
    (node,) = ast.parse(text).body
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    found = inspect.unwrap(function)
    own = [ast.literal_eval(one) for one in node.args.defaults]
    return is_same(own, [*(found.__defaults__ or ())])


def _has_plain_attributes(function: FunctionType) -> bool:
    """Whether nobody has given a function attributes."""
    made = {*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "cache_parameters"}
    return not vars(function).keys() - made


def _is_long(value: Any) -> bool:
    """Whether a value is too long for a source; also of one of other values."""
    if not isinstance(value, str | bytes | list | tuple | set | frozenset | dict):
        return False
    return len(value) > LONGEST or len(repr(value)) > LONGEST


def _written(value: Any) -> str | None:
    """A value as a literal that means it again; None: there is none."""
    kind = type(value)
    if kind in (set, frozenset) and value:
        # In one order: another process has the same text.
        parts = sorted(map(repr, value))
        text = f"{{{', '.join(parts)}}}"
        text = text if kind is set else f"frozenset({text})"
        return text if all(_written(one) for one in value) else None
    text = repr(value)
    try:
        return text if is_same(ast.literal_eval(text), value) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
