"""How a run lives: started, looked at, ended, all on the engine's worker thread.

::

    starting -> running -> finished | stopped | failed

It is started and ended once. Whoever wants it to end asks: :meth:`Execution.begin`
and :meth:`Execution.end` return at once, from any thread.
"""

from __future__ import annotations

import logging
import re
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from datetime import datetime, timedelta
from functools import partial
from operator import eq
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from arroyo_nb.engine import external_session
from arroyo_nb.engine.descriptors import check_spare
from arroyo_nb.errors import ArroyoError, RunProblem, StateProblem
from arroyo_nb.file_errors import free_bytes, full_disk
from arroyo_nb.run.heartbeat import Heartbeat
from arroyo_nb.run.observe.snapshot import RunState, before_end, naive
from arroyo_nb.run.output import Output
from arroyo_nb.run.prepare import PreparedRun, RunFolder, errors_in
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.spark.failures import (
    FULL,
    GONE,
    PARTITION_ADDED,
    UNREADABLE,
    SparkProblem,
    run_problem,
)
from arroyo_nb.spark.lower import Read
from arroyo_nb.spark.slots import Slots
from arroyo_nb.spark.state_config import StateConfig, query_settings
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.identity import plan_identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arroyo_nb.engine import Engine

_log = logging.getLogger(__name__)

POLL_S = 0.1
"""How often a running query is looked at."""

RECORDER_S = 10.0
"""How long the end of a run waits for the sources that are being read."""

DEATH_S = 1.0
"""How long a JVM that does not answer may take to be dead."""

ENDING = {
    StopMode.CHECKPOINT: "ending the micro-batch that runs",
    StopMode.GRACEFUL: "reading what has come by now",
}
"""What a run that winds down does, as its note says it."""

MISSED_CHECKS = 2
"""How often in a row a server may not answer before a run that winds down gives up its
micro-batch; each check takes some seconds, as a server may be busy."""

GIVEN_UP = "its micro-batch is given up, and is done again on resume"

MOST_STARTS_AGAIN = 5
"""How often queries are started again as a topic got partitions meanwhile."""

RATE_LOOKS = 20
"""Looks over which the rate is taken: the last two seconds."""


class _EndedError(Exception):
    """That the run has ended meanwhile."""


