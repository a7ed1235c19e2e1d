"""Scripts and jobs in a process of their own, without a notebook.

Rows of bare SELECTs go to standard output, as JSON lines; whatever else is said goes
to standard error. Where a person looks on, one line there says where the run is.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.engine.config import CORES
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.jobs import owner, registry
from arroyo_nb.jobs.runner.log import LOGS, FileLog, Logs, log_path
from arroyo_nb.jobs.runner.service import Ended, serve
from arroyo_nb.jobs.runner.stop_limit import STANDARD, StopLimit
from arroyo_nb.run.names import safe_name
from arroyo_nb.run.observe.build_snapshot import data_notes
from arroyo_nb.run.observe.snapshot import RunState, before_end
from arroyo_nb.run.option_values import state_folder
from arroyo_nb.run.options import DEFAULTS, RunOptions
from arroyo_nb.run.recording import counted
from arroyo_nb.run.sources.fit_notes import WAIT_S as FIT_S
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText
from arroyo_nb.state import copies

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arroyo_nb.jobs.spec_file import JobFile
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.run import Run
    from arroyo_nb.state.resume import Prepared
    from arroyo_nb.udfs.definition import Udf

STATUS_S = 0.2
"""How often a terminal is told where a run is."""


def run_script(
    script: ScriptText,
    options: RunOptions,
    *,
    name: str | None,
    functions: Sequence[Udf] = (),
) -> None:
    """Run a script to its end, and say what its rows do not.

    Parameters
    ----------
    options
        How it is run.
    name
        The run's; None: one made from its text.
    functions
        Those of users that it may call.

    Raises
    ------
    ArroyoError
        When it fails, or runs nothing.
    """
    with Session(tell=say_aside) as session:
        for udf in functions:
            session.define(udf)
        try:
            with _status_line(session):
                _begun(session, script, options, name=name, wait=True)
        finally:
            for text in chain.from_iterable(map(_notes, session.runs.values())):
                say_aside(f"note: {text}")


@dataclass(frozen=True)
class JobLaunch:
    """How the command starts a job, beside what its spec says.

    Parameters
    ----------
    name
        In place of the spec's.
    options
        Those of the command line: a folder of the state in place of the spec's, and
        whether scripts are refused that Arroyo would refuse.
    log
        How its events are written: a name of :data:`arroyo_nb.jobs.runner.log.LOGS`.
    port
        As :func:`arroyo_nb.jobs.runner.service.serve` takes it.
    stop
        How a signal stops it, where ``arroyo-nb stop`` says nothing else.
    changed
        What becomes of its state where the job was changed since: a value of
        :class:`arroyo_nb.state.resume.OnIncompatible`.
    submitted
        Run it on the Spark of the spark-submit that started this process.
    stop_limit
        By when the process ends once a signal stops it.
    """

    name: str | None = None
    options: RunOptions = DEFAULTS
    log: str = "text"
    port: int | None = None
    stop: StopMode = StopMode.CHECKPOINT
    changed: str = ""
    submitted: bool = False
    stop_limit: StopLimit = STANDARD


def run_job(job: JobFile, launch: JobLaunch) -> Ended:
    """Keep a job going until it ends, or a signal stops it; on the main thread.

    Returns
    -------
    Ended
        How it ended, other than by a failure.

    Raises
    ------
    ArroyoError
        When it cannot be run, or failed for good, with the place in the file.
    """
    spec, name = job.spec, launch.name or job.spec.name
    state = launch.options.state_dir or state_folder(job.state)
    options = replace(
        spec.options,
        strict=launch.options.strict or spec.options.strict,
        state_dir=state,
    )
    plan = job.check_runs_here(strict=options.strict)  # before there is a JVM
    folder = state / safe_name(name)
    # The file first: a terminal that is stopped holds up who writes to it.
    events = Logs(FileLog(name, log_path(folder)), LOGS[launch.log](name, sys.stderr))
    job.check_inside(plan, current_roots(), folder)
    if options.parallelism is not None:
        os.environ.setdefault(CORES, str(options.parallelism))
    with registry.listed(Path(job.source.name), folder, name):
        # Listed first: of two that begin at once none may take itself for the only one.
        owner.refuse_second(folder)
        prepared = _prepared(job, plan, folder, launch.changed, events)
        with (
            _spark(launch.submitted, launch.stop_limit.seconds) as spark,
            Session(spark=spark, tell=events.note) as session,
        ):
            for udf in job.functions:
                session.define(udf)

            def begin() -> Run:
                script = ScriptText(spec.script, "<cell>")
                return _begun(session, script, options, name=name)

            with _status_line(session):
                ended = serve(
                    name, begin, events, folder=folder, port=launch.port,
                    mode=launch.stop, text=lambda error: str(job.located(error)),
                    stop_limit=launch.stop_limit,
                )  # fmt: skip
            for text in chain.from_iterable(map(_notes, session.runs.values())):
                events.note(text)
        if prepared.aside is not None and not ended.has_run:
            with suppress(RunProblem, OSError):  # else it is where the note says
                copies.put_back(prepared.aside, folder, name)
                events.note(f"the job has not run: its state is back in '{folder}'")
    if ended.error is not None:
        raise job.located(ended.error) from None
    return ended


def _prepared(
    job: JobFile, plan: Plan, folder: Path, changed: str, events: Logs
) -> Prepared:
    """Have the folder of a job's run ready, and tell what a person should know."""
    from arroyo_nb.jobs.resume import prepare
    from arroyo_nb.jobs.spec_changes import JobVersion
    from arroyo_nb.jobs.versions import other_versions
    from arroyo_nb.state.resume import OnIncompatible

    for note in other_versions(job.spec.packages):
        events.note(note)
    prepared = prepare(
        folder, JobVersion(job.spec, plan), OnIncompatible(changed), job.command
    )
    for note in prepared.notes:
        events.note(note)
    return prepared


