"""The functions that the cells of a notebook's file define; nothing of them is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText
from arroyo_nb.udfs.definition import Udf
from arroyo_nb.udfs.python.annotations import Module
from arroyo_nb.udfs.python.definitions import DECORATORS, definitions
from arroyo_nb.udfs.python.loading import load
from arroyo_nb.udfs.python.module_text import (
    Definition,
    Import,
    Meaning,
    Unwritable,
    has_plain_defaults,
    module_text,
)
from arroyo_nb.udfs.python.source_text import SourceText, in_cell


class NotebookNames:
    """What the names of cells mean, as far as their text says; later cells come last.

    It gives the source of a function as a kernel in which the cells have been run does.
    """

    def __init__(self) -> None:
        self._meanings: dict[str, Meaning] = {}
        self._modules: set[str] = set()

    def meaning(self, name: str) -> Meaning | None:
        """What a name means by now."""
        return self._meanings.get(name)

    def has_module(self, path: str) -> bool:
        """Whether a cell imports a module of that path."""
        return path in self._modules

    def read(self, code: str, place: str) -> tuple[Udf, ...]:
        """Take in a cell of Python; gives the functions that it defines.

        Parameters
        ----------
        code
            The cell, without magics. One that is no Python has none.
        place
            What errors call it.

        Raises
        ------
        ArroyoError
            For what is wrong with a function.
        """
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError):
            return ()
        found = list[Udf]()
        module = Module(ast.Module([*_imports(tree), *self._imported()], []))
        for node in tree.body:
            if isinstance(node, ast.Import):
                self._modules.update(alias.name for alias in node.names)
            self._meanings.update(_meanings(code, node))
            self._change(_changed(node))
            if _is_udf(node, module):
                source = _source(code, node, place)
                text, hindrance = module_text(source.text, self)
                try:
                    (udf, *_) = reversed(definitions(ScriptText(text), load))
                except ArroyoError as error:
                    raise in_cell(error, text, source) from None
                found.append(replace(udf, not_portable=hindrance))
        return tuple(found)

    def _change(self, names: Iterable[str]) -> None:
        """Values that a statement changes are not those of their definition."""
        for name in names:
            if isinstance(self._meanings.get(name), Definition):
                self._meanings[name] = Unwritable("which a cell changes")

    def _imported(self) -> list[ast.stmt]:
        lines = (
            meaning.line(name)
            for name, meaning in self._meanings.items()
            if isinstance(meaning, Import)
        )
        return ast.parse("\n".join(lines)).body


def _imports(tree: ast.Module) -> list[ast.stmt]:
    return [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]


def _meanings(code: str, node: ast.stmt) -> Iterator[tuple[str, Meaning]]:
    match node:
        case ast.Import(names):
            for alias in names:
                path = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or path, Import(path)
        case ast.ImportFrom(module, names) if module:
            for alias in names:
                yield alias.asname or alias.name, Import(module, alias.name)
        case ast.FunctionDef() | ast.AsyncFunctionDef() if not has_plain_defaults(node):
            yield node.name, Unwritable("whose defaults are computed")
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, Definition(_source(code, node).text)
        case ast.Assign(targets=[ast.Name(name)], value=value):
            yield name, _assigned(name, value)
        case _:
            # Of what is in an `if` or a `try` nobody knows whether it is run.
            for part in ast.walk(node):
                for name in _bound(part):
                    yield name, Unwritable("whose value only a kernel knows")


def _bound(part: ast.AST) -> list[str]:
    """The names that a part of a statement binds."""
    match part:
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [part.name]
        case ast.alias():
            return [part.asname or part.name.partition(".")[0]]
        case _:
            return []


def _changed(node: ast.stmt) -> Iterator[str]:
    """The names whose values a statement changes: ``a.b = 1``, ``a[0] = 1``, and maybe
    ``a.append(1)``. What a function does when it is called nobody knows."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for part in ast.walk(node):
        match part:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                yield _base(part)
            case ast.Call(func=ast.Attribute() as called):
                yield _base(called)


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(name: str, value: ast.expr) -> Meaning:
    try:
        return Definition(f"{name} = {ast.literal_eval(value)!r}")
    except ValueError:
        return Unwritable("whose value only a kernel knows")


def _is_udf(node: ast.stmt, module: Module) -> bool:
    decorators = getattr(node, "decorator_list", ())
    calls = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    return any(module.path(call) in DECORATORS for call in calls)


def _source(code: str, node: ast.stmt, place: str = "") -> SourceText:
    decorators = getattr(node, "decorator_list", ())
    first = min(n.lineno for n in (node, *decorators))
    # As Python counts lines: str.splitlines knows other ends, too.
    whole = re.findall(r"[^\n]*\n|[^\n]+", code)
    lines = whole[first - 1 : node.end_lineno]
    return SourceText(place, first, tuple(lines), code)
