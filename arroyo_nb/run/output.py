"""One streaming query of a run: a sink, what feeds it, and what it did so far.

Every method that touches Spark says so and is called on the engine's worker thread;
the batch function is called on Spark's callback thread.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import (
    CONNECTORS,
    CollectingWriter,
    ProbesSink,
    ResumePoint,
    StreamWriter,
    Watching,
    Writer,
    is_streamed,
    print_rows,
)
from arroyo_nb.engine.arrow_sink import ArrowSink, has_arrow_sink
from arroyo_nb.engine.paths import spark_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.determinism import deterministic_columns
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.progress import (
    TriggerProgress,
    in_real_time,
    new_batches,
    read_progress,
)
from arroyo_nb.run.observe.query_observation import QueryObservation
from arroyo_nb.run.observe.vitals import Vitals
from arroyo_nb.run.pause_gate import BatchGate
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.run.results.tee import tee
from arroyo_nb.run.sink_writer import SinkWriter
from arroyo_nb.run.sources.batch_size import BatchSize
from arroyo_nb.spark.batch_boundary import (
    begin_no_batch,
    has_ended,
    is_alive,
    stop_at_once,
)
from arroyo_nb.spark.lower import Read, lower, visible
from arroyo_nb.spark.observe import WindowInputs, observed_rows
from arroyo_nb.spark.state_config import CLOSING_IN_SILENCE, REAL_TIME
from arroyo_nb.state.lock import user_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from arroyo_nb.run.sources.reader import StreamedReader
    from arroyo_nb.spark.state_config import StateConfig

HANG_LOOK_S = 1.0
"""How often who waits looks whether the thread of a query has ended."""

BUSY_LOOK_S = 1.0
"""How often Spark is asked whether a trigger runs."""

SOON_S, LONG_S = 2.0, 5.0
"""What takes less needs no word: at the start, and later."""

IDLE = ("Waiting for data to arrive", "Waiting for next trigger")
"""Spark's status once a trigger found neither new rows nor a reason to run again; with
an interval between triggers the first one lasts for milliseconds only."""


class Output:
    """A sink of the plan as a query.

    Attributes
    ----------
    preview
        The rows that are kept; None: none are.
    observation
        What it did so far.
    gate
        Holds its batches while the run is paused.

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
        self.preview = _preview(sink) if keep else None
        self.observation = QueryObservation(sink, traced=traced, preview=self.preview)
        self.gate = BatchGate()
        self._table = sink.table if write else None
        if self._table is not None:
            # A variable that is not set is told at once; its value is not kept.
            self._table.spec.resolved(sink.span)
        self._printed = printed
        self._real_time = real_time
        self._sink = SinkWriter(sink.name, self.gate, self.observation)
        self._is_native = False
        # Since when a trigger runs, on the monotonic clock; None: none does.
        self._busy_since_s: float | None = None
        self._asked_s = 0.0
        self._query: StreamingQuery | None = None
        self._inputs: WindowInputs | None = None
        self._arrow_sink: ArrowSink | None = None
        # One that was stopped, and whose thread has not ended.
        self._hanging: StreamingQuery | None = None
        self._watching: Watching | None = None
        self._last_batch = False
        # The last batch before it was held, for its topics to end; None: it is not.
        self._held_in: int | None = None
        self._ends_fixed = False
        self._batch_size = BatchSize()
        self._sized_batch = -1
        self._first_batch = 0

    @property
    def is_unread(self) -> bool:
        """Whether it has ended no batch since it was started."""
        return self.observation.next_batch == self._first_batch

    @property
    def streamed(self) -> bool:
        """Whether it may be Spark itself that writes to its table."""
        return self._table is not None and is_streamed(self._table.connector)

    def vitals(self) -> Vitals:
        """Whether it works, as plain numbers; from any thread."""
        now_s, busy_s, seen = time.monotonic(), self._busy_since_s, self.observation
        return Vitals(
            name=self.sink.name,
            since_batch_s=now_s - seen.ended_s,
            busy_s=0.0 if busy_s is None else now_s - max(busy_s, seen.ended_s),
            state_bytes=seen.progress.state_bytes if seen.progress else 0,
            batch_counts=tuple(seen.took.counts),
            batch_sum_s=seen.took.sum_s,
            longest_batch_s=seen.took.longest_s,
        )

    @property
    def work(self) -> str:
        """What it works on or waits for, with the seconds, where that takes long; else
        empty."""
        vitals = self.vitals()
        if self.gate.is_holding:
            return ""
        if self.is_unread and vitals.busy_s >= SOON_S:
            return f"preparing the first micro-batch, {vitals.busy_s:.0f} s"
        if self.is_unread and vitals.since_batch_s >= SOON_S:
            return f"waiting for rows, {vitals.since_batch_s:.0f} s"
        if vitals.busy_s >= LONG_S:
            batch = self.observation.next_batch
            return f"computing micro-batch {batch}, {vitals.busy_s:.0f} s"
        return ""

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
        self._keep_rows(rows, budget_bytes)
        inputs = self._inputs = self._observed_inputs()
        frame = lower(self.sink.input, read, inputs=inputs, keeping=keeping)
        writer = self._make_writer(state, resume)
        self._sink.open(writer, context)
        mend()
        frame = visible(frame, self.sink.input, timed=writer.timed)
        make = self._in_real_time if self._real_time else self._in_batches
        stream = make(frame, writer, trigger)
        stream = stream.option("checkpointLocation", spark_path(checkpoint))
        self._last_batch = False
        self._held_in, self._ends_fixed = None, False
        self._batch_size = BatchSize()
        # Before Spark starts: its first batch may be written while start() has not
        # returned.
        self.observation.start(checkpoint)
        self._first_batch = self.observation.next_batch
        self._query = stream.start()

    def _observed_inputs(self) -> WindowInputs | None:
        if self.observation.is_traced:
            return WindowInputs()
        # In real-time mode there are no windows.
        return WindowInputs(only_late=True) if self.observation.late_shares else None

    def _keep_rows(self, folder: Path, budget_bytes: int) -> None:
        if self.preview is not None and budget_bytes:
            self.preview.keep_in(folder, budget_bytes)
            self.observation.show_kept()
        else:
            # Those of an earlier run would have a gap behind them from now on.
            shutil.rmtree(folder, ignore_errors=True)

    def _in_batches(
        self, rows: DataFrame, writer: Writer, trigger: timedelta | None
    ) -> DataStreamWriter:
        if self.streamed and not nodes.is_updating(self.sink):
            rows = observed_rows(rows)  # Spark's own sink of topics counts none
        stream = self._stream(rows, writer).outputMode("append")
        if trigger is not None:
            stream = stream.trigger(processingTime=_interval(trigger))
        return stream

    def _stream(self, rows: DataFrame, writer: Writer) -> DataStreamWriter:
        # A batch that can be held must go through a function of ours: a run that starts
        # paused does, also where Spark could write the topic itself.
        if writer.native is not None and not self.gate.paused:
            self._is_native = True
            return rows.writeStream.format(writer.native)
        self._is_native = False
        if isinstance(writer, CollectingWriter) and has_arrow_sink(rows.sparkSession):
            begin = partial(self._sink.begin, writer)
            take = partial(self._sink.take, writer)
            self._arrow_sink = ArrowSink(begin, take)
            return self._arrow_sink.stream(rows.select(*writer.columns(rows.columns)))
        return rows.writeStream.foreachBatch(partial(self._sink.write, writer))

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
        shown = self.observation.shown
        rows = shown.total_rows if shown is not None else 0
        return ends_at is not None and rows >= ends_at

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps the state of updating operators."""
        return any(isinstance(node, nodes.Stateful) for node in walk(self.sink))

    def settings(self, keeping: StateConfig) -> Mapping[str, str]:
        """What its query has for itself, from when its plan is made."""
        if self._real_time:
            return REAL_TIME
        sources = (n for n in walk(self.sink) if isinstance(n, nodes.Source))
        streamed = any(is_streamed(source.table.connector) for source in sources)
        silent = CLOSING_IN_SILENCE if streamed else {}
        return {**silent, **keeping.settings(self.sink)}

    def poll(self) -> bool:
        """Take over what Spark did since the last poll; on the worker.

        Returns
        -------
        bool
            Whether there was anything new.
        """
        news = self._new_progress()
        elapsed_s = time.monotonic() - self.observation.ended_s
        self.observation.take_over([in_real_time(batch, elapsed_s) for batch in news])
        self._look_whether_busy()
        return bool(news)

    def size_batches(self, topics: Sequence[StreamedReader]) -> None:
        """Have batches read as many records of topics as they can in a bounded time; on
        the worker, after each :meth:`poll`."""
        progress = self.observation.progress
        held = not self._ends_fixed and any(topic.bounded for topic in topics)
        if self._query is None or self._real_time or held or progress is None:
            return
        # Polls come ten times a second: each batch is judged once.
        if progress.batch_id == self._sized_batch or not topics:
            return
        self._sized_batch = progress.batch_id
        most = max(progress.source_rows.get(topic.key, 0) for topic in topics)
        size = self._batch_size.after(most, progress.batch_ms / 1000)
        if size != self._batch_size:
            self._batch_size = size
            for topic in topics:
                topic.limit(self._query, size.records)

    def end_topics(self, topics: Sequence[StreamedReader]) -> None:
        """Have it read topics to their ends and no further; on the worker, with each
        :meth:`poll`, until it has come to that.

        No batch may be under way while an end is fixed: one may have been planned
        beyond it.
        """
        if self._query is None or self._ends_fixed or not topics:
            return
        batch_id = self.observation.next_batch - 1
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
        # The sink's own error first: Spark has it as the text of a Python traceback.
        return self._sink.error or failure or RuntimeError("query ended")

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

    def stop(self, topics: Sequence[StreamedReader] = ()) -> None:
        """End the query and its writer; on the worker, harmless twice.

        Parameters
        ----------
        topics
            Those that it reads: its thread may wait for a broker that is away.
        """
        # Its thread waits for the batch that Python writes, and that for a server.
        self._sink.give_up()
        try:
            if (query := self._query) is not None:
                release = partial(_release, query, topics)
                self._hanging = None if stop_at_once(query, release) else query
                self.poll()  # the batch that ended meanwhile is one of its own
        finally:
            self._query, self._inputs = None, None
            if self._arrow_sink is not None:
                self._arrow_sink.close()
            self.close()

    def close(self) -> None:
        """Let go of the writer only: what is left to do once the engine is gone. The
        batch that is being written comes first, unless it hangs."""
        self.observation.count_committed()
        if self._watching is not None:
            self._watching.end()
        self._sink.close()

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is written any more, after :meth:`close`; True when so."""
        if self._hangs():
            time.sleep(min(timeout_s, HANG_LOOK_S))
            return False
        return self._sink.join(timeout_s)

    def _hangs(self) -> bool:
        """Whether the query's thread has not ended, and may still write."""
        try:
            if self._hanging is not None and not is_alive(self._hanging):
                self._hanging = None
        except Exception:  # the engine is gone, and so is the thread
            self._hanging = None
        return self._hanging is not None

    def _make_writer(self, state: Path, resume: ResumePoint | None = None) -> Writer:
        if (table := self._table) is not None:
            spec = table.spec.resolved(self.sink.span)
            settled = deterministic_columns(self.sink)
            spec = replace(spec, user=user_of(state), settled=settled, resume=resume)
            writer = CONNECTORS.get(table.connector).writer(spec, state)
            return tee(writer, self.preview) if self.preview is not None else writer
        if self._printed:
            is_updating = nodes.is_updating(self.sink)
            return print_rows(self.sink.schema, updating=is_updating)
        assert self.preview is not None
        return self.preview

    def _new_progress(self) -> list[TriggerProgress]:
        query = self._query
        last = query.lastProgress if query is not None else None
        # A query that is not started, or has not run a trigger, has no progress.
        if query is None or last is None:
            return []
        newest = _progress(last)
        # Also of a query that has nothing left to do: it says where it stands.
        self.observation.places = newest.places
        # recentProgress brings up to a hundred texts over the gateway, so it is asked
        # for only where batches ended between two polls.
        batches = new_batches(
            newest,
            lambda: map(_progress, query.recentProgress),
            first=self.observation.next_batch,
        )
        return [self._with_inputs(batch) for batch in batches]

    def _with_inputs(self, batch: TriggerProgress) -> TriggerProgress:
        """A batch with the rows that were counted beside Spark's own observations."""
        taken = self._inputs.taken(batch.batch_id) if self._inputs else {}
        return replace(batch, observed={**batch.observed, **taken})


def _release(query: StreamingQuery, topics: Sequence[StreamedReader]) -> None:
    for topic in topics:
        topic.release(query)


def _interval(length: timedelta) -> str:
    """A duration as Spark takes it."""
    return f"{length // timedelta(milliseconds=1)} milliseconds"


def _preview(sink: nodes.Sink) -> Preview:
    kind = ChangesPreview if nodes.is_updating(sink) else Preview
    return kind(sink.schema, order=sink.order, limit=sink.limit)


def _progress(reported: StreamingQueryProgress) -> TriggerProgress:
    return read_progress(json.loads(reported.json))
