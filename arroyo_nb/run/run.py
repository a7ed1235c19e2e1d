"""A started script, as its user holds it.

A run is its queries (one per sink), the conductors that feed them (one per source
table, shared), and a folder. Every public method may be called from any thread, and
none of them waits for Spark unless its name says so.
"""

from __future__ import annotations

import logging
import shutil
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.run.background import LOOK_S, BackgroundTask
from arroyo_nb.run.execution import Execution
from arroyo_nb.run.lifecycle import Lifecycle
from arroyo_nb.run.observe import late_table as late_rows
from arroyo_nb.run.observe.bad_records import dropped_records
from arroyo_nb.run.observe.build_snapshot import build_snapshot, data_notes
from arroyo_nb.run.observe.input_rate import InputRate
from arroyo_nb.run.observe.query_facts import QueryFacts, query_facts
from arroyo_nb.run.observe.run_moments import (
    moments_of,
    numbered_output,
    save_trace,
)
from arroyo_nb.run.observe.snapshot import RunState, Snapshot
from arroyo_nb.run.option_values import playing_speed
from arroyo_nb.run.prepare import PreparedRun, RunFolder
from arroyo_nb.run.results.hand_out import MOST_GIVEN, GivenRows
from arroyo_nb.run.results.run_results import RunResults, RunViews
from arroyo_nb.run.sources.fit_notes import WAIT_S as FIT_S
from arroyo_nb.run.stepping import Stepping, condition
from arroyo_nb.run.stopping import StopMode, stop_mode
from arroyo_nb.run.table_head import head

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.observe.findings import Report
    from arroyo_nb.run.observe.moments import Moments
    from arroyo_nb.run.observe.progress import TriggerProgress
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.results.preview import OnRows, Preview


_log = logging.getLogger(__name__)

REPR_ROWS = 10
"""Rows that a run shows of itself."""

SETTLE_S = 2.0
"""How long one that is being stopped, or steps, may take to that end before it is
shown; most take a tenth of that."""


