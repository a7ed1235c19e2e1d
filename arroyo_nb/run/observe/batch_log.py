"""What had been counted of a query after each of its micro-batches.

It is what a run's state at an earlier batch is made of, beside the counts of its
windows (:mod:`arroyo_nb.run.observe.trace`) and the rows that it keeps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

from arroyo_nb.run.observe.idle_sources import SourceAtBatch
from arroyo_nb.run.observe.trace import TRACE_BATCHES
from arroyo_nb.run.sources.reader import SourcePosition


@dataclass(frozen=True)
class BatchTotals:
    """What a query had read, counted and written after one micro-batch.

    Parameters
    ----------
    batch_id
        The batch.
    elapsed_s
        Since the run started, when its progress was seen.
    batch_ms
        How long it took.
    watermark, max_event_time
        Naive UTC; None before the first.
    positions
        How far each source had been read, by its key.
    rows_in
        Rows read, the end-of-stream rows among them.
    rows_out
        Rows written, of an updating query changes.
    late_rows, closed_sessions
        So far.
    open_sessions
        After this batch; None: there are none of that kind.
    state_rows
        Rows that its operators kept.
    dropped_rows
        Bad records that were left out so far, by table.
    sources
        What was known of each source then, by its name.
    """

    batch_id: int
    elapsed_s: float
    batch_ms: float
    watermark: datetime | None
    max_event_time: datetime | None
    positions: Mapping[str, SourcePosition] = field(default_factory=dict)
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    closed_sessions: int = 0
    open_sessions: int | None = None
    state_rows: int = 0
    dropped_rows: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, SourceAtBatch] = field(default_factory=dict)


class BatchLog:
    """The totals after the first :data:`TRACE_BATCHES` micro-batches, in their order;
    appended by one thread, read by any.

    Attributes
    ----------
    cut_after
        The last batch that was recorded, once there were too many; else None.
    """

    def __init__(self, totals: Sequence[BatchTotals] = ()) -> None:
        self.cut_after: int | None = None
        self._totals = list(totals)

    def add(self, totals: BatchTotals) -> None:
        """Take the next batch's; past the bound nothing is recorded."""
        if len(self._totals) < TRACE_BATCHES:
            self._totals.append(totals)
        else:
            self.cut_after = self._totals[-1].batch_id

    def __len__(self) -> int:
        return len(self._totals)

    def __getitem__(self, index: int) -> BatchTotals:
        return self._totals[index]

    def since(self, index: int) -> Sequence[BatchTotals]:
        """Those from the so many-th on."""
        return self._totals[index:]

    def of_batch(self, batch_id: int) -> BatchTotals | None:
        """The totals after a batch; None: it is not recorded."""
        at = bisect_left(self._totals, batch_id, key=attrgetter("batch_id"))
        found = self._totals[at : at + 1]
        return found[0] if found and found[0].batch_id == batch_id else None

    def before_or_at(self, batch_id: int) -> BatchTotals | None:
        """The totals after a batch, or after the newest one before it."""
        at = bisect_right(self._totals, batch_id, key=attrgetter("batch_id"))
        return self._totals[at - 1] if at else None

    def first_with(self, watermark: datetime) -> BatchTotals | None:
        """The first batch whose watermark had reached a time; None: none has."""
        marks = (t for t in self._totals if t.watermark and t.watermark >= watermark)
        return next(marks, None)
