"""A plan as a notebook shows it: the columns of each of its results."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.plan.result_columns import result_columns
from arroyo_nb.plan.show_statements import StatementAnswer

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

COLUMNS = ("column", "type", "null", "role")
NOTHING = "The script declares tables and runs nothing."
_CELL = "padding:2px 14px 2px 0;text-align:left"


class DescribedColumn(Protocol):
    """What is told of a column."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def event_time(self) -> bool: ...


def described(plan: Plan) -> dict[str, str]:
    """The columns of each result of a plan, as HTML and as text."""
    tables = [(sink.name, column_rows(result_columns(sink))) for sink in plan.sinks]
    if not tables:
        return {"text/plain": NOTHING, "text/html": f"<p>{NOTHING}</p>"}
    texts = (f"{name}\n{StatementAnswer(COLUMNS, rows)}" for name, rows in tables)
    return {
        "text/plain": "\n\n".join(texts),
        "text/html": "".join(_table(name, rows) for name, rows in tables),
    }


def column_rows(columns: Iterable[DescribedColumn]) -> tuple[tuple[str, ...], ...]:
    """A row for each column, under :data:`COLUMNS`."""
    return tuple(
        (
            column.name,
            column.type,
            "" if column.nullable else "NOT NULL",
            "event time" if column.event_time else "",
        )
        for column in columns
    )


def _table(name: str, rows: tuple[tuple[str, ...], ...]) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        made = (f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells)
        return f"<tr>{''.join(made)}</tr>"

    head, body = line(COLUMNS, "th"), "".join(line(row, "td") for row in rows)
    return (
        f'<table><caption style="text-align:left">{escape(name)}</caption>'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )
