"""The folder that a run lives in: what survives it, and who may use it.

::

    run.json            which query this state belongs to, and in how many buckets
    lock                held (flock) by the process that runs it; names its owner
    sources/TABLE/      chunks that the conductor released; where a topic was begun
    sources/heartbeat/  beats, for queries that forget idle keys
    lookups/            tables that rows are looked up in, as they were read
    outputs/N/          one query: checkpoint/ of Spark, sink/ of the writer

A folder is one query's: state of another query is refused, never misread.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import IO

from arroyo_nb.changelog import BUCKETS
from arroyo_nb.errors import RunProblem
from arroyo_nb.run import heartbeat

VERSION = 2
"""Of the format of the state; 2: keys and buckets are dealt out by our own hash."""

_OWNER = re.compile(r"process (\d+)$")
_AFRESH = "name another state folder, or remove this one to start afresh"


def fingerprint(text: str) -> str:
    """Short name of a plan's text; equal plans have equal state."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class RunFolder:
    """A run's folder, locked by this process from construction to :meth:`release`.

    Attributes
    ----------
    resumed
        Whether there was state in it.
    buckets
        Into how many pieces the state of an updating operator is cut: fixed when the
        state is begun.

    Parameters
    ----------
    path
        Made where it is missing, with access for its owner only.
    plan_text
        Text of the plan whose state it holds or will hold.
    name
        The run's name, told to whoever meets the lock.

    Raises
    ------
    RunProblem
        When another run holds it, when it holds the state of another query, or when
        it cannot be made.
    """

    def __init__(self, path: Path, *, plan_text: str, name: str) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = self._acquire(name)
        except OSError as error:
            raise RunProblem(
                f"state folder '{path}' cannot be used: {error.strerror}",
                hint="name a folder that this user may write",
            ) from error
        try:
            self.resumed, self.buckets = self._claim(fingerprint(plan_text), name)
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
        return self._made("outputs", str(output), "checkpoint")

    def sink(self, output: int) -> Path:
        """What an output's writer keeps."""
        return self._made("outputs", str(output), "sink")

    def release(self) -> None:
        """Let another run have it; harmless twice."""
        if not self._lock.closed:
            # Not by closing alone: a child that was forked holds the file open too.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._lock.close()

    def _made(self, *parts: str) -> Path:
        folder = self.path.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def _acquire(self, name: str) -> IO[str]:
        # flock ends with its process, however it dies: no stale lock is possible.
        lock = (self.path / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "another run"
            lock.close()
            raise RunProblem(
                f"state folder '{self.path}' is in use by {owner}",
                hint="stop that run, or give this one a state folder of its own",
            ) from None
        lock.truncate(0)
        lock.write(f"run '{name}' of process {os.getpid()}")
        lock.flush()
        return lock

    def _claim(self, query: str, name: str) -> tuple[bool, int]:
        """Whether there is state, and into how many buckets it is cut."""
        stamp = self.path / "run.json"
        with suppress(FileNotFoundError):
            found, buckets = _read_stamp(stamp)
            if found != query:
                raise RunProblem(
                    f"state folder '{self.path}' holds the state of another query",
                    hint=_AFRESH,
                )
            return True, buckets
        draft = stamp.with_suffix(".draft")
        facts = {"version": VERSION, "name": name, "query": query, "buckets": BUCKETS}
        draft.write_text(json.dumps(facts))
        draft.replace(stamp)
        return False, BUCKETS


def user_of(state: Path) -> str:
    """Who holds the run folder that an output's state lies in."""
    with suppress(OSError):
        return (state.parents[2] / "lock").read_text().strip() or "another run"
    return "another run"


def holder(path: Path) -> int | None:
    """The process that holds a run folder; None where nobody does, or it is none."""
    try:
        with (path / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = _OWNER.search((path / "lock").read_text())
        return int(found[1]) if found else None
    except OSError:
        pass
    return None


def _read_stamp(stamp: Path) -> tuple[object, int]:
    try:
        facts = json.loads(stamp.read_text())
        version, found = facts["version"], (facts["query"], int(facts["buckets"]))
    except (ValueError, KeyError, TypeError):
        raise RunProblem(f"'{stamp}' is not a run's stamp", hint=_AFRESH) from None
    if version != VERSION:
        raise RunProblem(
            f"'{stamp.parent}' holds state of format {version}, this version of "
            f"arroyo_nb keeps format {VERSION}",
            hint=_AFRESH,
        )
    return found
