"""Where the marks of event time against processing time lie.

Processing time runs across, from the start of the run or of what is known of it: each
micro-batch has the same room, or each second where the reader has chosen the clock.
While somebody steps, or the first batch waits for Spark, seconds say nothing of the
stream. Event time runs up. Nothing here makes SVG.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from arroyo_nb.run.observe.history import HISTORY_POINTS, thinned
from arroyo_nb.run.observe.late_ledger import is_late_for_sessions
from arroyo_nb.run.observe.sampled_rows import SampledRow
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    MarkPoint,
    Snapshot,
    WindowBar,
    WindowState,
)
from arroyo_nb.views.axis_ticks import END_OF_TIME, ORIGIN, Axis
from arroyo_nb.views.event_time_axis import WIDTH, text_width
from arroyo_nb.views.formatting import clock_within

LEFT, TOP, HEIGHT = 92, 26, 270
"""Pixels beside (at least), above and of the plot."""

TICKS_APART = 34
"""Pixels from one tick of event time to the next."""

BESIDE = 158
"""Pixels for the labels at the right, at least."""

MOST_DOTS = 1_500
"""Rows that are drawn at most."""

MOST_CROSSES = 400
"""Of them late ones."""

MOST_POINTS = 240
"""Points of a curve."""

FAR = 4.0
"""Rows that would make the picture so many times as high are drawn at its edge."""

FEW_ROWS = 20
"""So few rows are all drawn at their place."""

SPANS = 7
"""The picture shows the newest rows: so many windows, or so many times what lies
between the watermark and the newest event."""

LEAST_POINTS = 12
"""Of so many micro-batches at least."""

SHORT_POINTS = 40
"""A run of so many micro-batches is shown whole."""

LEAST_BAND = 5.0
"""Pixels of a window at least, for windows to be drawn."""

MOST_NEAR = 64
"""Windows that may have had a row and are looked at; the first to end comes first."""

GOLDEN = 0.618034
"""Multiples of it, without their whole part, spread evenly over [0, 1)."""


@dataclass(frozen=True)
class Dot:
    """A row: where it lies, its event time and values, and whether it was late; without
    a window, behind the watermark."""

    x: float
    y: float
    row: SampledRow
    batch_id: int
    late: bool

    @property
    def moment(self) -> datetime:
        """Its event time."""
        return self.row.time


@dataclass(frozen=True)
class Layout:
    """The axes of a picture, and what lies where.

    ``points`` and ``batches`` are those that are drawn.
    """

    snapshot: Snapshot
    points: tuple[MarkPoint, ...]
    batches: tuple[BatchArrivals, ...]

    @cached_property
    def left(self) -> float:
        """Where the plot begins."""
        texts = [text for _, text in self.up.ticks(TICKS_APART)]
        return max(LEFT, round(max(map(text_width, texts), default=0)) + 16)

    @cached_property
    def right(self) -> float:
        """Where the plot ends: the labels behind it have the room that they need."""
        last = self.points[-1]
        moments = [m for m in (last.max_event_time, self.mark(last)) if m is not None]
        texts = [f"newest event {clock_within(m, self.span)} ↓" for m in moments]
        longest = max((text_width(text, bold=True) for text in texts), default=0)
        return WIDTH - max(BESIDE, longest + 12)

    @cached_property
    def span(self) -> timedelta:
        """How much event time is drawn."""
        return self.up.high - self.up.low

    @cached_property
    def bottom(self) -> float:
        """The lower edge of the plot."""
        return TOP + HEIGHT

    @cached_property
    def across(self) -> Axis:
        """Processing time: seconds since the start, as moments after the epoch."""
        first = self.points[0].elapsed_s if self.from_batch else 0.0
        last = max(self.points[-1].elapsed_s, first + 0.001)
        inset = 14.0  # the first and the last dots lie inside of the plot
        return Axis(
            ORIGIN + timedelta(seconds=first),
            ORIGIN + timedelta(seconds=last),
            self.left + inset,
            self.right - inset,
        )

    @property
    def from_batch(self) -> int:
        """The first micro-batch that is drawn, where earlier ones are not; else 0."""
        earlier = self.snapshot.history[0].batch_id
        return self.points[0].batch_id if self.points[0].batch_id > earlier else 0

    @property
    def all_batches(self) -> int:
        """How many micro-batches lie between the first and the last whose rows are
        known; of a long run only some are."""
        known = [batch.batch_id for batch in self.batches]
        gaps = [b - a for a, b in pairwise(known)]
        # Batches without rows leave gaps too; only what is long was thinned.
        long = len(self.snapshot.arrivals) > HISTORY_POINTS // 2
        is_thinned = long and len(gaps) > 1 and min(gaps[:-1]) > 1
        return known[-1] - known[0] + 1 if is_thinned else len(known)

    @property
    def has_window(self) -> bool:
        """Whether the rows came into windows: else they may only be behind the
        watermark."""
        return not self.batches or self.batches[-1].has_window

    @property
    def by_clock(self) -> bool:
        """Whether seconds run across, and not micro-batches."""
        return bool(self.snapshot.clock_axis)

    def x(self, batch_id: int, elapsed_s: float) -> float:
        """Where a micro-batch lies that ended so many seconds after the start."""
        if self.by_clock:
            return self.across.at(ORIGIN + timedelta(seconds=max(elapsed_s, 0.0)))
        left, right = self.across.left, self.across.right
        first, last = self.points[0].batch_id, self.points[-1].batch_id
        if first == last:
            return round((left + right) / 2, 1)
        share = min(max((batch_id - first) / (last - first), 0.0), 1.0)
        return round(left + share * (right - left), 1)

    @cached_property
    def times(self) -> tuple[datetime, ...]:
        """The event times of the sampled rows, sorted."""
        return tuple(sorted(t for batch in self.batches for t in batch.times))

    @cached_property
    def up(self) -> Axis:
        """Event time: high moments have small pixels. Few rows that are far behind the
        others, and a watermark that is, lie at the edge."""
        moments = [*self.times]
        moments += [p.max_event_time for p in self.points if p.max_event_time]
        low, high = min(moments), max(moments)
        if len(self.times) > FEW_ROWS:
            most = self.times[len(self.times) // 50]
            most = min(
                most, *(p.max_event_time for p in self.points if p.max_event_time)
            )
            if (high - low) > FAR * (high - most):
                low = most
        marks = [mark for p in self.points if (mark := self.mark(p)) is not None]
        span = max(high - low, timedelta.resolution)
        if marks:
            low = min(low, max(min(marks), _less(low, span / 2)))
        for bar in self.snapshot.windows:
            inside = bar.start < high and bar.end > low
            if inside and bar.end - bar.start <= span:
                low = min(low, bar.start)
                high = max(high, bar.end)
        if low == high:
            low, high = (
                _less(low, timedelta(seconds=1)),
                _more(high, timedelta(seconds=1)),
            )
        edge = (high - low) / 40
        return Axis(_less(low, edge), _more(high, edge), self.bottom, TOP)

    def mark(self, point: MarkPoint) -> datetime | None:
        """The watermark as far as it can be drawn: at the end of the input it lies at
        the newest event."""
        mark = point.watermark
        if mark is not None and mark >= END_OF_TIME:
            return point.max_event_time
        return mark

    @cached_property
    def dots(self) -> tuple[Dot, ...]:
        """The rows that are drawn: all late ones that are known, as far as there is
        room, and the others evenly chosen."""
        late_rows = sum(len(late) for _, late, _ in self._parted)
        crosses = min(late_rows, MOST_CROSSES)
        others = len(self.times) - late_rows
        made: list[Dot] = []
        seen = [0, 0]
        for (batch, *parts), room in zip(self._parted, self._room, strict=True):
            chosen: list[tuple[SampledRow, bool]] = []
            for is_late, rows in zip((True, False), parts, strict=True):
                number, most = (
                    (late_rows, crosses) if is_late else (others, MOST_DOTS - crosses)
                )
                for row in rows:
                    if _is_chosen(seen[is_late], number, most):
                        chosen.append((row, is_late))
                    seen[is_late] += 1
            made += self._dots(batch, chosen, room)
        return tuple(made)

    def _dots(
        self,
        batch: BatchArrivals,
        chosen: Sequence[tuple[SampledRow, bool]],
        room: float,
    ) -> Iterator[Dot]:
        x = self.x_of(batch)
        for i, (row, late) in enumerate(chosen):
            # Rows of one batch came at once: they lie beside each other to be told
            # apart, in the same places in each frame.
            beside = (i * GOLDEN % 1 - 0.5) * room if len(chosen) > FEW_ROWS else 0.0
            yield Dot(x + beside, self.up.at(row.time), row, batch.batch_id, late)

    @cached_property
    def _room(self) -> tuple[float, ...]:
        """Pixels that the rows of each batch have across."""
        xs = [self.x_of(batch) for batch in self.batches]
        gaps = [b - a for a, b in pairwise(xs)]
        nearest = [
            min(before, after)
            for before, after in zip([20.0, *gaps], [*gaps, 20.0], strict=True)
        ]
        return tuple(min(gap * 0.7, 14.0) for gap in nearest[: len(xs)])

    @cached_property
    def _parted(self) -> tuple[PartedRows, ...]:
        return late_and_other_rows(self.snapshot, self.batches)

    @cached_property
    def bands(self) -> tuple[WindowBar, ...]:
        """The windows that lie side by side and are wide enough; empty where they
        overlap."""
        shown = self._windows
        if any(a.end > b.start for a, b in pairwise(shown)):
            return ()
        return shown if self._are_wide(shown) else ()

    @cached_property
    def ends(self) -> tuple[WindowBar, ...]:
        """The windows whose ends are drawn: of those that overlap, too."""
        shown = sorted(self._windows, key=lambda bar: bar.end)
        apart = (self.up.at(a.end) - self.up.at(b.end) for a, b in pairwise(shown))
        return tuple(shown) if all(gap >= LEAST_BAND for gap in apart) else ()

    @cached_property
    def _windows(self) -> tuple[WindowBar, ...]:
        if self.snapshot.sessions:
            return ()
        low, high = self.up.low, self.up.high
        inside = (b for b in self.snapshot.windows if b.start < high and b.end > low)
        return tuple(sorted(inside, key=lambda bar: (bar.start, bar.end)))

    def _are_wide(self, bars: Sequence[WindowBar]) -> bool:
        return all(self.up.at(b.start) - self.up.at(b.end) >= LEAST_BAND for b in bars)

    @property
    def narrow_windows(self) -> int:
        """How many windows are too narrow to be drawn."""
        return 0 if self.ends else len(self._windows)

    def closing_x(self, bar: WindowBar) -> float | None:
        """Where the watermark passed the window's end; None: it has not, or before
        what is drawn."""
        if bar.state is not WindowState.CLOSED:
            return None
        if bar.closed_in is not None:
            if bar.closed_in < self.points[0].batch_id:
                return None
            at = bisect_right([p.batch_id for p in self.points], bar.closed_in - 1)
            exact = self._elapsed.get(bar.closed_in)
            if exact is not None:
                return self.x(bar.closed_in, exact)
            return self.x_of(self.points[min(at, len(self.points) - 1)])
        passed = (p for p in self.points if p.watermark and p.watermark >= bar.end)
        found = next(passed, None)
        return None if found is None else self.x_of(found)

    def x_of(self, point: MarkPoint | BatchArrivals) -> float:
        """Where a point of the curves, or the rows of a micro-batch, lie."""
        return self.x(point.batch_id, point.elapsed_s)

    @cached_property
    def _elapsed(self) -> dict[int, float]:
        known = {b.batch_id: b.elapsed_s for b in self.batches}
        return known | {p.batch_id: p.elapsed_s for p in self.points}


class ClosedWindows:
    """Which event times have missed a window, by the windows that are known."""

    def __init__(self, windows: Sequence[WindowBar]) -> None:
        self._bars = sorted(windows, key=lambda bar: bar.end)
        self._ends = [bar.end for bar in self._bars]

    def has_missed(self, moment: datetime, late_before: datetime | None) -> bool:
        """Whether a window of the event time had ended at a watermark."""
        if late_before is None or moment >= late_before:
            return False
        first = bisect_right(self._ends, moment)
        last = bisect_right(self._ends, late_before)
        last = min(last, first + MOST_NEAR)
        return any(bar.start <= moment for bar in self._bars[first:last])


PartedRows: TypeAlias = (
    "tuple[BatchArrivals, tuple[SampledRow, ...], tuple[SampledRow, ...]]"
)
"""A micro-batch, those of its sampled rows that were late, and the others."""


def late_and_other_rows(
    snapshot: Snapshot, batches: Sequence[BatchArrivals]
) -> tuple[PartedRows, ...]:
    """Which of the sampled rows were late; without a window, which were behind the
    watermark."""
    closed = ClosedWindows(snapshot.windows)
    missed: dict[int, list[tuple[datetime, datetime]]] = {}
    for rows in snapshot.late:
        missed.setdefault(rows.batch_id, []).append((rows.start, rows.end))
    parted = []
    for batch in batches:
        known = missed.get(batch.batch_id, [])
        late: list[SampledRow] = []
        others: list[SampledRow] = []
        for row in batch.sample:
            moment = row.time
            if not batch.has_window:
                is_late = batch.is_behind(moment)
            elif snapshot.gap is not None:
                # Whichever sessions are open or have closed: they say nothing of it.
                mark = batch.late_before
                is_late = mark is not None and is_late_for_sessions(
                    moment, snapshot.gap, mark
                )
            else:
                is_late = closed.has_missed(moment, batch.late_before) or any(
                    start <= moment < end for start, end in known
                )
            (late if is_late else others).append(row)
        parted.append((batch, tuple(late), tuple(others)))
    return tuple(parted)


def layout(snapshot: Snapshot) -> Layout | None:
    """Lay the picture out; None before the first event time."""
    points = [p for p in snapshot.history if p.max_event_time is not None]
    if not points:
        return None
    points = _newest(snapshot, points)
    batches = tuple(b for b in snapshot.arrivals if b.times)
    if batches:
        # What is known of rows may begin after the run did: where the difference is
        # large, the picture begins there.
        first, whole_s = batches[0].elapsed_s, _elapsed_s(points)
        if first - points[0].elapsed_s > whole_s / 4:
            points = [p for p in points if p.elapsed_s >= first] or points[-1:]
        if batches[-1].elapsed_s > points[-1].elapsed_s:
            points.append(_point_of(batches[-1], points[-1]))
    if points[0].batch_id > snapshot.history[0].batch_id:
        batches = tuple(b for b in batches if b.batch_id >= points[0].batch_id)
    return Layout(snapshot, tuple(thinned(points, MOST_POINTS)), batches)


def _elapsed_s(points: Sequence[MarkPoint]) -> float:
    return points[-1].elapsed_s - points[0].elapsed_s


def _newest(snapshot: Snapshot, points: Sequence[MarkPoint]) -> list[MarkPoint]:
    """The newest points, such that windows and the delay can be seen."""
    if len(points) <= SHORT_POINTS:
        return list(points)
    last = points[-1].max_event_time
    assert last is not None
    lags = sorted(
        p.max_event_time - p.watermark
        for p in points
        if p.max_event_time and p.watermark and p.watermark < END_OF_TIME
    )
    widths = [] if snapshot.sessions else [b.end - b.start for b in snapshot.windows]
    typical = [lags[len(lags) // 2]] if lags else []
    unit = max((*typical, *widths), default=timedelta())
    if unit <= timedelta():
        return list(points)
    first = _less(last, SPANS * unit)
    near = sum(
        p.max_event_time is not None and p.max_event_time >= first for p in points
    )
    return list(points[-max(near, LEAST_POINTS) :])


def _point_of(batch: BatchArrivals, before: MarkPoint) -> MarkPoint:
    newest = max((*batch.times, before.max_event_time or ORIGIN))
    return MarkPoint(batch.batch_id, batch.elapsed_s, newest, before.watermark)


def _is_chosen(index: int, number: int, most: int) -> bool:
    """Whether the one at an index is among ``most`` of ``number``, evenly chosen."""
    return number <= most or (index + 1) * most // number > index * most // number


def _less(moment: datetime, length: timedelta) -> datetime:
    """Earlier by a length of time, as far as time goes."""
    return moment - min(length, moment - datetime.min)


def _more(moment: datetime, length: timedelta) -> datetime:
    """Later by a length of time, as far as time goes."""
    return moment + min(length, datetime.max - moment)
