"""What happened, batch by batch: the one value that views and late-row ledgers read.

Per batch: what was read, which watermark closed windows, which watermark
decided what is late, and how many rows were put into each window. The counts are made
at the input of the window aggregate (:mod:`arroyo_nb.spark.observe`), so they are exact
per row; Spark's own counter counts groups after pre-aggregation.

Spark filters late rows by the watermark of the batch *before* and closes windows by
the batch's own (spark.sql.streaming's StateStoreWriter), which is why both are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.history import History
from arroyo_nb.run.observe.late_ledger import MOST_LATE, late_rows
from arroyo_nb.run.observe.late_row_counts import tally
from arroyo_nb.run.observe.lateness import Lateness, LatenessCounts
from arroyo_nb.run.observe.sampled_rows import ValuesBudget
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    LateRows,
    SourceArrivals,
    WindowBar,
    naive,
)
from arroyo_nb.run.sources.reader import OffsetRanges
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

START = EPOCH.replace(tzinfo=None)

TRACE_BATCHES = 10_000
"""Batches recorded; a longer run goes on, its trace says where it stopped."""


def pictured(
    batch_id: int,
    elapsed_s: float,
    rows: int,
    *,
    sample_us: Sequence[int],
    sample_values: Sequence[str],
    late_watermark: datetime,
    sources: tuple[SourceArrivals, ...] = (),
) -> BatchArrivals:
    """What a picture shows of the rows of a batch; each value as it is recorded."""
    return BatchArrivals(
        batch_id,
        elapsed_s,
        rows,
        tuple(START + time * MICROSECOND for time in sample_us),
        naive(late_watermark) if late_watermark > EPOCH else None,
        sources,
        tuple(sample_values),
    )


@dataclass(frozen=True)
class TracedBatch:
    """One micro-batch of one output.

    Parameters
    ----------
    batch_id
        Spark's.
    elapsed_s
        Since the run started, when its progress was seen.
    watermark
        The one that closed windows in this batch.
    late_watermark
        The one below which a window's rows were dropped: that of the batch before, in
        the first one the epoch, where Spark's watermarks begin.
    stretches
        What it read of each source: of a tape the chunk numbers [first, after last).
    max_event_time
        Newest event time at the aggregate's input (or of the sources) so far.
    pane_rows
        Rows that arrived for each pane, by its start; late ones among them. A pane is
        the piece of event time that lies in the same windows as a whole.
    exact
        Whether each pane was counted by itself.
    closed_sessions
        Sessions that it closed.
    sessions
        From where to where each of them goes, of a window without a key; None: that is
        not known.
    sample_us
        Event times of some of the rows, in microseconds since the epoch: evenly drawn,
        64 at most, so of few rows all.
    sample_values
        The key and the first values of each of them, a line of JSON; nothing where they
        are not known.
    """

    batch_id: int
    elapsed_s: float
    watermark: datetime | None
    late_watermark: datetime
    stretches: OffsetRanges
    max_event_time: datetime | None
    pane_rows: Mapping[datetime, int] = field(default_factory=dict)
    exact: bool = True
    closed_sessions: int = 0
    sessions: Sequence[tuple[datetime, datetime]] | None = None
    sample_us: Sequence[int] = ()
    sample_values: Sequence[str] = ()

    def times_by_pane(self, length: timedelta) -> Mapping[datetime, list[datetime]]:
        """The event times of all rows, sorted, by the start of their pane; nothing
        where only some of them are known.

        Parameters
        ----------
        length
            Of a pane.
        """
        if len(self.sample_us) != sum(self.pane_rows.values()):
            return {}
        panes: dict[datetime, list[datetime]] = {}
        for time_us in sorted(self.sample_us):
            time = EPOCH + time_us * MICROSECOND
            panes.setdefault(time - (time - EPOCH) % length, []).append(time)
        # Neighbouring panes that were counted together are told by their first one.
        counted = {start: len(times) for start, times in panes.items()}
        return panes if counted == dict(self.pane_rows) else {}

    @property
    def arrivals(self) -> BatchArrivals:
        """What a picture shows of its rows."""
        return pictured(
            self.batch_id,
            self.elapsed_s,
            sum(self.pane_rows.values()),
            sample_us=self.sample_us,
            sample_values=self.sample_values,
            late_watermark=self.late_watermark,
        )


class Trace:
    """The batches of one window aggregate; appended by one thread, read by any.

    Parameters
    ----------
    window
        What the aggregate puts its rows into.
    delay
        What the watermark of its rows subtracts; None: that is not one length.

    Attributes
    ----------
    rows
        All that came, late ones too.
    late_rows
        Rows that missed at least one of their windows.
    late_exact
        Whether that is exact; else there are at most so many. It is for windows of a
        fixed width whose panes were each counted by themselves; the rows of sessions
        are counted by pieces of the gap, but for batches of few rows.
    cut_after
        The last batch that was recorded, once there were too many; else None.
    exact
        Whether every pane of every batch was counted by itself.
    closed_sessions
        Sessions of all keys that were closed.
    """

    def __init__(self, window: nodes.Window, delay: timedelta | None = None) -> None:
        self.window, self.delay = window, delay
        self.rows = 0
        self.late_rows = 0
        self.late_exact = True
        self.cut_after: int | None = None
        self.exact = True
        self.closed_sessions = 0
        self._batches: list[TracedBatch] = []
        self._late_batches: list[TracedBatch] = []
        self._late: deque[LateRows] = deque(maxlen=MOST_LATE)
        self._lateness = None if delay is None else LatenessCounts(window, delay)
        self._tally = tally(window)
        self._arrivals: History[BatchArrivals] = History()
        self._values = ValuesBudget()
        self._lock = Lock()

    @property
    def batches(self) -> tuple[TracedBatch, ...]:
        """What was recorded so far."""
        return tuple(self._batches)

    @property
    def record(self) -> Sequence[TracedBatch]:
        """What is recorded, and will be: it grows."""
        return self._batches

    @property
    def late_batches(self) -> tuple[TracedBatch, ...]:
        """The recorded batches in which at least one row may have been late."""
        return tuple(self._late_batches)

    @property
    def forgotten(self) -> int:
        """Closed windows that were let go."""
        return self._tally.forgotten

    def add(self, batch: TracedBatch) -> None:
        """Record a batch; past the bound only the counts go on."""
        with self._lock:
            late = self._count(batch)
            if self._lateness is not None:
                self._lateness.add(batch)
        self.rows += sum(batch.pane_rows.values())
        self.late_rows += late
        self.closed_sessions += batch.closed_sessions
        self.exact = self.exact and batch.exact
        if batch.pane_rows:
            self._arrivals.add(batch.arrivals)
        # The counts above go on: only what late rows are found again by is bounded.
        if len(self._batches) < TRACE_BATCHES:
            kept = self._values.kept(batch.sample_values)
            batch = replace(batch, sample_values=kept)
            self._batches.append(batch)
            if late:
                self._late_batches.append(batch)
                with self._lock:
                    self._late += late_rows(self.window, batch, self._batches)
        elif self.cut_after is None:
            self.cut_after = self._batches[-1].batch_id

    def windows(self) -> tuple[WindowBar, ...]:
        """All windows that rows came for, by start; naive UTC.

        Of sessions with a key the stretches of time that have any, all keys together.
        """
        with self._lock:
            return tuple(self._tally.bars())

    @property
    def late(self) -> tuple[LateRows, ...]:
        """The newest late rows by batch and window, oldest first."""
        with self._lock:
            return tuple(self._late)

    @property
    def lateness(self) -> Lateness | None:
        """How late all rows came; None: the delay is not known."""
        with self._lock:
            return None if self._lateness is None else self._lateness.lateness

    def density(self) -> tuple[WindowBar, ...]:
        """Of sessions, the rows by event time, all keys together; else nothing."""
        with self._lock:
            return tuple(self._tally.density())

    @property
    def arrivals(self) -> tuple[BatchArrivals, ...]:
        """Samples of the rows by batch, evenly thinned, the newest one among them."""
        return self._arrivals.points

    def _count(self, batch: TracedBatch) -> int:
        """Count the rows of a batch by their windows, and close the windows that it
        closed; returns how many of its rows were late."""
        counts, late = self._tally, 0
        late_watermark = _micros(batch.late_watermark)
        known: Mapping[datetime, list[datetime]] = {}
        if isinstance(self.window, nodes.SessionWindow):
            known = batch.times_by_pane(pane(self.window))
        for start, rows in batch.pane_rows.items():
            times = [_micros(time) for time in known.get(start, ())]
            # A row that several of its windows missed is one late row.
            missed, exact = counts.count(_micros(start), rows, late_watermark, times)
            late += missed
            if missed and not (exact and batch.exact):
                self.late_exact = False
        if batch.watermark is not None:
            spans = None
            if batch.sessions is not None:
                spans = [(_micros(a), _micros(b)) for a, b in batch.sessions]
            counts.close(_micros(batch.watermark), batch.batch_id, spans)
        return late


def _micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND
