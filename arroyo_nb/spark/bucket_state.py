"""A bucket's state as Spark keeps it: whole while it is small, a log when it is large.

::

              small              large
    value     the whole state    a head: which log this is, how long
    log       nothing            the whole state, then what each batch has changed

Bytes go from Python to Spark's store and back at some 100 MB/s, so that a batch which
reads and writes all that there is takes longer with every group. A log gets what the
batch has changed. It is read where a query starts, or goes on elsewhere; else the state
is in files of the worker's machine, that the batches before have left and that any
worker maps into its memory (:mod:`arroyo_nb.spark.state_files`). They are a copy:
Spark's store alone says which state is true.

Each entry of the log has a key of its own: what Spark appends to a list it first reads.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from arroyo_nb.changelog.state_segments import Groups, Seen, bytes_of
from arroyo_nb.changelog.state_tables import Layout, State
from arroyo_nb.changelog.state_updates import StateUpdate, replayed
from arroyo_nb.spark.state_files import StateFiles

SMALL_BYTES = 256 * 2**10
"""A state of fewer bytes is kept whole: it is quicker than what a log needs."""

PART_BYTES = 32 * 2**20
"""The whole state is cut into entries of so many: Spark sends each in one message."""

GROWTH = 2
"""How much longer than the whole state its updates get: the more, the less is written
in all, and the more is read where a query starts."""

MOST_UPDATES = 64
"""After so many the whole state is written again: who starts a query reads them all."""

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
class Kept:
    """What a bucket has kept.

    Parameters
    ----------
    groups
        Of its state.
    head
        The log that it is in; None: it is kept whole.
    """

    groups: Groups
    head: Head | None = None

    def touched(self, parts: Sequence[State], idle_before_us: int | None) -> Seen:
        """The groups that a batch may touch, as :meth:`Groups.touched` finds them; of a
        small state, which was read whole, all."""
        if self.head is None:
            return self.groups.all()
        return self.groups.touched(parts, idle_before_us)


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
    keys
        The columns of the first table by which groups are found.
    files
        Copies of large states.
    """

    value: Any
    log: Any
    layout: Layout
    keys: tuple[str, ...]
    files: StateFiles

    def read(self) -> Kept | None:
        """What the bucket has kept; None: nothing."""
        found = self.value.get()
        if not found:
            return None
        head = Head.from_bytes(value := bytes(found[0]))
        if head is None:
            return self._in_one(self.layout.from_bytes(value))
        copy = self.files.read(head.log, head.version, self.layout, self.keys)
        if copy is None:
            copy = self._in_one(self._replayed(head)).groups
        return Kept(copy, head)

    def nothing(self) -> Kept:
        """What a bucket has before its first row."""
        return self._in_one(self.layout.empty())

    def write(self, kept: Kept, seen: Seen, updates: Sequence[StateUpdate]) -> None:
        """Keep what a batch has made of a state.

        Parameters
        ----------
        kept
            The state before.
        seen
            The groups of it that the batch has seen.
        updates
            What has changed of these, one after the other.
        """
        groups, head = kept.groups.updated(seen, updates), kept.head
        # What is known of segments is about how large they are.
        if groups.nbytes < SMALL_BYTES and bytes_of(groups.state) < SMALL_BYTES:
            self._write_whole(groups.state, head)
            return
        placed = kept.groups.placed(seen, updates)
        grown = head and self._append(head, placed)
        if grown is None:
            grown = self._begin(groups.state, _name() if head is None else head.log)
        self.value.update((grown.to_bytes(),))
        self.files.write(grown.log, grown.version, groups)

    def _in_one(self, state: State) -> Kept:
        return Kept(Groups.of(state, self.layout, self.keys))

    def _append(self, head: Head, updates: Iterable[StateUpdate]) -> Head | None:
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
            self.files.remove(head.log)

    def _replayed(self, head: Head) -> State:
        entries = [bytes(self.log.getValue((n,))[0]) for n in range(head.entries)]
        whole = self.layout.from_bytes(b"".join(entries[: head.parts]))
        changed = entries[head.parts :]
        updates = [StateUpdate.from_bytes(entry, self.layout) for entry in changed]
        return replayed(whole, updates, self.layout)


def _name() -> bytes:
    return uuid.uuid4().bytes
