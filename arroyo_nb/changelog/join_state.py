"""The rows of the keys that a batch touches, before and after it.

What joins and ranks keep is one Z-set of rows per input, pointing at keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate_plans import added
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import Ints, first_rows, size, subgroup_ids
from arroyo_nb.changelog.touched_keys import Touch
from arroyo_nb.changelog.zset import (
    int64s,
    value_columns,
    weights,
)


@dataclass(frozen=True)
class StoredSide:
    """Distinct rows of touched keys, those that the state knew first.

    Parameters
    ----------
    rows
        Their columns.
    slot
        Position of their key among the touched.
    before, after
        How often they are there; never less than zero times.
    """

    rows: pa.Table
    slot: Ints
    before: Ints
    after: Ints

    @classmethod
    def of(
        cls, touch: Touch, old: pa.Table, new: pa.Table, values: list[str]
    ) -> StoredSide:
        """Rows of the state and of the batch, by their slots there."""
        slots = int64s(old[SLOT])
        mine = np.flatnonzero(~touch.untouched[slots])
        was = old.take(pa.array(mine))
        both = pa.concat_tables([was.select(values), new.select(values)])
        # In one piece, of which rows are taken in a fraction of the time.
        rows = both.combine_chunks()
        slot = np.r_[touch.place[slots[mine]], touch.slots[int64s(new[SLOT])]]
        # Rows of the state are distinct and come first: their ids are their positions.
        ids = subgroup_ids(slot, [rows[c] for c in value_columns(rows)])
        first, known = first_rows(ids), len(was)
        before = np.zeros(size(ids), np.int64)
        before[:known] = int64s(was[WEIGHT])
        change = added(size(ids), ids[known:], weights(new))
        # Most batches bring no row twice.
        distinct = rows if len(first) == len(rows) else rows.take(pa.array(first))
        # A retract of a row that is not there (its key was forgotten) goes; as a weight
        # below zero it would swallow the row's next append.
        return cls(distinct, slot[first], before, np.maximum(before + change, 0))

    def state(self, schema: pa.Schema, **numbers: Ints) -> pa.Table:
        """The rows that are there, as a table of the state."""
        there = np.flatnonzero(self.after > 0)
        columns = {name: self.rows[name] for name in self.rows.column_names}
        columns[SLOT], columns[WEIGHT] = pa.array(self.slot), pa.array(self.after)
        columns |= {name: pa.array(values) for name, values in numbers.items()}
        ordered = [columns[name] for name in schema.names]
        table = pa.table(ordered, schema=schema)
        return table if len(there) == len(table) else table.take(pa.array(there))


def rows_with_slots(
    rows: pa.Table, slots: Ints, weight: Ints, schema: pa.Schema
) -> pa.Table:
    """Input rows as a table that points at keys: slot, columns, weight."""
    values = rows.select(schema.names[1:-1]).columns
    return pa.table([pa.array(slots), *values, pa.array(weight)], schema=schema)


def pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Positions of all pairs with equal slots."""
    # A merge join: after one sort the matches of a left row are one range.
    order = np.argsort(right, kind="stable")
    sorted_ = right[order]
    start = np.searchsorted(sorted_, left, side="left")
    count = np.searchsorted(sorted_, left, side="right") - start
    a = np.repeat(np.arange(len(left)), count)
    within = np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count)
    return a, order[np.repeat(start, count) + within]
