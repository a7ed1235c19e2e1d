"""The newest rows of a result."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.formatting import CELL_CHARS, escaped
from arroyo_nb.views.inert import BROKEN, CELL, SOFT, WIDE_CELL, cell_html
from arroyo_nb.views.no_rows import why_no_row
from arroyo_nb.views.rows import (
    cell_texts,
    fitted,
    header,
    is_long,
    is_wide,
    numeric_columns,
    sideways,
    value,
)
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.truncation_notes import CUT_CHARS, MOST_COLUMNS, rows_left_out


class TableView(PanelViewBase):
    """The newest rows."""

    name = "table"
    place = 30
    title = "the newest rows"
    lists_rows = True

    def suits(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """Any run has rows."""
        return True

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The table, and what it leaves out."""
        return table(snapshot)

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,  # noqa: ARG002
    ) -> str:
        """The table, or why it has no row."""
        return _static_table(snapshot)


def table(snapshot: Snapshot) -> str:
    """The table, and what it leaves out."""
    snapshot = fitted(snapshot)
    if not snapshot.rows:
        said = rows_left_out(snapshot) or why_no_row(snapshot)
        return f'<p class="soft">{escaped(said, CUT_CHARS)}</p>'
    names, numeric = snapshot.columns[:MOST_COLUMNS], numeric_columns(snapshot)
    records = list(zip(*cell_texts(snapshot), strict=True))
    if is_wide(snapshot):
        made = sideways(names, [list(map(value, record)) for record in records])
    else:
        rows = "".join(_row(record, numeric) for record in records)
        made = (
            f"<table><thead><tr>{header(names, numeric)}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    said = rows_left_out(snapshot)
    return f'<div class="rows" data-key="rows">{made}</div>' + (
        f'<p class="soft">{escaped(said, CUT_CHARS)}</p>' if said else ""
    )


def _row(cells: Sequence[str | None], numeric: Sequence[bool]) -> str:
    made = "".join(_cell(c, right) for c, right in zip(cells, numeric, strict=True))
    return f"<tr>{made}</tr>"


def _cell(text: str | None, right: bool) -> str:
    look = "r" if right else "long" if is_long(text) else ""
    look = f' class="{look}"' if look else ""
    is_cut = text is not None and len(text) > CELL_CHARS
    title = f' title="{escaped(text or "", 300)}"' if is_cut else ""
    return f"<td{look}{title}>{value(text)}</td>"


def _static_table(snapshot: Snapshot) -> str:
    if not snapshot.rows:
        said = "" if rows_left_out(snapshot) else why_no_row(snapshot)
        return f'<p style="{SOFT}">{escaped(said, 600)}</p>' if said else ""
    if is_wide(snapshot):
        records = zip(*cell_texts(snapshot), strict=True)
        cells = [list(map(cell_html, record)) for record in records]
        return sideways(snapshot.columns[:MOST_COLUMNS], cells, style=WIDE_CELL)
    numeric = numeric_columns(snapshot)
    aligned = [CELL + ("right" if right else "left") for right in numeric]
    head = "".join(
        f'<th style="{style}">{escaped(name)}</th>'
        for name, style in zip(snapshot.columns, aligned, strict=False)
    )
    rows = "".join(
        "<tr>" + "".join(map(_static_cell, row, aligned)) + "</tr>"
        for row in zip(*cell_texts(snapshot), strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _static_cell(text: str | None, style: str) -> str:
    if is_long(text):
        style += f";{BROKEN}"
    return f'<td style="{style}">{cell_html(text)}</td>'


VIEW = TableView()
