"""Which jobs this user runs on this machine: a small file for each, in the user's cache
folder. That of a process that is gone counts for nothing, and is removed.

A home that other hosts or containers share has files of theirs too: whether their
processes live cannot be seen from here, so they are left alone.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.folders import pid_namespace, process_start


@dataclass(frozen=True)
class RegisteredJob:
    """A job that runs.

    Parameters
    ----------
    name
        The job's.
    spec, folder
        Its ``job.yaml``, and the folder of its run.
    pid, started
        The process, and when that began.
    place
        Where that pid means something: the host and the pid namespace.
    since
        The same, ISO 8601, UTC.
    """

    name: str
    spec: str
    folder: str
    pid: int
    started: int
    place: str
    since: str = ""

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return process_start(self.pid) == self.started


@contextmanager
def listed(spec: Path, folder: Path, name: str) -> Iterator[None]:
    """Have this process listed while it is held; a folder that cannot be written lists
    nothing."""
    me = os.getpid()
    since = datetime.now(UTC).isoformat(timespec="seconds")
    at, start = str(folder.absolute()), process_start(me) or 0
    job = RegisteredJob(name, str(spec.absolute()), at, me, start, _here(), since)
    path = _folder() / f"{me}-{secrets.token_hex(4)}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(job)), "utf-8")
        draft.replace(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def running() -> list[RegisteredJob]:
    """The jobs that run here, by their names."""
    found, here = [], _here()
    for path in sorted(_folder().glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            job = RegisteredJob(**json.loads(path.read_text("utf-8")))
            if job.place != here:
                continue
            if job.is_running:
                found.append(job)
            else:
                path.unlink()
    return sorted(found, key=lambda job: (job.name, job.spec))


def running_in(folder: Path) -> list[RegisteredJob]:
    """Those of other processes whose runs are in a folder."""
    here, me = str(folder.absolute()), os.getpid()
    return [job for job in running() if job.folder == here and job.pid != me]


def _here() -> str:
    return f"{socket.gethostname()}/{pid_namespace()}"


def _folder() -> Path:
    return cache_folder() / "jobs"
