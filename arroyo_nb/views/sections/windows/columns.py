"""Columns over event time: windows that overlap too often for lanes, and the rows of
sessions.

A column is as high as it has rows. A hop window stands where it ends, one slide wide,
for that is where the watermark closes it. Sessions of many keys lie over each other
everywhere: of them the columns are rows by event time, and their numbers are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from arroyo_nb.run.observe.snapshot import Snapshot, WindowBar, WindowState
from arroyo_nb.schema import MICROSECOND
from arroyo_nb.views.axis_ticks import ORIGIN, Axis
from arroyo_nb.views.event_time_axis import (
    CHAR,
    MARGIN,
    TOP,
    WIDTH,
    both_lines,
    delay_band,
    legend,
    pickable,
    svg,
    text_width,
    ticks,
    title,
    wide_axis,
)
from arroyo_nb.views.formatting import count, pace
from arroyo_nb.views.selection import is_dimmed

MOST_COLUMNS = 96
"""Columns of a picture."""

LEAST_PIXELS = 4
"""Pixels of a column at least."""

LEAST_COLUMNS = 20
"""Columns for which there is room from the beginning."""

HEIGHT, LABEL = 92, 14
"""Pixels of the highest column, and above it for its count."""

LEGEND = (
    ("closed", "closed: final, unless its key went on"),
    ("open", "in a session that is open: may change"),
    ("late", "late: came after its window had closed"),
)
"""What the colours of rows in sessions say."""


@dataclass(frozen=True)
class WindowColumn:
    """A bar, and where it stands."""

    left: datetime
    right: datetime
    bar: WindowBar


def hop_columns(
    windows: Sequence[WindowBar], watermark: datetime | None
) -> tuple[WindowColumn, ...]:
    """The newest windows, each where it ends; among them some that have closed, where
    there are any."""
    ordered = sorted(windows, key=lambda bar: (bar.end, bar.start))
    steps = [b.end - a.end for a, b in pairwise(ordered) if b.end > a.end]
    step = min((*steps, ordered[0].end - ordered[0].start))
    made = [WindowColumn(bar.end - step, bar.end, bar) for bar in ordered]
    # No more than can be told apart, where windows without rows lie between them.
    span = step * ((WIDTH - 2 * MARGIN) / LEAST_PIXELS)
    newest = [c for c in made[-MOST_COLUMNS:] if c.right > made[-1].right - span]
    closed = [c for c in made if watermark is not None and c.right <= watermark]
    if closed and newest[0].right > closed[-1].right:
        # Open ones alone fill the picture: the last closed ones come instead of the
        # newest, and the watermark with them.
        first = max(0, len(closed) - MOST_COLUMNS // 4)
        newest = made[first : first + MOST_COLUMNS]
        newest = [c for c in newest if c.left < newest[0].left + span]
    return tuple(newest)


def density_columns(bins: Sequence[WindowBar]) -> tuple[WindowColumn, ...]:
    """Rows by event time."""
    return tuple(WindowColumn(bar.start, bar.end, bar) for bar in bins)


def column_picture(
    snapshot: Snapshot,
    columns: Sequence[WindowColumn],
    span: tuple[datetime, datetime] | None = None,
    *,
    sessions: bool,
) -> str:
    """The picture as one ``<svg>`` element; ``span`` as of a timeline."""
    axis = _axis(columns, snapshot) if span is None else wide_axis(span)
    top = TOP + LABEL
    bottom = top + HEIGHT + 2
    most = max((column.bar.rows for column in columns), default=0)
    parts = [
        delay_band(axis, snapshot, bottom),
        *ticks(axis, bottom),
        *(_column(axis, each, most, top, snapshot) for each in columns),
        *both_lines(axis, snapshot, bottom),
        *_labels(axis, columns, most, top, _lines_at(axis, snapshot)),
    ]
    late = any(column.bar.late_rows for column in columns)
    said = {"entries": LEGEND} if sessions else {}
    parts += legend(bottom + 34, late=late, **said)
    return svg(bottom + 42, _in_words(columns), parts)


def _axis(columns: Sequence[WindowColumn], snapshot: Snapshot) -> Axis:
    low, high = columns[0].left, max(column.right for column in columns)
    step = columns[0].right - columns[0].left
    if not snapshot.state.ended:
        high = max(high, low + LEAST_COLUMNS * step)
    span = high - low
    for moment in (snapshot.watermark, snapshot.max_event_time):
        if moment is not None and low - span / 2 <= moment <= high + span / 2:
            low, high = min(low, moment), max(high, moment)
    return Axis(low, high, MARGIN, WIDTH - MARGIN)


def _column(
    axis: Axis, column: WindowColumn, most: int, top: int, snapshot: Snapshot
) -> str:
    bar = column.bar
    height = round(max(HEIGHT * bar.rows / max(most, 1), 2.0 if bar.rows else 0.0), 1)
    x, width = axis.at(column.left), _width(axis, column)
    late = (
        f'<text class="late" x="{width / 2:.1f}" y="{HEIGHT - height - 2:.1f}" '
        'text-anchor="middle">×</text>'
        if bar.late_rows
        else ""
    )
    return (
        f'<g data-key="w{_key(bar)}" style="transform:translate({x:.1f}px,{top}px)" '
        f"{pickable(bar, dimmed=is_dimmed(bar, snapshot))}><title>{title(bar)}</title>"
        f'<rect class="bar {bar.state.value}" y="{HEIGHT - height:.1f}" '
        f'width="{width:.1f}" height="{height}" rx="1"/>{late}</g>'
    )


def _lines_at(axis: Axis, snapshot: Snapshot) -> list[float]:
    """Where the watermark and the newest event pass through the columns."""
    moments = (snapshot.watermark, snapshot.max_event_time)
    return [axis.at(moment) for moment in moments if moment is not None]


def _labels(
    axis: Axis,
    columns: Sequence[WindowColumn],
    most: int,
    top: int,
    lines: Sequence[float],
) -> Iterator[str]:
    """Counts above the columns: of each where they fit, else of those far enough from
    the one before, and of the highest where no line passes through it."""
    free = 0.0
    highest = max(columns, key=lambda column: column.bar.rows)
    spot = axis.at(highest.left)
    for column in columns:
        if not column.bar.rows or column.bar.late_rows:
            continue
        text = (
            pace(column.bar.rows)
            if column.bar.rows >= 10_000
            else count(column.bar.rows)
        )
        x = axis.at(column.left) + _width(axis, column) / 2
        half = text_width(text) / 2
        near = column is not highest and abs(x - spot) < 2 * half + CHAR
        crossed = any(x - half - 1 < line < x + half + 1 for line in lines)
        if x - half < max(free, MARGIN) or x + half > WIDTH or near or crossed:
            continue
        free = x + half + CHAR
        y = top + HEIGHT - HEIGHT * column.bar.rows / max(most, 1) - 4
        yield (
            f'<g data-key="n{_key(column.bar)}" '
            f'style="transform:translate({x:.1f}px,{y:.1f}px)">'
            f'<text text-anchor="middle">{text}</text></g>'
        )


def _width(axis: Axis, column: WindowColumn) -> float:
    return max(axis.at(column.right) - axis.at(column.left) - 1, 1.0)


def _key(bar: WindowBar) -> str:
    start, end = ((m - ORIGIN) // MICROSECOND for m in (bar.start, bar.end))
    return f"{start}-{end}"


def _in_words(columns: Sequence[WindowColumn]) -> str:
    states = [column.bar.state for column in columns]
    open_ = states.count(WindowState.OPEN)
    return f"{count(len(states), 'column')} of rows, {open_} of them open"
