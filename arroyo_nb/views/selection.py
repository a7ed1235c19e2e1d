"""What was clicked, and what of a picture belongs to it.

An element that can be clicked carries a message, as ``select window START END`` with
both instants in ISO 8601, ``select key ID``, or ``select step NUMBER``. A second click
on it, or ``select none``, takes the selection away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from arroyo_nb.run.observe.snapshot import (
    Selection,
    SelectionCounts,
    Snapshot,
    WindowBar,
)
from arroyo_nb.run.results.preview_state import SHOWN_ROWS
from arroyo_nb.views.formatting import count, escaped, interval

SELECTED_ROWS = SHOWN_ROWS
"""Newest rows that are looked through for those that belong to what is selected."""

MOST_DIGITS = 20
"""Digits of the largest key."""

WORD = "select"

UNSELECT = (
    f'<button type="button" data-do="{WORD} none" title="Key: Esc" '
    'aria-label="Show everything again">× show all</button>'
)
"""The button that takes a selection away."""

_PICKS = re.compile(
    rf' role="button" tabindex="0" data-do="{WORD} [^"]*"( aria-pressed="\w+")?'
)


def pick(what: str, *, pressed: bool) -> str:
    """The attributes of an element that selects something, and takes it away again."""
    return (
        f' role="button" tabindex="0" data-do="{WORD} {escaped(what, 200)}" '
        f'aria-pressed="{str(pressed).lower()}"'
    )


def without_picks(drawn: str) -> str:
    """What was drawn, for a page that hears no click on it."""
    return _PICKS.sub("", drawn)


def window_message(start: datetime, end: datetime) -> str:
    """What selects a window, for :func:`pick`."""
    return f"window {start.isoformat()} {end.isoformat()}"


def after(message: str, now: Selection | None) -> Selection | None:
    """What is selected after a message of the page; as before, where it says nothing.

    >>> after("select key 7", None)
    Selection(start=None, end=None, key=7, step=None)
    >>> after("select key 7", Selection(key=7)), after("select none", Selection(key=7))
    (None, None)
    >>> after("select key <b>", Selection(key=7)).key
    7
    """
    try:
        chosen = _read(message.split())
    except ValueError:
        return now
    return None if chosen == now else chosen


def _read(words: Sequence[str]) -> Selection | None:
    match words:
        case ["select", "none"]:
            return None
        case ["select", "window", start, end]:
            moments = [datetime.fromisoformat(text) for text in (start, end)]
            if any(moment.tzinfo for moment in moments) or moments[0] >= moments[1]:
                raise ValueError
            return Selection(start=moments[0], end=moments[1])
        case ["select", "key", key] if len(key) <= MOST_DIGITS:
            return Selection(key=int(key))
        case ["select", "step", step] if len(step) <= MOST_DIGITS:
            return Selection(step=int(step))
    raise ValueError


def selected(snapshot: Snapshot, selection: Selection | None) -> Snapshot:
    """The picture with the rows and changes that belong to what is selected, and with
    how many do not.

    A row belongs to a window by its window column, else by a time that lies in it;
    of a query that has neither all do. A ``step`` of the plan has no rows.
    """
    if selection is None:
        return snapshot
    chosen = replace(snapshot, selected=selection)
    if selection.key is not None:
        has_keys = len(snapshot.row_keys) == len(snapshot.rows)
        rows = [key == selection.key for key in snapshot.row_keys if has_keys]
        rows = rows or [False] * len(snapshot.rows)
        changes = [change.key == selection.key for change in snapshot.changes]
    elif selection.start is not None:
        images = [change.after or change.before or () for change in snapshot.changes]
        known = _members([*snapshot.rows, *images], selection, snapshot)
        if known is None:
            return chosen
        rows, changes = known[: len(snapshot.rows)], known[len(snapshot.rows) :]
    else:
        return chosen
    keys = snapshot.row_keys
    return replace(
        chosen,
        rows=_those(snapshot.rows, rows),
        row_keys=_those(keys, rows) if len(keys) == len(rows) else (),
        changes=_those(snapshot.changes, changes),
        selection_counts=SelectionCounts(
            sum(rows),
            len(rows) - sum(rows),
            sum(changes),
            len(changes) - sum(changes),
        ),
    )


def _those(items: Sequence[Any], which: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(item for item, is_in in zip(items, which, strict=True) if is_in)


def _members(
    rows: Sequence[Sequence[Any]], selection: Selection, snapshot: Snapshot
) -> list[bool] | None:
    """Whether each row belongs to the selected window; None: no column says it."""
    for index in range(len(snapshot.columns)):
        cells = [row[index] if index < len(row) else None for row in rows]
        windows = [window_of(cell) for cell in cells]
        if any(windows):
            return [_is_of(window, selection, snapshot) for window in windows]
    for index in range(len(snapshot.columns)):
        cells = [row[index] if index < len(row) else None for row in rows]
        if any(isinstance(cell, datetime) for cell in cells):
            # A window's start in a column of its own: its neighbours of a hop begin
            # within it too.
            starts = selection.start in cells
            return [
                cell == selection.start
                if starts
                else isinstance(cell, datetime) and selection.has_time(cell)
                for cell in cells
            ]
    return None


def window_of(cell: object) -> tuple[datetime, datetime] | None:
    """The window that a cell is; None: it is none."""
    match cell:
        case {"start": datetime() as start, "end": datetime() as end, **rest} if (
            not rest and start < end
        ):
            return start, end
        case _:
            return None


def _is_of(
    window: tuple[datetime, datetime] | None, selection: Selection, snapshot: Snapshot
) -> bool:
    if window is None or selection.start is None or selection.end is None:
        return False
    if snapshot.sessions:
        # What is clicked is a stretch of time with the sessions of all keys.
        return window[0] < selection.end and selection.start < window[1]
    return window == (selection.start, selection.end)


def is_dimmed(bar: WindowBar, snapshot: Snapshot) -> bool:
    """Whether a window is drawn faintly, as another one is selected."""
    chosen = snapshot.selected
    if chosen is None or chosen.start is None:
        return False
    window = (bar.start, bar.end)
    if snapshot.density or (snapshot.sessions and not _is_there(snapshot)):
        return not _is_of(window, chosen, replace(snapshot, sessions=True))
    return window != (chosen.start, chosen.end)


def _is_there(snapshot: Snapshot) -> bool:
    """Whether the selected window is one of those drawn: stretches of sessions grow."""
    chosen = snapshot.selected
    return chosen is not None and any(
        (bar.start, bar.end) == (chosen.start, chosen.end) for bar in snapshot.windows
    )


def in_words(snapshot: Snapshot) -> str:
    """What is selected, and what is hidden for it; empty: nothing is."""
    chosen, counts = snapshot.selected, snapshot.selection_counts
    if chosen is None:
        return ""
    if chosen.step is not None:
        return ""
    what = (
        f"key {_key_words(snapshot, chosen.key)}"
        if chosen.key is not None
        else f"window {interval(chosen.start, chosen.end)}"
        if chosen.start is not None and chosen.end is not None
        else "nothing"
    )
    if counts is None:
        return f"selected: {what} · no column says which rows belong to it"
    parts = [f"selected: {what}", f"{count(counts.rows, 'row')}"]
    if snapshot.updating:
        parts.append(count(counts.changes, "change"))
    hidden = [
        count(number, noun)
        for number, noun in (
            (counts.other_rows, "row"),
            (counts.other_changes if snapshot.updating else 0, "change"),
        )
        if number
    ]
    if hidden:
        parts.append(f"{' and '.join(hidden)} of others hidden")
    return " · ".join(parts)


def _key_words(snapshot: Snapshot, key: int | None) -> str:
    """A row by what it begins with: its id says nothing to anybody."""
    images = [
        *(
            row
            for row, own in zip(snapshot.rows, snapshot.row_keys, strict=False)
            if own == key
        ),
        *(c.after or c.before or () for c in snapshot.changes if c.key == key),
    ]
    if not images:
        return "of a row that is not there any more"
    numeric = snapshot.numeric
    cells = [
        str(cell)
        for index, cell in enumerate(images[0])
        if not (index < len(numeric) and numeric[index]) and window_of(cell) is None
    ]
    return ", ".join(cells[:3]) or str(images[0][0])


def bar_of_selection(snapshot: Snapshot, *, keys: bool) -> str:
    """The line below the head that says what is selected; ``keys``: with its button."""
    said = in_words(snapshot)
    if not said:
        return ""
    return (
        f'<p class="note chosen" data-key="chosen">{escaped(said, 300)} '
        f"{UNSELECT if keys else ''}</p>"
    )
