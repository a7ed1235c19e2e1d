"""What happened, batch by batch: the one value that views and late-row ledgers read.

Per batch: what was read, which watermark closed windows, which watermark
decided what is late, and how many rows were put into each window. The counts are made
at the input of the window aggregate (:mod:`arroyo_nb.spark.observe`), so they are exact
per row; Spark's own counter counts groups after pre-aggregation.

Spark filters late rows by the watermark of the batch *before* and closes windows by
the batch's own (spark.sql.streaming's StateStoreWriter), which is why both are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.late_row_counts import tally
from arroyo_nb.run.observe.snapshot import WindowBar
from arroyo_nb.run.sources.reader import OffsetRanges
from arroyo_nb.schema import EPOCH, MICROSECOND

TRACE_BATCHES = 10_000
"""Batches recorded; a longer run goes on, its trace says where it stopped."""


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


class Trace:
    """The batches of one window aggregate; appended by one thread, read by any.

    Parameters
    ----------
    window
        What the aggregate puts its rows into.

    Attributes
    ----------
    rows
        All that came, late ones too.
    late_rows
        Rows that missed at least one of their windows.
    late_exact
        Whether that is exact; else there are at most so many. It is for windows of a
        fixed width whose panes were each counted by themselves; a session ends when
        its own rows say, and those are counted by pieces of the gap.
    cut_after
        The last batch that was recorded, once there were too many; else None.
    exact
        Whether every pane of every batch was counted by itself.
    closed_sessions
        Sessions of all keys that were closed.
    """

    def __init__(self, window: nodes.Window) -> None:
        self.window = window
        self.rows = 0
        self.late_rows = 0
        self.late_exact = True
        self.cut_after: int | None = None
        self.exact = True
        self.closed_sessions = 0
        self._batches: list[TracedBatch] = []
        self._late_batches: list[TracedBatch] = []
        self._tally = tally(window)
        self._lock = Lock()

    @property
    def batches(self) -> tuple[TracedBatch, ...]:
        """What was recorded so far."""
        return tuple(self._batches)

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
        self.rows += sum(batch.pane_rows.values())
        self.late_rows += late
        self.closed_sessions += batch.closed_sessions
        self.exact = self.exact and batch.exact
        # The counts above go on: only what late rows are found again by is bounded.
        if len(self._batches) < TRACE_BATCHES:
            self._batches.append(batch)
            if late:
                self._late_batches.append(batch)
        elif self.cut_after is None:
            self.cut_after = self._batches[-1].batch_id

    def windows(self) -> tuple[WindowBar, ...]:
        """All windows that rows came for, by start; naive UTC.

        Of sessions with a key the stretches of time that have any, all keys together.
        """
        with self._lock:
            return tuple(self._tally.bars())

    def density(self) -> tuple[WindowBar, ...]:
        """Of sessions, the rows by event time, all keys together; else nothing."""
        with self._lock:
            return tuple(self._tally.density())

    def _count(self, batch: TracedBatch) -> int:
        late, late_watermark = 0, _micros(batch.late_watermark)
        for pane, rows in batch.pane_rows.items():
            # A row that several of its windows missed is one late row.
            missed, exact = self._tally.count(_micros(pane), rows, late_watermark)
            late += missed
            exact = not missed or (exact and batch.exact)
            self.late_exact = self.late_exact and exact
        if batch.watermark is not None:
            spans = None
            if batch.sessions is not None:
                spans = [(_micros(a), _micros(b)) for a, b in batch.sessions]
            self._tally.close(_micros(batch.watermark), batch.batch_id, spans)
        return late


def _micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND
