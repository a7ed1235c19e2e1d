"""What happened, batch by batch: the one value that views and late-row ledgers read.

Per batch: which chunks arrived, which watermark closed windows, which watermark
decided what is late, and how many rows were put into each window. The counts come
from Spark's observed metrics at the input of the window aggregate, so they are exact
per row; Spark's own counter counts groups after pre-aggregation.

Spark filters late rows by the watermark of the batch *before* and closes windows by
the batch's own (spark.sql.streaming's StateStoreWriter), which is why both are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from arroyo_nb.run.snapshot import WindowBar, WindowState

TRACE_BATCHES = 10_000
"""Batches recorded; a longer run goes on, its trace says where it stopped."""


TRACE_WINDOWS = 20_000
"""Windows kept for the views."""


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
        The one below which a window's rows were dropped.
    chunks
        Per source, the chunk numbers [first, after last) that it read.
    max_event_time
        Newest event time at the aggregate's input (or of the sources) so far.
    window_rows
        Rows that arrived for each window start; late ones among them.
    """

    batch_id: int
    elapsed_s: float
    watermark: datetime | None
    late_watermark: datetime | None
    chunks: Mapping[str, tuple[int, int]]
    max_event_time: datetime | None
    window_rows: Mapping[datetime, int] = field(default_factory=dict)

    def is_late(self, end: datetime) -> bool:
        """Whether rows of a window that ends then were dropped in this batch."""
        return self.late_watermark is not None and end <= self.late_watermark


class Trace:
    """The batches of one output, in order; appended by one thread, read by any."""

    def __init__(self, width: timedelta | None) -> None:
        self.width = width
        self.cut_after: int | None = None
        self.late_rows = 0
        self._batches: list[TracedBatch] = []
        self._windows: dict[datetime, WindowBar] = {}
        self._open: set[datetime] = set()

    @property
    def batches(self) -> tuple[TracedBatch, ...]:
        """What was recorded so far."""
        return tuple(self._batches)

    def add(self, batch: TracedBatch) -> None:
        """Record a batch; past the bound only the counts go on."""
        if len(self._batches) < TRACE_BATCHES:
            self._batches.append(batch)
        elif self.cut_after is None:
            self.cut_after = self._batches[-1].batch_id
        for start, rows in batch.window_rows.items():
            self._count(batch, start, rows)
        self._close(batch)

    def windows(self, closing_at: datetime | None = None) -> tuple[WindowBar, ...]:
        """All windows that rows came for, by start.

        Parameters
        ----------
        closing_at
            Where the watermark will stand in the next batch: open windows that end
            by then are shown as closing.
        """
        bars = sorted(self._windows.values(), key=lambda bar: bar.start)
        return tuple(_closing(bar, closing_at) for bar in bars)

    def late_batches(self) -> Iterable[TracedBatch]:
        """The recorded batches in which at least one row was late."""
        for batch in self._batches:
            if any(batch.is_late(self._end(start)) for start in batch.window_rows):
                yield batch

    def _end(self, start: datetime) -> datetime:
        return start + (self.width or timedelta())

    def _count(self, batch: TracedBatch, start: datetime, rows: int) -> None:
        end = self._end(start)
        late = rows if batch.is_late(end) else 0
        self.late_rows += late
        bar = self._windows.get(start)
        if bar is None:
            bar = WindowBar(start, end, 0, 0, WindowState.OPEN)
            self._open.add(start)
        self._windows[start] = replace(
            bar, rows=bar.rows + rows - late, late_rows=bar.late_rows + late
        )

    def _close(self, batch: TracedBatch) -> None:
        if batch.watermark is None:
            return
        for start in [s for s in self._open if self._end(s) <= batch.watermark]:
            self._open.remove(start)
            self._windows[start] = replace(
                self._windows[start],
                state=WindowState.CLOSED,
                closed_in=batch.batch_id,
            )
        self._forget()

    def _forget(self) -> None:
        # Closed windows are let go oldest first, so hours of running stay bounded.
        if len(self._windows) > TRACE_WINDOWS:
            closed = sorted(self._windows.keys() - self._open)
            for start in closed[: len(self._windows) - TRACE_WINDOWS]:
                del self._windows[start]


def _closing(bar: WindowBar, closing_at: datetime | None) -> WindowBar:
    if bar.state is WindowState.OPEN and closing_at and bar.end <= closing_at:
        return replace(bar, state=WindowState.CLOSING)
    return bar
