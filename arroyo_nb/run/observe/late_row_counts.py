"""How many rows came for each window and how many came too late for one, kept so that
a batch costs what its panes do.

A row of a hop lies in width / slide windows, which can be thousands. Those windows lie
side by side, so a pane changes the counts at two or three places only, and the windows
are added up when somebody looks. Instants in here are microseconds since the epoch.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.snapshot import WindowBar, WindowState
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

TRACE_WINDOWS = 20_000
"""Windows kept for the views, and at most a tenth more: letting go of some costs what
looking at all does, so it isn't done for each that comes."""

MOST_BINS = 96
"""Pieces of event time that a density has at most."""

DENSITY_GAPS = 60
"""Gaps of sessions that a density goes back."""

_START = EPOCH.replace(tzinfo=None)


Edges: TypeAlias = Sequence[tuple[int, int]]
"""Where windows begin and end."""


class Tally(Protocol):
    """The counts of one window aggregate.

    Attributes
    ----------
    forgotten
        Closed windows that were let go.
    """

    forgotten: int

    def count(
        self, start: int, rows: int, watermark: int, times: Sequence[int] = ()
    ) -> tuple[int, bool]:
        """Take rows of one pane.

        Parameters
        ----------
        start
            Of the pane.
        rows
            How many came.
        watermark
            Rows of windows that end up to there are late.
        times
            The event time of each row, sorted; none: they are not known.

        Returns
        -------
        tuple of int and bool
            The rows that missed at least one window, and whether that is exact; else
            some of them may have been in time.
        """

    def close(
        self, watermark: int, batch_id: int, sessions: Edges | None = None
    ) -> None:
        """Close the windows that end up to there.

        Parameters
        ----------
        watermark
            Where they end at the latest.
        batch_id
            The batch that closes them.
        sessions
            The sessions that it has closed; None: that is not known.
        """

    def bars(self) -> list[WindowBar]:
        """All windows that rows came for, by start."""

    def density(self) -> list[WindowBar]:
        """The newest rows by event time, in at most :data:`MOST_BINS` pieces of one
        length; none where windows have a fixed width."""


def tally(window: nodes.Window) -> Tally:
    """Nothing counted yet."""
    match window:
        case nodes.Tumble(width):
            return FixedWindows(width, width)
        case nodes.Hop(slide, width):
            return FixedWindows(slide, width)
        case nodes.SessionWindow(gap):
            return Sessions(gap, pane(window))


class Alike(NamedTuple):
    """Windows with the same counts: they start at first, a slide later, before end."""

    first: int
    end: int
    rows: int
    late: int

    def windows(self, slide: int) -> int:
        """How many windows these are, for a slide in microseconds."""
        return (self.end - self.first) // slide


