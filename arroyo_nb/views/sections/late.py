"""The rows that came too late, each with its reason: the window that had closed.

They are told by micro-batch and window, newest first; the rows themselves are read
again by ``run.late()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.run.observe.snapshot import LateRows, Snapshot
from arroyo_nb.schema import MICROSECOND
from arroyo_nb.views.axis_ticks import END_OF_TIME
from arroyo_nb.views.event_time_axis import selects
from arroyo_nb.views.formatting import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    duration,
    duration_at_least,
    escaped,
    instant,
    interval,
)
from arroyo_nb.views.inert import CELL, SOFT
from arroyo_nb.views.sections import PanelViewBase
from arroyo_nb.views.truncation_notes import late_in_words

MOST_LINES, MOST_STATIC_LINES = 40, 20
"""Lines of the table, in the live panel and in what stays in the notebook."""

WORDS_CHARS = 400

LIMITS = (SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY)
"""Between them rows are summed by how long their window had been closed."""

HEADS = (
    ("batch", True),
    ("rows", True),
    ("closed for", True),
    ("window", False),
    ("watermark at arrival", False),
    ("window closed in", True),
)
"""Columns of the table; numbers stand at the right."""

SESSION_HEADS = (
    ("batch", True),
    ("rows", True),
    ("too late by", True),
    ("event time", False),
    ("watermark at arrival", False),
)
"""The same of sessions, which no late row belongs to."""

NO_WINDOW = (
    "This query has no window, so no row is late: each goes out as it comes. A row is "
    "late where its window has closed before it came."
)


class LateView(PanelViewBase):
    """Late rows and their reasons."""

    name = "late"
    place = 25
    title = "the rows that came after their window had closed"
    style = (
        ".arroyo .late-rows .by { color: var(--late); font-weight: 600; }"
        ".arroyo .late-rows tr.dim { opacity: .4; }"
        ".arroyo .late-rows button { border: 0; padding: 0; background: none; "
        "text-decoration: underline dotted; text-underline-offset: 3px; }"
        ".arroyo .late-sums { display: flex; flex-wrap: wrap; gap: 2px 18px; }"
        ".arroyo .late-sums b { color: var(--late); }"
    )

    def suits_static(self, snapshot: Snapshot) -> bool:
        """A run with late rows."""
        return bool(snapshot.late)

    def has_tab(self, snapshot: Snapshot) -> bool:
        """A query with windows."""
        return snapshot.windowed

    def live(self, snapshot: Snapshot, plan: str) -> str:  # noqa: ARG002
        """A line for each window and micro-batch, whose window can be selected."""
        said = "".join(
            f'<p class="soft">{escaped(text, WORDS_CHARS)}</p>'
            for text in sentences(snapshot, MOST_LINES)
        )
        if not snapshot.late:
            return said
        sums = "".join(
            f"<span>{text}: <b>× {rows:,}</b></span>"
            for text, rows in sums_by_lateness(snapshot.late)
        )
        heads = "".join(
            f'<th scope="col"{" class=r" if right else ""}>{text}</th>'
            for text, right in _heads(snapshot)
        )
        shown = snapshot.late[::-1][:MOST_LINES]
        lines = "".join(_line(snapshot, rows) for rows in shown)
        return (
            f'<p class="soft late-sums">{sums}</p>'
            f'<div class="rows late-rows" data-key="late"><table><thead><tr>{heads}'
            f"</tr></thead><tbody>{lines}</tbody></table></div>{said}"
        )

    def static(
        self,
        snapshot: Snapshot,
        plan: str,  # noqa: ARG002
        *,
        asked: bool,
    ) -> str:
        """The same table, folded unless it was asked for."""
        texts = sentences(snapshot, MOST_STATIC_LINES)
        said = "".join(
            f'<p style="{SOFT}">{escaped(text, WORDS_CHARS)}</p>' for text in texts
        )
        if not snapshot.late:
            return said if asked else ""
        columns = _heads(snapshot)
        aligned = [f"{CELL}{'right' if right else 'left'}" for _, right in columns]
        heads = "".join(
            f'<th style="{style}">{text}</th>'
            for (text, _), style in zip(columns, aligned, strict=True)
        )
        lines = "".join(
            "<tr>"
            + "".join(
                f'<td style="{style}">{escaped(text)}</td>'
                for text, style in zip(_cells(rows), aligned, strict=True)
            )
            + "</tr>"
            for rows in snapshot.late[::-1][:MOST_STATIC_LINES]
        )
        sums = " · ".join(
            f"{text}: {rows:,}" for text, rows in sums_by_lateness(snapshot.late)
        )
        return (
            f"<details{' open' if asked else ''}>"
            f'<summary style="{SOFT}">× late rows, with their windows</summary>'
            f'<p style="{SOFT}">{sums}</p>'
            f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
            f"{said}</details>"
        )


def _heads(snapshot: Snapshot) -> tuple[tuple[str, bool], ...]:
    return SESSION_HEADS if snapshot.sessions else HEADS


def _cells(rows: LateRows) -> tuple[str, ...]:
    """A line of the table: a cell for each of :data:`HEADS`, or of
    :data:`SESSION_HEADS`."""
    is_one = rows.gap is not None and rows.end - rows.start <= MICROSECOND
    which = instant(rows.start) if is_one else interval(rows.start, rows.end)
    cells = (
        f"{rows.batch_id:,}",
        f"× {rows.rows:,}",
        closed_for(rows),
        which,
        "end of input" if rows.watermark >= END_OF_TIME else instant(rows.watermark),
    )
    if rows.gap is not None:
        return cells
    return (*cells, "" if rows.closed_in is None else f"batch {rows.closed_in:,}")


def closed_for(rows: LateRows) -> str:
    """How far the watermark was past the window's end, or past the gap after a row."""
    if rows.watermark >= END_OF_TIME:
        return "after the end"
    return duration_at_least(rows.closed_for) if rows.closed_for else "0 s"


