"""The lock of a run's folder: held by the process that runs it, and who that is."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from arroyo_nb.errors import RunProblem
from arroyo_nb.state.files import LOCK

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
        self._file = (folder / LOCK).open("a+")
        try:
            self._acquire(folder)
            self._file.truncate(0)
            self._file.write(f"run '{name}' of process {os.getpid()}{_here()}")
            self._file.flush()
        except BaseException:  # also a full disk: who keeps the error keeps the file
            self.release()
            raise

    def _acquire(self, folder: Path) -> None:
        # flock ends with its process, however it dies: no stale lock is possible.
        if _locked(self._file) and _is_at(self._file, folder / LOCK):
            return
        raise in_use(folder, owner(folder))

    def release(self) -> None:
        """Let another run have it; harmless twice."""
        if not self._file.closed:
            # Not by closing alone: a child that was forked holds the file open too.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            with suppress(OSError):  # what a full disk did not take of its text
                self._file.close()


def in_use(folder: Path, user: str) -> RunProblem:
    """The error of a run that finds its folder locked by another one."""
    return RunProblem(
        f"state folder '{folder}' is in use by {user}",
        hint="stop that run, or give this one a state folder of its own",
    )


def holder(folder: Path) -> str | None:
    """Who holds the lock of a folder, in words; None: nobody."""
    try:
        with (folder / LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return owner(folder)
    except OSError:
        pass
    return None


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