@contextmanager
def _spark(submitted: bool, stop_s: float) -> Iterator[SparkSession | None]:
    """What to run on; None: an engine of our own."""
    if not submitted:
        yield None
        return
    from arroyo_nb.engine import spark_submit as launcher

    spark = launcher.submitted()
    with launcher.ended_before(spark, within_s=stop_s):
        yield spark


def say_aside(text: str) -> None:
    """Say something that is not a row, where standard error can be written.

    Raises
    ------
    BrokenPipeError
        When nobody reads it any more.
    """
    try:
        print(text, file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError:  # as of a file on a full disk; the exit status still tells
        pass


def _begun(
    session: Session,
    script: ScriptText,
    options: RunOptions,
    *,
    name: str | None,
    wait: bool = False,
) -> Run:
    run = session.run_with(
        script.text,
        replace(options, traced=False, printed=True),
        name=name,
        wait=wait,
        source=script.name,
    )
    if run is None:
        raise ArroyoError("The provided SQL does not contain a query")
    return run


@contextmanager
def _status_line(session: Session) -> Iterator[None]:
    """Where a person looks on, say in place where the run is until it has ended."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def tell() -> None:
        said = ""
        while not over.wait(STATUS_S):
            runs = tuple(session.runs.values())  # the main thread may add one
            status = "; ".join(filter(None, map(_status, runs)))
            if said or status:
                _say_in_place(status)
            said = status

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        _say_in_place("")


def _status(run: Run) -> str:
    """Where a run is; nothing where its rows go to the same place and show it."""
    if run.state is RunState.STARTING:
        return run.activity
    printed = any(output.sink.table is None for output in run.outputs)
    if printed and sys.stdout.isatty():
        return ""
    picture = run.snapshot(0)
    said = f"{run.name}: {picture.rows_in:,} rows in, {picture.rows_per_s:,.0f} rows/s"
    mark = before_end(picture.watermark)
    return said if mark is None else f"{said}, watermark {mark:%Y-%m-%d %H:%M:%S}"


def _say_in_place(text: str) -> None:
    columns = shutil.get_terminal_size().columns
    with suppress(OSError):  # a terminal that was closed
        sys.stderr.write(f"\r{text[: columns - 1]}\x1b[K\r")
        sys.stderr.flush()


def _notes(run: Run) -> Iterator[str]:
    """What the rows do not say: where it began, which rows came in and did not count,
    what to look at."""
    if run.resumed and run.running_s:
        yield f"'{run.name}' went on from its checkpoint in {run.folder}"
    for source in run.snapshot(0).sources:
        if source.dropped_rows:
            yield f"malformed: {source.dropped_rows:,} rows of '{source.name}' dropped"
    for name, notes in data_notes(run, FIT_S).items():
        yield from (f"odd rows of '{name}': {note}" for note in notes)
    if late := run.snapshot(0).late_rows:
        yield (
            f"late: {counted(late, 'row')} missed a window that had closed (a notebook "
            "shows each row)"
        )
    yield from run.plan.hints
