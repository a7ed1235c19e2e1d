"""A started script.

A run is its queries (one per sink), the conductors that feed them (one per source
table, shared), and a folder. Its state moves on the engine's worker thread; every
public method may be called from any thread and none of them waits for Spark unless
its name says so.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.plan import Plan, nodes
from arroyo_nb.run import ledger
from arroyo_nb.run.feeds import Feeds
from arroyo_nb.run.folder import RunFolder
from arroyo_nb.run.output import Output
from arroyo_nb.run.picture import draw
from arroyo_nb.run.snapshot import RunState, Snapshot
from arroyo_nb.spark.failures import GONE, run_problem

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.progress import Progress

POLL_S = 0.1
"""How often a running query is looked at."""

RECORDER_S = 10.0
"""How long the end of a run waits for a source that is being read."""

DEATH_S = 1.0
"""How long a JVM that does not answer may take to be dead."""

LOOK_S = 0.02
"""How often who waits for a run looks at it."""


@dataclass(frozen=True)
class RunOptions:
    """How a script is run.

    Parameters
    ----------
    sinks
        Whether INSERTs write to their tables; else they are previewed.
    keep
        Whether rows of written sinks are kept for a preview too.
    speed
        ``"max"``, or how many times faster than event time chunks are released.
    trigger
        Least time between micro-batches; None: as soon as there are rows.
    stop_after
        Wall time after which the run is stopped.
    until
        Event time (naive UTC) that the watermark must reach for the run to be stopped.
    stepping
        Whether chunks are released one by one, by :meth:`Run.step`.
    traced
        Whether windows and late rows are counted.
    printed
        Whether bare SELECTs go to standard output as JSON lines, and none are kept.
    """

    sinks: bool = True
    keep: bool = False
    speed: float | str = "max"
    trigger: timedelta | None = None
    stop_after: timedelta | None = None
    until: datetime | None = None
    stepping: bool = False
    traced: bool = True
    printed: bool = False


class Run:
    """A started script; a context manager that stops it.

    Attributes
    ----------
    name
        What it is called in lists and folders.
    plan
        What it runs.
    folder
        Where its chunks, checkpoints and sink states are.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        engine: Engine,
        folder: Path,
        options: RunOptions,
        *,
        temporary: bool = False,
        outputs: tuple[Output, ...] | None = None,
    ) -> None:
        self.name = name
        self.plan = plan
        self.folder = folder
        self.options = options
        self.note = "waiting for the engine"
        try:
            self.outputs = outputs or tuple(map(self._output, plan.sinks))
            self.feeds = Feeds(
                plan.sinks, speed=options.speed, stepping=options.stepping
            )
        except ArroyoError as problem:
            problem.at(plan.source)
            raise
        self._engine = engine
        self.temporary = temporary
        self._state = RunState.STARTING
        self._error: ArroyoError | None = None
        self._told = False
        self._begun_s = time.monotonic()
        self._ended_s: float | None = None
        self._lock = RLock()
        self._begun = False
        self._listeners: list[Callable[[], None]] = []
        self._claim: RunFolder | None = None
        self._stop_polling: Callable[[], None] | None = None
        self._generation = -1
        self._rate: deque[tuple[float, int]] = deque(maxlen=20)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop().wait_quietly(timeout=30)

    def __repr__(self) -> str:
        rows = sum(o.preview.total_rows for o in self.outputs if o.preview)
        return f"<Run {self.name}: {self.state.value}, {rows:,} rows>"

    @property
    def state(self) -> RunState:
        """Where the run is: starting, running, finished, stopped or failed."""
        return self._state

    @property
    def error(self) -> ArroyoError | None:
        """Why it failed."""
        return self._error

    @property
    def progress(self) -> Progress | None:
        """The newest micro-batch of the first output, as plain numbers."""
        return self.outputs[0].progress

    def start(self) -> Run:
        """Ask the engine to start it; returns at once.

        What it prints belongs to the caller: in a notebook, to the cell.
        """
        self._engine.worker.post(partial(self._start, copy_context()))
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended.

        Parameters
        ----------
        timeout
            Seconds; None waits as long as it takes. An interrupt gets through.

        Returns
        -------
        bool
            Whether it has ended.

        Raises
        ------
        ArroyoError
            When the run failed.
        """
        if not self.wait_quietly(timeout):
            return False
        self._raise_once()
        return True

    def stop(self, note: str = "stopped") -> Run:
        """Stop it; returns at once, what was collected is kept."""
        self.feeds.close()
        if not self._state.ended and not self._withdraw(note):
            self._engine.worker.post(partial(self._end, RunState.STOPPED, note))
        return self

    def pause(self) -> None:
        """Release no further chunk until :meth:`resume`."""
        self.feeds.pause()
        self._changed()

    def resume(self) -> None:
        """Go on after :meth:`pause`."""
        self.feeds.resume()
        self._changed()

    def step(self) -> None:
        """Release one chunk of each source, then pause."""
        self.feeds.step()
        self._changed()

    def table(self, output: int = 0) -> pa.Table:
        """The newest result rows of an output, oldest first, as an Arrow table.

        Raises
        ------
        ArroyoError
            When the run has failed, the first time it is touched after.
        RunProblem
            When the output's rows went to its sink and none were kept.
        """
        return self._kept(output).table()

    def changelog(self, output: int = 0) -> pa.Table:
        """The newest changes of an output: op, batch, before, after."""
        return self._kept(output).changelog()

    def late(self, output: int = 0) -> pa.Table:
        """Each late row: its columns, event time, window, watermark and how late.

        Computed when asked for, from the chunks that the run read; waits for Spark.
        """
        self._raise_once()
        return self._engine.worker.call(
            ledger.late_rows, self._engine, self.outputs[output], self.feeds
        )

    def windows(self, output: int = 0) -> pa.Table:
        """The windows that rows came for: start, end, rows, late rows, state, batch
        that closed it."""
        self._raise_once()
        return ledger.windows_table(self.outputs[output])

    def explain(self) -> str:
        """The plan of the script, pass by pass."""
        return self.plan.explain()

    def snapshot(self, rows: int = 20) -> Snapshot:
        """One picture of it for a view; cheap, and never touches Spark."""
        with self._lock:
            return draw(self, rows)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function, from any thread, whenever the state changes."""
        self._listeners.append(listener)

    def discard(self) -> Run:
        """Stop it and remove its folder where no user named it; returns at once."""
        self.stop("replaced")
        self._engine.worker.post(self._remove)
        return self

    def wait_quietly(self, timeout: float | None = None) -> bool:
        """Wait like :meth:`wait`, and leave its error to whoever touches it next."""
        # No Event: an interrupt inside its wait can leave its lock held, and then the
        # worker, which sets it, stands still for ever.
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._state.ended:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_S)
        return True

    @property
    def waiting_for(self) -> str:
        """What a starting run waits for, with the seconds that it has taken."""
        return f"{self.note}: {self._engine.status}"

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, until the end."""
        return (self._ended_s or time.monotonic()) - self._begun_s

    @property
    def rows_in(self) -> int:
        """Rows that the first output has read so far."""
        output = self.outputs[0]
        if output.progress is None:
            return 0
        # One that goes on after its end reads none, and not the end's row either.
        return max(0, output.input_rows - self.feeds.ends_read(output.progress.chunks))

    @property
    def rows_per_s(self) -> float:
        """Input rows a second, of the last two seconds; over all once it has ended."""
        if self._state.ended:
            return self.rows_in / max(self.elapsed_s, 1e-3)
        if len(self._rate) < 2:
            return 0.0
        (t0, n0), (t1, n1) = self._rate[0], self._rate[-1]
        return (n1 - n0) / max(t1 - t0, 1e-3)

    @property
    def _engine_lives(self) -> bool:
        # A later engine knows nothing of the queries of one that died.
        same = self._generation == self._engine.restarts
        return same and self._engine.alive

    def _output(self, sink: nodes.Sink) -> Output:
        options = self.options
        previewed = sink.table is None or not options.sinks
        return Output(
            sink,
            keep=options.keep or (previewed and not options.printed),
            write=options.sinks,
            traced=options.traced,
            printed=options.printed,
        )

    def _kept(self, output: int) -> Any:
        self._raise_once()
        preview = self.outputs[output].preview
        if preview is None:
            name = self.outputs[output].sink.name
            raise RunProblem(
                f"the rows of '{name}' went to its table and none were kept",
                hint="run with sinks=False to preview them instead",
            )
        return preview

    def _raise_once(self) -> None:
        if self._error is not None and not self._told:
            self._told = True
            raise self._error

    def _start(self, context: Context) -> None:
        if self._state.ended:
            return
        try:
            self._claim = claim = RunFolder(
                self.folder, plan_text=self.plan.identity, name=self.name
            )
            spark = self._engine.session
            self._generation = self._engine.restarts
            if not self._begin():
                self._release()
                return
            self.feeds.start(claim, on_change=self._changed)
            for index, output in enumerate(self.outputs):
                output.start(
                    partial(self.feeds.read_stream, spark),
                    checkpoint=claim.checkpoint(index),
                    state=claim.sink(index),
                    trigger=self.options.trigger,
                    context=context.copy(),
                )
        except Exception as error:
            self._fail(error)
            return
        self._move(RunState.RUNNING, "resumed" if claim.resumed else "")
        self._stop_polling = self._engine.worker.every(POLL_S, self._poll)

    def _begin(self) -> bool:
        """Whether it may start: nobody stopped it while the engine did."""
        with self._lock:
            self._begun = not self._state.ended
            return self._begun

    def _withdraw(self, note: str) -> bool:
        """End it at once, without the worker, if no query of it has been started."""
        with self._lock:
            if self._begun or self._state.ended:
                return False
            self._ended_s = time.monotonic()
            self._state, self.note = RunState.STOPPED, note
        self._changed()
        return True

    def _poll(self) -> None:
        if not self._engine_lives:
            self._fail(RunProblem(GONE))
            return
        try:
            news = [output for output in self.outputs if output.poll()]
            failure = next(filter(None, (o.failure() for o in self.outputs)), None)
            failure = self.feeds.error or failure
            over = failure is None and self._is_over()
        except Exception as error:
            self._fail(error)
            return
        self._look(bool(news))
        if failure is not None:
            self._fail(failure)
        elif over:
            self._end(RunState.FINISHED, "the sources have ended")
        else:
            self._respect_limits()

    def _look(self, news: bool) -> None:
        self._rate.append((time.monotonic(), self.rows_in))
        if news:
            self.feeds.consumed(
                (o.sink, o.progress.chunks if o.progress else None)
                for o in self.outputs
            )

    def _is_over(self) -> bool:
        return all(
            output.progress is not None
            and self.feeds.is_read(output.progress.chunks, output.sink)
            and output.is_idle()
            for output in self.outputs
        )

    def _respect_limits(self) -> None:
        limit, until = self.options.stop_after, self.options.until
        if limit is not None and self.elapsed_s >= limit.total_seconds():
            self._end(RunState.STOPPED, f"stopped after {limit.total_seconds():g} s")
        marks = [o.progress.watermark if o.progress else None for o in self.outputs]
        if until is not None and all(
            mark is not None and mark.replace(tzinfo=None) >= until for mark in marks
        ):
            self._end(RunState.STOPPED, f"the watermark reached {until}")

    def _fail(self, error: BaseException) -> None:
        if self._state.ended:  # stopped while it was being started
            self._release()
            return
        self._error = self._death(error) or run_problem(error)
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
            f"%arroyo resume {shlex.quote(self.name)} (session.resume({self.name!r}))",
        )
        told.__cause__ = error
        return told

    def _end(self, state: RunState, note: str) -> None:
        if self._state.ended:
            return
        if self._stop_polling is not None:
            self._stop_polling()
        self.feeds.close()
        self._end_outputs()
        if self._error is not None:
            state = RunState.FAILED
        self._release()
        self._ended_s = time.monotonic()
        self._move(state, note)

    def _end_outputs(self) -> None:
        for output in self.outputs:
            try:
                if self._engine_lives:
                    output.poll()
                    output.stop()
                else:
                    output.close()
            except Exception as error:
                # The first failure is the one that explains the others.
                self._error = self._error or run_problem(error)

    def _release(self) -> None:
        # Not before its conductors are done: the next run writes to the same folder.
        self.feeds.join(RECORDER_S)
        if self._claim is not None:
            self._claim.release()

    def _move(self, state: RunState, note: str) -> None:
        with self._lock:
            self._state = state
            self.note = note
        self._changed()

    def _changed(self) -> None:
        for listener in list(self._listeners):
            listener()

    def _remove(self) -> None:
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
