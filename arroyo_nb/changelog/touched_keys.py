"""Which groups of a state a batch touches, and taking them out and putting them back.

Touched groups have positions: first those that the state knows, in its order, then the
new ones in order of appearance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.idle_keys import TOUCHED
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids
from arroyo_nb.changelog.state_tables import State, groups_where, with_slots
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.zset import int64s

APPENDED = "_appended"
"""Of a batch: whether a group got an append (a retract is no sign of life)."""


@dataclass(frozen=True)
class Touch:
    """The groups that a batch touches.

    Parameters
    ----------
    slots
        Position among the touched of each row of the batch.
    known
        Slots in the state of those touched that it knows.
    fresh
        The row of the batch that brings each new group.
    untouched
        Which slots of the state stay as they are.
    place
        Position among the touched of each slot of the state that is.
    """

    slots: Ints
    known: Ints
    fresh: Ints
    untouched: npt.NDArray[np.bool_]
    place: Ints

    @classmethod
    def of(cls, keys: Sequence[str], old: pa.Table, new: pa.Table) -> Touch:
        """By the key columns of the state's groups and of the batch's rows.

        The state's groups are distinct, so that their numbers are their slots.
        """
        columns = [_joined(old[k], new[k]) for k in keys]
        ids = _numbers(columns, len(old), len(new))
        # Numbers of the state's groups are their slots and new ones follow, so that a
        # running count over the touched ones keeps both orders.
        flags = np.zeros(max(len(old), int(ids.max(initial=-1)) + 1), np.bool_)
        flags[ids] = True
        place = np.cumsum(flags) - 1
        known = np.flatnonzero(flags[: len(old)])
        slots = place[ids]
        fresh = first_rows(slots)[len(known) :]
        return cls(slots, known, fresh, ~flags[: len(old)], place[: len(old)])

    def __len__(self) -> int:
        return len(self.known) + len(self.fresh)

    def rows_of(self, old: pa.Table) -> Ints:
        """Positions of the rows of the state that point at touched groups."""
        return np.flatnonzero(~self.untouched[int64s(old[SLOT])])

    def joined(self, old: pa.Table, new: pa.Table) -> pa.Table:
        """The rows of touched groups, of the state and then of the batch."""
        mine = self.rows_of(old)
        taken = old.take(pa.array(mine))
        return pa.concat_tables(
            [
                with_slots(taken, self.place[int64s(taken[SLOT])]),
                with_slots(new, self.slots[int64s(new[SLOT])]),
            ]
        )

    def renewed(
        self, keys: Sequence[str], old: pa.Table, new: pa.Table, now_us: int
    ) -> pa.Table:
        """The keys of the touched groups, and when each was last appended to."""
        before = old.take(pa.array(self.known))
        fresh = new.take(pa.array(self.fresh))
        table = pa.concat_tables([before.select(keys), fresh.select(keys)])
        appended = np.zeros(len(self), np.bool_)
        appended[self.slots[new[APPENDED].to_numpy()]] = True
        # A new group is as old as this batch even where it only got a retract: it needs
        # an instant to grow idle from.
        since = np.full(len(self), now_us)
        since[: len(before)] = int64s(before[TOUCHED])
        touched = pa.array(np.where(appended, now_us, since))
        # A key that is never NULL is so in the state too.
        schema = old.select([*keys, TOUCHED]).schema
        return pa.table([*table.columns, touched], schema=schema)

    def update(self, touched: State, alive: npt.NDArray[np.bool_]) -> StateUpdate:
        """What becomes of a state, whose touched groups go and come as they are now.

        Parameters
        ----------
        touched
            The groups as they are now, by position.
        alive
            Which of them the state has from now on.
        """
        return StateUpdate.of(self.untouched, groups_where(touched, alive))


def of_batch(
    keys: Sequence[pa.ChunkedArray], slots: Ints, weight: Ints, schema: pa.Schema
) -> pa.Table:
    """The groups of a batch: their keys, and whether each got an append.

    Parameters
    ----------
    keys
        The key columns of the batch's rows.
    slots, weight
        The group of each row, and how often the row is appended.
    """
    first = pa.array(first_rows(slots))
    appended = np.zeros(len(first), np.bool_)
    appended[slots[weight > 0]] = True
    columns = [*(column.take(first) for column in keys), pa.array(appended)]
    return pa.table(columns, schema=schema)


def _numbers(columns: Sequence[pa.Array], old: int, new: int) -> Ints:
    return group_ids(columns, old + new)[old:]


def _joined(old: pa.ChunkedArray, new: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*old.chunks, *new.chunks], old.type)
