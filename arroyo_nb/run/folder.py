"""The folder that a run lives in: what survives it, and who may use it.

::

    run.json            which query this state belongs to (:mod:`arroyo_nb.run.stamp`)
    lock                held (flock) by the process that runs it; names its owner
    job.json            of a job: which process it is (:mod:`arroyo_nb.run.owner`)
    sources/TABLE/      chunks that the conductor released; where a topic was begun
    sources/heartbeat/  beats, for queries that forget idle keys
    lookups/            tables that rows are looked up in, as they were read
    outputs/N/          one query: checkpoint/ of Spark, sink/ of the writer, rows/ that
                        were kept for who looks at them

A folder is one query's: state of another query is refused, never misread.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from arroyo_nb.errors import RunProblem
from arroyo_nb.run import heartbeat
from arroyo_nb.run.relocation import relocate
from arroyo_nb.run.stamp import (
    AFRESH,
    STAMP,
    Stamp,
    beside,
    fingerprint,
    untold,
    waiting,
)

LOCK, OUTPUTS, ROWS = "lock", "outputs", "rows"
LOOKED_AT_S = 0.2
"""How long a lock may be held by somebody who only looks whether it is."""


class Lock:
    """The lock of a run's folder, held by this process from construction to
    :meth:`release`.

    Parameters
    ----------
    folder
        Which.
    name
        The run's, told to whoever meets the lock.

    Raises
    ------
    RunProblem
        When another run holds it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = self._acquired(folder)
        self._file.truncate(0)
        self._file.write(f"run '{name}' of process {os.getpid()}{_here()}")
        self._file.flush()

    def _acquired(self, folder: Path) -> IO[str]:
        # flock ends with its process, however it dies: no stale lock is possible.
        file = (folder / LOCK).open("a+")
        if _locked(file) and _is_at(file, folder / LOCK):
            return file
        who = owner(folder)
        file.close()
        raise RunProblem(
            f"state folder '{folder}' is in use by {who}",
            hint="stop that run, or give this one a state folder of its own",
        )

    def release(self) -> None:
        """Let another run have it; harmless twice."""
        if not self._file.closed:
            # Not by closing alone: a child that was forked holds the file open too.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._file.close()


class RunFolder:
    """A run's folder, locked by this process from construction to :meth:`release`.

    Attributes
    ----------
    resumed
        Whether there was state in it.
    buckets
        See :class:`Stamp`.

    Parameters
    ----------
    path
        Made where it is missing, with access for its owner only.
    plan_text
        Text of the plan whose state it holds or will hold.
    name
        The run's name, told to whoever meets the lock.
    spec
        See :class:`Stamp`.
    differs
        Tells how the query whose state was found is another one, in lines.

    Raises
    ------
    RunProblem
        When another run holds it, when it holds the state of another query, or when
        it cannot be made.
    """

    def __init__(
        self,
        path: Path,
        *,
        plan_text: str,
        name: str,
        spec: str = "",
        differs: Callable[[Stamp], str] = untold,
    ) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = Lock(path, name)
        except OSError as error:
            raise RunProblem(
                f"state folder '{path}' cannot be used: {error.strerror}",
                hint="name a folder that this user may write",
            ) from error
        try:
            stamp = Stamp(fingerprint(plan_text), name, at=str(path), spec=spec)
            self.resumed, self.buckets = self._claim(stamp, differs)
        except BaseException:
            self.release()
            raise

    def source(self, table: str) -> Path:
        """Where the chunks of a source are released, or the beginning of a topic is
        noted."""
        return self._made("sources", table)

    def heartbeat(self) -> Path:
        """Where the beats for idle state go."""
        return self._made("sources", heartbeat.FOLDER)

    def lookups(self) -> Path:
        """What was read of lookup tables."""
        return self._made("lookups")

    def checkpoint(self, output: int) -> Path:
        """Spark's checkpoint of an output."""
        return self._made(OUTPUTS, str(output), "checkpoint")

    def sink(self, output: int) -> Path:
        """What an output's writer keeps."""
        return self._made(OUTPUTS, str(output), "sink")

    def rows(self, output: int) -> Path:
        """What an output produced, where that is kept."""
        return self.path / OUTPUTS / str(output) / ROWS

    def release(self) -> None:
        """Let another run have it; harmless twice."""
        self._lock.release()

    def _made(self, *parts: str) -> Path:
        folder = self.path.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _claim(self, stamp: Stamp, differs: Callable[[Stamp], str]) -> tuple[bool, int]:
        """Whether there is state, and into how many buckets it is cut."""
        settle(self.path)
        before = Stamp.of(self.path)
        if before is None:
            if (self.path / OUTPUTS).exists():
                raise RunProblem(
                    f"'{self.path}' has state, and no '{STAMP}' that says of what",
                    hint=AFRESH,
                )
            stamp.write(self.path)
            return False, stamp.buckets
        if before.moved_to:
            raise RunProblem(
                f"the state in '{self.path}' was handed over to '{before.moved_to}'",
                hint="%arroyo attach brings a job and its state back; or remove this "
                "folder to start afresh",
            )
        if before.query != stamp.query:
            raise RunProblem(
                f"state folder '{self.path}' holds the state of another query"
                + (f":\n{how}" if (how := differs(before)) else ""),
                hint=AFRESH,
            )
        if before.at not in ("", str(self.path)):
            relocate(self.path, Path(before.at))
        # What was changed and is no part of the plan is what was run last.
        replace(stamp, buckets=before.buckets).write(self.path)
        return True, before.buckets


def _locked(file: IO[str]) -> bool:
    deadline = time.monotonic() + LOOKED_AT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOKED_AT_S / 10)
        else:
            return True


def _is_at(file: IO[str], path: Path) -> bool:
    """Whether a file still has its name: its folder may have been set aside."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def settle(folder: Path) -> None:
    """Let a copy take the place of a folder whose lock is held; one that was killed in
    doing so is gone on with: the stamp comes last. A copy of what is here after all is
    older than that, and is removed."""
    copy = beside(folder)
    if Stamp.of(folder) is not None:
        shutil.rmtree(copy, ignore_errors=True)
        return
    if waiting(folder) is None:
        return
    for part in sorted(copy.iterdir(), key=lambda part: part.name == STAMP):
        part.replace(folder / part.name)
    copy.rmdir()


def user_of(state: Path) -> str:
    """Who holds the run folder that an output's state lies in."""
    return owner(state.parents[2])


def owner(folder: Path) -> str:
    """Who locked a folder last, in words; with its host, where that is another one."""
    with suppress(OSError):
        told = (folder / LOCK).read_text().strip().removesuffix(_here())
        return told or "another run"
    return "another run"


def _here() -> str:
    return f" on {socket.gethostname()}"
