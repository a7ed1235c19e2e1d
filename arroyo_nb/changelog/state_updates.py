"""What a step does to a state: some groups go, others come behind those that stay.

A touched group goes and comes again, as it has become, so an update is as large as what
a batch touches, whatever the size of the state. Where updates are kept one after the
other, behind a state that is written now and then, they are a log (O'Neil et al.: The
log-structured merge-tree, 1996), but groups are named by their place and not by their
key: nothing is compared when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.state_tables import (
    Layout,
    State,
    groups_where,
    put_stream,
    read_stream,
    stacked,
)
from arroyo_nb.changelog.zset import int64s

_GONE = pa.schema([(SLOT, pa.int64())])


@dataclass(frozen=True)
class StateUpdate:
    """The difference of two states that follow each other.

    Parameters
    ----------
    gone
        Slots of the groups of the earlier state that it no longer has, ascending.
    added
        The groups that come behind the others.
    """

    gone: Ints
    added: State

    @classmethod
    def of(cls, stays: npt.NDArray[np.bool_], added: State) -> StateUpdate:
        """From which groups of the earlier state stay."""
        return cls(np.flatnonzero(~stays), added)

    @classmethod
    def nothing(cls, layout: Layout) -> StateUpdate:
        """The later state is the earlier one."""
        return cls(np.empty(0, np.int64), layout.empty())

    def among(self, seen: npt.NDArray[np.bool_]) -> StateUpdate:
        """The same for a state of which only some groups were seen: others go too."""
        unseen, places = np.flatnonzero(~seen), np.flatnonzero(seen)
        return StateUpdate(np.sort(np.r_[unseen, places[self.gone]]), self.added)

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(len(self.gone)) or any(map(len, self.added.values()))

    def applied_to(self, state: State, layout: Layout) -> State:
        """The later state, each table in one piece; the same one if nothing differs."""
        return replayed(state, [self], layout) if self else state

    def to_bytes(self, layout: Layout) -> bytes:
        """The bytes that :meth:`from_bytes` gives back."""
        sink = pa.BufferOutputStream()
        put_stream(sink, pa.table([pa.array(self.gone)], schema=_GONE))
        layout.write(self.added, sink)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, blob: bytes, layout: Layout) -> StateUpdate:
        """The update that was written.

        Raises
        ------
        RunProblem
            When the bytes are the update of something else.
        """
        source = pa.BufferReader(blob)
        gone = read_stream(source, "an update")
        return cls(int64s(gone[SLOT]), layout.read(source))


def replayed(state: State, updates: Sequence[StateUpdate], layout: Layout) -> State:
    """The state after some updates, each table in one piece.

    One pass over all rows, and for each update one over the places of the groups.
    """
    states = [state, *(update.added for update in updates)]
    main, _ = layout.tables[0]
    sizes = [len(one[main]) for one in states]
    ends = np.cumsum(sizes)
    # Places in all the groups that there ever were. Those that stay keep their order
    # and others come behind them, so these are ascending, and a mask says as much.
    places = np.arange(sizes[0])
    for update, end, size in zip(updates, ends[1:], sizes[1:], strict=True):
        stay = np.delete(places, update.gone)
        places = np.r_[stay, np.arange(end - size, end)]
    there = np.zeros(ends[-1], np.bool_)
    there[places] = True
    tables = groups_where(stacked(states, layout), there)
    return {name: table.combine_chunks() for name, table in tables.items()}