class FixedWindows:
    """Windows of one width that start at multiples of a slide."""

    def __init__(self, slide: timedelta, width: timedelta) -> None:
        self.forgotten = 0
        self._slide, self._width = slide // MICROSECOND, width // MICROSECOND
        # What changes from the window that starts there on.
        self._rows: Counter[int] = Counter()
        self._late: Counter[int] = Counter()
        # How many windows may come before it is worth looking for surplus ones.
        self._room = TRACE_WINDOWS
        # Closed windows as views have them, of those that start before a place.
        self._drawn: list[WindowBar] = []
        self._drawn_to = -sys.maxsize
        # Where the ends of closed windows reach, and the batch that closed up to there.
        self._marks: list[int] = []
        self._batches: list[int] = []

    def count(
        self,
        start: int,
        rows: int,
        watermark: int,
        times: Sequence[int] = (),  # noqa: ARG002
    ) -> tuple[int, bool]:
        """Take rows of one pane (see :class:`Tally`)."""
        # The windows that hold an instant start after (instant - width) and up to the
        # instant: a row is in [first, end), and of these it misses those before `kept`,
        # which the watermark has closed.
        first = self._after(start - self._width)
        end = self._after(start)
        kept = min(max(self._after(watermark - self._width), first), end)
        if first < kept:
            self._late[first] += rows
            self._late[kept] -= rows
        # Up here and down at `end`: two places, however many windows lie between.
        self._rows[kept] += rows
        self._rows[end] -= rows
        self._room -= (end - first) // self._slide
        if first < self._drawn_to:
            self._draw_again_from(first)
        return (rows if first < kept else 0), True

    def close(
        self,
        watermark: int,
        batch_id: int,
        sessions: Edges | None = None,  # noqa: ARG002
    ) -> None:
        """Close windows (see :class:`Tally`)."""
        # A batch is remembered for the windows that it closes, if it closes any.
        reach = self._after(watermark - self._width)
        if not self._marks or reach > self._marks[-1]:
            self._marks.append(reach)
            self._batches.append(batch_id)
        if self._room < 0:
            self._forget()

    def bars(self) -> list[WindowBar]:
        """The windows (see :class:`Tally`)."""
        newer = [
            self._bar(start, alike)
            for alike in self._alike(self._drawn_to, *self._drawn_counts())
            for start in range(alike.first, alike.end, self._slide)
        ]
        # Closed windows are those before a place. They change by late rows only, so a
        # picture costs what has happened since the one before.
        if self._marks and self._marks[-1] > self._drawn_to:
            self._drawn_to = self._marks[-1]
            closed = bisect_left(newer, self._drawn_to, key=_start)
            self._drawn += newer[:closed]
            del newer[:closed]
        return self._drawn + newer

    def density(self) -> list[WindowBar]:
        """None: the windows say it (see :class:`Tally`)."""
        return []

    def _after(self, instant: int) -> int:
        """The first start of a window after an instant."""
        return (instant // self._slide + 1) * self._slide

    def _drawn_counts(self) -> tuple[int, int]:
        """Rows and late rows of the last window before those that are not drawn."""
        last = self._drawn[-1] if self._drawn else None
        if last is None or _micros(last.start) + self._slide < self._drawn_to:
            return 0, 0
        return last.rows, last.late_rows

    def _draw_again_from(self, place: int) -> None:
        self._drawn_to = place
        del self._drawn[bisect_left(self._drawn, place, key=_start) :]

    def _alike(
        self, begin: int = -sys.maxsize, rows: int = 0, late: int = 0
    ) -> Iterator[Alike]:
        """Windows that start at a place or after it, before which so many rows are
        counted."""
        places = {p for steps in (self._rows, self._late) for p in steps if p >= begin}
        if rows or late:
            places.add(begin)
        for first, end in pairwise(sorted(places)):
            rows += self._rows.get(first, 0)
            late += self._late.get(first, 0)
            if rows or late:
                yield Alike(first, end, rows, late)

    def _bar(self, start: int, alike: Alike) -> WindowBar:
        by = bisect_right(self._marks, start)
        closed = by < len(self._marks)
        return WindowBar(
            _instant(start),
            _instant(start + self._width),
            alike.rows,
            alike.late,
            WindowState.CLOSED if closed else WindowState.OPEN,
            self._batches[by] if closed else None,
        )

    def _forget(self) -> None:
        # Closed windows are let go oldest first, so hours of running stay bounded.
        alike = list(self._alike())
        kept = sum(a.windows(self._slide) for a in alike)
        slack = TRACE_WINDOWS // 10
        self._room = max(TRACE_WINDOWS - kept, slack)
        surplus = kept - TRACE_WINDOWS + slack if kept > TRACE_WINDOWS else 0
        kept_from, before = None, None
        for each in alike:
            # Open windows stay, however many there are: only those up to the last mark
            # go.
            end = max(min(self._marks[-1], each.end), each.first)
            gone = min(surplus, each._replace(end=end).windows(self._slide))
            if gone <= 0:
                break
            surplus -= gone
            self.forgotten += gone
            kept_from, before = each.first + gone * self._slide, each
        if kept_from is not None and before is not None:
            self._cut(kept_from, before)

    def _cut(self, kept_from: int, before: Alike) -> None:
        for steps, value in ((self._rows, before.rows), (self._late, before.late)):
            for place in [p for p in steps if p < kept_from]:
                del steps[place]
            # The steps before it are gone, and what they had added up to must stand
            # where the counts now begin.
            steps[kept_from] += value
        first = bisect_right(self._marks, kept_from)
        del self._marks[:first], self._batches[:first]
        self._drawn_to = max(self._drawn_to, kept_from)
        del self._drawn[: bisect_left(self._drawn, kept_from, key=_start)]


class LateSpan(NamedTuple):
    """Late rows whose event times lie in [first, end)."""

    first: int
    end: int
    rows: int


class PieceRange(NamedTuple):
    """Rows of the pieces from first to last."""

    first: int
    last: int
    rows: int


class Sessions:
    """Sessions without a key, or stretches of time with sessions in them.

    Keys are not counted apart, so neither are their sessions: a stretch holds every
    session that may touch another, and is closed when all of them are. Its edges are
    known by the piece of time that rows are counted by, and so are late rows, where
    their event times are not known one by one. Without a
    key Spark says which sessions a batch has closed, and each is by itself; those that
    are open are stretches until then.
    """

    def __init__(self, gap: timedelta, piece: timedelta) -> None:
        self.forgotten = 0
        self._gap, self._piece = gap // MICROSECOND, piece // MICROSECOND
        self._open: dict[int, PieceRange] = {}
        # Late rows by piece of time.
        self._late: dict[int, LateSpan] = {}
        self._closed: list[WindowBar] = []
        # Rows by piece of time: (in time, late).
        self._pieces: dict[int, tuple[int, int]] = {}
        self._watermark = -sys.maxsize
        # The open stretches after the batch before, and where such have become one.
        self._stretches: list[PieceRange] = []
        self._seams: list[int] = []

    def count(
        self, start: int, rows: int, watermark: int, times: Sequence[int] = ()
    ) -> tuple[int, bool]:
        """Take rows of one piece (see :class:`Tally`)."""
        # Spark's session of a row ends a microsecond before its gap does.
        newest_late = watermark - self._gap + 1
        if times:
            late, exact = bisect_right(times, newest_late), True
            span = (times[0], times[late - 1] + 1) if late else (0, 0)
        else:
            late = rows if start <= newest_late else 0
            # Exact where the whole piece lies on one side of the watermark.
            exact = not late or start + self._piece - 1 <= newest_late
            span = start, start + self._piece
        if late:
            first, end, before = self._late.get(start, (*span, 0))
            self._late[start] = LateSpan(
                min(first, span[0]), max(end, span[1]), before + late
            )
        if in_time := rows - late:
            piece = self._open.get(start, PieceRange(start, start, 0))
            self._open[start] = piece._replace(rows=piece.rows + in_time)
        taken, missed = self._pieces.get(start, (0, 0))
        self._pieces[start] = (taken + in_time, missed + late)
        return late, exact

    def close(
        self, watermark: int, batch_id: int, sessions: Edges | None = None
    ) -> None:
        """Close sessions or stretches (see :class:`Tally`)."""
        self._watermark = watermark
        self._note_seams()
        for start, end in sessions or ():
            rows = self._take_rows(start, end - self._gap)
            edges = _instant(start), _instant(end)
            bar = WindowBar(*edges, rows, 0, WindowState.CLOSED, batch_id)
            self._closed.append(bar)
        self._join_settled(watermark)
        if sessions is None:
            self._close_stretches(watermark, batch_id)
        self._forget()

    def _note_seams(self) -> None:
        """Note where stretches that were apart have become one."""
        before, self._stretches = self._stretches, self._joined(self._open.values())
        starts = [span.first for span in before]
        for span in self._stretches:
            # The first one of those that lie in it goes on; the others have joined it.
            low, high = (bisect_right(starts, p) for p in (span.first - 1, span.last))
            for start in starts[low + 1 : high]:
                insort(self._seams, start)

    def _seams_of(self, bar: WindowBar) -> WindowBar:
        first, last = (
            bisect_right(self._seams, _micros(e)) for e in (bar.start, bar.end)
        )
        seams = tuple(map(_instant, self._seams[first:last]))
        return replace(bar, seams=seams) if seams else bar

    def _take_rows(self, first: int, last: int) -> int:
        """How many rows a session has, from its first one to its last. No piece has
        rows of two open sessions without a key: these are a gap apart."""
        spans = self._open.values()
        own = [s for s in spans if s.first <= last and first < s.last + self._piece]
        return sum(self._open.pop(span.first).rows for span in own)

    def _join_settled(self, watermark: int) -> None:
        # What lies before is not added to any more: one span is enough for it.
        spans = self._open.values()
        settled = [s for s in spans if self._end(s) <= watermark]
        for span in settled:
            del self._open[span.first]
        self._open |= {span.first: span for span in self._joined(settled)}

    def _close_stretches(self, watermark: int, batch_id: int) -> None:
        for span in self._joined(self._open.values()):
            if self._end(span) <= watermark:
                del self._open[span.first]
                self._closed.append(
                    replace(
                        self._bar(span), state=WindowState.CLOSED, closed_in=batch_id
                    )
                )

    def bars(self) -> list[WindowBar]:
        """The stretches (see :class:`Tally`). Late rows stand alone, but for those
        that lie in a stretch that has closed: an open one has not missed them."""
        bars = [*self._closed, *map(self._bar, self._joined(self._open.values()))]
        bars.sort(key=lambda bar: bar.start)
        starts = [_micros(bar.start) for bar in bars]
        alone = []
        for span in self._late.values():
            at = bisect_right(starts, span.first) - 1
            lies_in = at >= 0 and span.first < _micros(bars[at].end)
            if lies_in and bars[at].state is WindowState.CLOSED:
                late_rows = bars[at].late_rows + span.rows
                bars[at] = replace(bars[at], late_rows=late_rows)
            else:
                alone.append(span)
        bars = [*map(self._seams_of, bars), *map(_late_bar, self._neighbours(alone))]
        return sorted(bars, key=lambda bar: bar.start)

    def density(self) -> list[WindowBar]:
        """Rows by event time (see :class:`Tally`). A piece is open while a session can
        be that has a row of it as its last one."""
        if not self._pieces:
            return []
        newest = max(self._pieces) + self._piece
        oldest = max(min(self._pieces), newest - DENSITY_GAPS * self._gap)
        pieces = -(-(newest - oldest) // self._piece)
        length = -(-pieces // MOST_BINS) * self._piece
        bins: dict[int, tuple[int, int]] = {}
        for start, (rows, late) in self._pieces.items():
            if start >= oldest - oldest % length:
                at = start - start % length
                before = bins.get(at, (0, 0))
                bins[at] = before[0] + rows, before[1] + late
        return [self._bin(at, length, *bins[at]) for at in sorted(bins)]

    def _bin(self, start: int, length: int, rows: int, late: int) -> WindowBar:
        end = start + length
        closed = end + self._gap <= self._watermark
        state = WindowState.CLOSED if closed else WindowState.OPEN
        return WindowBar(_instant(start), _instant(end), rows, late, state)

    def _joined(self, spans: Iterable[PieceRange]) -> list[PieceRange]:
        """Spans with rows that may be less than the gap apart, as one each."""
        made: list[PieceRange] = []
        for span in sorted(spans):
            # A row may lie anywhere in its piece: spans are joined where their rows
            # could be less than the gap apart, so that a stretch never parts one
            # session.
            if made and span.first - made[-1].last < self._piece + self._gap - 1:
                first, _, rows = made.pop()
                made.append(PieceRange(first, span.last, rows + span.rows))
            else:
                made.append(span)
        return made

    def _neighbours(self, spans: Iterable[LateSpan]) -> list[LateSpan]:
        """Late rows of pieces that follow each other, as one span each."""
        made: list[LateSpan] = []
        for span in sorted(spans):
            if made and span.first - made[-1].end < self._piece:
                first, _, rows = made.pop()
                made.append(LateSpan(first, span.end, rows + span.rows))
            else:
                made.append(span)
        return made

    def _end(self, span: PieceRange) -> int:
        return span.last + self._piece + self._gap

    def _bar(self, span: PieceRange) -> WindowBar:
        start, end = _instant(span.first), _instant(self._end(span))
        return WindowBar(start, end, span.rows, 0, WindowState.OPEN)

    def _forget(self) -> None:
        del self._seams[: max(len(self._seams) - TRACE_WINDOWS, 0)]
        surplus = max(len(self._closed) - TRACE_WINDOWS, 0)
        del self._closed[:surplus]
        self.forgotten += surplus
        if len(self._pieces) > 2 * TRACE_WINDOWS:
            kept = sorted(self._pieces)[-TRACE_WINDOWS:]
            self._pieces = {start: self._pieces[start] for start in kept}
        while len(self._late) > TRACE_WINDOWS:
            del self._late[min(self._late)]
            self.forgotten += 1


def _late_bar(span: LateSpan) -> WindowBar:
    start, end = _instant(span.first), _instant(span.end)
    return WindowBar(start, end, 0, span.rows, WindowState.CLOSED, late_only=True)


def _instant(micros: int) -> datetime:
    """As views have it: UTC, without a zone."""
    return _START + timedelta(microseconds=micros)


def _micros(instant: datetime) -> int:
    return (instant - _START) // MICROSECOND


def _start(bar: WindowBar) -> int:
    return _micros(bar.start)
