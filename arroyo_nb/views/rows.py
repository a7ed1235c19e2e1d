"""The newest rows of a result, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arroyo_nb.run.snapshot import Snapshot
from arroyo_nb.views.cuts import MOST_COLUMNS, rows_left_out
from arroyo_nb.views.no_rows import why_no_row
from arroyo_nb.views.words import CELL_CHARS, column, escaped


def table(snapshot: Snapshot, _: str = "") -> str:
    """The table, and what it leaves out."""
    if not snapshot.rows:
        said = rows_left_out(snapshot) or why_no_row(snapshot)
        return f'<p class="soft">{escaped(said, 600)}</p>'
    numeric = numeric_columns(snapshot)
    head = header(snapshot.columns[:MOST_COLUMNS], numeric)
    cells = cell_texts(snapshot)
    rows = "".join(_row(row, numeric) for row in zip(*cells, strict=True))
    said = rows_left_out(snapshot)
    return (
        f'<div class="rows" data-key="rows"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        + (f'<p class="soft">{said}</p>' if said else "")
    )


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


def _row(cells: Sequence[str | None], numeric: Sequence[bool]) -> str:
    made = "".join(_cell(c, right) for c, right in zip(cells, numeric, strict=True))
    return f"<tr>{made}</tr>"


def value(text: str | None) -> str:
    """A value inside a cell."""
    return '<span class="null">NULL</span>' if text is None else escaped(text)


def _cell(text: str | None, right: bool) -> str:
    align = ' class="r"' if right else ""
    is_long = text is not None and len(text) > CELL_CHARS
    title = f' title="{escaped(text or "", 300)}"' if is_long else ""
    return f"<td{align}{title}>{value(text)}</td>"
