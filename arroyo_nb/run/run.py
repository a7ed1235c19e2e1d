"""A started script, as its user holds it.

A run is its queries (one per sink), the conductors that feed them (one per source
table, shared), and a folder. Every public method may be called from any thread, and
none of them waits for Spark unless its name says so.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.run import ledger
from arroyo_nb.run.execution import Execution
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.output import Output
from arroyo_nb.run.picture import draw
from arroyo_nb.run.snapshot import RunState, Snapshot
from arroyo_nb.run.stopping import StopMode, stop_mode
from arroyo_nb.run.waiting import Awaited

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.engine import Engine
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.feeds import Feeds
    from arroyo_nb.run.preview import OnRows, Preview
    from arroyo_nb.run.progress import Progress


class Run(Awaited):
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
        self.temporary = temporary
        self._engine = engine
        self._execution = Execution(
            name, plan, engine, folder, options, outputs, temporary=temporary
        )

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
        return self._execution.state

    @property
    def error(self) -> ArroyoError | None:
        """Why it failed."""
        return self._execution.error

    @property
    def note(self) -> str:
        """One line about where it is."""
        return self._execution.note

    @property
    def resumed(self) -> bool:
        """Whether it went on from its checkpoint instead of from the beginning."""
        return self._execution.resumed

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Its queries, one per sink."""
        return self._execution.outputs

    @property
    def feeds(self) -> Feeds:
        """What feeds them."""
        return self._execution.feeds

    @property
    def progress(self) -> Progress | None:
        """The newest micro-batch of the first output, as plain numbers."""
        return self.outputs[0].progress

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether the topics of its tables are there; asks for seconds.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When one is not, or its broker does not answer.
        """
        self._execution.check(look)

    def start(self) -> Run:
        """Ask the engine to start it; returns at once.

        What it prints belongs to the caller: in a notebook, to the cell.
        """
        self._execution.begin()
        return self

    def stop(
        self, note: str = "stopped", mode: StopMode | str = StopMode.IMMEDIATE
    ) -> Run:
        """Stop it; returns at once, what was collected is kept.

        Parameters
        ----------
        note
            One line about why.
        mode
            What becomes of the rows that are on their way: ``"checkpoint"`` ends the
            micro-batch that runs, ``"graceful"`` reads all that has come by now,
            ``"immediate"`` waits for neither. Each resumes exactly. One that is asked
            for again may be quicker, as an interrupt may.

        Raises
        ------
        RunProblem
            When there is no such mode.
        """
        self._execution.end(note, stop_mode(mode))
        return self

    def pause(self) -> None:
        """Release no further chunk until :meth:`resume`."""
        self.feeds.pause()

    def resume(self) -> None:
        """Go on after :meth:`pause`."""
        self.feeds.resume()

    def step(self) -> None:
        """Release one chunk of each source, then pause."""
        self.feeds.step()

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

    def on_rows(self, callback: OnRows, output: int = 0) -> Run:
        """Have a function called with the rows of an output as they come, from now on.

        Parameters
        ----------
        callback
            Called once a micro-batch that has rows, with an Arrow table of them and
            the number of the batch, on a thread of the run's: the next batch waits for
            it. Of an updating output the rows are changes: op, before, after; of a
            large batch the newest of them. A batch may come again, under its number,
            after a restart. What it raises fails the run.

        Raises
        ------
        RunProblem
            When the output's rows go to its sink and none are kept.
        """
        self._kept(output).call(callback)
        return self

    def on_progress(self, callback: Callable[[Snapshot], object]) -> Run:
        """Have a function called with a snapshot whenever micro-batches have ended, and
        once when the run has.

        Parameters
        ----------
        callback
            Called on the engine's worker thread, which all runs share: it returns at
            once. What it raises fails the run.
        """
        self._execution.on_progress(lambda: callback(self.snapshot()))
        return self

    def late(self, output: int = 0) -> pa.Table:
        """Each late row: its columns, event time, window, and how late.

        A row comes once for each window that it missed; the late rows of
        :meth:`snapshot` count it once, and of sessions count it by pieces of the gap.
        Computed when asked for, from the chunks that the run read; waits for Spark. A
        live source keeps its newest chunks: what is gone is told as a warning.
        """
        self._raise_once()
        return ledger.late_rows(self._engine, self.outputs[output], self.feeds)

    def windows(self, output: int = 0) -> pa.Table:
        """The windows that rows came for: start, end, rows, late rows, state, batch
        that closed it. Of rows that change each new version is one, and taking one back
        is none.

        Sessions are told as the stretches of time that have any, all keys together,
        with edges and late rows near by an eighth of the gap: late rows are at most
        so many. :meth:`late` and the result are exact.
        """
        self._raise_once()
        return ledger.windows_table(self.outputs[output])

    def explain(self) -> str:
        """The plan of the script, pass by pass."""
        return self.plan.explain()

    def snapshot(self, rows: int = 20) -> Snapshot:
        """One picture of it for a view; cheap, and never touches Spark.

        Its rows, watermark, windows and counts are those of one micro-batch, the newest
        whose progress is known.
        """
        with self._execution.lock, self.outputs[0].lock:
            return draw(self, rows)

    def discard(self) -> Run:
        """Stop it and remove its folder where no user named it; returns at once."""
        self.stop("replaced")
        self._engine.worker.post(self._remove)
        return self

    def forget(self) -> None:
        """Remove its folder where no user named it, once nobody holds it any more."""
        if self.temporary:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def waiting_for(self) -> str:
        """What a starting run waits for, with the seconds that it has taken."""
        return f"{self.note}: {self._engine.status}"

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, until the end."""
        return self._execution.elapsed_s

    @property
    def running_s(self) -> float:
        """Seconds since its queries started, until the end; 0 before."""
        return self._execution.running_s

    @property
    def rows_in(self) -> int:
        """Rows that the first output has read so far."""
        return self._execution.rows_in

    @property
    def rows_per_s(self) -> float:
        """Input rows a second, of the last two seconds; over all once it has ended."""
        return self._execution.rows_per_s

    def _kept(self, output: int) -> Preview:
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
        if self.error is not None and not self._told:
            self._told = True
            raise self.error

    def _remove(self) -> None:
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
