"""Prepare, then start: what can be refused is refused here, before anything is written.

:func:`prepare` gives a value; :class:`arroyo_nb.run.run.Run` starts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.engine.jars import Tell, jar_set
from arroyo_nb.errors import ArroyoError, RunProblem, raise_all
from arroyo_nb.plan.requirements import jar_sets, not_run
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.option_values import END, checkpoint_interval
from arroyo_nb.run.output import Output
from arroyo_nb.run.playback import Playback
from arroyo_nb.run.sources.sources import Sources
from arroyo_nb.state.header import NO_SPEC, StateSpec

if TYPE_CHECKING:
    from arroyo_nb.engine import Engine
    from arroyo_nb.plan import Plan
    from arroyo_nb.plan.nodes import Sink
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.run.sources.sources import MakeReader


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its chunks, checkpoints and sink states.

    Parameters
    ----------
    path
        The folder of this run alone.
    temporary
        Whether nobody named it: it is removed with the run.
    spec
        What it says of what is run.
    """

    path: Path
    temporary: bool = False
    spec: StateSpec = NO_SPEC


@dataclass(frozen=True)
class PreparedRun:
    """A script that may be started: nothing that is known without Spark refuses it.

    Parameters
    ----------
    name
        The run's.
    plan
        What is run.
    options
        How.
    outputs
        The queries, one per sink; those of the run that this one resumes.
    sources
        What feeds them.
    """

    name: str
    plan: Plan
    options: RunOptions
    outputs: tuple[Output, ...]
    sources: Sources

    @property
    def playback(self) -> Playback:
        """Its pause, step and speed."""
        return Playback(self.name, self.sources, self.outputs)

    @property
    def is_streamed(self) -> bool:
        """Whether Spark itself reads or writes topics, and needs its connector."""
        writes = any(output.streamed for output in self.outputs)
        return self.sources.streamed or writes

    def check(self, cancel_check: Callable[[], None]) -> None:
        """Find out whether the topics of its tables are there; asks for seconds.

        Parameters
        ----------
        cancel_check
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When one is not, or its broker does not answer.
        """
        with errors_in(self.plan):
            self.sources.check(cancel_check)
            for output in self.outputs:
                output.check(cancel_check)

    def require_connector(
        self, engine: Engine, *, live: Sequence[str], tell: Tell
    ) -> None:
        """See to it that the servers of the run's tables are there, and that Spark can
        read and write its topics, if it has any: Spark is started again if need be.

        Raises
        ------
        RunProblem
            When a topic or a server is not there, or Spark cannot be started again.
        """
        reaching = any(output.is_reaching for output in self.outputs)
        if not self.is_streamed and not reaching:
            return
        # Starting Spark again takes seconds and must not be cut in two: an interrupt is
        # heard between its steps.
        with defer_interrupts() as interrupts:
            self.check(interrupts.check)
            for name in jar_sets(self.plan.sinks):
                engine.require(
                    jar_set(name), live=live, tell=tell, check=interrupts.check
                )


def prepare(
    name: str,
    plan: Plan,
    options: RunOptions,
    *,
    state: Path | None = None,
    outputs: tuple[Output, ...] | None = None,
    reader: MakeReader | None = None,
) -> PreparedRun:
    """Prepare a plan to be started.

    Parameters
    ----------
    state
        The folder of the state; None: a temporary one of ours.
    outputs
        Those of the run that is resumed; None: new ones.
    reader
        As of :class:`Sources`.

    Raises
    ------
    ArroyoError
        When it cannot be run with these options, or a table of it cannot be used, with
        the place in the script.
    """
    if options.printed:
        _refuse_order(plan)
    if options.real_time:
        options = _in_real_time(options, plan)
    if outputs is None:
        # First of all: not even whether a file is there may be asked outside.
        _refuse_outside(plan, state)
    from arroyo_nb.plan.paths import missing_files

    with errors_in(plan):
        raise_all(not_run(plan, sinks=options.sinks))
        raise_all(missing_files(plan, sinks=options.sinks))
        outputs = outputs or tuple(_output(sink, options) for sink in plan.sinks)
        sources = Sources(
            plan.sinks,
            speed=options.speed,
            # A run that stops at a time stops soon after it: in small batches.
            merge=not isinstance(options.until, datetime),
            tick=options.trigger or options.flush,
            stepping=options.step,
            ends_after=_patience(options),
            reader=reader,
        )
    for output in outputs:
        # Tapes are stepped by their conductors. Topics have none, so that their batches
        # are held instead.
        output.gate.reset(paused=options.step and sources.streamed)
    prepared = PreparedRun(name, plan, options, outputs, sources)
    if options.step:
        prepared.playback.require_pausable()
    return prepared


def _refuse_outside(plan: Plan, state: Path | None) -> None:
    """Refuse what would be read or written outside the allowed folders, with every
    place that is."""
    from arroyo_nb.plan.paths import outside

    allowed = current_roots()
    problems = outside(plan, allowed)
    if state is not None and not allowed.allow(state):
        problems.append(allowed.refusal(f"the state folder '{state}'"))
    with errors_in(plan):
        raise_all(problems)


@contextmanager
def errors_in(plan: Plan) -> Iterator[None]:
    """Give errors their place in the script."""
    try:
        yield
    except ArroyoError as problem:
        problem.at(plan.source)
        raise


def _refuse_order(plan: Plan) -> None:
    """Refuse what only rows that are kept have."""
    for sink in plan.sinks:
        if sink.order or sink.limit is not None:
            raise RunProblem(
                "rows that are printed as they come have no ORDER BY and no LIMIT",
                span=sink.span,
                hint="they are for cells and Session.run, whose rows are kept",
            ).at(plan.source)


def _in_real_time(options: RunOptions, plan: Plan) -> RunOptions:
    from arroyo_nb.plan.real_time import check_real_time

    check_real_time(plan.sinks)
    if not options.sinks or options.until is not None:
        raise RunProblem(
            "in real-time mode a run writes to its topics, until it is stopped",
            hint="leave out real_time to see its rows, or to have it end by itself",
        )
    trigger = checkpoint_interval(options.trigger)
    return replace(options, trigger=trigger, keep=False, traced=False)


def _output(sink: Sink, options: RunOptions) -> Output:
    previewed = sink.table is None or not options.sinks
    return Output(
        sink,
        keep=options.keep or (previewed and not options.printed),
        write=options.sinks,
        # Without a trace a query without windows has no watermark to wait for.
        traced=options.traced or isinstance(options.until, datetime),
        printed=options.printed,
        real_time=options.real_time,
    )


def _patience(options: RunOptions) -> timedelta | None:
    """How long a topic that is read to its end must have brought nothing: a batch that
    closes windows comes by the next trigger."""
    return (options.trigger or timedelta()) if options.until == END else None
