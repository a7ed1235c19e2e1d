"""The columns of what a cell gives, before anything runs."""

from __future__ import annotations

import logging

from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import EditorContext, ResultColumn
from arroyo_nb.editor.cell_text import CellText

_LOG = logging.getLogger(__name__)


def result_schema(cell: CellText, context: EditorContext) -> tuple[ResultColumn, ...]:
    """The columns of the last query of a cell; none where it has an error, or no query.

    Parameters
    ----------
    cell
        What is typed.
    context
        The tables, functions and variables that it may name.
    """
    if cell.magic.content is not Content.SQL or not cell.body.strip():
        return ()
    try:
        return _columns(cell, context)
    except Exception:
        _LOG.exception("the result of a cell could not be described")
        return ()


def _columns(cell: CellText, context: EditorContext) -> tuple[ResultColumn, ...]:
    from arroyo_nb.editor.sql_check import check_sql
    from arroyo_nb.plan.result_columns import result_columns

    strict = context.strict or "--strict" in cell.line.split()
    checked = check_sql(cell.body, context.catalog, context.variables, strict=strict)
    if checked.plan is None or not checked.plan.sinks:
        return ()
    sink = checked.plan.sinks[-1]
    return tuple(
        ResultColumn(column.name, column.type, column.nullable, column.event_time)
        for column in result_columns(sink)
    )
