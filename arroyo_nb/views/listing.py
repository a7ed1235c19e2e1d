"""Lists: the runs of a session, its tables, and what a cell has declared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.catalog import Catalog, MemoryTable, Relation, View
from arroyo_nb.plan import show_statements as answers
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.schema import Schema
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.formatting import (
    NAME_CHARS,
    column,
    count,
    duration,
    escaped,
    pace,
    plain,
)
from arroyo_nb.views.rows import WIDE_RECORDS, are_wide
from arroyo_nb.views.summary import glyph, state_word
from arroyo_nb.views.truncation_notes import MOST_COLUMNS, late_count

if TYPE_CHECKING:
    import pyarrow as pa

_CREATE_TABLE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b", re.IGNORECASE)
_TABLE_AS = (
    "as in Arroyo, CREATE TABLE AS makes a view, which is computed where it is read "
    "and keeps no rows"
)

COLUMNS_CHARS = 200
PAGE_ROWS = 20
"""Rows of an Arrow table that a page shows."""

CELL = "padding:2px 14px 2px 0;text-align:left;white-space:normal"

NO_CELLS: Mapping[str, int] = MappingProxyType({})

RUN_COLUMNS = (
    *("run", "cell", "state", "age", "rows in", "rows out", "late", "rows/s"),
    *("behind", "to stop it"),
)


def runs(
    snapshots: Iterable[Snapshot],
    others: Iterable[tuple[str, str]] = (),
    cells: Mapping[str, int] = NO_CELLS,
) -> dict[str, str]:
    """What lives, as a MIME bundle: the runs, newest last, those that have ended behind
    the others; and what else does, by its name and state.

    Parameters
    ----------
    snapshots
        The runs.
    others
        What else lives.
    cells
        By the name of a run, the number that Jupyter shows beside the cell which
        started it.
    """
    ordered = sorted(snapshots, key=lambda snapshot: snapshot.state.ended)
    rows = [_run(snapshot, cells.get(snapshot.name)) for snapshot in ordered]
    blank = ("",) * (len(RUN_COLUMNS) - 3)
    rows += [(name, "", state, *blank) for name, state in others]
    return listing(RUN_COLUMNS, rows, nothing="no run yet")


def _run(snapshot: Snapshot, cell: int | None) -> tuple[str, ...]:
    mark, newest = snapshot.watermark, snapshot.max_event_time
    known = mark is not None and newest is not None and mark < END_OF_TIME
    moving = known and not snapshot.state.ended
    return (
        snapshot.name,
        "" if cell is None else f"[{cell}]",
        f"{glyph(snapshot)} {state_word(snapshot)}",
        duration(timedelta(seconds=snapshot.elapsed_s)),
        count(snapshot.rows_in),
        count(snapshot.rows_out),
        late_count(snapshot),
        pace(snapshot.rows_per_s),
        duration(newest - mark) if moving and newest and mark else "",
        "" if snapshot.state.ended else f"%arroyo stop {quote(snapshot.name)}",
    )


def tables(catalog: Catalog) -> dict[str, str]:
    """The tables and views as a MIME bundle."""
    return answer(answers.tables(catalog))


def answer(given: answers.StatementAnswer) -> dict[str, str]:
    """The answer to SHOW TABLES, DESCRIBE or EXPLAIN as a MIME bundle."""
    if not given.columns:
        return {"text/plain": given.text}
    return listing(given.columns, given.rows, nothing="no table yet")


def rows(found: pa.Table) -> dict[str, str]:
    """Rows of a table as a MIME bundle; those of many columns on their side."""
    names = found.column_names
    columns = [column(found[name].to_pylist()) for name in names]
    shown = [
        tuple("NULL" if cell is None else cell for cell in row)
        for row in zip(*columns, strict=True)
    ]
    if not are_wide(names):
        return listing(names, shown, nothing="no row")
    heads = ("", *(f"row {number}" for number in range(1, len(shown) + 1)))
    lines = list(zip(names, *shown, strict=True)) if shown else []
    return listing(heads, lines, nothing="no row")


def arrow_page(found: pa.Table) -> str:
    """An Arrow table as HTML: its first rows, and how many there are."""
    whole = count(found.num_rows, "row")
    if not found.num_rows:
        return f"<p>{whole}; columns: {escaped(', '.join(found.column_names), 400)}</p>"
    shown = found.select(range(min(found.num_columns, MOST_COLUMNS)))
    shown = shown.slice(0, WIDE_RECORDS if are_wide(shown.column_names) else PAGE_ROWS)
    said = (
        whole
        if shown.num_rows == found.num_rows
        else f"first {shown.num_rows} of {whole}"
    )
    if (columns := found.num_columns - shown.num_columns) > 0:
        said += f"; {count(columns, 'more column')} not shown"
    return f"{rows(shown)['text/html']}<p>{said}</p>"


def changes(before: Catalog, after: Catalog) -> str:
    """What a cell has declared, in one line."""
    said = [
        _new(table) if name not in before.tables else _other(before.tables[name], table)
        for name, table in after.tables.items()
        if before.tables.get(name) != table
    ]
    said += [
        f"dropped {table.name} ({answers.kind(table)})"
        for name, table in before.tables.items()
        if name not in after.tables
    ]
    return plain("; ".join(said) or "nothing has changed", 400)


def _new(table: Relation) -> str:
    columns = count(len(table.schema), "column")
    made = f"defined {table.name} ({answers.kind(table)}, {columns})"
    return f"{made}: {_TABLE_AS}" if _is_table_as(table) else made


def _is_table_as(table: Relation) -> bool:
    if not isinstance(table, View) or table.definition is None:
        return False
    return _CREATE_TABLE.match(table.definition.text) is not None


def _other(old: Relation, new: Relation) -> str:
    moved = (
        f"{answers.kind(old)} to {answers.kind(new)}"
        if answers.kind(old) != answers.kind(new)
        else ""
    )
    parts = [part for part in (moved, _columns_changed(old.schema, new.schema)) if part]
    return f"redefined {new.name} ({', '.join(parts) or _what(new)})"


def _what(table: Relation) -> str:
    is_query = isinstance(table, View | MemoryTable)
    return "another query" if is_query else "other options"


def _columns_changed(old: Schema, new: Schema) -> str:
    added = [f"+{f}" for f in new if f.name not in old]
    gone = [f"-{f.name}" for f in old if f.name not in new]
    other = [
        f"{f.name} {old[f.name].type} to {f.type}"
        for f in new
        if f.name in old and str(old[f.name]) != str(f)
    ]
    return ", ".join((*added, *gone, *other))


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, nothing: str
) -> dict[str, str]:
    """Rows of words as a MIME bundle: a table, and the same as text.

    Parameters
    ----------
    nothing
        What to say where there is no row.
    """
    if not rows:
        return {"text/plain": nothing}
    head = "".join(f'<th style="{CELL}">{escaped(name)}</th>' for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{escaped(c, COLUMNS_CHARS)}</td>' for c in row)
        + "</tr>"
        for row in rows
    )
    made = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    cells = [[plain(cell, NAME_CHARS) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    return {"text/html": made, "text/plain": "\n".join(lines)}
