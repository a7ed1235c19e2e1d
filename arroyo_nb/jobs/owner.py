"""Who runs a folder: its lock says so, and of a process that is a job ``job.json``.

The lock ends with its process, however that dies; the notes of the job stay, and count
only while their process is the one that has the lock.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from arroyo_nb.engine.folders import process_start
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs import registry
from arroyo_nb.jobs.runner.stop_limit import STOP_LIMIT_S
from arroyo_nb.run.stopping import StopMode
from arroyo_nb.state.files import JOB_NOTES, STOP_REQUEST
from arroyo_nb.state.lock import holder, in_use

STOP_S = STOP_LIMIT_S + 10
"""How long a job is waited for that was told to stop; it ends by its own limit."""

LOOK_S = 0.05


_STARTING, _STOPPING = "starting", "stopping"
_GOING = (_STARTING, "running", "waiting", _STOPPING)


@dataclass(frozen=True)
class JobProcess:
    """A process that is a job, as it told last.

    Parameters
    ----------
    name
        The job's.
    state
        Where it was: a value of :class:`arroyo_nb.jobs.runner.supervisor.JobState`.
    restarts
        How often it began again.
    port
        Where its health and metrics are served on loopback; None: nowhere.
    pid, started
        The process, and when that began: a number of a process may come again.
    since
        When the job began, ISO 8601, UTC.
    ended
        When it ended; empty while it has not.
    error
        Why it failed; empty where it did not.
    """

    name: str
    state: str
    restarts: int = 0
    port: int | None = None
    pid: int = field(default_factory=os.getpid)
    started: int = field(default_factory=lambda: process_start(os.getpid()) or 0)
    since: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds")
    )
    ended: str = ""
    error: str = ""

    @property
    def state_since(self) -> str:
        """Since when it is where it is: it began, or has ended then."""
        return self.ended or self.since

    def write(self, folder: Path) -> None:
        """Note it in the folder that it runs; at once or not at all."""
        draft = (folder / JOB_NOTES).with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)), "utf-8")
        draft.replace(folder / JOB_NOTES)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, as far as it could tell, and its process lives."""
        return self.was_running and process_start(self.pid) == self.started

    @property
    def was_running(self) -> bool:
        """Whether it had not ended when it told last."""
        return self.state in _GOING

    @classmethod
    def of(cls, folder: Path) -> JobProcess | None:
        """What the last job in a folder told; None where there was none."""
        with suppress(OSError, ValueError, TypeError):
            return cls(**json.loads((folder / JOB_NOTES).read_text("utf-8")))
        return None


def job_in(folder: Path) -> JobProcess | None:
    """The job in a folder: one that runs or starts there, or else the last one; None
    where there was none.

    A job that starts has noted nothing in the folder as yet, which may turn out to be
    another process's: the list of the jobs of this machine names it.
    """
    job = JobProcess.of(folder)
    if job is None or not job.is_running:
        for starts in registry.running_in(folder):
            # One that has noted its end is listed until its process is gone.
            if job is not None and (starts.pid, starts.started) == (
                job.pid,
                job.started,
            ):
                continue
            since = starts.since or datetime.now(UTC).isoformat(timespec="seconds")
            return JobProcess(
                starts.name, _STARTING,
                pid=starts.pid, started=starts.started, since=since,
            )  # fmt: skip
    return job


def refuse_second(folder: Path) -> None:
    """Refuse to run a job in a folder that is in use.

    Raises
    ------
    RunProblem
        When a job runs or starts there, or a run that is none.
    """
    job = job_in(folder)
    if job is not None and job.is_running and job.pid != os.getpid():
        raise RunProblem(
            f"'{job.name}' is {job.state} already, in process {job.pid} since "
            f"{job.since}; its state is in '{folder}'",
            hint="arroyo-nb status says what it does, and arroyo-nb stop stops it; to "
            "run it twice, give this one another --state-dir",
        )
    if (held := holder(folder)) is not None:
        raise in_use(folder, held)


def stop_job(
    folder: Path,
    check: Callable[[], None] = lambda: None,
    mode: StopMode | None = StopMode.CHECKPOINT,
) -> JobProcess | None:
    """Stop the job that runs in a folder, and wait until its state is at rest.

    Parameters
    ----------
    check
        Is called again and again; what it raises ends the wait.
    mode
        How; None kills its processes, and who goes on does the last micro-batch again.

    Returns
    -------
    Job or None
        The one that was stopped; None: nobody ran it.

    Raises
    ------
    RunProblem
        When what runs there is no job of this machine, or does not end.
    """
    job = job_in(folder)
    if job is not None and job.is_running:
        # A second signal would not wait for what is being written.
        if job.state != _STOPPING or mode in (StopMode.IMMEDIATE, None):
            # One that starts has nothing to bring to an end, and no folder perhaps.
            if mode is not None and job.state != _STARTING:
                _leave_request(folder, mode)
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(job.pid, signal.SIGKILL if mode is None else signal.SIGTERM)
        _await_end(folder, job, check)
    else:
        job = None
    if (held := holder(folder)) is not None:
        raise RunProblem(
            f"state folder '{folder}' is in use by {held}, which is not a job that can "
            "be stopped from here",
            hint="stop it where it runs, as in its notebook",
        )
    return job


def requested_mode(folder: Path) -> StopMode | None:
    """How somebody asked the job in a folder to stop, if anybody did; asked once it is
    forgotten."""
    with suppress(OSError, ValueError):
        path = folder / STOP_REQUEST
        mode = StopMode(path.read_text())
        path.unlink()
        return mode
    return None


def _leave_request(folder: Path, mode: StopMode) -> None:
    # Before the signal: by the time that is heard it is there.
    draft = folder / f"{STOP_REQUEST}.draft"
    draft.write_text(mode.value)
    draft.replace(folder / STOP_REQUEST)


def _await_end(folder: Path, job: JobProcess, check: Callable[[], None]) -> None:
    deadline = time.monotonic() + STOP_S
    mine = f"process {job.pid}"
    # The notes of one that starts are those of the job before it.
    is_starting = job.state == _STARTING
    while (job if is_starting else JobProcess.of(folder) or job).is_running or (
        holder(folder) or ""
    ).endswith(mine):
        check()
        if time.monotonic() > deadline:
            raise RunProblem(f"'{job.name}' has not ended within {STOP_S:g} s")
        time.sleep(LOOK_S)
