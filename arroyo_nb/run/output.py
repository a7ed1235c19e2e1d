"""One streaming query of a run: a sink, what feeds it, and what it did so far.

Every method that touches Spark says so and is called on the engine's worker thread;
the batch function is called on Spark's callback thread.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import TYPE_CHECKING

from arroyo_nb.connectors import (
    CONNECTORS,
    ProbesSink,
    ResumePoint,
    StreamWriter,
    Watching,
    Writer,
    is_streamed,
    print_rows,
)
from arroyo_nb.engine.descriptors import check_spare
from arroyo_nb.engine.paths import spark_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.determinism import settled_columns
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.gate import BatchGate
from arroyo_nb.run.observe.history import History
from arroyo_nb.run.observe.progress import (
    LoggedBatch,
    TriggerProgress,
    in_real_time,
    logged_watermark,
    new_batches,
    read_progress,
)
from arroyo_nb.run.observe.snapshot import MarkPoint, before_end, naive
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.run.observe.vitals import Took, Vitals
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import Preview, Tee
from arroyo_nb.run.results.preview_state import PreviewState
from arroyo_nb.run.sources.batch_size import BatchSize
from arroyo_nb.run.sources.reader import OffsetRanges, SourceOffsets, SourcePosition
from arroyo_nb.schema import EPOCH
from arroyo_nb.spark.bad_rows import DROPPED, read_bad_rows
from arroyo_nb.spark.boundary import (
    begin_no_batch,
    has_ended,
    is_alive,
    stop_at_once,
)
from arroyo_nb.spark.lower import Read, lower, visible
from arroyo_nb.spark.observe import (
    WRITTEN,
    observed_rows,
    read_fits,
    read_observed,
)
from arroyo_nb.spark.state_config import CLOSING_IN_SILENCE, IN_ROCKSDB, REAL_TIME
from arroyo_nb.state.folder import user_of
from arroyo_nb.tape import KEPT_BAD_ROWS, BadRow
from arroyo_nb.tape.fit import Fit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from arroyo_nb.run.sources.stream import StreamReader
    from arroyo_nb.spark.state_config import StateConfig

_log = logging.getLogger(__name__)

WRITE_S = 10.0
"""How long the end of a query waits for the batch that Python is writing."""

HANG_LOOK_S = 1.0
"""How often who waits looks whether the thread of a query has ended."""

BUSY_LOOK_S = 1.0
"""How often Spark is asked whether a trigger runs."""

IDLE = ("Waiting for data to arrive", "Waiting for next trigger")
"""Spark's status once a trigger found neither new rows nor a reason to run again; with
an interval between triggers the first one lasts for milliseconds only."""


class Output:
    """A sink of the plan as a query.

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
    ends_read
        How many end-of-stream rows are among those that it has read.
    lived_s
        For how many seconds the runs that it was of have gone on, once one has ended.
    places
        How far it has read each source, in earlier runs too; None before its first
        trigger.
    lock
        Held while a batch's progress is taken over: who holds it sees one batch.
    gate
        Holds its batches while the run is paused.
    shown
        The kept rows as they were after the newest batch whose progress is known; None
        where none are kept.

    Parameters
    ----------
    sink
        What to write.
    keep
        Whether rows are (also) kept for a preview: the newest in memory, all of them
        in the run's folder.
    write
        Whether the sink's own table is written.
    traced
        Whether the rows of windows are counted (see :mod:`arroyo_nb.spark.observe`).
    printed
        Whether rows without a table go to standard output as JSON lines.
    real_time
        Whether it runs in Spark's real-time mode; its progress is then told with each
        checkpoint.
    """

    def __init__(
        self,
        sink: nodes.Sink,
        *,
        keep: bool,
        write: bool,
        traced: bool,
        printed: bool = False,
        real_time: bool = False,
    ) -> None:
        self.sink = sink
        self.source_rows: Counter[str] = Counter()
        self.late_groups = 0
        self.written_rows = 0
        self.took = Took()
        self.ends_read = 0
        self.lived_s = 0.0
        self.dropped_rows: Counter[str] = Counter()
        self.bad: dict[str, tuple[BadRow, ...]] = {}
        self.fits: dict[str, Fit] = {}
        self.preview = _preview(sink) if keep else None
        self.shown = self.preview.state() if self.preview is not None else None
        self.lock = RLock()
        self.gate = BatchGate()
        self._held_s: dict[int, float] = {}
        # The kept rows after each batch that was written and whose progress, which
        # comes later, is still to be taken over.
        self._written: deque[tuple[int, PreviewState]] = deque()
        self.aggregates = tuple(window_assigners(sink)) if traced else ()
        self.traces = tuple(
            Trace(node.assign) for node in self.aggregates if node.assign is not None
        )
        self.progress: TriggerProgress | None = None
        self.resumed_after: LoggedBatch | None = None
        self.places: SourceOffsets | None = None
        self.max_event_time: datetime | None = None
        self.history = History()
        self.error: BaseException | None = None
        self._table = sink.table if write else None
        if self._table is not None:
            # A variable that is not set is told at once; its value is not kept.
            self._table.spec.resolved(sink.span)
        self.is_traced = traced
        self._printed = printed
        self._real_time = real_time
        self._writer: Writer | None = None
        self._is_native = False
        # Of batches that are written and not told by Spark yet.
        self._counted: dict[int, int] = {}
        # Since when a trigger runs, on the monotonic clock; None: none does.
        self._busy_since_s: float | None = None
        self._asked_s = 0.0
        self.ended_s = time.monotonic()
        # Held while the writer writes or closes: each is on a thread of its own.
        self._writing = Lock()
        self._closing: Thread | None = None
        self._query: StreamingQuery | None = None
        # One that was stopped, and whose thread has not ended.
        self._hanging: StreamingQuery | None = None
        self._watching: Watching | None = None
        self._last_batch = False
        # The last batch before it was held, for its topics to end; None: it is not.
        self._held_in: int | None = None
        self._ends_fixed = False
        self._batch_size = BatchSize()
        self._sized_batch = -1
        self._context: Context | None = None
        self._checkpoint: Path | None = None
        self._started = time.monotonic()
        self._elapsed_s = 0.0

    @property
    def late_rows(self) -> int:
        """Rows that came after a window of theirs had closed, each counted once for
        each aggregate, however many windows it missed; of sessions at most so many."""
        return sum(trace.late_rows for trace in self.traces)

    @property
    def input_rows(self) -> int:
        """Rows that it has read, the end-of-stream row among them."""
        return self.source_rows.total()

    @property
    def reaches(self) -> Mapping[str, SourcePosition] | None:
        """How far it has come in each source; None before its first trigger."""
        return self._reaches(self.places)

    @property
    def reaches_of_batch(self) -> Mapping[str, SourcePosition] | None:
        """How far it had come with its newest batch, which may be of an earlier run;
        None before that."""
        newest = self.newest_batch
        return self._reaches(newest.places if newest else None)

    @property
    def newest_batch(self) -> TriggerProgress | LoggedBatch | None:
        """Its newest batch, of this run or else of an earlier one."""
        return self.progress or self.resumed_after

    def _reaches(
        self, places: SourceOffsets | None
    ) -> Mapping[str, SourcePosition] | None:
        if places is None:
            return None
        rows = self.source_rows
        return {key: SourcePosition(place, rows[key]) for key, place in places.items()}

    @property
    def streamed(self) -> bool:
        """Whether it may be Spark itself that writes to its table."""
        return self._table is not None and is_streamed(self._table.connector)

    def vitals(self) -> Vitals:
        """Whether it works, as plain numbers; from any thread."""
        now_s, busy_s = time.monotonic(), self._busy_since_s
        return Vitals(
            name=self.sink.name,
            since_batch_s=now_s - self.ended_s,
            busy_s=0.0 if busy_s is None else now_s - max(busy_s, self.ended_s),
            state_bytes=self.progress.state_bytes if self.progress else 0,
            batch_counts=tuple(self.took.counts),
            batch_sum_s=self.took.sum_s,
            longest_batch_s=self.took.longest_s,
        )

    def _look_whether_busy(self) -> None:
        """Whether a trigger runs: it reads, computes, writes, or waits for a broker."""
        now_s = time.monotonic()
        if self._query is None or now_s - self._asked_s < BUSY_LOOK_S:
            return
        self._asked_s = now_s
        if not self._query.status["isTriggerActive"]:
            self._busy_since_s = None
        elif self._busy_since_s is None:
            self._busy_since_s = now_s

    @property
    def is_reaching(self) -> bool:
        """Whether its table is at a server that :meth:`check` asks."""
        if self._table is None:
            return False
        return isinstance(CONNECTORS.get(self._table.connector), ProbesSink)

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether its table can be written; asks for seconds.

        Raises
        ------
        RunProblem
            When it cannot.
        """
        if self._table is None:
            return
        connector, span = CONNECTORS.get(self._table.connector), self.sink.span
        if isinstance(connector, ProbesSink):
            try:
                connector.reach(self._table.spec.resolved(span), look)
            except RunProblem as problem:
                problem.span = problem.span or span
                raise

    @property
    def unwritten(self) -> str:
        """The table of its INSERT, where rows are not written to it; else empty."""
        table = self.sink.table
        return "" if table is None or self._table is not None else table.name

    def start(
        self,
        read: Read,
        *,
        checkpoint: Path,
        state: Path,
        rows: Path,
        budget_bytes: int,
        trigger: timedelta | None,
        keeping: StateConfig,
        context: Context,
        resume: ResumePoint | None = None,
        mend: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the query; on the worker, while Spark has its :attr:`settings`. Batches
        are written in the context, by which a kernel knows the cell that a thread
        prints for. The checkpoint is mended once the sink can go on from it."""
        self._context = context
        self._keep_rows(rows, budget_bytes)
        frame = lower(self.sink.input, read, observed=self.is_traced, keeping=keeping)
        self._writer = writer = self._make_writer(state, resume)
        mend()
        frame = visible(frame, self.sink.input, timed=writer.timed)
        make = self._in_real_time if self._real_time else self._in_batches
        stream = make(frame, writer, trigger)
        stream = stream.option("checkpointLocation", spark_path(checkpoint))
        self.error, self._last_batch = None, False
        self._held_in, self._ends_fixed = None, False
        self._batch_size = BatchSize()
        # One that is resumed goes on with its rows, its trace and its own clock.
        self._started = time.monotonic() - self._elapsed_s
        self._checkpoint = checkpoint
        self.resumed_after = LoggedBatch.newest(checkpoint)
        self.ended_s = time.monotonic()
        self._query = stream.start()

    def _keep_rows(self, folder: Path, budget_bytes: int) -> None:
        if self.preview is not None and budget_bytes:
            self.preview.keep_in(folder, budget_bytes)
            if self.progress is None:  # the rows of before are shown at once
                self.shown = self.preview.state()
        else:
            # Those of an earlier run would have a gap behind them from now on.
            shutil.rmtree(folder, ignore_errors=True)

    def _in_batches(
        self, rows: DataFrame, writer: Writer, trigger: timedelta | None
    ) -> DataStreamWriter:
        if self.streamed and not nodes.is_updating(self.sink):
            rows = observed_rows(rows)  # Spark's own sink of topics counts none
        stream = rows.writeStream.outputMode("append")
        if trigger is not None:
            stream = stream.trigger(processingTime=_interval(trigger))
        if writer.native is not None and not self.gate.paused:
            self._is_native = True
            return stream.format(writer.native)
        self._is_native = False
        return stream.foreachBatch(partial(self._write_batch, writer))

    def _in_real_time(
        self, rows: DataFrame, writer: Writer, trigger: timedelta | None
    ) -> DataStreamWriter:
        assert isinstance(writer, StreamWriter), "checked by the planner"
        assert trigger is not None, "it is the time between checkpoints"
        self._watching = writer.watch()
        stream = writer.stream(rows).outputMode("update")
        return stream.trigger(realTime=_interval(trigger))

    @property
    def can_pause(self) -> bool:
        """Whether its batches can be held: they are not, where Spark writes its table
        itself."""
        return not (self._real_time or self._is_native)

    @property
    def is_complete(self) -> bool:
        """Whether all rows that its LIMIT asks for are there, with the progress of
        their batches."""
        ends_at = self.preview.ends_at if self.preview is not None else None
        shown = self.shown.total_rows if self.shown is not None else 0
        return ends_at is not None and shown >= ends_at

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps the state of updating operators."""
        return any(isinstance(node, nodes.Stateful) for node in walk(self.sink))

    @property
    def settings(self) -> Mapping[str, str]:
        """What its query has for itself, from when its plan is made."""
        if self._real_time:
            return REAL_TIME
        sources = (n for n in walk(self.sink) if isinstance(n, nodes.Source))
        streamed = any(is_streamed(source.table.connector) for source in sources)
        silent = CLOSING_IN_SILENCE if streamed else {}
        return {**silent, **(IN_ROCKSDB if self.is_stateful else {})}

    def poll(self) -> bool:
        """Take over what Spark did since the last poll; on the worker.

        Returns
        -------
        bool
            Whether there was anything new.
        """
        news, elapsed_s = self._new_progress(), time.monotonic() - self.ended_s
        with self.lock:
            for progress in news:
                self._take(in_real_time(progress, elapsed_s))
        self._look_whether_busy()
        return bool(news)

    def size_batches(self, topics: Sequence[StreamReader]) -> None:
        """Have batches read as many records of topics as they can in a bounded time; on
        the worker, after each :meth:`poll`."""
        progress = self.progress
        held = not self._ends_fixed and any(topic.bounded for topic in topics)
        if self._query is None or self._real_time or held or progress is None:
            return
        if progress.batch_id == self._sized_batch or not topics:
            return
        self._sized_batch = progress.batch_id
        most = max(progress.source_rows.get(topic.key, 0) for topic in topics)
        size = self._batch_size.after(most, progress.batch_ms / 1000)
        if size != self._batch_size:
            self._batch_size = size
            for topic in topics:
                topic.limit(self._query, size.records)

    def end_topics(self, topics: Sequence[StreamReader]) -> None:
        """Have it read topics to their ends and no further; on the worker, with each
        :meth:`poll`, until it has come to that.

        No batch may be under way while an end is fixed: one may have been planned
        beyond it.
        """
        if self._query is None or self._ends_fixed or not topics:
            return
        batch_id = self.progress.batch_id if self.progress else -1
        if self._held_in is None:
            held = [topic.hold(self._query) for topic in topics]
            self._held_in = batch_id if all(held) else None
        elif batch_id > self._held_in or self.is_idle():
            for topic in topics:
                topic.fix_end(self._query)
            self._ends_fixed = True

    def failure(self) -> BaseException | None:
        """Why the query ended by itself, where it did, or can do nothing more; on the
        worker."""
        if self._watching is not None and self._watching.lost is not None:
            return self._watching.lost
        if self._query is None or self._query.isActive:
            return None
        failure = self._query.exception()
        if failure is None and self._last_batch:
            # A batch may begin as it is ended, and is cancelled: no failure to Spark.
            return None
        return self.error or failure or RuntimeError("query ended")

    def is_idle(self) -> bool:
        """Whether all released rows are read and no window is left to close;
        on the worker. Read after :meth:`poll`: the status is then not older."""
        return self._query is not None and self._query.status["message"] in IDLE

    def end_after_batch(self) -> None:
        """Let the batch that runs be the last one; on the worker."""
        self._last_batch = True
        if self._query is not None:
            begin_no_batch(self._query)

    def has_ended(self) -> bool:
        """Whether the last batch is done, after :meth:`end_after_batch`; on the
        worker."""
        return self._query is None or has_ended(self._query)

    def stop(self, topics: Sequence[StreamReader] = ()) -> None:
        """End the query and its writer; on the worker, harmless twice.

        Parameters
        ----------
        topics
            Those that it reads: its thread may wait for a broker that is away.
        """
        try:
            if (query := self._query) is not None:
                release = partial(_release, query, topics)
                self._hanging = None if stop_at_once(query, release) else query
                self.poll()  # the batch that ended meanwhile is one of its own
        finally:
            self._query = None
            self.close()

    def close(self) -> None:
        """Let go of the writer only: what is left to do once the engine is gone.

        The batch that is being written comes first. For one that hangs it waits no
        longer than :data:`WRITE_S`; its writer is closed when it wakes up.
        """
        self._count_untold()
        if self._watching is not None:
            self._watching.end()
        writer, self._writer = self._writer, None
        if writer is None:
            return
        if self._writing.acquire(timeout=WRITE_S):
            try:
                writer.close()
            finally:
                self._writing.release()
        else:
            self._closing = Thread(
                target=self._close_later, args=(writer,), daemon=True
            )
            self._closing.start()

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is written any more, after :meth:`close`; True when so."""
        if self._hangs():
            time.sleep(min(timeout_s, HANG_LOOK_S))
            return False
        if self._closing is None:
            return True
        self._closing.join(timeout_s)
        return not self._closing.is_alive()

    def _hangs(self) -> bool:
        """Whether the query's thread has not ended, and may still write."""
        try:
            if self._hanging is not None and not is_alive(self._hanging):
                self._hanging = None
        except Exception:  # the engine is gone, and so is the thread
            self._hanging = None
        return self._hanging is not None

    def _count_untold(self) -> None:
        """Count the batches of which an engine that died has not told any more: those
        that are committed, as the others come again."""
        if self._checkpoint is None:
            return
        for batch_id, rows in tuple(self._counted.items()):
            if (self._checkpoint / "commits" / str(batch_id)).exists():
                self.written_rows += rows
            del self._counted[batch_id]

    def _close_later(self, writer: Writer) -> None:
        with self._writing:
            try:
                writer.close()
            except Exception:
                # The run has ended; who goes on with it finishes what is left here.
                _log.exception("the sink '%s' could not be closed", self.sink.name)

    def _make_writer(self, state: Path, resume: ResumePoint | None = None) -> Writer:
        if (table := self._table) is not None:
            spec = table.spec.resolved(self.sink.span)
            settled = settled_columns(self.sink)
            spec = replace(spec, user=user_of(state), settled=settled, resume=resume)
            writer = CONNECTORS.get(table.connector).writer(spec, state)
            return Tee(writer, self.preview) if self.preview is not None else writer
        if self._printed:
            name = "debezium_json" if nodes.is_updating(self.sink) else "json"
            return print_rows(self.sink.schema, {"format": name})
        assert self.preview is not None
        return self.preview

    def _write_batch(self, writer: Writer, batch: DataFrame, batch_id: int) -> None:
        assert self._context is not None
        self._held_s[batch_id] = self.gate.pass_batch()
        with self._writing:
            if writer is not self._writer:  # its query does not know yet that it ended
                raise RunProblem("the run has let go of its sink")
            try:
                check_spare()
                # A copy: the queries of a run write at the same time.
                rows = self._context.copy().run(writer.write, batch, batch_id)
                if rows is not None:
                    self._counted[batch_id] = rows
            except Exception as error:
                # Spark wraps what is raised here in its own words; ours are kept.
                self.error = error
                raise
            if self.preview is not None:
                self._written.append((batch_id, self.preview.state()))

    def _new_progress(self) -> list[TriggerProgress]:
        query = self._query
        last = query.lastProgress if query is not None else None
        if query is None or last is None:
            return []
        newest = _progress(last)
        # Also of a query that has nothing left to do: it says where it stands.
        self.places = newest.places
        return new_batches(
            newest,
            lambda: map(_progress, query.recentProgress),
            first=self.progress.batch_id + 1 if self.progress else 0,
        )

    def _take(self, progress: TriggerProgress) -> None:
        held_ms = 1000 * self._held_s.pop(progress.batch_id, 0.0)
        progress = replace(progress, batch_ms=max(0.0, progress.batch_ms - held_ms))
        late_watermark = self._watermark_before(progress)
        self.ended_s = time.monotonic()
        self._elapsed_s = self.ended_s - self._started
        self.took.add(progress.batch_ms / 1000)
        self.written_rows += self._rows_written(progress)
        for index, trace in enumerate(self.traces):
            observed = read_observed(progress.observed, index)
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
                )
            )
        self._advance(progress.max_event_time)
        self.history.add(
            MarkPoint(
                progress.batch_id,
                self._elapsed_s,
                naive(self.max_event_time),
                naive(progress.watermark),
            )
        )
        for name, values in progress.observed.items():
            if name.startswith(DROPPED) and values["rows"]:
                _, _, table = name.removeprefix(DROPPED).partition(":")
                self.dropped_rows[table] += values["rows"]
                kept = (*self.bad.get(table, ()), *read_bad_rows(values["bad"]))
                self.bad[table] = tuple(dict.fromkeys(kept))[:KEPT_BAD_ROWS]
        for table, fit in read_fits(progress.observed):
            self.fits[table] = self.fits.get(table, Fit()) + fit
        self.source_rows.update(progress.source_rows)
        self.late_groups += progress.late_groups
        while self._written and self._written[0][0] <= progress.batch_id:
            _, self.shown = self._written.popleft()
        self.progress = progress

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
        return logged_watermark(self._checkpoint, progress.batch_id - 1) or EPOCH

    def _advance(self, seen: datetime | None) -> None:
        # The end-of-stream row is not an event.
        if (seen := before_end(seen)) is not None:
            self.max_event_time = max(self.max_event_time or seen, seen)


def _release(query: StreamingQuery, topics: Sequence[StreamReader]) -> None:
    for topic in topics:
        topic.release(query)


def _interval(length: timedelta) -> str:
    """A duration as Spark takes it."""
    return f"{length // timedelta(milliseconds=1)} milliseconds"


def _preview(sink: nodes.Sink) -> Preview:
    kind = ChangesPreview if nodes.is_updating(sink) else Preview
    return kind(sink.schema, order=sink.order, limit=sink.limit)


def window_assigners(sink: nodes.Sink) -> Iterator[nodes.WindowAggregate]:
    """The aggregates that put rows into windows, as lowering numbers them."""
    for node in walk(sink):
        if isinstance(node, nodes.WindowAggregate) and node.assign is not None:
            yield node


def _progress(reported: StreamingQueryProgress) -> TriggerProgress:
    return read_progress(json.loads(reported.json))


def _read_in(progress: TriggerProgress) -> OffsetRanges:
    first = progress.first_places
    return {name: (first[name], end) for name, end in progress.places.items()}
