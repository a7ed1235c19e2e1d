"""The newest changes of a result: what came, what changed from what, what went.

A change is told by a sign before it is told by a colour, and an old value is struck
through beside the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from arroyo_nb.run.observe.snapshot import Change, Snapshot
from arroyo_nb.views.formatting import column, count, escaped
from arroyo_nb.views.inert import CELL, SOFT, WIDE_CELL, cell_html
from arroyo_nb.views.key_history import (
    heading,
    histories_by_key,
    live_history,
    static_history,
)
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
from arroyo_nb.views.truncation_notes import CUT_CHARS, MOST_COLUMNS, changes_left_out

SIGNS = {"c": ("+", "new"), "u": ("~", "changed"), "d": ("−", "gone")}
"""What marks a change, and the word (and class) for it."""

LEGEND = (
    "+ a new row · ~ a row that changed: the old value was retracted, the new one "
    "appended · − a row taken back"
)


class ChangelogView(PanelViewBase):
    """The newest changes."""

    name = "changelog"
    place = 40
    title = "what changed, newest first"

    def suits_static(self, snapshot: Snapshot) -> bool:
        """There are no tabs: what an updating result did is folded below its rows."""
        return snapshot.updating

    def has_tab(self, snapshot: Snapshot) -> bool:
        """A result that changes."""
        return snapshot.updating

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """The changes as a table."""
        return changelog(snapshot)

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,
    ) -> str:
        """The changes, folded unless they were asked for."""
        return _static_changes(snapshot, unfolded=asked)


def changelog(snapshot: Snapshot) -> str:
    """The changes as a table, newest first, and which of them are not in it."""
    if not snapshot.changes:
        return '<p class="soft">No change yet.</p>'
    snapshot = fitted(snapshot)
    made = _wide(snapshot) if is_wide(snapshot) else _table(snapshot)
    said = " · ".join(filter(None, (LEGEND, changes_left_out(snapshot))))
    return (
        f'<div class="rows" data-key="changes">{made}</div>'
        f'<p class="soft">{escaped(said, CUT_CHARS)}</p>'
    )


def _wide(snapshot: Snapshot) -> str:
    known = histories_by_key(snapshot)
    heads = [
        f"{SIGNS[change.op][0]} {SIGNS[change.op][1]}, batch {change.batch_id} "
        f"{live_history(snapshot, known.get(change.key))}".rstrip()
        for change in snapshot.changes
    ]
    return sideways(
        snapshot.columns[:MOST_COLUMNS], shown_changes(snapshot, value), heads
    )


def shown_changes(
    snapshot: Snapshot, value: Callable[[str | None], str]
) -> list[list[str]]:
    """Of each change what it did to each column; ``value`` makes HTML of a value."""
    return [
        [shown(change.op, pair, value) for pair in pairs]
        for change, pairs in zip(snapshot.changes, value_pairs(snapshot), strict=True)
    ]


def _table(snapshot: Snapshot) -> str:
    numeric = numeric_columns(snapshot)
    head = header(snapshot.columns[:MOST_COLUMNS], numeric)
    known = histories_by_key(snapshot)
    of_keys = [live_history(snapshot, known.get(c.key)) for c in snapshot.changes]
    places = _places(snapshot.changes)
    rows = "".join(
        _row(
            *(change, pairs, numeric, place),
            f"<td>{of_key}</td>" if any(of_keys) else "",
        )
        for change, pairs, place, of_key in zip(
            snapshot.changes, value_pairs(snapshot), places, of_keys, strict=True
        )
    )
    last = f'<th scope="col">{heading(snapshot)}</th>' if any(of_keys) else ""
    return (
        f'<table><thead><tr><th scope="col" aria-label="change"></th>{head}'
        f'<th scope="col" class="r">batch</th>{last}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _places(changes: Sequence[Change]) -> list[str]:
    """What tells a change from all others, so that a page moves it as others come."""
    seen: Counter[tuple[int, int]] = Counter()
    places = []
    # From the oldest: which of its batch it is stays as it is.
    for change in reversed(changes):
        place = (change.batch_id, change.key)
        places.append(f"{change.batch_id}.{change.key}.{seen[place]}")
        seen[place] += 1
    return places[::-1]


def value_pairs(snapshot: Snapshot) -> Iterator[tuple[Pair, ...]]:
    """The values of each change, column by column; a column has one format."""
    changes = snapshot.changes
    columns = []
    for index in range(len(snapshot.columns[:MOST_COLUMNS])):
        images = [c.before for c in changes] + [c.after for c in changes]
        texts = column([None if row is None else row[index] for row in images])
        pairs = zip(texts[: len(changes)], texts[len(changes) :], strict=True)
        columns.append(tuple(pairs))
    return zip(*columns, strict=True)


def _row(
    change: Change,
    pairs: Iterable[Pair],
    numeric: Iterable[bool],
    place: str,
    history: str,
) -> str:
    sign, word = SIGNS[change.op]
    cells = "".join(
        f"<td{_look(pair, right)}>{shown(change.op, pair, value)}</td>"
        for pair, right in zip(pairs, numeric, strict=True)
    )
    return (
        f'<tr class="{word}" data-key="c{place}"><td class="op" title="{word}">{sign}'
        f'</td>{cells}<td class="r">{change.batch_id}</td>{history}</tr>'
    )


def _look(pair: Pair, right: bool) -> str:
    if right:
        return ' class="r"'
    return ' class="long"' if any(map(is_long, pair)) else ""


def _static_changes(snapshot: Snapshot, *, unfolded: bool) -> str:
    """The newest changes of a result, in one line each."""
    if not snapshot.changes or not (snapshot.updating or unfolded):
        return ""
    folded = "" if not unfolded else " open"
    return (
        f'<details{folded}><summary style="{SOFT}">the newest of '
        f"{count(snapshot.rows_out, 'change')}</summary>"
        f"{_static_changes_table(snapshot)}"
        f'<p style="{SOFT}">{LEGEND}</p></details>'
    )


def _static_changes_table(snapshot: Snapshot) -> str:
    signs = [f"<b>{SIGNS[change.op][0]}</b>" for change in snapshot.changes]
    cells = shown_changes(snapshot, cell_html)
    if is_wide(snapshot):
        names = snapshot.columns[:MOST_COLUMNS]
        return sideways(names, cells, signs, style=WIDE_CELL)
    style, known = f"{CELL}left", histories_by_key(snapshot)
    of_keys = [static_history(known.get(c.key)) for c in snapshot.changes]
    rows = (
        "".join(f'<td style="{style}">{cell}</td>' for cell in (sign, *change, of_key))
        for sign, change, of_key in zip(signs, cells, of_keys, strict=True)
    )
    lines = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tbody>{lines}</tbody></table>"


VIEW = ChangelogView()
