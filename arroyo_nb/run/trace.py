"""What happened, batch by batch: the one value that views and late-row ledgers read.

Per batch: which chunks arrived, which watermark closed windows, which watermark
decided what is late, and how many rows were put into each window. The counts come
from Spark's observed metrics at the input of the window aggregate, so they are exact
per row; Spark's own counter counts groups after pre-aggregation.

Spark filters late rows by the watermark of the batch *before* and closes windows by
the batch's own (spark.sql.streaming's StateStoreWriter), which is why both are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from arroyo_nb.plan import nodes
from arroyo_nb.run.snapshot import WindowBar, WindowState
from arroyo_nb.schema import EPOCH

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
        The one below which a window's rows were dropped: that of the batch before, in
        the first one the epoch, where Spark's watermarks begin.
    chunks
        Per source, the chunk numbers [first, after last) that it read.
    max_event_time
        Newest event time at the aggregate's input (or of the sources) so far.
    pane_rows
        Rows that arrived for each pane, by its start; late ones among them. A pane is
        the piece of event time that lies in the same windows as a whole.
    exact
        Whether each pane was counted by itself.
    """

    batch_id: int
    elapsed_s: float
    watermark: datetime | None
    late_watermark: datetime
    chunks: Mapping[str, tuple[int, int]]
    max_event_time: datetime | None
    pane_rows: Mapping[datetime, int] = field(default_factory=dict)
    exact: bool = True

    def is_late(self, end: datetime) -> bool:
        """Whether rows of a window that ends then were dropped in this batch."""
        return end <= self.late_watermark


class Trace:
    """The batches of one window aggregate; appended by one thread, read by any.

    Parameters
    ----------
    window
        What the aggregate puts its rows into.

    Attributes
    ----------
    late_rows
        Rows that missed at least one of their windows.
    cut_after
        The last batch that was recorded, once there were too many; else None.
    forgotten
        Closed windows that were let go.
    exact
        Whether every pane of every batch was counted by itself.
    """

    def __init__(self, window: nodes.Window) -> None:
        self.window = window
        self.late_rows = 0
        self.cut_after: int | None = None
        self.forgotten = 0
        self.exact = True
        self._batches: list[TracedBatch] = []
        self._bars: dict[datetime, WindowBar] = {}
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
        self.exact = self.exact and batch.exact
        for pane, rows in batch.pane_rows.items():
            self._count(batch, pane, rows)
        self._close(batch)

    def windows(self, closing_at: datetime | None = None) -> tuple[WindowBar, ...]:
        """All windows that rows came for, by start.

        Parameters
        ----------
        closing_at
            Where the watermark will stand in the next batch: open windows that end
            by then are shown as closing.
        """
        bars = sorted(self._bars.values(), key=lambda bar: bar.start)
        return tuple(_closing(bar, closing_at) for bar in bars)

    def late_batches(self) -> Iterator[TracedBatch]:
        """The recorded batches in which at least one row was late for a window."""
        for batch in self._batches:
            ends = (e for p in batch.pane_rows for _, e in windows_of(p, self.window))
            if any(batch.is_late(end) for end in ends):
                yield batch

    def _count(self, batch: TracedBatch, pane: datetime, rows: int) -> None:
        missed = 0
        for start, end in windows_of(pane, self.window):
            late = rows if batch.is_late(end) else 0
            missed = max(missed, late)
            bar = self._bars.get(start)
            if bar is None:
                bar = WindowBar(start, end, 0, 0, WindowState.OPEN)
                self._open.add(start)
            self._bars[start] = replace(
                bar, rows=bar.rows + rows - late, late_rows=bar.late_rows + late
            )
        # A row that several of its windows missed is one late row.
        self.late_rows += missed

    def _close(self, batch: TracedBatch) -> None:
        if batch.watermark is None:
            return
        for start in [s for s in self._open if self._bars[s].end <= batch.watermark]:
            self._open.remove(start)
            self._bars[start] = replace(
                self._bars[start],
                state=WindowState.CLOSED,
                closed_in=batch.batch_id,
            )
        self._forget()

    def _forget(self) -> None:
        # Closed windows are let go oldest first, so hours of running stay bounded.
        if len(self._bars) > TRACE_WINDOWS:
            closed = sorted(self._bars.keys() - self._open)
            oldest = closed[: len(self._bars) - TRACE_WINDOWS]
            for start in oldest:
                del self._bars[start]
            self.forgotten += len(oldest)


def _closing(bar: WindowBar, closing_at: datetime | None) -> WindowBar:
    if bar.state is WindowState.OPEN and closing_at and bar.end <= closing_at:
        return replace(bar, state=WindowState.CLOSING)
    return bar


def windows_of(
    pane: datetime, window: nodes.Window
) -> Iterator[tuple[datetime, datetime]]:
    """The windows [start, end) that the rows of a pane lie in, by start.

    For a session the pane itself stands for the sessions that it is part of.

    >>> from datetime import timedelta
    >>> hop = nodes.Hop(slide=timedelta(hours=1), width=timedelta(hours=2))
    >>> [s.hour for s, _ in windows_of(datetime(2013, 1, 1, 5), hop)]
    [4, 5]
    """
    match window:
        case nodes.Tumble(width) | nodes.Session(width):
            yield pane, pane + width
        case nodes.Hop(slide, width):
            newest = pane - (pane - EPOCH.replace(tzinfo=pane.tzinfo)) % slide
            for back in reversed(range(-(-width // slide))):
                start = newest - back * slide
                if start + width > pane:
                    yield start, start + width
        case _:
            assert_never(window)
