"""The newest rows of a result, as a table.

One of many columns stands on its side: a line for each column, and the newest records
beside each other. So nothing is hidden behind a scroll bar within the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import column, escaped
from arroyo_nb.views.truncation_notes import MOST_COLUMNS

Pair: TypeAlias = "tuple[str | None, str | None]"
"""A value before and after a change, as text."""

ROOM_CHARS = 110
"""Characters for which a panel beside an open side bar has room, those between columns
among them."""

LEAST_CHARS, BETWEEN_CHARS = 8, 4
"""What a column takes at least, and what lies between it and the next."""

WIDE_RECORDS = 4
"""Records of many columns that are shown beside each other."""

LONG_CHARS = 12
"""A longer text may be broken into lines."""

NAME_LINE_CHARS = 30
"""A longer name of a column may be, where it stands beside its values."""


def is_wide(snapshot: Snapshot) -> bool:
    """Whether there are too many columns to stand beside each other. Their names tell
    it, not their values: a table does not turn while one looks at it."""
    return are_wide(snapshot.columns[:MOST_COLUMNS])


def are_wide(names: Iterable[str]) -> bool:
    """Whether columns of these names are too many to stand beside each other."""
    return sum(max(len(n), LEAST_CHARS) + BETWEEN_CHARS for n in names) > ROOM_CHARS


def fitted(snapshot: Snapshot) -> Snapshot:
    """The snapshot with as many rows and changes as there is room for."""
    if not is_wide(snapshot):
        return snapshot
    return first_rows(snapshot, WIDE_RECORDS)


def first_rows(snapshot: Snapshot, most: int) -> Snapshot:
    """The snapshot with so many rows and changes at most."""
    return replace(
        snapshot,
        rows=snapshot.rows[:most],
        row_keys=snapshot.row_keys[:most],
        changes=snapshot.changes[:most],
    )


def sideways(
    names: Sequence[str],
    records: Sequence[Sequence[str]],
    heads: Sequence[str] = (),
    *,
    style: str = "",
) -> str:
    """A table on its side.

    Parameters
    ----------
    names
        Of the columns.
    records, heads
        The cells of each record, as HTML, and what stands above them.
    style
        Of each cell, where there is no style sheet.
    """
    styled = f' style="{style}"' if style else ""
    before = f"{style};" if style else ""
    above = "".join(f'<th scope="col"{styled}>{head}</th>' for head in heads)
    head = f"<thead><tr><td{styled}></td>{above}</tr></thead>" if heads else ""
    lines = "".join(
        f'<tr><th scope="row" style="{before}{_name_style(name)}">{escaped(name)}</th>'
        + "".join(f"<td{styled}>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in zip(names, *records, strict=True)
    )
    return f'<table class="sideways">{head}<tbody>{lines}</tbody></table>'


def _name_style(name: str) -> str:
    # Values with many lines would squeeze the names, which have none.
    return "min-width:16em" if len(name) > NAME_LINE_CHARS else "white-space:nowrap"


def header(names: Iterable[str], numeric: Iterable[bool]) -> str:
    """The cells of a table's head."""
    return "".join(
        f'<th scope="col"{" class=r" if right else ""}>{escaped(name)}</th>'
        for name, right in zip(names, numeric, strict=True)
    )


def numeric_columns(snapshot: Snapshot) -> tuple[bool, ...]:
    """Which shown columns are numbers; told by the values where it is not given."""
    names = snapshot.columns[:MOST_COLUMNS]
    if len(snapshot.numeric) == len(snapshot.columns):
        return snapshot.numeric[: len(names)]
    return tuple(
        all(isinstance(row[i], int | float | None) for row in snapshot.rows)
        for i in range(len(names))
    )


def cell_texts(snapshot: Snapshot) -> list[list[str | None]]:
    """The shown cells as text, column by column."""
    shown = range(len(snapshot.columns[:MOST_COLUMNS]))
    return [column([row[i] for row in snapshot.rows]) for i in shown]


def value(text: str | None) -> str:
    """A value inside a cell."""
    return '<span class="null">NULL</span>' if text is None else escaped(text)


def is_long(text: str | None) -> bool:
    """Whether a text may be broken into lines."""
    return text is not None and len(text) > LONG_CHARS


def shown(op: str, pair: Pair, value: Callable[[str | None], str]) -> str:
    """What a change did to a value; an old one is struck through.

    Parameters
    ----------
    value
        Makes HTML of one value.
    """
    before, after = pair
    if op == "u" and before != after:
        return f"<s>{value(before)}</s> {value(after)}"
    return value(before if op == "d" else after)
