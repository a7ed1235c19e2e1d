"""What is wrong with a cell, each at its place, and how it is mended.

A pure function of the cell and of what it would be planned against: nothing is run, no
engine is started, and the catalog stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import Diagnostic, EditorContext
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.problems import CellProblem, problems_of
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import Span

_LOG = logging.getLogger(__name__)

MOST = 100
"""More problems than that are not told at once."""


def diagnose(cell: CellText, context: EditorContext) -> tuple[Diagnostic, ...]:
    """The problems of a cell, in the order of their places.

    An empty body is none: its author has only begun. A bug of ours is logged, and no
    problem of the cell either.

    Parameters
    ----------
    cell
        What is typed.
    context
        The tables, functions and variables that it may name.
    """
    try:
        return tuple(_diagnosed(cell, context))
    except Exception:
        _LOG.exception("a cell could not be checked")
        return ()


def _diagnosed(cell: CellText, context: EditorContext) -> Iterator[Diagnostic]:
    from arroyo_nb.editor.quick_fixes import fixes_of
    from arroyo_nb.editor.secret_values import hide_values

    for problem in sorted(_problems(cell, context), key=lambda p: p.span)[:MOST]:
        error, known = problem.error, (cell.text, context.variables)
        yield Diagnostic(
            problem.span.start,
            problem.span.end,
            problem.severity,
            hide_values(error.message, *known),
            error.hint and hide_values(error.hint, *known),
            fixes_of(problem, cell),
        )


def _problems(cell: CellText, context: EditorContext) -> list[CellProblem]:
    from arroyo_nb.editor.first_line import read_first_line

    line_start = 2 + len(cell.magic.name)
    found: list[CellProblem] = []
    name, options = "", dict[str, object]()
    try:
        name, given = read_first_line(cell)
        options |= given
    except ArroyoError as error:
        # A word that is missing is missing behind the magic's name.
        whole = Span(0, len(cell.line.strip())) if cell.line.strip() else None
        if whole is None or error.span is None:
            place = Span(0, line_start + len(cell.line.rstrip()))
            found.append(CellProblem(error, place))
        else:
            of_line = problems_of(error, cell.line)
            found += (problem.moved(line_start) for problem in of_line)
    if options.get("help"):
        return []
    body = Body(cell.body, name, options, context)
    if cell.body.strip():
        checked = _CHECKS[cell.magic.content](body)
        found += (problem.moved(cell.start) for problem in checked)
    return found


@dataclass(frozen=True)
class Body:
    """What is below a first line.

    Parameters
    ----------
    text
        The lines; they are not blank.
    name, options
        What the first line says.
    context
        What the cell may name.
    """

    text: str
    name: str
    options: Mapping[str, object]
    context: EditorContext


def _sql(body: Body) -> Iterator[CellProblem]:
    from arroyo_nb.editor.sql_check import check_sql

    context = body.context
    strict = bool(body.options.get("strict", context.strict))
    yield from check_sql(
        body.text, context.catalog, context.variables, strict=strict
    ).problems


def _test(body: Body) -> Iterator[CellProblem]:
    from arroyo_nb.cell_tests.parse import has_expectations
    from arroyo_nb.editor.test_check import check_test_text

    if body.options.get("hidden") and not has_expectations(body.text):
        # Its tables are those of the test, which the editor does not look into.
        return
    yield from check_test_text(body.text, body.name, body.context)


def _rows(body: Body) -> Iterator[CellProblem]:
    from arroyo_nb.editor.rows_check import check_rows

    yield from check_rows(body.text, body.name, body.options, body.context)


def _python(body: Body) -> Iterator[CellProblem]:
    from arroyo_nb.source import ScriptText
    from arroyo_nb.udfs.languages import PYTHON, read_definitions

    try:
        # It is read, and not run or compiled.
        read_definitions(ScriptText(body.text), body.name or PYTHON)
    except ArroyoError as error:
        yield from problems_of(error, body.text)


_CHECKS: Mapping[Content, Callable[[Body], Iterator[CellProblem]]] = {
    Content.SQL: _sql,
    Content.TEST: _test,
    Content.ROWS: _rows,
    Content.PYTHON: _python,
}
