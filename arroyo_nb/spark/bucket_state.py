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

Each entry of the log has a key of its own: what Spark appends to a list it first reads.
"""

from __future__ import annotations

import os
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from arroyo_nb.changelog.state_tables import Layout, State
from arroyo_nb.changelog.state_updates import StateUpdate, replayed
from arroyo_nb.errors import RunProblem

SMALL_BYTES = 256 * 2**10
"""A state of fewer bytes is kept whole: it is quicker than what a log needs."""

PART_BYTES = 32 * 2**20
"""The whole state is cut into entries of so many: Spark sends each in one message."""

GROWTH = 2
"""How much longer than the whole state its updates get: the more, the less is written
in all, and the more is read where a query starts."""

MOST_UPDATES = 64
"""After so many the whole state is written again: who starts a query reads them all."""

UNUSED_S = 3600
"""A copy that was not written for so long is of a query that has ended, or waits."""

_HEAD = struct.Struct("<4s16s16sqqqq")
# An Arrow stream, and so a whole state, begins with four bytes of ones.
_MARK = b"log1"


@dataclass(frozen=True)
class Head:
    """Which log a large state is in.

    Parameters
    ----------
    log
        Names the log of the bucket.
    version
        Names the state: no two that were ever written have the same one.
    parts, whole_bytes
        Of its first entries, which are the whole state.
    updates, update_bytes
        Of those that follow.
    """

    log: bytes
    version: bytes
    parts: int
    whole_bytes: int
    updates: int = 0
    update_bytes: int = 0

    def to_bytes(self) -> bytes:
        """As the value of a state."""
        return _HEAD.pack(_MARK, *astuple(self))

    @classmethod
    def from_bytes(cls, value: bytes) -> Head | None:
        """None if the value is a whole state."""
        if not value.startswith(_MARK):
            return None
        _, *fields = _HEAD.unpack(value)
        return cls(*fields)

    @property
    def entries(self) -> int:
        """How many there are."""
        return self.parts + self.updates

    def appended(self, entries: Sequence[bytes]) -> Head | None:
        """The head with more updates, if that is less than to write the log anew."""
        updates = self.updates + len(entries)
        size = self.update_bytes + sum(map(len, entries))
        if size > GROWTH * self.whole_bytes or updates > MOST_UPDATES:
            return None
        return replace(self, version=_name(), updates=updates, update_bytes=size)


@dataclass(frozen=True)
class BucketState:
    """The state of the bucket whose rows Spark has just given.

    Parameters
    ----------
    value, log
        Spark's states: a value of one binary column, and a map from the number of an
        entry to such a value.
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
        state = self.files.read(head, self.layout)
        return self._replayed(head) if state is None else state, head

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
        if sum(table.nbytes for table in state.values()) < SMALL_BYTES:
            self._write_whole(state, head)
            return
        grown = head and self._append(head, updates)
        if grown is None:
            grown = self._begin(state, _name() if head is None else head.log)
        self.value.update((grown.to_bytes(),))
        self.files.write(grown, state, self.layout)

    def _append(self, head: Head, updates: Sequence[StateUpdate]) -> Head | None:
        entries = [update.to_bytes(self.layout) for update in updates]
        grown = head.appended(entries)
        if grown is not None:
            for number, entry in enumerate(entries, head.entries):
                self.log.updateValue((number,), (entry,))
        return grown

    def _begin(self, state: State, name: bytes) -> Head:
        whole = memoryview(self.layout.to_bytes(state))
        self.log.clear()
        starts = range(0, len(whole), PART_BYTES)
        for number, start in enumerate(starts):
            part = bytes(whole[start : start + PART_BYTES])
            self.log.updateValue((number,), (part,))
        # Here, as it is done now and then.
        self.files.remove_unused()
        return Head(name, _name(), len(starts), len(whole))

    def _write_whole(self, state: State, head: Head | None) -> None:
        # Cleared, or a bucket whose keys have all gone would stay in the store as a
        # state of nothing.
        if any(table.num_rows for table in state.values()):
            self.value.update((self.layout.to_bytes(state),))
        else:
            self.value.clear()
        if head is not None:
            self.log.clear()
            self.files.remove(head)

    def _replayed(self, head: Head) -> State:
        entries = [bytes(self.log.getValue((n,))[0]) for n in range(head.entries)]
        whole = self.layout.from_bytes(b"".join(entries[: head.parts]))
        changed = entries[head.parts :]
        updates = [StateUpdate.from_bytes(entry, self.layout) for entry in changed]
        return replayed(whole, updates, self.layout)


def _name() -> bytes:
    return uuid.uuid4().bytes


@dataclass(frozen=True)
class StateFiles:
    """Copies of large states on the disk of a worker's machine, one file each.

    They are not compressed, so that a table that is read lies in the file still. What
    cannot be written or read is not there: nothing is lost with it.

    Parameters
    ----------
    folder
        Where they are; None: nowhere.
    """

    folder: Path | None

    @classmethod
    def of_worker(cls) -> StateFiles:
        """Those of the machine on which this Spark worker runs: where Spark has its own
        temporary files, which it deletes with the executor."""
        folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
        return cls(Path(folders[0]) / "arroyo_nb-state" if folders[0] else None)

    def read(self, head: Head, layout: Layout) -> State | None:
        """The state of a log, if it is there."""
        if self.folder is None:
            return None
        try:
            return layout.read(pa.memory_map(str(self.folder / _file_name(head))))
        except (OSError, RunProblem):
            return None

    def write(self, head: Head, state: State, layout: Layout) -> None:
        """Put a state in the place of the one before."""
        if self.folder is None:
            return
        path = self.folder / _file_name(head)
        part = path.with_suffix(".part")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with pa.OSFile(str(part), "wb") as file:
                layout.write(state, file, compressed=False)
            # At once, or another worker could read half of it.
            part.replace(path)
        except OSError:
            self.remove(head)
        else:
            self.remove(head, but=path.name)

    def remove(self, head: Head, but: str = "") -> None:
        """Remove what there is of a log: also what a batch has left that failed."""
        for entry in self._entries():
            if entry.name.startswith(head.log.hex()) and entry.name != but:
                _remove(Path(entry))

    def remove_unused(self) -> None:
        """Remove the states of queries that write no more."""
        oldest = time.time() - UNUSED_S
        for entry in self._entries():
            with suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    _remove(Path(entry))

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        if self.folder is not None:
            with suppress(OSError), os.scandir(self.folder) as entries:
                yield from entries


def _file_name(head: Head) -> str:
    return f"{head.log.hex()}-{head.version.hex()}"


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
