"""The source of what Python has defined, also in a cell of a notebook."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.source import ScriptText, Span


class SourceText(NamedTuple):
    """The lines of a definition, decorators among them.

    Parameters
    ----------
    file
        What Python calls the file or cell.
    first_line
        The number of the first line there.
    lines
        The lines.
    code
        All of the cell, where Python does not know it by its file.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]
    code: str | None = None

    @property
    def text(self) -> str:
        """The definition, not indented."""
        # Its own indent alone: a text in it may have tabs, and lines at the margin.
        first = self.lines[0]
        indent = first[: len(first) - len(first.lstrip())]
        return "".join(line.removeprefix(indent) for line in self.lines).rstrip()

    @property
    def whole(self) -> ScriptText:
        """The file, or the cell, that it stands in."""
        if self.code is not None:
            return ScriptText(self.code, self.file)
        name = self.file if Path(self.file).exists() else "<cell>"
        return ScriptText("".join(linecache.getlines(self.file)), name)


def in_cell(error: ArroyoError, text: str, own: SourceText) -> ArroyoError:
    """An error of a module's text as one of the cell that has a part of it; returns the
    error itself.

    Parameters
    ----------
    text
        The module, which ends with the definition.
    own
        The definition.
    """
    whole, module = own.whole, ScriptText(text)
    before = text.count("\n", 0, text.rindex(own.text))
    indent = len(own.lines[0]) - len(own.lines[0].lstrip())
    for problem in error.problems:
        if problem.span is not None:
            line, column = module.line_and_column(problem.span.start)
            line = max(line - before, 1) + own.first_line - 1
            start = whole.offset(line, column + indent)
            problem.span = Span(start, start + problem.span.end - problem.span.start)
        problem.at(whole)
    return error.at(whole)


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
            return next(class_sources(made))
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


def class_sources(cls: type) -> Iterator[SourceText]:
    """The definitions of classes of that name, the most likely first.

    Python finds no class of a cell: ``__main__`` has no file there.
    """
    module, code = sys.modules.get(cls.__module__), code_of(cls)
    names = [code and code.co_filename, getattr(module, "__file__", None)]
    # Of the cells the newest counts.
    candidates = dict.fromkeys([*filter(None, names), *reversed(linecache.cache)])
    return _classes(cls.__name__, list(candidates))


def _classes(name: str, files: list[str]) -> Iterator[SourceText]:
    for file in files:
        lines = linecache.getlines(file)
        if not any(name in line for line in lines):
            continue
        try:
            body = ast.parse("".join(lines)).body
        except (SyntaxError, ValueError):
            continue
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                end = node.end_lineno or node.lineno
                yield SourceText(file, first, tuple(lines[first - 1 : end]))
