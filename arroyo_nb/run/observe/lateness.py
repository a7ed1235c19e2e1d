"""How late rows came, and which delay would have kept them, read from a trace alone.

Nothing is run again. A batch's late watermark says which newest event time it was made
of, and so where it would have been with any other delay; what a pane missed or not
follows from that. Given the same batches this is exact for windows of a fixed width
whose panes were each counted by themselves, and for sessions of batches of few rows;
else as near as the piece of the gap that their rows are counted by.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.snapshot import before_end
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

if TYPE_CHECKING:
    from arroyo_nb.run.observe.trace import TracedBatch

MOST_BINS = 40
"""Bars of a histogram at most."""

MOST_LENGTHS = 5_000
"""Lengths that are told apart, so that hours of running stay bounded."""

MOST_STEPS = 120
"""Delays that are told apart where a reader chooses one."""

MILLISECOND = timedelta(milliseconds=1)
"""Spark's watermarks are counted in these."""

NONE = timedelta(0)

_LENGTHS = (
    *(timedelta(milliseconds=n * 10**k) for k in range(3) for n in (1, 2, 5)),
    *(timedelta(seconds=n) for n in (1, 2, 5, 10, 15, 30)),
    *(timedelta(minutes=n) for n in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=n) for n in (1, 2, 3, 6, 12)),
    *(timedelta(days=n * 10**k) for k in range(5) for n in (1, 2, 5)),
)
"""Lengths of a bar that are easy to read, ascending."""


@dataclass(frozen=True)
class LatenessBin:
    """Rows that were at least ``low`` late, and less than ``high``."""

    low: timedelta
    high: timedelta
    rows: int


@dataclass(frozen=True)
class Lateness:
    """How late the rows of a trace were, and what other delays would have kept.

    The lateness of a row is the newest event time of the batches before its own, less
    the end of its pane: it was at least so late, and less than a pane later. A row
    that is not older than that is not late at all: zero.

    Parameters
    ----------
    rows
        All that came to the windows, late ones too.
    late_rows
        Those that missed a window with the delay that there was.
    bins
        Rows by lateness: bars of one length that begin at zero; none without rows.
    p50, p99, longest
        Half of the rows, 99 of 100, and all were at most so late.
    keep_99, keep_999, keep_all
        The least delay with which, in the same batches, 99 of 100 rows, 999 of 1,000,
        or all of them miss no window.
    delay
        The one that there was.
    pane
        The length of a pane (:func:`arroyo_nb.spark.observe.pane`): of a tumble its
        width.
    needed
        How many rows need which least delay to miss no window, ascending, none for
        zero; :data:`MOST_STEPS` at most, neighbours together by the longest.
    """

    rows: int
    late_rows: int
    bins: tuple[LatenessBin, ...]
    p50: timedelta
    p99: timedelta
    longest: timedelta
    keep_99: timedelta
    keep_999: timedelta
    keep_all: timedelta
    delay: timedelta
    pane: timedelta
    needed: tuple[tuple[timedelta, int], ...] = ()

    def late_with(self, delay: timedelta) -> int:
        """How many rows miss a window with another delay, in the same batches."""
        return sum(rows for least, rows in self.needed if least > delay)

    @property
    def kept_share(self) -> float:
        """Which part of the rows missed no window, from 0 to 1."""
        return 1 - self.late_rows / self.rows if self.rows else 1.0


def lateness(
    batches: Sequence[TracedBatch], window: nodes.Window, delay: timedelta
) -> Lateness:
    """How late the rows of some batches were.

    Parameters
    ----------
    batches
        From the first one of the run, in their order.
    window
        What their rows were put into.
    delay
        What the watermark of these batches subtracted.

    Examples
    --------
    >>> from arroyo_nb.run.observe.trace import TracedBatch
    >>> first, second, third = (EPOCH + timedelta(minutes=n) for n in (61, 130, 30))
    >>> def batch(number, row, newest, mark):
    ...     hour = row.replace(minute=0)
    ...     return TracedBatch(number, 0, None, mark, {}, newest, {hour: 1})
    >>> minute = timedelta(minutes=1)
    >>> batches = [
    ...     batch(0, first, first, EPOCH),
    ...     batch(1, second, second, EPOCH),
    ...     batch(2, third, second, EPOCH + 60 * minute),
    ... ]
    >>> found = lateness(batches, nodes.Tumble(60 * minute), delay=minute)
    >>> found.rows, found.late_rows, str(found.longest), str(found.keep_all)
    (3, 1, '1:10:00', '0:01:00.001000')
    """
    counts = LatenessCounts(window, delay)
    for batch in batches:
        counts.add(batch)
    return counts.lateness


