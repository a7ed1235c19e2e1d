"""A bucket's state as Spark keeps it: whole while it is small, a log when it is large.

::

              small              large
    value     the whole state    a head: which log this is, how long
    log       nothing            the whole state, then what each batch has changed

Bytes go from Python to Spark's store and back at some 100 MB/s, so that a batch which
reads and writes all that there is takes longer with every group. A log gets what the
batch has changed. It is read where a query starts, or goes on elsewhere; else the state
is in a file of the worker's machine, that the last batch has left and that any worker
maps into its memory. The file is a copy: Spark's store alone says which state is true.
"""

from __future__ import annotations

import os
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from arroyo_nb.changelog.state_tables import Layout, State
from arroyo_nb.changelog.state_updates import StateUpdate, replayed
from arroyo_nb.errors import RunProblem

SMALL_BYTES = 128 * 2**10
"""A state of fewer bytes is kept whole: it is quicker than what a log needs."""

MOST_UPDATES = 64
"""After so many the whole state is written again: who starts a query reads them all."""

UNUSED_S = 600
"""A file that was not written for so long is of a query that has ended, or is idle."""

_HEAD = struct.Struct("<4s16sqqq")
# An Arrow stream, and so a whole state, begins with four bytes of ones.
_MARK = b"log1"


@dataclass(frozen=True)
class Head:
    """Which log a large state is in.

    Parameters
    ----------
    version
        Names the state: no two that were ever written have the same one.
    whole_bytes, update_bytes
        The size of its first entry, and of all others.
    updates
        How many others there are.
    """

    version: bytes
    whole_bytes: int
    update_bytes: int = 0
    updates: int = 0

    def to_bytes(self) -> bytes:
        """As the value of a state."""
        numbers = self.whole_bytes, self.update_bytes, self.updates
        return _HEAD.pack(_MARK, self.version, *numbers)

    @classmethod
    def from_bytes(cls, value: bytes) -> Head | None:
        """None if the value is a whole state."""
        if not value.startswith(_MARK):
            return None
        _, *fields = _HEAD.unpack(value)
        return cls(*fields)


@dataclass(frozen=True)
class BucketState:
    """The state of the bucket whose rows Spark has just given.

    Parameters
    ----------
    value, log
        Spark's states, whose one column is binary.
    layout
        The tables of the operator's state.
    files
        Copies of large states.
    """

    value: Any
    log: Any
    layout: Layout
    files: StateFiles

    def read(self) -> tuple[State | None, Head | None]:
        """What the bucket has kept, if it has, and the log that it is in, if it is."""
        found = self.value.get()
        if not found:
            return None, None
        head = Head.from_bytes(value := bytes(found[0]))
        if head is None:
            return self.layout.from_bytes(value), None
        state = self.files.read(head.version, self.layout)
        return self._replayed() if state is None else state, head

    def write(
        self, state: State, head: Head | None, updates: Sequence[StateUpdate]
    ) -> None:
        """Keep a state.

        Parameters
        ----------
        head
            The log that :meth:`read` gave.
        updates
            What has changed since.
        """
        size = sum(table.nbytes for table in state.values())
        if size < SMALL_BYTES:
            self._write_whole(state, head)
            return
        entries = [update.to_bytes(self.layout) for update in updates]
        grown = head and _appended(head, entries)
        if grown is None:
            whole = self.layout.to_bytes(state)
            grown = Head(uuid.uuid4().bytes, len(whole))
            self.log.put([(whole,)])
            # Here, as it is done now and then.
            self.files.remove_unused()
        else:
            self.log.appendList([(entry,) for entry in entries])
        self.value.update((grown.to_bytes(),))
        self.files.write(grown.version, state, self.layout)
        if head is not None:
            self.files.remove(head.version)

    def _write_whole(self, state: State, head: Head | None) -> None:
        # Cleared, or a bucket whose keys have all gone would stay in the store as a
        # state of nothing.
        if any(table.num_rows for table in state.values()):
            self.value.update((self.layout.to_bytes(state),))
        else:
            self.value.clear()
        if head is not None:
            self.log.clear()
            self.files.remove(head.version)

    def _replayed(self) -> State:
        whole, *entries = (bytes(entry) for (entry,) in self.log.get())
        updates = [StateUpdate.from_bytes(entry, self.layout) for entry in entries]
        return replayed(self.layout.from_bytes(whole), updates, self.layout)


def _appended(head: Head, entries: Sequence[bytes]) -> Head | None:
    """The head of the log with more entries, if that is less than to write it anew."""
    size = head.update_bytes + sum(map(len, entries))
    number = head.updates + len(entries)
    # As much again as the whole: so what is written in all, and what is read at a
    # start, is at most twice what it must be.
    if size > head.whole_bytes or number > MOST_UPDATES:
        return None
    return Head(uuid.uuid4().bytes, head.whole_bytes, size, number)


@dataclass(frozen=True)
class StateFiles:
    """Copies of large states on the disk of a worker's machine, one file each.

    They are not compressed, so that a table that is read lies in the file still. What
    cannot be written or read is not there: nothing is lost with it.

    Parameters
    ----------
    folder
        Where they are; Spark deletes it with the application.
    """

    folder: Path

    @classmethod
    def of_worker(cls) -> StateFiles:
        """Those of the machine on which this Spark worker runs."""
        from pyspark import SparkFiles

        return cls(Path(SparkFiles.getRootDirectory()) / "arroyo_nb-state")

    def read(self, version: bytes, layout: Layout) -> State | None:
        """The state of a version, if it is there."""
        try:
            return layout.read(pa.memory_map(str(self._path(version))))
        except (OSError, RunProblem):
            return None

    def write(self, version: bytes, state: State, layout: Layout) -> None:
        """Add a state."""
        path = self._path(version)
        part = path.with_suffix(".part")
        try:
            if not self.folder.exists():
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with pa.OSFile(str(part), "wb") as file:
                layout.write(state, file, compressed=False)
            # At once, or another worker could read half of it.
            part.replace(path)
        except OSError:
            _remove(part)

    def remove(self, version: bytes) -> None:
        """Remove a state that is no longer the bucket's."""
        _remove(self._path(version))

    def remove_unused(self) -> None:
        """Remove the states of queries that write no more."""
        oldest = time.time() - UNUSED_S
        for entry in self._entries():
            with suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    Path(entry).unlink()

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(self.folder) as entries:
            yield from entries

    def _path(self, version: bytes) -> Path:
        return self.folder / version.hex()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
