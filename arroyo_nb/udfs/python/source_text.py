"""The source of what Python has defined, also in a cell of a notebook."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from arroyo_nb.errors import CatalogProblem


class SourceText(NamedTuple):
    """The lines of a definition, decorators among them.

    ``file`` is what Python calls the file or cell, ``first_line`` the number of its
    first line there.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The definition, not indented."""
        return inspect.cleandoc("\n" + "".join(self.lines)).rstrip()


def source_text(made: Any) -> SourceText:
    """Where and how a function or a class is defined.

    Raises
    ------
    CatalogProblem
        When its source cannot be read, as where it was typed into a plain Python.
    """
    code = code_of(made)
    try:
        if isinstance(made, type):
            return _of_class(made, code)
        lines, first = inspect.getsourcelines(made)
        return SourceText(code.co_filename if code else "", max(first, 1), tuple(lines))
    except (OSError, TypeError, SyntaxError, StopIteration):
        raise CatalogProblem(
            f"the source of '{getattr(made, '__name__', made)}' cannot be read",
            hint="define it in a cell or a file",
        ) from None


def code_of(made: Any) -> CodeType | None:
    """The code of a function, or of some method of a class."""
    if isinstance(made, type):
        methods = (v for v in vars(made).values() if isinstance(v, FunctionType))
        return next((m.__code__ for m in methods if _is_typed(m)), None)
    return getattr(inspect.unwrap(made), "__code__", None)


def _is_typed(method: FunctionType) -> bool:
    # Those that dataclasses makes have no file.
    return method.__code__.co_filename != "<string>"


def _of_class(cls: type, code: CodeType | None) -> SourceText:
    """Python finds no class of a cell: ``__main__`` has no file there."""
    module = sys.modules.get(cls.__module__)
    names = [getattr(module, "__file__", None), code and code.co_filename]
    # Of the cells the newest counts.
    candidates = [*filter(None, names), *reversed(linecache.cache)]
    return next(_classes(cls.__name__, candidates))


def _classes(name: str, files: list[str]) -> Iterator[SourceText]:
    for file in files:
        lines = linecache.getlines(file)
        if not any(name in line for line in lines):
            continue
        for node in ast.parse("".join(lines)).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                first = min(d.lineno for d in (*node.decorator_list, node))
                end = node.end_lineno or node.lineno
                yield SourceText(file, first, tuple(lines[first - 1 : end]))
