"""A run and its job hand their state to each other: it is in one place at a time.

What is handed over is at rest: the run has ended, its last batch is written or will be
again, by who goes on, with the same rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs import SPEC, owner, spec_file
from arroyo_nb.jobs.carried_tests import NO_TESTS, CarriedTests
from arroyo_nb.jobs.folder import Promotion, before, promote
from arroyo_nb.jobs.resume import judged, spec_of_plan
from arroyo_nb.jobs.spec import STATE, Origin
from arroyo_nb.jobs.spec_changes import JobVersion
from arroyo_nb.jobs.targets import LOCAL, TARGETS
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.names import safe_name
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.option_values import state_folder
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.state.copies import hand_over
from arroyo_nb.state.header import StateHeader, find_header
from arroyo_nb.state.identity import fingerprint
from arroyo_nb.state.lock import holder
from arroyo_nb.state.resume import OnIncompatible, refuse

if TYPE_CHECKING:
    from arroyo_nb.jobs.owner import JobProcess
    from arroyo_nb.jobs.spec_file import JobFile
    from arroyo_nb.run.options import RunOptions
    from arroyo_nb.run.run import Run


def promote_run(
    run: Run,
    there: Path,
    *,
    deny: Sequence[str] = (),
    target: str = LOCAL,
    origin: Origin | None = None,
    with_state: bool = False,
    overwrite: bool = False,
    tests: CarriedTests = NO_TESTS,
) -> Promotion:
    """Make a job of a run, as :meth:`arroyo_nb.session.Session.promote` does; with its
    state the run is stopped, and its job goes on.

    Raises
    ------
    ArroyoError
        When the run cannot be such a job, or has no state to hand over; nothing is
        written, and the run goes on.
    """
    if with_state:
        check_exportable(run, there, target)
    promotion = promote(
        run.plan,
        run.name,
        there,
        trigger=run.options.trigger,
        real_time=run.options.real_time,
        origin=origin,
        deny=deny,
        target=target,
        ends=run.options.ends,
        overwrite=overwrite,
        tests=tests,
    )
    if with_state:
        with defer_interrupts() as interrupts:
            export_state(run, there, interrupts.check)
    return promotion


def take_over(path: Path) -> tuple[JobFile, RunOptions]:
    """Stop the job of a spec, and say how a run goes on from its state here.

    Raises
    ------
    ArroyoError
        As of :func:`import_state`.
    """
    job = spec_file.load(path)
    with defer_interrupts() as interrupts:
        import_state(job, interrupts.check)
    options = replace(job.spec.options, keep=True, state_dir=state_folder(job.state))
    if options.real_time:  # its trigger is the time between checkpoints
        options = replace(options, real_time=False, trigger=None)
    return job, options


def check_exportable(run: Run, there: Path, target: str = LOCAL) -> None:
    """Find out whether a run's state can be handed over to a job.

    Parameters
    ----------
    there
        The job's folder; it may not be there yet.
    target
        Where the job is to run.

    Raises
    ------
    RunProblem
        When it has none yet, or only previewed what a job writes; or when the job has
        state of its own.
    """
    if not TARGETS.get(target).runs_here:
        raise RunProblem(
            "the state of the run would lie beside the spec, where a job on "
            f"'{target}' does not look for it",
            hint="hand it over to a job that runs here: leave out the target",
        )
    unwritten = next(filter(None, (output.unwritten for output in run.outputs)), None)
    if unwritten is not None:
        raise RunProblem(
            f"'{run.name}' only previewed the rows of '{unwritten}': they were "
            "not written to the table, and a job that resumes would never write them",
            hint="run the cell with --sinks, and then hand it over; without its state "
            "the job starts from the beginning",
        )
    if run.state is RunState.STARTING:
        raise RunProblem(
            f"'{run.name}' has not started yet: there is no state to hand over",
            hint="wait until it has, or promote it without its state",
        )
    spec = before(there)
    folder = (there / (STATE if spec is None else spec.state)).absolute()
    if folder.is_relative_to(run.folder):
        raise RunProblem(
            f"the job's state, in '{folder}', would lie within the run's",
            hint="promote to another folder",
        )
    state = find_header(run.folder)
    is_kept = state is not None and not state.forgets
    if is_kept and spec is not None and spec.options.ttl is not None:
        raise RunProblem(
            f"the job has a time to live, and '{run.name}' was begun without one",
            hint=f"take 'ttl' out of '{there / SPEC}', or run the cell with --ttl",
        )
    if _has_own(folder / safe_name(run.name), run):
        raise RunProblem(
            f"the job has state already, in '{folder}'",
            hint="%arroyo attach resumes it; or promote to another folder",
        )


def export_state(run: Run, there: Path, check: Callable[[], None]) -> None:
    """Stop a run, and let a job go on from its state.

    Parameters
    ----------
    there
        The job's folder, with its spec.
    check
        Is called again and again while it is waited for; what it raises leaves the
        state with the run.

    Raises
    ------
    RunProblem
        When the run does not end, or its state cannot be copied; it stays where it
        was.
    """
    job = spec_file.load(there / SPEC)
    run.stop("handed over to its job", StopMode.CHECKPOINT)
    deadline = time.monotonic() + owner.STOP_S
    # Once it has ended, a source that hangs may still have the folder.
    while not run.state.ended or holder(run.folder) is not None:
        check()
        if time.monotonic() > deadline:
            raise RunProblem(f"'{run.name}' has not ended within {owner.STOP_S:g} s")
        time.sleep(owner.LOOK_S)
    folder = state_of(job)
    if folder != run.folder:
        spec = spec_of_plan(run.plan, run.options)
        version = JobVersion(job.spec, job.plan())
        stamp = StateHeader(fingerprint(version.identity), run.name, spec=spec)
        hand_over(run.folder, folder, run.name, stamp)


def import_state(
    job: JobFile, check: Callable[[], None] = lambda: None
) -> JobProcess | None:
    """Have a job stopped, and its state ready to be gone on with here.

    Parameters
    ----------
    check
        As :func:`export_state` takes it.

    Returns
    -------
    Job or None
        The process that was stopped; None: it was not running.

    Raises
    ------
    ArroyoError
        When it cannot be, or was changed since.
    """
    plan = job.check_runs_here()
    folder = state_of(job)
    verdict = judged(folder, JobVersion(job.spec, plan))
    if verdict is None:
        raise RunProblem(
            f"'{job.spec.name}' has no state in '{folder}': it was never run, or with "
            "its state elsewhere",
            hint="'state' in its spec names the folder that is looked into",
        )
    unset = [name for name in job.spec.environment if name not in os.environ]
    if unset:
        raise RunProblem(
            f"'{job.spec.name}' cannot go on here: {', '.join(unset)} is not set",
            hint="set it as it is where the job runs; the job was left alone",
        )
    refuse(verdict, job.spec.name, OnIncompatible.GO_ON, job.command)
    return owner.stop_job(folder, check)


def state_of(job: JobFile) -> Path:
    """Where the state of a job is."""
    return job.state.absolute() / safe_name(job.spec.name)


def _has_own(folder: Path, run: Run) -> bool:
    """Whether the state in a job's folder is not that of a run."""
    here = StateHeader.of(run.folder)
    is_given = here is not None and here.moved_to == str(folder)
    return folder != run.folder and not is_given and find_header(folder) is not None
