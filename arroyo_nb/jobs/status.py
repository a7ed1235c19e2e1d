"""Where a job is, as far as its folder tells."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.owner import JobProcess, job_in
from arroyo_nb.jobs.spec_file import load
from arroyo_nb.jobs.transfer import state_of
from arroyo_nb.state.header import find_header
from arroyo_nb.state.lock import holder


class Status(NamedTuple):
    """What is known of a job.

    Parameters
    ----------
    name
        The job's, or its folder's where the spec cannot be read.
    state
        Where it is, in a word or two.
    folder
        That of its spec.
    pid
        The process that runs it.
    since
        When that began, or the job ended; ISO 8601, UTC.
    restarts
        How often it began again since.
    address
        Where its health is asked.
    """

    name: str
    state: str
    folder: Path
    pid: int | None = None
    since: str = ""
    restarts: int | None = None
    address: str = ""


def status(spec: Path) -> Status:
    """Where a job is.

    Parameters
    ----------
    spec
        Its ``job.yaml``.
    """
    try:
        job = load(spec)
        folder = state_of(job)
        is_new = find_header(folder) is None
    except ArroyoError as error:
        return Status(spec.parent.name, f"unreadable: {error.message}", spec.parent)
    told, held = job_in(folder), holder(folder)
    if told is not None and told.is_running:
        address = "" if told.port is None else f"http://127.0.0.1:{told.port}/healthz"
        return Status(
            told.name, told.state, spec.parent, told.pid, told.since,
            told.restarts, address,
        )  # fmt: skip
    state, since = _at_rest(told, held, is_new=is_new), told.ended if told else ""
    return Status(job.spec.name, state, spec.parent, since=since)


def _at_rest(told: JobProcess | None, held: str | None, *, is_new: bool) -> str:
    """The state of a job that no process of a job runs, as far as is known."""
    if held is not None:
        return f"in use by {held}"
    if is_new:
        return "not run yet"
    if told is None:
        return "stopped"
    return "killed" if told.was_running else told.state
