"""How a run lives: started, polled, ended, all on the engine's worker thread.

It is started and ended once. Whoever wants it to end asks: :meth:`Execution.begin`
and :meth:`Execution.end` return at once, from any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from arroyo_nb.engine.descriptors import check_spare
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.plan.user_functions import place_of_call
from arroyo_nb.run.diagnosis import Diagnosis
from arroyo_nb.run.ending import Ending
from arroyo_nb.run.observe.snapshot import RunState, before_end, naive
from arroyo_nb.run.pending_stop import PendingStop
from arroyo_nb.run.query_starter import QueryStarter, check_reach, claim_folder
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.spark.failures import (
    GONE,
    PARTITION_ADDED,
    WORKER_SLOW,
    run_problem,
)
from arroyo_nb.udfs.messages import named_in

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine
    from arroyo_nb.run.lifecycle import Lifecycle
    from arroyo_nb.run.observe.input_rate import InputRate
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.prepare import PreparedRun, RunFolder

POLL_S = 0.1
"""How often a running query is looked at."""

MOST_RESTARTS = 5
"""How often queries are started again that failed before they read a record."""


class Execution:
    """The life of a prepared run on an engine.

    Attributes
    ----------
    outputs, sources
        Of the run.
    is_ending
        Whether it was asked to stop.

    Parameters
    ----------
    prepared
        What is run.
    engine
        On what.
    place
        In which folder.
    lifecycle
        Where it says how far it is.
    input_rate
        Is told at each poll how many rows there are.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        engine: Engine,
        place: RunFolder,
        lifecycle: Lifecycle,
        input_rate: InputRate,
    ) -> None:
        self.outputs = prepared.outputs
        self.sources = prepared.sources
        self._prepared = prepared
        self._options = prepared.options
        self._engine = engine
        self._place = place
        self._life = lifecycle
        self._input = input_rate
        self._ending = Ending(prepared, lifecycle, engine, self._engine_lives)
        self._diagnosis = Diagnosis(
            prepared.name, place.path, engine, self._engine_lives
        )
        self._starter: QueryStarter | None = None
        self._pending_stop: PendingStop | None = None
        self.is_ending = False
        # A later engine knows nothing of the queries of one that died.
        self._generation = -1
        self._restarts_left = MOST_RESTARTS
        # Queries that were started again and have shown no sign of life since.
        self._started_again: set[Output] = set()

    def on_progress(self, callback: Callable[[], object]) -> None:
        """Have a function called after each poll that found a micro-batch."""
        self._ending.listeners = (*self._ending.listeners, callback)

    def begin(self) -> None:
        """Ask the engine to start it. Its batches are written in the caller's context,
        by which a kernel knows the cell that a thread prints for."""
        self._engine.worker.post(partial(self._start, copy_context()))

    def end(self, note: str, mode: StopMode = StopMode.IMMEDIATE) -> None:
        """Have it stopped; one that has not been started yet ends here and now."""
        self.is_ending = True
        # Here and not on the worker, which may be in a call to Spark for seconds: until
        # it comes to the stop, sources must release nothing more.
        if mode is not StopMode.GRACEFUL:
            self.sources.close()
        if self._life.state.ended:
            return
        if self._life.withdraw(note):
            self._engine.worker.post(self._ending.tell_listeners)
            return
        if mode is StopMode.IMMEDIATE:
            self._engine.worker.post(partial(self._end, RunState.STOPPED, note))
        else:
            self._engine.worker.post(partial(self._end_soon, mode, note))

    @property
    def resumed(self) -> bool:
        """Whether it went on from state that was there."""
        claim = self._ending.claim
        return claim is not None and claim.resumed

    def _engine_lives(self) -> bool:
        same = self._generation == self._engine.restarts
        return same and self._engine.alive

    def _start(self, context: Context) -> None:
        if self._life.state.ended:
            return
        try:
            check_spare()
            # The folder first: what refuses its state needs no engine.
            self._ending.claim = claim = claim_folder(self._prepared, self._place)
            claim.inspect(len(self.outputs))
            spark = self._engine.session
            self._generation = self._engine.restarts
            check_reach(spark, self._place)
            if not self._life.begin():  # stopped while the engine started
                self._ending.release()
                return
            self._starter = QueryStarter(self._prepared, spark, claim, context)
            self._starter.start_all()
        except Exception as error:
            self._fail(error)
            return
        self._life.run("resumed" if claim.resumed else "")
        every, heart = self._engine.worker.every, self._starter.heart
        self._ending.repeated = [every(POLL_S, self._poll)]
        if heart is not None:
            beats = every(heart.heartbeat.period_s, heart.beat)
            self._ending.repeated.append(beats)

    def _poll(self) -> None:
        # First of all: once the engine is gone each call below fails in words of its
        # own.
        if not self._engine_lives():
            self._fail(RunProblem(GONE))
            return
        stop = self._pending_stop
        try:
            self._look()
            failure = self.sources.error or self._failure()
            if failure is not None and self._start_again(failure):
                return
            over = failure is None and self._is_over()
            if over:  # also of a batch that was the last one
                failure = self._failure()
        except Exception as error:
            self._fail(error)
            return
        if stop is not None and stop.hindrance and not over:
            self._end(RunState.STOPPED, stop.given_up)
        elif failure is not None:
            self._fail(failure)
        elif over and stop is not None:
            self._end(RunState.STOPPED, stop.reason)
        elif over:
            self._end(RunState.FINISHED, self._why_over)
        else:
            self._respect_limits()

    def _look(self) -> None:
        """Take over what the queries did since the last poll, and tell who wants to
        know: sources let go of what is read, listeners draw."""
        assert self._starter is not None, "polled once it has started"
        self._starter.check_slots()
        news = [output for output in self.outputs if output.poll()]
        for output in self.outputs:
            output.end_topics(self.sources.ending_topics(output.sink))
            output.size_batches(self.sources.topics(output.sink))
        self._input.look()
        self._note_signs_of_life()
        if news:
            read = ((o.sink, o.observation.positions) for o in self.outputs)
            # Only what batches have committed is let go; a batch that is run again
            # reads its rows once more.
            self.sources.consumed(read)
            for callback in self._ending.listeners:
                callback()
            self._starter.claim.note_files()

    def _note_signs_of_life(self) -> None:
        """Stop telling that queries were started again once each has ended a
        micro-batch, or has found that there is nothing to read."""
        if not self._started_again:
            return
        silent = {o for o in self._started_again if o.is_unread and not o.is_idle()}
        self._started_again = silent
        if not silent:
            self._life.restore_note()

    def _failure(self) -> BaseException | None:
        return next(filter(None, (o.failure() for o in self.outputs)), None)

    def _start_again(self, failure: BaseException) -> bool:
        """Start those queries again that failed before they read a record: they met a
        partition of which they were not told, as it was added after the topic was
        asked; or the machine was too busy for Spark to start a process. False: that is
        not what failed, or it is given up."""
        met = run_problem(failure).message
        failed = [o for o in self.outputs if o.failure() is not None]
        if met not in (PARTITION_ADDED, WORKER_SLOW) or self._pending_stop is not None:
            return False
        if self._restarts_left == 0 or not all(o.is_unread for o in failed):
            return False
        assert self._starter is not None, "polled once it has started"
        self._restarts_left -= 1
        for output in failed:
            topics = self.sources.topics(output.sink)
            output.stop(topics)
            if met == PARTITION_ADDED:
                for topic in topics:
                    topic.meet_added()
            self._starter.start(self.outputs.index(output))
        self._started_again.update(failed)
        tried = MOST_RESTARTS - self._restarts_left
        self._life.interrupt_note(
            f"{met}: starting it again, {tried} of {MOST_RESTARTS}"
        )
        return True

    def _is_over(self) -> bool:
        stop = self._pending_stop
        if stop is not None and stop.mode is StopMode.CHECKPOINT:
            # Each is asked: one that waits for its trigger is woken by it.
            ended = [output.has_ended() for output in self.outputs]
            return all(ended)
        return all(
            output.is_complete
            or (
                self.sources.is_read(output.observation.places or {}, output.sink)
                and output.is_idle()
            )
            for output in self.outputs
        )

    @property
    def _why_over(self) -> str:
        limits = [str(o.sink.limit) for o in self.outputs if o.is_complete]
        if not limits:
            return "the sources have ended"
        return f"LIMIT {', '.join(limits)}: all its rows are there"

    def _respect_limits(self) -> None:
        limit, until = self._options.stop_after, self._options.until
        if limit is not None and self._life.running_s >= limit.total_seconds():
            self._end(RunState.STOPPED, f"stopped after {limit.total_seconds():g} s")
        if isinstance(until, datetime) and all(
            _has_reached(output, until) for output in self.outputs
        ):
            self._end(RunState.STOPPED, f"the watermark reached {until}")

    def _end_soon(self, mode: StopMode, note: str) -> None:
        """Have it end soon: :meth:`_poll` sees when."""
        if self._life.state.ended or self._pending_stop is not None:
            return
        if self._options.real_time:  # the batch that runs reads what has come by now
            mode = StopMode.CHECKPOINT
        self._pending_stop = stop = PendingStop(mode, note)
        self._life.move(self._life.state, stop.note)
        stop.watch_servers(self._prepared, self._life)
        try:
            for output in self.outputs:
                # A batch that is held while the run is paused would never end.
                output.gate.resume()
            if mode is StopMode.GRACEFUL:
                self.sources.drain()
                return
            for output in self.outputs:
                output.end_after_batch()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        life = self._life
        if life.state.ended:  # stopped while it was being started
            self._ending.release()
            return
        problem = self._diagnosis.problem(error, is_begun=life.is_begun)
        life.error = self._placed(problem)
        self._end(RunState.FAILED, "")

    def _placed(self, problem: ArroyoError) -> ArroyoError:
        """An error of a UDF, with the place of its call."""
        name = named_in(problem.message)
        if problem.span is None and name is not None:
            plan = self._prepared.plan
            problem.span = place_of_call(plan.sinks, name)
            problem.at(plan.source)
        return problem

    def _end(self, state: RunState, note: str) -> None:
        self._ending.end(state, note)


def _has_reached(output: Output, until: datetime) -> bool:
    """Whether rows took the watermark there: the end of a stream is no time."""
    progress = output.observation.progress
    mark = naive(before_end(progress.watermark)) if progress else None
    return mark is not None and mark >= until
