"""What a streaming query did so far, batch by batch, as its progress tells it.

Spark tells of a batch some time after its rows are written. What the writer knows of it
until then (rows, waiting time, the kept rows) is noted here by the batch's number, and
taken over together with the progress: who holds the lock sees one batch.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
from arroyo_nb.run.observe.history import History
from arroyo_nb.run.observe.idle_sources import (
    IdlePeriods,
    IdleSources,
    SourceAtBatch,
)
from arroyo_nb.run.observe.late_shares import LateShares
from arroyo_nb.run.observe.progress import (
    LoggedBatch,
    TriggerProgress,
    logged_watermark,
)
from arroyo_nb.run.observe.row_trace import RowTrace
from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    MarkPoint,
    SourceProgress,
    before_end,
    naive,
)
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.run.observe.vitals import Took
from arroyo_nb.run.results.preview_state import PreviewState
from arroyo_nb.run.sources.reader import OffsetRanges, SourceOffsets, SourcePosition
from arroyo_nb.schema import EPOCH
from arroyo_nb.spark.bad_rows import DROPPED, read_bad_rows
from arroyo_nb.spark.observe import (
    WRITTEN,
    numbered_assigners,
    read_fits,
    read_observed,
)
from arroyo_nb.spark.source_times import read_source_times
from arroyo_nb.spark.table_rows import observed_tables
from arroyo_nb.tape import KEPT_BAD_ROWS, BadRow
from arroyo_nb.tape.fit import Fit

if TYPE_CHECKING:
    from arroyo_nb.run.results.preview import Preview


KnownSources: TypeAlias = (
    "Callable[[Mapping[str, SourcePosition]], Sequence[SourceProgress]]"
)
"""Tells where a query stands in each source by how far it has read it."""


class QueryObservation:
    """The counts, windows and history of one query.

    Attributes
    ----------
    progress
        Its newest batch.
    resumed_after
        The newest batch of an earlier run, which it goes on after.
    written_rows
        Rows that its batches have written, of an updating query changes.
    took
        How long its batches took.
    ended_s
        When its newest batch ended, on the monotonic clock; of a query without one yet,
        when that was started.
    is_traced
        Whether the rows of its windows are counted.
    late_shares
        How many rows of each of its windows were late, also where it is not traced.
    row_trace
        The rows that it has read, where it is traced and has no window.
    ends_read
        How many end-of-stream rows are among those that it has read.
    lived_s
        For how many seconds the runs that it was of have gone on, once one has ended.
    places
        How far it has read each source, in earlier runs too; None before its first
        trigger.
    lock
        Held while a batch's progress is taken over: who holds it sees one batch.
    totals
        What had been counted after each of its batches.
    known_sources
        Where it stands in each source; set by who knows the sources.
    newest_times
        The newest event time of each source whose times the query itself observes, by
        its name.
    sources_now
        What was known of each source after the newest batch, by its name.
    idle_periods
        When its sources were idle.
    shown
        The kept rows as they were after the newest batch whose progress is known; None
        where none are kept.

    Parameters
    ----------
    sink
        What the query writes.
    traced
        Whether the rows of windows are counted (see :mod:`arroyo_nb.spark.observe`).
    preview
        Keeps its rows; None: nothing does.
    """

    def __init__(self, sink: nodes.Sink, *, traced: bool, preview: Preview | None):
        self.lock = RLock()
        self.is_traced = traced
        assigners = window_assigners(sink)
        self.aggregates = assigners if traced else ()
        self._assigners = assigners
        self.late_shares = tuple(map(LateShares, assigners))
        self.traces = tuple(
            Trace(node.assign, _delay(node))
            for node in self.aggregates
            if node.assign is not None
        )
        tables = observed_tables(sink) if traced else ()
        self.row_trace = RowTrace([table.name for table in tables])
        self.progress: TriggerProgress | None = None
        self.resumed_after: LoggedBatch | None = None
        self.places: SourceOffsets | None = None
        self.max_event_time: datetime | None = None
        self.history: History[MarkPoint] = History()
        self.known_sources: KnownSources = lambda _: ()
        self.newest_times: dict[str, datetime] = {}
        self.sources_now: Mapping[str, SourceAtBatch] = {}
        self.idle_periods = IdlePeriods()
        self._idle_sources = IdleSources()
        self.totals = BatchLog()
        self.shown = preview.state() if preview is not None else None
        self.source_rows: Counter[str] = Counter()
        self.written_rows = 0
        self.took = Took()
        self.ends_read = 0
        self.lived_s = 0.0
        # When the first rows were seen to have come, on the monotonic clock.
        self._first_rows_s: float | None = None
        self.dropped_rows: Counter[str] = Counter()
        self.bad: dict[str, tuple[BadRow, ...]] = {}
        self.fits: dict[str, Fit] = {}
        self.ended_s = time.monotonic()
        self._preview = preview
        self._started_s = self.ended_s
        self._elapsed_s = 0.0
        self._checkpoint: Path | None = None
        # By batch, until Spark tells of it: how long it was held, what it wrote.
        self._held_s: dict[int, float] = {}
        self._counted: dict[int, int] = {}
        # The kept rows after each batch that was written.
        self._written: deque[tuple[int, PreviewState]] = deque()

    def start(self, checkpoint: Path) -> None:
        """Note that the query is about to be started on a checkpoint. One that is
        resumed goes on with its rows, its trace and its own clock."""
        self._started_s = time.monotonic() - self._elapsed_s
        self._checkpoint = checkpoint
        self.resumed_after = LoggedBatch.newest(checkpoint)
        self.ended_s = time.monotonic()

    def show_kept(self) -> None:
        """Show the rows of before at once, where no batch of this run has come."""
        if self.progress is None and self._preview is not None:
            self.shown = self._preview.state()

    def hold(self, batch_id: int, held_s: float) -> None:
        """Note how long a batch was held before it was written."""
        self._held_s[batch_id] = held_s

    def write(self, batch_id: int, rows: int | None) -> None:
        """Note that a batch was written, and with how many rows, where that is known;
        on the thread that wrote it."""
        if rows is not None:
            self._counted[batch_id] = rows
        if self._preview is not None:
            self._written.append((batch_id, self._preview.state()))

    @property
    def next_batch(self) -> int:
        """The number of the first batch that is not taken over."""
        return self.progress.batch_id + 1 if self.progress else 0

    @property
    def late_rows(self) -> int:
        """Rows that came after a window of theirs had closed, each counted once for
        each aggregate, however many windows it missed; of sessions at most so many."""
        return sum(self._late_counts)

    @property
    def late_inputs(self) -> Sequence[tuple[nodes.Node, int]]:
        """What comes into each window aggregate, and how many of its rows were late."""
        inputs = [aggregate.input for aggregate in self._assigners]
        return list(zip(inputs, self._late_counts, strict=True))

    @property
    def _late_counts(self) -> list[int]:
        """How many rows each of its windows missed."""
        if self.is_traced:
            return [trace.late_rows for trace in self.traces]
        return [shares.late_rows for shares in self.late_shares]

    @property
    def arrivals(self) -> tuple[BatchArrivals, ...]:
        """Samples of the rows that came, by batch."""
        return self.traces[0].arrivals if self.traces else self.row_trace.arrivals

    @property
    def rows_out(self) -> int:
        """Rows that it has given, as far as they are shown; of an updating query
        changes."""
        return self.shown.total_rows if self.shown else self.written_rows

    def silent_s(self, now_s: float) -> float:
        """For how many seconds rows have come in and none has come out; 0: it is not
        so. ``now_s`` is on the monotonic clock."""
        if self._first_rows_s is None or self.rows_out:
            return 0.0
        return now_s - self._first_rows_s

    @property
    def input_rows(self) -> int:
        """Rows that it has read, the end-of-stream row among them."""
        return self.source_rows.total()

    @property
    def positions(self) -> Mapping[str, SourcePosition] | None:
        """How far it has come in each source; None before its first trigger."""
        return self._positions(self.places)

    @property
    def positions_of_batch(self) -> Mapping[str, SourcePosition] | None:
        """How far it had come with its newest batch, which may be of an earlier run;
        None before that."""
        newest = self.newest_batch
        return self._positions(newest.places if newest else None)

    @property
    def newest_batch(self) -> TriggerProgress | LoggedBatch | None:
        """Its newest batch, of this run or else of an earlier one."""
        return self.progress or self.resumed_after

    def _positions(
        self, places: SourceOffsets | None
    ) -> Mapping[str, SourcePosition] | None:
        if places is None:
            return None
        rows = self.source_rows
        return {key: SourcePosition(place, rows[key]) for key, place in places.items()}

    def count_committed(self) -> None:
        """Count the batches of which an engine that died has not told any more: those
        that are committed, as the others come again."""
        if self._checkpoint is None:
            return
        for batch_id, rows in tuple(self._counted.items()):
            # Spark writes this file last: without it the batch is run again, and
            # counted then.
            if (self._checkpoint / "commits" / str(batch_id)).exists():
                self.written_rows += rows
            del self._counted[batch_id]

    def take_over(self, batches: Sequence[TriggerProgress]) -> None:
        """Take over the progress of batches, in their order; on the worker."""
        with self.lock:
            for progress in batches:
                self._take(progress)

    def _take(self, progress: TriggerProgress) -> None:
        # Spark counts the time in which a paused run held the batch as time it took.
        held_ms = 1000 * self._held_s.pop(progress.batch_id, 0.0)
        progress = replace(progress, batch_ms=max(0.0, progress.batch_ms - held_ms))
        # Before self.progress is replaced, which is the batch before.
        late_watermark = self._watermark_before(progress)
        self.ended_s = time.monotonic()
        self._elapsed_s = self.ended_s - self._started_s
        self.took.add(progress.batch_ms / 1000)
        self.written_rows += self._rows_written(progress)
        self._trace_windows(progress, late_watermark)
        self.row_trace.add(
            progress.batch_id,
            self._elapsed_s,
            progress.watermark or EPOCH,
            progress.observed,
        )
        # After the traces, which have the newest time at their own input: this one has
        # rows too that a predicate has filtered out before they came there.
        self._advance(progress.max_event_time)
        self._take_records(progress)
        self.source_rows.update(progress.source_rows)
        self.sources_now = self._sources_at(progress)
        self.history.add(
            MarkPoint(
                progress.batch_id,
                self._elapsed_s,
                naive(self.max_event_time),
                naive(progress.watermark),
                _times(self.sources_now),
            )
        )
        if self._first_rows_s is None and progress.input_rows:
            self._first_rows_s = self.ended_s
        # Rows are shown with the progress of their batch and not as they are written: a
        # view must not have rows of a window that it still draws as open.
        while self._written and self._written[0][0] <= progress.batch_id:
            _, self.shown = self._written.popleft()
        self.progress = progress
        self.totals.add(self._totals(progress))

    def _trace_windows(
        self, progress: TriggerProgress, late_watermark: datetime
    ) -> None:
        """Count what a batch put into each window aggregate; add it to its trace."""
        for index, shares in enumerate(self.late_shares):
            observed = read_observed(progress.observed, index)
            shares.add(observed, late_watermark)
            if not self.is_traced:
                continue
            trace = self.traces[index]
            self._advance(observed.max_event_time)
            trace.add(
                TracedBatch(
                    batch_id=progress.batch_id,
                    elapsed_s=self._elapsed_s,
                    watermark=progress.watermark,
                    late_watermark=late_watermark,
                    stretches=_read_in(progress),
                    max_event_time=self.max_event_time,
                    pane_rows=observed.pane_rows,
                    exact=observed.exact,
                    closed_sessions=observed.closed_sessions,
                    sessions=observed.sessions,
                    sample_us=observed.sample_us,
                    sample_values=observed.sample_values,
                )
            )

    def _take_records(self, progress: TriggerProgress) -> None:
        """Take over what was seen in the records of the sources: bad data, columns that
        no record has, newest event times."""
        for name, values in progress.observed.items():
            if name.startswith(DROPPED) and values["rows"]:
                _, _, table = name.removeprefix(DROPPED).partition(":")
                self.dropped_rows[table] += values["rows"]
                # Two outputs that read a table each sample it: the same record is
                # listed once.
                kept = (*self.bad.get(table, ()), *read_bad_rows(values["bad"]))
                self.bad[table] = tuple(dict.fromkeys(kept))[:KEPT_BAD_ROWS]
        for table, fit in read_fits(progress.observed):
            self.fits[table] = self.fits.get(table, Fit()) + fit
        for table, newest in read_source_times(progress.observed):
            self.newest_times[table] = max(self.newest_times.get(table, newest), newest)

    def newest_time(self, source: SourceProgress) -> datetime | None:
        """The newest event time that was read of a source, naive UTC; None: there is
        none yet, or it is not known by source."""
        return source.max_event_time or naive(self.newest_times.get(source.name))

    def _sources_at(self, progress: TriggerProgress) -> Mapping[str, SourceAtBatch]:
        """Kept with each batch: a source soon forgets how far its old chunks went."""
        known = self.known_sources(self._positions(progress.places) or {})
        sources = [source for source in known if not source.looked_up]
        times = {source.name: self.newest_time(source) for source in sources}
        ended = {source.name for source in sources if source.ended}
        idle_s = self._idle_sources.advance(
            self._elapsed_s,
            {n: t for n, t in times.items() if t is not None and n not in ended},
        )
        self.idle_periods.add(progress.batch_id, self._elapsed_s, idle_s, ended)
        return {
            source.name: SourceAtBatch(
                times[source.name],
                idle_s.get(source.name, 0.0),
                tuple(p.number for p in source.partitions if p.idle),
            )
            for source in sources
        }

    def _totals(self, progress: TriggerProgress) -> BatchTotals:
        return BatchTotals(
            batch_id=progress.batch_id,
            elapsed_s=self._elapsed_s,
            batch_ms=progress.batch_ms,
            watermark=naive(progress.watermark),
            max_event_time=naive(self.max_event_time),
            positions=self._positions(progress.places) or {},
            rows_in=self.input_rows,
            rows_out=self.written_rows,
            late_rows=self.late_rows,
            closed_sessions=self.traces[0].closed_sessions if self.traces else 0,
            open_sessions=progress.open_sessions,
            state_rows=progress.state_rows,
            dropped_rows=dict(self.dropped_rows),
            sources=self.sources_now,
        )

    def _rows_written(self, progress: TriggerProgress) -> int:
        """As the writer of a batch says, else Spark, on their way or in its sink."""
        observed = progress.observed.get(WRITTEN)
        counts = (
            self._counted.pop(progress.batch_id, None),
            observed["rows"] if observed else None,
            progress.written_rows,
        )
        return int(next((count for count in counts if count is not None), 0))

    def _watermark_before(self, progress: TriggerProgress) -> datetime:
        """The watermark of the batch before, which decides what is late in this one."""
        before = self.progress
        if before is not None and before.batch_id == progress.batch_id - 1:
            return before.watermark or EPOCH
        if self._checkpoint is None or progress.batch_id == 0:
            return EPOCH
        # A resumed run was not told of that batch, or Spark has dropped its progress.
        return logged_watermark(self._checkpoint, progress.batch_id - 1) or EPOCH

    def _advance(self, seen: datetime | None) -> None:
        # The end-of-stream row is not an event.
        if (seen := before_end(seen)) is not None:
            self.max_event_time = max(self.max_event_time or seen, seen)


def _times(
    sources: Mapping[str, SourceAtBatch],
) -> tuple[tuple[str, datetime], ...]:
    # The times of a single source are those of the query.
    if len(sources) < 2:
        return ()
    times = ((name, source.max_event_time) for name, source in sources.items())
    return tuple((name, time) for name, time in times if time is not None)


def window_assigners(sink: nodes.Sink) -> tuple[nodes.WindowAggregate, ...]:
    """The aggregates that put rows into windows, one of each number."""
    by_number = {number: node for node, number in numbered_assigners(sink)}
    return tuple(by_number[number] for number in range(len(by_number)))


def _delay(node: nodes.Node) -> timedelta | None:
    """What the watermarks below a node subtract, the longest of several; None: there is
    none, or one follows an expression."""
    marks = [below for below in walk(node) if isinstance(below, nodes.Watermark)]
    if any(mark.expression is not None for mark in marks):
        return None
    return max((mark.delay for mark in marks), default=None)


def _read_in(progress: TriggerProgress) -> OffsetRanges:
    first = progress.first_places
    return {name: (first[name], end) for name, end in progress.places.items()}