class LatenessCounts:
    """How late the rows of a trace were so far: a batch costs what its panes do.

    Parameters
    ----------
    window
        What the rows are put into.
    delay
        What the watermark subtracts.
    """

    def __init__(self, window: nodes.Window, delay: timedelta) -> None:
        self._first_end, self._width = _first_end(window), pane(window)
        self._by_row = isinstance(window, nodes.SessionWindow)
        self._delay = delay
        self._late, self._needed = _Lengths(), _Lengths()
        self._missed = 0
        # Newest event times: after the batch before, and after the one before that.
        self._newest: datetime | None = None
        self._before: datetime | None = None

    def add(self, batch: TracedBatch) -> None:
        """Count the rows of the next batch."""
        basis = self._basis(batch)
        # A pane of a fixed window misses it as a whole; of sessions each row decides.
        known = batch.times_by_pane(self._width) if self._by_row else {}
        for start, rows in batch.pane_rows.items():
            self._late.add(_above(self._newest, start + self._width), rows)
            times = Counter(known.get(start, ())) or {start: rows}
            for time, number in times.items():
                end = self._first_end(time)
                self._missed += number if end <= batch.late_watermark else 0
                self._needed.add(_least_delay(basis, end), number)
        self._before = self._newest
        self._newest = batch.max_event_time or self._newest

    @property
    def lateness(self) -> Lateness:
        """What the counts say."""
        late, needed = self._late.rows, self._needed.rows
        p50, p99, longest = _reaching(late, 500, 990, 1000)
        keep_99, keep_999, keep_all = _reaching(needed, 990, 999, 1000)
        return Lateness(
            rows=late.total(),
            late_rows=self._missed,
            bins=_bins(late),
            p50=p50,
            p99=p99,
            longest=longest,
            keep_99=keep_99,
            keep_999=keep_999,
            keep_all=keep_all,
            delay=self._delay,
            pane=self._width,
            needed=_steps(needed),
        )

    def _basis(self, batch: TracedBatch) -> datetime | None:
        """The newest event time that the late watermark of a batch was made of; None
        where there was none yet."""
        mark = before_end(batch.late_watermark)
        if mark is not None and mark > EPOCH:
            return mark + self._delay
        # A delay that is longer than the time since the epoch leaves the watermark
        # there, and the end of the stream has no event time. Spark's late watermark is
        # that of the batch before, which is made of those before that one.
        return self._before


class _Lengths:
    """Rows by a length of time. Of more than :data:`MOST_LENGTHS` lengths those near
    each other are counted together, by the longest of them."""

    def __init__(self) -> None:
        self.rows: Counter[timedelta] = Counter()
        self._unit = MICROSECOND

    def add(self, length: timedelta, rows: int) -> None:
        self.rows[-(-length // self._unit) * self._unit] += rows
        while len(self.rows) > MOST_LENGTHS:
            self._unit *= 10
            before, self.rows = self.rows, Counter()
            for known, found in before.items():
                self.rows[-(-known // self._unit) * self._unit] += found


def _first_end(window: nodes.Window) -> Callable[[datetime], datetime]:
    """Where the first window of a pane's rows ends, by the start of the pane: a row is
    late from the watermark on that reaches it."""
    match window:
        case nodes.SessionWindow(gap):
            # Spark's session of a row ends a microsecond before its gap does.
            return lambda start: start + gap - MICROSECOND
        case nodes.Tumble(width):
            return lambda start: _after(start - width, width) + width
        case nodes.Hop(slide, width):
            return lambda start: _after(start - width, slide) + width


def _after(instant: datetime, slide: timedelta) -> datetime:
    """The first multiple of a slide since the epoch after an instant."""
    return EPOCH + ((instant - EPOCH) // slide + 1) * slide


def _above(newest: datetime | None, instant: datetime) -> timedelta:
    return NONE if newest is None else max(newest - instant, NONE)


def _least_delay(basis: datetime | None, end: datetime) -> timedelta:
    """The least delay that keeps a watermark below the end of a window."""
    if basis is None or basis < end:
        return NONE
    return ((basis - end) // MILLISECOND + 1) * MILLISECOND


def _reaching(rows: Counter[timedelta], *per_mille: int) -> list[timedelta]:
    """The least values that so many of 1,000 rows do not exceed."""
    if not rows:
        return [NONE] * len(per_mille)
    values = sorted(rows)
    sums = list(accumulate(rows[value] for value in values))
    # Rounded up: the first sum that is no less than the share.
    shares = (-(-sums[-1] * each // 1000) for each in per_mille)
    return [values[bisect_left(sums, share)] for share in shares]


def _steps(rows: Counter[timedelta]) -> tuple[tuple[timedelta, int], ...]:
    """The delays that rows need, each with its rows.

    >>> _steps(Counter({NONE: 9, timedelta(seconds=2): 1}))
    ((datetime.timedelta(seconds=2), 1),)
    """
    values = sorted(value for value in rows if value > NONE)
    each = max(1, -(-len(values) // MOST_STEPS))
    # From the longest down, so that the last step is the delay that keeps all.
    groups = (values[max(end - each, 0) : end] for end in range(len(values), 0, -each))
    made = ((group[-1], sum(rows[v] for v in group)) for group in groups)
    return tuple(reversed(list(made)))


def _bins(rows: Counter[timedelta]) -> tuple[LatenessBin, ...]:
    if not rows:
        return ()
    longest = max(rows)
    fitting = (each for each in _LENGTHS if longest < MOST_BINS * each)
    length = next(fitting, longest // MOST_BINS + MICROSECOND)
    counts: Counter[int] = Counter()
    for value, found in rows.items():
        counts[value // length] += found
    return tuple(
        LatenessBin(n * length, (n + 1) * length, counts[n])
        for n in range(longest // length + 1)
    )
