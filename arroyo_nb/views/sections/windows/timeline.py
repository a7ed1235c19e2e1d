"""The windows of a query on the event-time axis, with the watermark between them.

Event time runs across. A window is a bar from its start to its end: closed (final) or
open (it may change). The watermark and the newest event are lines; a window closes when
the watermark passes its end. Bars that overlap, as hop windows do, lie in lanes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from arroyo_nb.run.observe.snapshot import Snapshot, WindowBar, WindowState
from arroyo_nb.schema import MICROSECOND
from arroyo_nb.views.axis_ticks import END_OF_TIME, ORIGIN, Axis
from arroyo_nb.views.event_time_axis import (
    LEGEND,
    MARGIN,
    SESSION_LEGEND,
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
from arroyo_nb.views.formatting import clock, count
from arroyo_nb.views.label_places import Box, LabelPlaces, text_box
from arroyo_nb.views.sections.windows.columns import (
    column_picture,
    density_columns,
    hop_columns,
)
from arroyo_nb.views.selection import is_dimmed

COMFORTABLE = (56, 12)
"""Mean pixels a bar and lanes at which every window can carry its count."""

POSSIBLE = (10, 24)
"""The same, at which windows can still be told apart."""

LEAST_WINDOWS = 4
"""Windows for which there is room from the beginning."""

AIRY = 3
"""Lanes up to which there is room for late marks below the bars."""


@dataclass(frozen=True)
class Lanes:
    """Bars in lanes, such that no two of one lane overlap."""

    bars: tuple[tuple[int, WindowBar], ...]
    number: int

    @property
    def height(self) -> int:
        """Pixels of a bar."""
        if self.number == 1:
            return 34
        return 22 if self.number <= AIRY else 16 if self.number <= COMFORTABLE[1] else 6

    @property
    def labelled(self) -> bool:
        """Whether a bar is high enough for text."""
        return self.number <= COMFORTABLE[1]

    @property
    def pitch(self) -> int:
        """Pixels from one lane to the next; room for late marks where there are any."""
        late = self.number <= AIRY and any(bar.late_rows for _, bar in self.bars)
        return self.height + (16 if late else 3 if self.labelled else 2)


def lanes(windows: Iterable[WindowBar]) -> Lanes:
    """Each window into the first lane that is free at its start."""
    free: list[datetime] = []
    placed = []
    for bar in sorted(windows, key=lambda w: (w.start, w.end)):
        lane = next((i for i, end in enumerate(free) if end <= bar.start), len(free))
        free[lane : lane + 1] = [bar.end]
        placed.append((lane, bar))
    return Lanes(tuple(placed), max(len(free), 1))


def newest_that_fit(
    windows: Sequence[WindowBar], watermark: datetime | None
) -> tuple[WindowBar, ...]:
    """The newest windows, as many as are readable; more where the watermark needs it.

    Bars become narrower than their labels only to bring the last closed window into
    the picture: open and closed must be seen side by side.
    """
    newest_first = sorted(windows, key=lambda w: (w.end, w.start), reverse=True)
    starts: list[datetime] = []
    total, most_lanes, reached = timedelta(), 0, watermark is None
    for bar in newest_first:
        # Ends only go down, so the bars over this one are those that start before
        # its end: the largest such number is how many lanes there are.
        most_lanes = max(most_lanes, bisect_left(starts, bar.end) + 1)
        total += bar.end - bar.start
        insort(starts, bar.start)
        span, mean = newest_first[0].end - starts[0], total / len(starts)
        pixels, lanes_at_most = COMFORTABLE if reached else POSSIBLE
        wide_enough = mean * (WIDTH - 2 * MARGIN) >= span * pixels
        if len(starts) > 1 and not (wide_enough and most_lanes <= lanes_at_most):
            return tuple(reversed(newest_first[: len(starts) - 1]))
        reached = reached or (watermark is not None and bar.end <= watermark)
    return tuple(reversed(newest_first))


@dataclass(frozen=True)
class Timeline:
    """The picture as one ``<svg>`` element, how many windows it leaves out, how many
    rows were late for those, and whether windows are columns at their ends."""

    svg: str
    hidden_windows: int
    hidden_late: int = 0
    columns: bool = False


def timeline(
    snapshot: Snapshot, span: tuple[datetime, datetime] | None = None
) -> Timeline | None:
    """Draw the windows; None where there is no window yet.

    ``span`` is what the axis must hold, for pictures that lie under each other; None:
    the windows decide.
    """
    if not snapshot.windows:
        return None
    if snapshot.density:
        columns = density_columns(snapshot.density)
        return Timeline(column_picture(snapshot, columns, span, sessions=True), 0)
    if not snapshot.sessions and _overlaps(snapshot.windows, COMFORTABLE[1]):
        return _columns(snapshot, span)
    # Late rows of no session stand below the bars, at their own time.
    sessionless = [bar for bar in snapshot.windows if bar.late_only]
    bars = [bar for bar in snapshot.windows if not bar.late_only]
    shown = newest_that_fit(bars or sessionless, snapshot.watermark)
    # What has ended is looked at as a whole: narrow columns, not the newest bars.
    if (
        snapshot.state.ended
        and not snapshot.sessions
        and len(shown) < len(snapshot.windows)
    ):
        whole = _columns(snapshot, span)
        if whole.hidden_windows < len(snapshot.windows) - len(shown):
            return whole
    placed = lanes(shown)
    axis = _axis(placed, snapshot, sessionless) if span is None else wide_axis(span)
    marks = [bar for bar in sessionless if axis.low <= bar.start <= axis.high]
    shown += tuple(bar for bar in marks if bar not in shown)
    bottom = TOP + placed.number * placed.pitch + 2 + (18 if marks else 0)
    parts = [
        delay_band(axis, snapshot, bottom),
        *ticks(axis, bottom),
        *(
            _bar(axis, placed, lane, bar, snapshot)
            for lane, bar in placed.bars
            if not bar.late_only
        ),
        *both_lines(axis, snapshot, bottom),
        *(
            _words(axis, placed, lane, bar, snapshot)
            for lane, bar in placed.bars
            if not bar.late_only
        ),
        *_late_marks(axis, marks, bottom - 6),
        *legend(
            bottom + 34,
            late=any(bar.late_rows for bar in shown),
            entries=SESSION_LEGEND if snapshot.sessions else LEGEND,
        ),
    ]
    drawn = svg(bottom + 42, _told(snapshot), parts)
    return Timeline(drawn, *_hidden(snapshot, shown))


def _overlaps(windows: Sequence[WindowBar], lanes_at_most: int) -> bool:
    """Whether windows of one width need more lanes than so many. There may be thousands
    of them: none is placed."""
    starts = sorted(windows, key=lambda w: w.start)
    pairs = zip(starts, starts[lanes_at_most:], strict=False)
    return any(later.start < bar.end for bar, later in pairs)


def _columns(snapshot: Snapshot, span: tuple[datetime, datetime] | None) -> Timeline:
    columns = hop_columns(snapshot.windows, snapshot.watermark)
    drawn = column_picture(snapshot, columns, span, sessions=False)
    hidden = _hidden(snapshot, [column.bar for column in columns])
    return Timeline(drawn, *hidden, columns=True)


def _hidden(snapshot: Snapshot, shown: Sequence[WindowBar]) -> tuple[int, int]:
    """How many windows are not drawn, and how many rows were late for them."""
    late = sum(bar.late_rows for bar in snapshot.windows)
    drawn = sum(bar.late_rows for bar in shown)
    return len(snapshot.windows) - len(shown), late - drawn


def _axis(placed: Lanes, snapshot: Snapshot, late_marks: Iterable[WindowBar]) -> Axis:
    """From the first window to the last, with both lines and late rows of no session
    where they are near.

    While the run goes on at least LEAST_WINDOWS wide, so that the first window does not
    fill the picture and shrink with every one that follows.
    """
    shown = [bar for _, bar in placed.bars]
    low, high = min(w.start for w in shown), max(w.end for w in shown)
    mean = sum((w.end - w.start for w in shown), timedelta()) / len(shown)
    span = high - low
    if not (snapshot.sessions or snapshot.state.ended):
        span = max(span, LEAST_WINDOWS * mean / placed.number)
    low = min(
        (b.start for b in late_marks if low - span / 2 <= b.start < low), default=low
    )
    mark, newest = snapshot.watermark, snapshot.max_event_time
    if mark is not None and low - span / 2 <= mark < low:
        low = mark
    high = max(high, low + span)
    if newest is not None and high < newest <= high + span:
        high = newest
    return Axis(low, high, MARGIN, WIDTH - MARGIN)


def _bar(
    axis: Axis, placed: Lanes, lane: int, bar: WindowBar, snapshot: Snapshot
) -> str:
    width = _width(axis, bar)
    hull = _rect("hull", width, placed.height)
    fill = _rect(bar.state.value, width * _passed(bar, snapshot), placed.height)
    seams = "".join(
        f'<line class="seam" x1="{x:.1f}" x2="{x:.1f}" y2="{placed.height}"/>'
        for x in (axis.at(seam) - axis.at(bar.start) - 1 for seam in bar.seams)
    )
    inner = f"<title>{title(bar)}</title>{hull}{fill}{seams}"
    return _placed("w", axis, placed, lane, bar, inner, snapshot)


def _words(
    axis: Axis, placed: Lanes, lane: int, bar: WindowBar, snapshot: Snapshot
) -> str:
    """What stands in and under a bar: drawn last, so that no line crosses it out."""
    if not placed.labelled:
        return ""
    width = _width(axis, bar)
    airy = placed.number <= AIRY
    cuts = _lines_in(axis, bar, snapshot)
    inner = _label(bar, width, placed.height, cuts, with_late=not airy)
    inner += _late(bar, width, placed.height) if airy else ""
    return _placed("l", axis, placed, lane, bar, inner, snapshot) if inner else ""


def _placed(
    layer: str,
    axis: Axis,
    placed: Lanes,
    lane: int,
    bar: WindowBar,
    inner: str,
    snapshot: Snapshot,
) -> str:
    """A group at the bar's corner; its key lets a page move it when the axis moves."""
    start, end = ((m - ORIGIN) // MICROSECOND for m in (bar.start, bar.end))
    x, y = axis.at(bar.start) + 1, TOP + lane * placed.pitch
    dimmed = is_dimmed(bar, snapshot)
    picks = pickable(bar, dimmed=dimmed) if layer == "w" else 'pointer-events="none"'
    if dimmed and layer != "w":
        picks += ' class="dim"'
    return (
        f'<g data-key="{layer}{start}-{end}" '
        f'style="transform:translate({x:.1f}px,{y}px)" {picks}>{inner}</g>'
    )


def _width(axis: Axis, bar: WindowBar) -> float:
    return max(axis.at(bar.end) - axis.at(bar.start) - 2, 2.0)


def _rect(kind: str, width: float, height: int) -> str:
    radius = 3 if height > 8 else 1
    return (
        f'<rect class="bar {kind}" width="{width:.1f}" height="{height}" '
        f'rx="{radius}"/>'
    )


def _passed(bar: WindowBar, snapshot: Snapshot) -> float:
    """The share of an open window that event time has covered; else all of it."""
    newest = snapshot.max_event_time
    if bar.state is not WindowState.OPEN or newest is None:
        return 1.0
    return min(max((newest - bar.start) / (bar.end - bar.start), 0.0), 1.0)


def _lines_in(axis: Axis, bar: WindowBar, snapshot: Snapshot) -> list[float]:
    """Where the lines cross a bar, in pixels from its left."""
    moments = (snapshot.watermark, snapshot.max_event_time)
    return [
        axis.at(moment) - axis.at(bar.start) - 1
        for moment in moments
        if moment is not None and bar.start < moment < bar.end
    ]


def _label(
    bar: WindowBar, width: float, height: int, cuts: Sequence[float], *, with_late: bool
) -> str:
    texts = [count(bar.rows), f"{bar.rows}"]
    if bar.state is WindowState.OPEN:
        texts.insert(0, f"{bar.rows:,} so far")
    if with_late and bar.late_rows:
        texts.insert(0, f"{bar.rows:,} ×{bar.late_rows}")
    # Beside the lines: what has no room there says the title.
    edges = pairwise(sorted((0.0, *cuts, width)))
    left, right = max(edges, key=lambda part: part[1] - part[0])
    wide = {text: text_width(text, bold=True) + 8 for text in texts}
    text = next((t for t in texts if wide[t] <= right - left), "")
    return text and (
        f'<text class="on-{bar.state.value}" x="{(left + right) / 2:.1f}" '
        f'y="{height / 2 + 4:.0f}" text-anchor="middle">{text}</text>'
    )


def _late(bar: WindowBar, width: float, height: int) -> str:
    if not bar.late_rows:
        return ""
    texts = (f"× {bar.late_rows:,} late", f"×{bar.late_rows}", "×")
    text = next((t for t in texts if text_width(t, bold=True) <= width), "×")
    return (
        f'<text class="late" x="{width / 2:.1f}" y="{height + 12}" '
        f'text-anchor="middle">{text}</text>'
    )


def _late_marks(axis: Axis, marks: Sequence[WindowBar], y: float) -> Iterator[str]:
    """Crosses of late rows that belong to no session, counted where there is room."""
    places = LabelPlaces(Box(0, y - 14, WIDTH, y + 6))
    for mark in marks:
        places.take(text_box(axis.at(mark.start), y, "×", "middle"))
    for mark in marks:
        x = axis.at(mark.start)
        sign = f'<text class="late" x="{x}" y="{y}" text-anchor="middle">×</text>'
        room = [(x + 8, y, "start"), (x - 8, y, "end")]
        words = places.label(f"{mark.late_rows:,} late", room, "late")
        yield f"<g><title>{title(mark)}</title>{sign}{words}</g>"


def _told(snapshot: Snapshot) -> str:
    """The picture in one sentence, for who does not see it."""
    states = [w.state for w in snapshot.windows if not w.late_only]
    parts = [count(len(states), "bar" if snapshot.sessions else "window")]
    parts += [
        f"{states.count(state)} {state.value}"
        for state in WindowState
        if state in states
    ]
    if snapshot.watermark is not None and snapshot.watermark < END_OF_TIME:
        parts.append(f"watermark {clock(snapshot.watermark)}")
    if snapshot.max_event_time is not None:
        parts.append(f"newest event {clock(snapshot.max_event_time)}")
    return ", ".join(parts)