class Run(BackgroundTask, RunResults):
    """A started script; a context manager that stops it.

    Its rows are Arrow data: what takes the Arrow PyCapsule interface takes a run, as
    in ``polars.DataFrame(run)`` or ``pyarrow.table(run)``.

    Attributes
    ----------
    name
        What it is called in lists and folders.
    plan
        What it runs.
    handle
        What its user writes for it, where views name a method: its variable in a
        notebook.
    outputs
        Its queries, one per sink.
    sources
        What feeds them.
    place, folder
        Where its chunks, checkpoints and sink states are.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        engine: Engine,
        place: RunFolder,
        *,
        views: RunViews | None = None,
    ) -> None:
        self.name = prepared.name
        self.handle = "Run"
        self._views = views
        self.plan = prepared.plan
        self.sql = prepared.plan.source.text
        self.options = prepared.options
        self.outputs = prepared.outputs
        self.sources = prepared.sources
        for output in self.outputs:
            output.observation.known_sources = self.sources.sources
        self.place = place
        self.folder = place.path
        self._engine = engine
        self._stale: dict[str, None] = {}
        self._when_stale: list[Callable[[], object]] = []
        self._playback = prepared.playback
        # One that is resumed goes on with its age, as with its rows.
        lived_s = (output.observation.lived_s for output in self.outputs)
        self._life = Lifecycle(max(lived_s, default=0.0))
        self._input = InputRate(self.outputs[0].observation, self.sources)
        self._execution = Execution(prepared, engine, place, self._life, self._input)
        self._stepping = Stepping(self._playback.step, self._ended_batches)
        self._execution.on_progress(self._stepping.go_on)

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
        if self._views is not None:
            return self._views.text(self.snapshot(REPR_ROWS))
        rows = sum(o.preview.total_rows for o in self.outputs if o.preview)
        return f"<Run {self.name}: {self.state.value}, {rows:,} rows>"

    def _repr_html_(self) -> str | None:
        if self._views is None:
            return None
        return self._views.html(self.snapshot(REPR_ROWS))

    def _repr_mimebundle_(self, **_: object) -> None:
        """Let one that is about to stop, or is stepping, come to that end before it is
        shown: a cell that ends with ``run.stop()`` is not drawn again. IPython asks for
        this first, and shows the other forms where it gives none."""
        deadline = time.monotonic() + SETTLE_S
        while self._is_settling and time.monotonic() < deadline:
            time.sleep(LOOK_S)

    @property
    def _is_settling(self) -> bool:
        going = self._execution.is_ending or self._stepping.is_going
        return going and not self.state.ended

    @property
    def state(self) -> RunState:
        """Where the run is: starting, running, finished, stopped or failed."""
        return self._life.state

    @property
    def error(self) -> ArroyoError | None:
        """Why it failed."""
        return self._life.error

    @property
    def note(self) -> str:
        """One line about where it is."""
        return self._life.note

    @property
    def resumed(self) -> bool:
        """Whether it went on from its checkpoint instead of from the beginning."""
        return self._execution.resumed

    @property
    def progress(self) -> TriggerProgress | None:
        """The newest micro-batch of the first output, as plain numbers."""
        return self.outputs[0].observation.progress

    @property
    def stale(self) -> tuple[str, ...]:
        """Tables, views and functions (as ``name()``) that were declared anew after
        this run began."""
        return tuple(self._stale)

    def mark_stale(self, name: str) -> None:
        """Note that what it reads or calls is another one now: the rows here are of the
        one before."""
        self._stale[name] = None
        for callback in self._when_stale:
            try:
                callback()
            except Exception:  # the cell that declares the table has done so
                _log.exception("a function called for a stale run failed")

    def on_stale(self, callback: Callable[[], object]) -> None:
        """Have a function called when what it reads or calls was declared anew, on the
        thread that did it."""
        self._when_stale.append(callback)

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
        """Read nothing more until :meth:`resume` or :meth:`step`: no chunk of a tape is
        released, and no micro-batch of topics begins to read.

        Raises
        ------
        RunProblem
            When Spark itself reads topics and writes the table, as in real-time mode.
        """
        self._stepping.end()
        self._playback.pause()

    def resume(self, speed: float | str | None = None) -> None:
        """Go on after :meth:`pause`, perhaps at another speed."""
        if speed is not None:
            self.set_speed(speed)
        self._stepping.end()
        self._playback.resume()

    @property
    def speed(self) -> float | str:
        """How many seconds of event time a second shows; assigning sets it."""
        return self.options.speed

    @speed.setter
    def speed(self, speed: float | str) -> None:
        self.set_speed(speed)

    def set_speed(self, speed: float | str) -> None:
        """Play what follows at another speed: a factor on event time, or ``"max"``.

        Raises
        ------
        RunProblem
            When it has ended, or was started without a speed.
        """
        speed = playing_speed(speed)
        if self.state.ended:
            raise RunProblem(f"the run '{self.name}' has ended")
        self._playback.set_speed(speed)
        self.options = replace(self.options, speed=speed)

    def step(self, batches: int = 1, *, until: str | datetime | None = None) -> Run:
        """Read one chunk of each tape, or one micro-batch of topics; then pause.

        Returns at once, as the run goes on behind the notebook; what a cell shows of it
        waits for the step, up to two seconds.

        At a speed a chunk is what is due in one tick. Else it is what the source gives
        at once: of a file 128 KiB at first, so all of a small one. The first one after
        a pause may be several that were merged before. A run that has ended stays as
        it is.

        Parameters
        ----------
        batches
            How many micro-batches to go.
        until
            Go on instead to the next late row (``"late"``), to the next window that
            closes (``"window"``), or until the watermark has reached a time, UTC.

        Raises
        ------
        RunProblem
            As of :meth:`pause`, or when there is nothing like that to step to.
        """
        self._playback.require_pausable()
        reached = condition([o.observation for o in self.outputs], batches, until)
        self._stepping.begin(reached)
        return self

    def _ended_batches(self) -> int:
        return sum(o.observation.next_batch for o in self.outputs)

    def moments(self, output: int = 0) -> Moments:
        """The recorded micro-batches of an output, each as a snapshot for views; the
        first 10,000 of a run are recorded."""
        return moments_of(self, output)

    def save_trace(self, path: str | Path) -> Path:
        """Save what the run did, micro-batch by micro-batch, as one Parquet file, which
        :func:`arroyo_nb.load_trace` reads in any kernel.

        The file has the rows that are kept, the counts of windows, the watermarks, and
        of a sample of the rows that came in their event times, keys and first values.

        Raises
        ------
        RunProblem
            When the path may not be written.
        """
        return save_trace(self, path)

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
        self._kept_preview(output).call(callback)
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
        """Each late row: its columns, ``event_time``, ``window_start``,
        ``window_end``, ``missed_windows`` and ``late_by``; a name that one of its
        columns has already gets a number, as ``event_time_1``.

        A late row is one that missed at least one of its windows, and comes once, as
        panels and :meth:`snapshot` count it. Of a hop it may have missed several:
        ``missed_windows`` says how many, and ``window_start`` and ``window_end`` are
        those of the last one. :meth:`windows` counts it in each window that it missed.
        Of sessions the three are NULL: a late row belongs to no session.
        Computed when asked for, from the chunks that the run read, as far as the trace
        has late rows in them; waits for Spark, shows how far it is, and ends where it
        is interrupted. A
        live source keeps its newest chunks: what is gone is told as a warning.
        """
        self._raise_once()
        what = self._what(output)
        seen = self._output(output).observation
        telling = nullcontext() if self._views is None else self._views.telling()
        with telling as tell:
            return late_rows.late_rows(self._engine, seen, self.sources, what, tell)

    def bad(self, output: int = 0) -> pa.Table:
        """The bad records that an output left out where its tables say
        ``bad_data = 'drop'``: source, place, record, reason.

        The place is the topic, file or key that it came from (``origin``), with the
        partition and offset, or the line. A record is its first 200 characters, with
        ``…`` at the end where it was cut. Up to 1,000 of a table are kept; a
        warning says how many there were in all, and how to get those of a topic.
        """
        self._raise_once()
        return dropped_records(self.sources, self._output(output))

    def windows(self, output: int = 0) -> pa.Table:
        """The windows that rows came for: start, end, rows, late rows, state, batch
        that closed it. A row that missed several windows of a hop is late in each.
        Of rows that change each new version is one, and taking one back
        is none. Where rows are put into windows more than once, as on both sides of a
        join, a first column ``table`` says whose rows are counted.

        Sessions with a key are told as the stretches of time that have any, all keys
        together, with edges near by an eighth of the gap; without a key each that has
        closed is told by itself. Late rows of both are at most so many. :meth:`late`
        and the result are exact.
        """
        self._raise_once()
        seen = self._output(output).observation
        return late_rows.windows_table(seen, self._what(output))

    def explain(self) -> str:
        """The plan of the script, pass by pass; and what is odd in the rows that came
        so far."""
        found = data_notes(self, FIT_S)
        odd = [f"  {name}: {text}" for name, all_ in found.items() for text in all_]
        heading = ["", "what is odd in the rows so far:"] if odd else []
        return "\n".join((self.plan.explain(), *heading, *odd))

    def doctor(self) -> Report:
        """Why no row comes out, and what is odd where rows do: the nearest cause first,
        each with the one thing to do. Reads rows again to count what each condition
        keeps; waits for Spark, for some seconds.

        Raises
        ------
        RunProblem
            When it is not a run of a session.
        """
        if self._views is None:
            raise RunProblem("only a run of a session can be examined")
        return self._views.doctor(self, self._engine)

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """What the author of the script has probably overlooked."""
        return tuple(self.plan.hints)

    @cached_property
    def facts(self) -> QueryFacts:
        """What the query of its first output is made of."""
        return query_facts(self.outputs[0].sink, self.plan.source)

    def snapshot(self, rows: int = 20, output: int = 0) -> Snapshot:
        """One picture of an output for a view; cheap, and never touches Spark.

        Its rows, watermark, windows and counts are those of one micro-batch, the newest
        whose progress is known.
        """
        with self._life.lock, self._output(output).observation.lock:
            return build_snapshot(self, rows, output)

    def discard(self, reason: str = "replaced") -> Run:
        """Stop it and remove its folder where no user named it; returns at once."""
        self.stop(reason)
        self._engine.worker.post(self._remove)
        return self

    def forget(self) -> None:
        """Remove its folder where no user named it, once nobody holds it any more."""
        if self.place.temporary:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def can_pause(self) -> bool:
        """Whether it can be paused and stepped."""
        return self._playback.can_pause

    @property
    def is_stepping(self) -> bool:
        """Whether a step has been asked for that has not ended."""
        return self._stepping.is_going and not self.state.ended

    @property
    def activity(self) -> str:
        """What it waits for or works on, with the seconds that this has taken; of one
        that has ended the reason; empty: it goes on, as one sees."""
        life = self._life
        if self.state.ended:
            return self.note
        if self.state is RunState.STARTING:
            said = [
                f"{self.note}, {life.opening_s:.0f} s"
                if life.is_begun
                else f"{self.note}: {self._engine.status}"
            ]
            said += ["a step is queued"] if self.is_stepping else []
            return "; ".join(said)
        waits = self.sources.paused and not self.is_stepping
        work = "" if waits else next(filter(None, (o.work for o in self.outputs)), "")
        return "; ".join(filter(None, (self.note, self._stepping.words, work)))

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, until the end."""
        return self._life.elapsed_s

    @property
    def running_s(self) -> float:
        """Seconds since its queries started, until the end; 0 before."""
        return self._life.running_s

    @property
    def rows_in(self) -> int:
        """Rows that the first output has read so far."""
        return self._input.rows

    @property
    def rows_per_s(self) -> float:
        """Input rows a second, of the last two seconds; over all once it has ended."""
        if self.state.ended:
            return self.rows_in / max(self.elapsed_s, 1e-3)
        return self._input.rows_per_s

    def _output(self, number: int) -> Output:
        return numbered_output(self.outputs, number)

    def _what(self, output: int) -> str:
        """An output, as messages name it: by its table, where it has one."""
        table = self._output(output).sink.table
        return f"the run '{self.name}'" if table is None else f"'{table.name}'"

    def _given_rows(self) -> tuple[GivenRows, ...]:
        made = []
        for reader in self.sources.readers:
            if reader.bounded and reader.streamed is None:
                # What is gone since then is left out: the panel has what came of it.
                with suppress(ArroyoError):
                    rows = head(self._engine, reader.table, MOST_GIVEN + 1).rows
                    whole = rows.num_rows <= MOST_GIVEN
                    given = GivenRows(
                        reader.table.name, rows.slice(0, MOST_GIVEN), whole
                    )
                    made.append(given)
        return tuple(made)

    def _kept_preview(self, output: int) -> Preview:
        self._raise_once()
        preview = self._output(output).preview
        if preview is None:
            what = self._what(output)
            raise RunProblem(
                f"the rows of {what} went to its table and none were kept",
                hint="run with sinks=False to preview them instead",
            )
        return preview

    def _raise_once(self) -> None:
        if self.error is not None and not self._told:
            self._told = True
            raise self.error

    def detach(self) -> None:
        """Keep the rows readable for whoever still holds this run, when its temporary
        folder is removed."""
        for output in self.outputs if self.place.temporary else ():
            if output.preview is not None:
                output.preview.detach()

    def _remove(self) -> None:
        if self.place.temporary:
            self.detach()
            shutil.rmtree(self.folder, ignore_errors=True)
