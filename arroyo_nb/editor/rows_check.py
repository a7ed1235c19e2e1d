"""The rows of a cell: the table that they make is planned, and no tape is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.problems import CellProblem, problems_of, visible
from arroyo_nb.errors import ArroyoError, SyntaxProblem
from arroyo_nb.magic_options import TYPES
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.row_tables import ARRIVES
from arroyo_nb.row_tables.define import read_rows, rows_statement
from arroyo_nb.row_tables.disorder import OPTIONS, disordered
from arroyo_nb.source import ScriptText


def check_rows(
    text: str, name: str, options: Mapping[str, Any], context: EditorContext
) -> Iterator[CellProblem]:
    """What is wrong with the rows of a cell.

    Parameters
    ----------
    text
        The rows; not blank.
    name, options
        What the first line says.
    context
        Its catalog is not changed.
    """
    source = ScriptText(text)
    try:
        if "data" in options:
            raise SyntaxProblem(
                f"the rows are those of '{options['data']}', and the cell has rows too",
                hint="remove the rows, or --from",
            )
        event_time = options.get("event_time")
        arrives, types = options.get("arrives", ARRIVES), options.get(TYPES)
        found = read_rows(source, event_time, arrives, types=types)
        disorder = {key: v for key, v in options.items() if key in OPTIONS}
        found = disordered(found, disorder)
        statement = rows_statement(
            name, found, options.get("watermark"), Path(f"{name}.tape")
        )
    except ArroyoError as error:
        yield from problems_of(error, text)
        return
    try:
        plan_script(statement, context.catalog)
    except ArroyoError as error:
        # Its places are those of a statement that nobody has typed.
        for problem in error.problems:
            yield CellProblem(problem, visible(None, text))