class Execution:
    """A run's queries, what feeds them, and its folder, while it has them.

    Attributes
    ----------
    outputs
        The queries, one per sink; those of the run that this one resumes.
    sources
        What feeds them: the conductors, one per source table.
    state, note
        Where it is, and one line about that; they change together, under :attr:`lock`.
    error
        Why it failed.
    """

    def __init__(self, prepared: PreparedRun, engine: Engine, place: RunFolder) -> None:
        self._prepared = prepared
        self._place = place
        self.outputs = prepared.outputs
        self.sources = prepared.sources
        self.state = RunState.STARTING
        self.note = "waiting for the engine"
        self.error: ArroyoError | None = None
        self.lock = RLock()
        self._name = prepared.name
        self._plan = prepared.plan
        self._options = prepared.options
        self._engine = engine
        # One that is resumed goes on with its age, as with its rows.
        lived_s = max((output.lived_s for output in self.outputs), default=0.0)
        self._begun_s = time.monotonic() - lived_s
        self._started_s: float | None = None
        self._ended_s: float | None = None
        self._begun = False
        self._stopping: tuple[StopMode, str] | None = None
        # Why what winds down cannot come to its end: a server does not answer.
        self._hindrance = ""
        self._claim: StateFolder | None = None
        self._slots: Slots | None = None
        self._repeated: list[Callable[[], None]] = []
        # The newest batch of each query at the last heartbeat.
        self._beaten: list[int | None] = []
        # A later engine knows nothing of the queries of one that died.
        self._generation = -1
        self._start_output: Callable[[int], None]
        self._starts_left = MOST_STARTS_AGAIN
        self._rate: deque[tuple[float, int]] = deque(maxlen=RATE_LOOKS)
        self._listeners: tuple[Callable[[], object], ...] = ()

    def on_progress(self, callback: Callable[[], object]) -> None:
        """Have a function called after each poll that found a micro-batch."""
        self._listeners = (*self._listeners, callback)

    def begin(self) -> None:
        """Ask the engine to start it. Its batches are written in the caller's context,
        by which a kernel knows the cell that a thread prints for."""
        self._engine.worker.post(partial(self._start, copy_context()))

    def end(self, note: str, mode: StopMode = StopMode.IMMEDIATE) -> None:
        """Have it stopped; one that has not been started yet ends here and now."""
        if mode is not StopMode.GRACEFUL:
            self.sources.close()
        if self.state.ended or self._withdraw(note):
            return
        if mode is StopMode.IMMEDIATE:
            self._engine.worker.post(partial(self._end, RunState.STOPPED, note))
        else:
            self._engine.worker.post(partial(self._wind_down, mode, note))

    @property
    def resumed(self) -> bool:
        """Whether it went on from state that was there."""
        return self._claim is not None and self._claim.resumed

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, until the end; of one that is resumed together with
        those of before."""
        return (self._ended_s or time.monotonic()) - self._begun_s

    @property
    def rows_in(self) -> int:
        """Rows that the first output has read so far."""
        output = self.outputs[0]
        if output.progress is None:
            return 0
        return max(0, output.input_rows - self._ends_read(output))

    def _ends_read(self, output: Output) -> int:
        """How many end-of-stream rows it has read. One that is resumed read them
        before, when its sources, which know them, have not been opened yet."""
        if output.progress is not None:
            ends = self.sources.ends_read(output.progress.places)
            output.ends_read = max(output.ends_read, ends)
        return output.ends_read

    @property
    def rows_per_s(self) -> float:
        """Input rows a second, of the last two seconds; over all once it has ended."""
        if self.state.ended:
            return self.rows_in / max(self.elapsed_s, 1e-3)
        if len(self._rate) < 2:
            return 0.0
        (t0, n0), (t1, n1) = self._rate[0], self._rate[-1]
        return (n1 - n0) / max(t1 - t0, 1e-3)

    @property
    def running_s(self) -> float:
        """Seconds since its queries started, until the end; 0 before."""
        if self._started_s is None:
            return 0.0
        return (self._ended_s or time.monotonic()) - self._started_s

    @property
    def _engine_lives(self) -> bool:
        same = self._generation == self._engine.restarts
        return same and self._engine.alive

    def _start(self, context: Context) -> None:
        if self.state.ended:
            return
        try:
            check_spare()
            self._claim = claim = StateFolder(
                self._place.path,
                identity=self._identity,
                name=self._name,
                spec=self._place.spec,
            )
            claim.inspect(len(self.outputs))
            spark = self._engine.session
            self._generation = self._engine.restarts
            self._check_reach(spark)
            if not self._is_wanted():
                self._release()
                return
            with errors_in(self._plan):
                self.sources.start(claim)
            heartbeat = self._heartbeat(claim)
            self._slots = Slots(spark) if self._options.real_time else None
            self._check_slots()
            self._start_output = self._starter(spark, claim, heartbeat, context)
            for index in range(len(self.outputs)):
                self._start_output(index)
        except Exception as error:
            self._fail(error)
            return
        self._started_s = time.monotonic()
        self._move(RunState.RUNNING, "resumed" if claim.resumed else "")
        every = self._engine.worker.every
        self._repeated = [every(POLL_S, self._poll)]
        if heartbeat is not None:
            beat = partial(self._beat, heartbeat)
            self._repeated.append(every(heartbeat.period_s, beat))

    def _starter(
        self,
        spark: SparkSession,
        claim: StateFolder,
        heartbeat: Heartbeat | None,
        context: Context,
    ) -> Callable[[int], None]:
        """What starts the query of an output, by its number."""
        keeping = StateConfig(claim.buckets)
        if heartbeat is not None:
            beats = partial(heartbeat.read_stream, spark)
            keeping = StateConfig(claim.buckets, self._plan.updating_ttl, beats)
        read: Read = partial(self.sources.read_stream, spark)
        if self._options.real_time:
            read = partial(self.sources.read_in_real_time, spark)

        def start(index: int) -> None:
            output = self.outputs[index]
            with query_settings(spark, output.settings):
                output.start(
                    read,
                    checkpoint=claim.checkpoint(index),
                    state=claim.sink(index),
                    rows=claim.rows(index),
                    budget_bytes=self._budget_bytes,
                    resume=claim.resume(index),
                    mend=partial(claim.mend, index),
                    trigger=self._trigger(output),
                    keeping=keeping,
                    context=context,
                )

        return start

    def _restart_with_added(self, failure: BaseException) -> bool:
        """Start those queries again that met a partition of which they were not told:
        it was added after the topic was asked, and before they read a record. False:
        that is not what failed, or it is given up."""
        met = run_problem(failure).message == PARTITION_ADDED
        if not met or self._stopping is not None or self._starts_left == 0:
            return False
        self._starts_left -= 1
        for index, output in enumerate(self.outputs):
            if output.failure() is not None:
                output.stop(self.sources.topics(output.sink))
                for topic in self.sources.topics(output.sink):
                    topic.meet_added()
                self._start_output(index)
        return True

    @property
    def _budget_bytes(self) -> int:
        """What each output that keeps rows may keep."""
        keeping = sum(output.preview is not None for output in self.outputs)
        return self._options.budget_bytes // max(keeping, 1)

    def _trigger(self, output: Output) -> timedelta | None:
        """How often an output's changes are told. What ends is done soonest without."""
        if output.is_stateful and self.sources.is_endless(output.sink):
            return self._options.trigger or self._options.flush
        return self._options.trigger

    def _check_slots(self) -> None:
        """See to it that all partitions are read at once, in real-time mode."""
        if self._slots is not None:
            sinks = (output.sink for output in self.outputs)
            self._slots.check(sum(map(self.sources.partitions, sinks)))

    def _check_reach(self, spark: SparkSession) -> None:
        """Refuse a folder that Spark cannot read: a temporary one, this host's, where
        others must read it; and a name that is too odd for a Spark of the user's."""
        external_session.check_finds(spark, self._place.path)
        if self._place.temporary and not external_session.is_local(spark):
            raise RunProblem(
                f"Spark's executors at {spark.sparkContext.master} may be on other "
                "hosts, which cannot read the temporary folder of this run",
                hint="give state_dir= a folder that is mounted at the same path on "
                "every node, and install arroyo_nb on each of them",
            )

    def _beat(self, heartbeat: Heartbeat) -> None:
        """Beat once all queries that hear it have ended a batch since the last time: a
        long batch must find the beats that it was to read."""
        hearing = [output for output in self.outputs if output.is_stateful]
        done = [o.progress.batch_id if o.progress else None for o in hearing]
        if not any(map(eq, done, self._beaten)):
            heartbeat.beat()
            self._beaten = done

    def _heartbeat(self, claim: StateFolder) -> Heartbeat | None:
        """What finds idle state, where there is any."""
        if not any(output.is_stateful for output in self.outputs):
            return None
        return Heartbeat(claim.heartbeat(), self._plan.updating_ttl)

    @property
    def _identity(self) -> str:
        # Rows that were only looked at have been read, and were not written.
        tables = any(output.sink.table for output in self.outputs)
        previewed = tables and not self._options.sinks
        return plan_identity(self._plan, previewed=previewed)

    def _is_wanted(self) -> bool:
        """Whether nobody stopped it while the engine started; then it has begun."""
        with self.lock:
            self._begun = not self.state.ended
            return self._begun

    def _withdraw(self, note: str) -> bool:
        """End it at once, without the worker, if no query of it has been started."""
        with self.lock:
            if self._begun or self.state.ended:
                return False
            self._ended_s = time.monotonic()
            self._move(RunState.STOPPED, note)
            return True

    def _wind_down(self, mode: StopMode, note: str) -> None:
        """Have it end soon: :meth:`_poll` sees when."""
        if self.state.ended or self._stopping is not None:
            return
        if self._options.real_time:  # the batch that runs reads what has come by now
            mode = StopMode.CHECKPOINT
        self._stopping = mode, note
        self._move(self.state, f"{note}: {ENDING[mode]}")
        threading.Thread(target=self._watch_servers, daemon=True).start()
        try:
            self._end_after(mode)
        except Exception as error:
            self._fail(error)

    def _watch_servers(self) -> None:
        """Find out whether what winds down can end: with a server away it can not."""
        missed = 0
        while not self.state.ended:
            try:
                self._prepared.check(self._look_for_end)
            except _EndedError:
                return
            except ArroyoError as error:
                missed += 1
                if missed == MISSED_CHECKS:
                    self._hindrance = error.message
                    return
            else:
                missed = 0
            time.sleep(POLL_S)

    def _look_for_end(self) -> None:
        if self.state.ended:
            raise _EndedError

    def _end_after(self, mode: StopMode) -> None:
        for output in self.outputs:
            output.gate.resume()
        if mode is StopMode.GRACEFUL:
            self.sources.drain()
            return
        for output in self.outputs:
            output.end_after_batch()

    def _poll(self) -> None:
        if not self._engine_lives:
            self._fail(RunProblem(GONE))
            return
        try:
            self._check_slots()  # topics get partitions, executors go
            news = [output for output in self.outputs if output.poll()]
            for output in self.outputs:
                output.end_topics(self.sources.ending_topics(output.sink))
                output.size_batches(self.sources.topics(output.sink))
            self._look(bool(news))
            failure = self.sources.error or self._failure()
            if failure is not None and self._restart_with_added(failure):
                return
            over = failure is None and self._is_over()
            if over:  # also of a batch that was the last one
                failure = self._failure()
        except Exception as error:
            self._fail(error)
            return
        if self._stopping is not None and self._hindrance and not over:
            given_up = f"{self._stopping[1]}: {self._hindrance}; {GIVEN_UP}"
            self._end(RunState.STOPPED, given_up)
        elif failure is not None:
            self._fail(failure)
        elif over and self._stopping is not None:
            self._end(RunState.STOPPED, self._stopping[1])
        elif over:
            self._end(RunState.FINISHED, self._why_over)
        else:
            self._respect_limits()

    @property
    def _why_over(self) -> str:
        limits = [str(o.sink.limit) for o in self.outputs if o.is_complete]
        if not limits:
            return "the sources have ended"
        return f"LIMIT {', '.join(limits)}: all its rows are there"

    def _failure(self) -> BaseException | None:
        return next(filter(None, (o.failure() for o in self.outputs)), None)

    def _look(self, news: bool) -> None:
        self._rate.append((time.monotonic(), self.rows_in))
        if news:
            self.sources.consumed((o.sink, o.reaches) for o in self.outputs)
            for callback in self._listeners:
                callback()
            if self._claim is not None:
                self._claim.note_files()

    def _is_over(self) -> bool:
        if self._stopping is not None and self._stopping[0] is StopMode.CHECKPOINT:
            # Each is asked: one that waits for its trigger is woken by it.
            ended = [output.has_ended() for output in self.outputs]
            return all(ended)
        return all(
            output.is_complete
            or (
                self.sources.is_read(output.places or {}, output.sink)
                and output.is_idle()
            )
            for output in self.outputs
        )

    def _respect_limits(self) -> None:
        limit, until = self._options.stop_after, self._options.until
        if limit is not None and self.running_s >= limit.total_seconds():
            self._end(RunState.STOPPED, f"stopped after {limit.total_seconds():g} s")
        if isinstance(until, datetime) and all(
            _has_reached(output, until) for output in self.outputs
        ):
            self._end(RunState.STOPPED, f"the watermark reached {until}")

    def _fail(self, error: BaseException) -> None:
        if self.state.ended:  # stopped while it was being started
            self._release()
            return
        try:
            self.error = (
                self._death(error)
                or self._full_disk(error)
                or self._unreadable(error)
                or run_problem(error)
            )
        except Exception:  # what is looked at for the reason may be out of reach too
            self.error = run_problem(error)
        self._end(RunState.FAILED, "")

    def _death(self, error: BaseException) -> RunProblem | None:
        """What to tell when the engine died, whichever call met it first."""
        problem = run_problem(error)
        if not self._begun:
            return None
        wait_s = DEATH_S if problem.message == GONE else 0
        how = self._engine.died(wait_s) or "its Java process has ended"
        if self._engine_lives:
            return None
        told = RunProblem(
            f"the engine died: {how}",
            hint="run it again to start afresh, or go on from its checkpoint: "
            f"%arroyo resume {shlex.quote(self._name)} "
            f"(session.resume({self._name!r}))",
        )
        told.__cause__ = error
        return told

    def _unreadable(self, error: BaseException) -> StateProblem | None:
        """Which file of the checkpoint Spark cannot read, as far as it says."""
        problem = run_problem(error)
        if not isinstance(problem, SparkProblem) or problem.message != UNREADABLE:
            return None
        named = re.escape(str(self._place.path)) + r"/[\w./-]+"
        files = [Path(name) for name in re.findall(named, problem.detail)]
        file = next(filter(Path.is_file, files), self._place.path / "outputs")
        said = StateProblem(
            file, "cannot be read by Spark", "it is of the checkpoint of this run"
        )
        said.__cause__ = error
        return said

    def _full_disk(self, error: BaseException) -> RunProblem | None:
        """Which disk is full, where Spark says that one is: the fullest that it writes
        to, besides a sink, which its writer names."""
        if run_problem(error).message != FULL:
            return None
        places = {"state folder": self._place.path}
        if self._engine.work is not None:
            places["temporary folder"] = self._engine.work
        what = min(places, key=lambda name: free_bytes(places[name]))
        problem = full_disk(what, places[what])
        if what != "state folder":
            problem.hint = (
                "make space there, or name another by TMPDIR; then run it again"
            )
        problem.__cause__ = error
        return problem

    def _end(self, state: RunState, note: str) -> None:
        if self.state.ended:
            return
        try:
            for step in self._last_steps():
                self._attempt(step)
        finally:
            self._ended_s = time.monotonic()
            for output in self.outputs:
                output.lived_s = self.elapsed_s
            self._move(state if self.error is None else RunState.FAILED, note)
        for callback in self._listeners:
            try:
                callback()
            except Exception:  # the run has ended: there is nothing left to fail
                _log.exception("a function called at the end of a run failed")

    def _last_steps(self) -> Iterator[Callable[[], object]]:
        """What the end of a run does, in this order."""
        yield from self._repeated
        yield self.sources.close
        for output in self.outputs:
            yield output.gate.abandon
        for output in self.outputs:
            yield partial(self._end_output, output)
        if self._claim is not None:
            yield partial(self._claim.note_files, at_once=True)
        yield self._release
        yield self._engine.tidy

    def _attempt(self, step: Callable[[], object]) -> None:
        """Take a step of the end. One that fails keeps no other from being taken: who
        waits for the run, or for its folder, would wait for ever."""
        try:
            step()
        except Exception as error:
            # The first failure is the one that explains the others.
            self.error = self.error or run_problem(error)

    def _end_output(self, output: Output) -> None:
        try:
            if self._engine_lives:
                output.stop(self.sources.topics(output.sink))
        finally:
            output.close()

    def _release(self) -> None:
        if self._is_quiet(0, RECORDER_S):
            self._let_go()
        else:  # a source or a sink hangs, and may still write when it wakes up
            threading.Thread(target=self._let_go, daemon=True).start()

    def _let_go(self) -> None:
        # Not before all is written: the next run writes to the same folder.
        while not self._is_quiet(RECORDER_S, RECORDER_S):
            pass
        if self._claim is not None:
            self._claim.release()

    def _is_quiet(self, outputs_s: float, feeds_s: float) -> bool:
        """Whether neither a source nor a sink writes any more; waits that long."""
        written = all(output.join(outputs_s) for output in self.outputs)
        return self.sources.join(feeds_s) and written

    def _move(self, state: RunState, note: str) -> None:
        with self.lock:
            self.state, self.note = state, note


def _has_reached(output: Output, until: datetime) -> bool:
    """Whether rows took the watermark there: the end of a stream is no time."""
    mark = naive(before_end(output.progress.watermark)) if output.progress else None
    return mark is not None and mark >= until
