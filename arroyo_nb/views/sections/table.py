"""The newest rows of a result.

Those of an updating result are changed in their place: beside a value stands, struck
through, the one that the newest change of its row has replaced, and beside each row
what happened to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.run.observe.snapshot import KeyHistory, Snapshot
from arroyo_nb.views.formatting import CELL_CHARS, column, escaped
from arroyo_nb.views.inert import BROKEN, CELL, SOFT, WIDE_CELL, cell_html
from arroyo_nb.views.key_history import (
    heading,
    histories_by_key,
    live_history,
    static_history,
)
from arroyo_nb.views.no_rows import why_no_row
from arroyo_nb.views.row_filter import is_hit
from arroyo_nb.views.rows import (
    Pair,
    fitted,
    header,
    is_long,
    is_wide,
    numeric_columns,
    shown,
    sideways,
    value,
)
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.selection import pick, window_message, window_of
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
        return static_table(snapshot)


def table(snapshot: Snapshot) -> str:
    """The table, and what it leaves out."""
    snapshot = fitted(snapshot)
    if not snapshot.rows:
        said = rows_left_out(snapshot) or why_no_row(snapshot)
        if snapshot.find:
            said = "No row has every word that the filter names."
        return f'<p class="soft">{escaped(said, CUT_CHARS)}</p>'
    names, numeric = snapshot.columns[:MOST_COLUMNS], numeric_columns(snapshot)
    records = [list(record) for record in zip(*cell_pairs(snapshot), strict=True)]
    kept = histories_of_rows(snapshot)
    if is_wide(snapshot):
        cells = [[shown("u", pair, value) for pair in record] for record in records]
        heads = [live_history(snapshot, history) for history in kept]
        made = sideways(names, cells, heads if any(heads) else ())
    else:
        rows = "".join(
            _row(snapshot, number, record, numeric, kept)
            for number, record in enumerate(records)
        )
        last = f'<th scope="col">{heading(snapshot)}</th>' if any(kept) else ""
        made = (
            f"<table><thead><tr>{header(names, numeric)}{last}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    said = rows_left_out(snapshot)
    return f'<div class="rows" data-key="rows">{made}</div>' + (
        f'<p class="soft">{escaped(said, CUT_CHARS)}</p>' if said else ""
    )


def histories_of_rows(snapshot: Snapshot) -> list[KeyHistory | None]:
    """The history of each row, None of one that has none."""
    known = histories_by_key(snapshot)
    keys = snapshot.row_keys
    if len(keys) != len(snapshot.rows):
        return [None] * len(snapshot.rows)
    return [known.get(key) for key in keys]


def cell_pairs(snapshot: Snapshot) -> list[list[Pair]]:
    """The shown cells as they were before the newest change of their row and as they
    are, column by column; both are the same where the row has not changed."""
    rows, columns = snapshot.rows, []
    before = [
        row if history is None or history.before is None else history.before
        for row, history in zip(rows, histories_of_rows(snapshot), strict=True)
    ]
    for index in range(len(snapshot.columns[:MOST_COLUMNS])):
        texts = column([row[index] for row in (*before, *rows)])
        pairs = zip(texts[: len(rows)], texts[len(rows) :], strict=True)
        columns.append(list(pairs))
    return columns


def _row(
    snapshot: Snapshot,
    number: int,
    pairs: Sequence[Pair],
    numeric: Sequence[bool],
    kept: Sequence[KeyHistory | None],
) -> str:
    history = kept[number]
    made = "".join(
        _cell(snapshot, pair, right, snapshot.rows[number][index])
        for index, (pair, right) in enumerate(zip(pairs, numeric, strict=True))
    )
    if any(kept):
        made += f"<td>{live_history(snapshot, history)}</td>"
    if history is None:
        return f"<tr>{made}</tr>"
    # A key that has several rows has them one after the other.
    times = snapshot.row_keys[:number].count(history.key)
    fresh = ' class="fresh"' if history.batch_id == snapshot.batch_id else ""
    return f'<tr data-key="r{history.key}-{times}"{fresh}>{made}</tr>'


def _cell(snapshot: Snapshot, pair: Pair, right: bool, cell: object) -> str:
    text = pair[1]
    look = "r" if right else "long" if is_long(text) else ""
    look += " hit" if is_hit(snapshot, text) else ""
    look = f' class="{look.strip()}"' if look else ""
    is_cut = text is not None and len(text) > CELL_CHARS
    title = f' title="{escaped(text or "", 300)}"' if is_cut else ""
    made = shown("u", pair, value)
    if (window := window_of(cell)) is not None:
        chosen = snapshot.selected
        is_chosen = chosen is not None and window == (chosen.start, chosen.end)
        picked = pick(window_message(*window), pressed=is_chosen)
        made = f'<span class="pick"{picked}>{made}</span>'
    return f"<td{look}{title}>{made}</td>"


def static_table(snapshot: Snapshot) -> str:
    """The table without style sheet and script, or why it has no row."""
    if not snapshot.rows:
        said = "" if rows_left_out(snapshot) else why_no_row(snapshot)
        return f'<p style="{SOFT}">{escaped(said, 600)}</p>' if said else ""
    kept = histories_of_rows(snapshot)
    records = list(zip(*cell_pairs(snapshot), strict=True))
    if is_wide(snapshot):
        cells = [[shown("u", pair, cell_html) for pair in each] for each in records]
        heads = [static_history(history) for history in kept] if any(kept) else ()
        names = snapshot.columns[:MOST_COLUMNS]
        return sideways(names, cells, heads, style=WIDE_CELL)
    numeric = numeric_columns(snapshot)
    aligned = [CELL + ("right" if right else "left") for right in numeric]
    head = "".join(
        f'<th style="{style}">{escaped(name)}</th>'
        for name, style in zip(snapshot.columns, aligned, strict=False)
    )
    if any(kept):
        head += f'<th style="{CELL}left">{heading(snapshot)}</th>'
    rows = "".join(
        "<tr>"
        + "".join(map(_static_cell, row, aligned))
        + _static_last(kept, each)
        + "</tr>"
        for row, each in zip(records, kept, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _static_last(kept: Sequence[KeyHistory | None], history: KeyHistory | None) -> str:
    if not any(kept):
        return ""
    return f'<td style="{CELL}left">{static_history(history)}</td>'


def _static_cell(pair: Pair, style: str) -> str:
    if is_long(pair[1]):
        style += f";{BROKEN}"
    return f'<td style="{style}">{shown("u", pair, cell_html)}</td>'


VIEW = TableView()