def _line(snapshot: Snapshot, rows: LateRows) -> str:
    batch, number, by, which, watermark, *closed = _cells(rows)
    dim = "" if _belongs(snapshot, rows) else ' class="dim"'
    if rows.gap is None:
        select = selects(rows.start, rows.end)
        which = f'<button type="button" {select}>{which}</button>'
    last = "".join(f'<td class="r">{cell}</td>' for cell in closed)
    return (
        f'<tr{dim}><td class="r">{batch}</td><td class="r">{number}</td>'
        f'<td class="r by">{by}</td><td>{which}</td><td>{watermark}</td>{last}</tr>'
    )


def _belongs(snapshot: Snapshot, rows: LateRows) -> bool:
    """Whether a line is of the selected window, or none is selected."""
    chosen = snapshot.selected
    if chosen is None or chosen.start is None:
        return True
    if rows.gap is not None:
        return chosen.has_time(rows.start)
    return (chosen.start, chosen.end) == (rows.start, rows.end)


def sentences(snapshot: Snapshot, most: int) -> list[str]:
    """How many rows were late, and which of them the table leaves out."""
    if not snapshot.windowed:
        return [NO_WINDOW]
    if not snapshot.late_rows and not snapshot.late:
        return ["No row was late: each came before its window had closed."]
    run = snapshot.handle
    if not snapshot.late:
        return [
            f"× {late_in_words(snapshot)}; {run}.late() lists them with their values."
        ]
    listed = sum(rows.rows for rows in snapshot.late[::-1][:most])
    more = snapshot.late_rows - listed
    said = _session_rule(snapshot.gap) if snapshot.gap else _window_rule()
    if more > 0:
        said.append(f"+ {more:,} more: {_listing(run)}")
    else:
        said.append(_listing(run))
    return said


def _window_rule() -> list[str]:
    return [
        "A row is late where the watermark had reached the end of its window when it "
        "came: the window was closed, its result was final, and the row is in none.",
        "Closed for: how far the watermark was past the end of the window. A delay "
        "that is longer by more than that would have kept the row.",
    ]


def _session_rule(gap: timedelta) -> list[str]:
    return [
        f"A row is late where the watermark had reached its event time plus the gap "
        f"({duration(gap)}) when it came. It begins no session and joins none, not "
        "even one that is still open.",
        "Too late by: how far the watermark was past that. A delay that is longer by "
        "more than that would have kept the row.",
        "Arroyo is stricter: it drops every row behind the watermark.",
    ]


def _listing(run: str) -> str:
    return (
        f"{run}.late() lists them with their values; its late_by counts from the event "
        "time of the row."
    )


def sums_by_lateness(late: Sequence[LateRows]) -> list[tuple[str, int]]:
    """How many rows came how long after their window had closed, the least first.

    >>> from datetime import datetime, timedelta
    >>> noon = datetime(2013, 1, 1, 12)
    >>> rows = LateRows(3, 1.0, noon, noon, noon + timedelta(seconds=90), 4)
    >>> sums_by_lateness([rows])
    [('closed for 1 min to 10 min', 4)]
    """
    what = "too late by" if late and late[0].gap else "closed for"
    sums: dict[int, int] = {}
    for rows in late:
        place = sum(rows.closed_for >= limit for limit in LIMITS)
        sums[place] = sums.get(place, 0) + rows.rows
    return [(f"{what} {_stretch(place)}", sums[place]) for place in sorted(sums)]


def _stretch(place: int) -> str:
    if place == 0:
        return f"less than {duration(LIMITS[0])}"
    if place == len(LIMITS):
        return f"more than {duration(LIMITS[-1])}"
    low, high = LIMITS[place - 1], LIMITS[place]
    return f"{duration(low)} to {duration(high)}"


VIEW = LateView()
