"""row_number, rank and dense_rank without a window, and the top N of each key.

State: the keys and, pointing at them, their rows with weights. A step ranks the rows of
the keys of its batch as they were and as they are, and sends the difference: where the
number itself is selected, every row that moves is an update. Rows that compare equal
are numbered in the order of all their columns, so that the answer depends on the rows
that are there and on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import (
    Ints,
    first_rows,
    group_ids,
    normalised,
    size,
    whole,
)
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.order import joint_ranks, sorted_positions
from arroyo_nb.changelog.recipes import added
from arroyo_nb.changelog.sides import Side, slotted
from arroyo_nb.changelog.state import Layout, Operator, State, stacked
from arroyo_nb.changelog.touch import APPENDED, TOUCHED, Touch, kept
from arroyo_nb.changelog.zset import (
    int64s,
    negated,
    value_columns,
    weights,
)
from arroyo_nb.schema import TIMESTAMP

KEYS, RANKED = "keys", "rows"

Numbering = Literal["row_number", "rank", "dense_rank"]


@dataclass(frozen=True)
class UpdatingRank(Operator):
    """The rows of the input with their number, down to ``limit``.

    Parameters
    ----------
    keys, order
        PARTITION BY and ORDER BY.
    function
        How rows are numbered, from 1.
    limit
        The last number that is sent; None for all.
    name
        Output column of the number; None where only the rows are wanted.
    retracts
        Whether the input can retract; if not, rows below the limit are forgotten.
    """

    input: pa.Schema
    keys: tuple[str, ...]
    order: tuple[Order, ...]
    function: Numbering = "row_number"
    limit: int | None = None
    name: str | None = None
    retracts: bool = True

    @cached_property
    def output(self) -> pa.Schema:
        """Input columns, the number, ``_timestamp``; without the weight."""
        number = [] if self.name is None else [pa.field(self.name, pa.int64())]
        time = [f for f in self.input if f.name == TIMESTAMP]
        return pa.schema([*(f for f in self._values if f not in time), *number, *time])

    @cached_property
    def layout(self) -> Layout:
        """The tables of the state."""
        return self._layout(pa.field(TOUCHED, pa.int64()))

    @cached_property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""
        return self._layout(pa.field(APPENDED, pa.bool_()))

    def partial(self, rows: pa.Table) -> State:
        """What a batch of input rows adds to the state."""
        slots = group_ids([rows[k] for k in self.keys], len(rows))
        first, weight = pa.array(first_rows(slots)), weights(rows)
        appended = np.zeros(len(first), np.bool_)
        appended[slots[weight > 0]] = True
        keys = [normalised(whole(rows[k])).take(first) for k in self.keys]
        (_, of_keys), (_, of_rows) = self.partial_layout.tables
        return {
            KEYS: pa.table([*keys, pa.array(appended)], schema=of_keys),
            RANKED: slotted(rows, slots, weight, of_rows),
        }

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """The next state, and the changes of the output, retracts first."""
        delta = stacked(partials, self.partial_layout)
        touch = Touch.of(self._keys, state[KEYS], delta[KEYS])
        keys = touch.renewed(self._keys, state[KEYS], delta[KEYS], now_us)
        names = [f.name for f in self._values]
        side = Side.of(touch, state[RANKED], delta[RANKED], names)
        position, number, weight = self._moves(side)
        if not self.retracts:
            side = replace(side, after=self._reached(side))
        (_, _), (_, of_rows) = self.layout.tables
        rows = side.state(of_rows)
        alive = np.zeros(len(touch), np.bool_)
        alive[int64s(rows[SLOT])] = True
        changes = self._changes(side.rows, position, number, weight)
        return touch.put_back(state, {KEYS: keys, RANKED: rows}, alive), changes

    def expire(self, state: State, before_us: int) -> tuple[State, pa.Table]:
        """Forget keys without an append since an instant, and retract their rows."""
        idle = kept(state, int64s(state[KEYS][TOUCHED]) < before_us)
        return self.step(state, [self.partial(negated(idle[RANKED]))], before_us)

    @cached_property
    def _keys(self) -> list[str]:
        return [f"key {k}" for k in self.keys]

    @cached_property
    def _values(self) -> list[pa.Field]:
        return [f for f in self.input if f.name != WEIGHT]

    def _layout(self, more: pa.Field) -> Layout:
        keys = [self.input.field(k).with_name(f"key {k}") for k in self.keys]
        slot, weight = pa.field(SLOT, pa.int64()), pa.field(WEIGHT, pa.int64())
        by = ", ".join(map(str, self.order))
        limit = "" if self.limit is None else f" up to {self.limit}"
        return Layout(
            f"{self.function} by {', '.join(self.keys)} ordered by {by}{limit}",
            (
                (KEYS, pa.schema([*keys, more])),
                (RANKED, pa.schema([slot, *self._values, weight])),
            ),
        )

    def _moves(self, side: Side) -> tuple[Ints, Ints, Ints]:
        """Rows by position and number whose presence in the output changes."""
        was, is_ = (self._numbered(side, there) for there in (side.before, side.after))
        position, number = (np.r_[a, b] for a, b in zip(was, is_, strict=True))
        sign = np.repeat([-1, 1], [len(was[0]), len(is_[0])])
        seen = number if self.name is not None else np.zeros_like(number)
        ids = group_ids([pa.array(position), pa.array(seen)], len(position))
        change = added(size(ids), ids, sign)
        kept_ = np.flatnonzero(change)
        first = first_rows(ids)[kept_]
        return position[first], number[first], change[kept_]

    def _numbered(self, side: Side, there: Ints) -> tuple[Ints, Ints]:
        """Position and number of each row that is there, copies one by one."""
        order = self._sorted(side)
        order = order[there[order] > 0]
        copies = there[order]
        if self.limit is not None and self.function == "row_number":
            copies = np.minimum(copies, self.limit)
        rows = np.repeat(order, copies)
        slot, value = side.slot[rows], self._ranks(side)[rows]
        place = np.arange(len(rows))
        new_slot = np.diff(slot, prepend=-1) != 0
        new_value = new_slot | (np.diff(value, prepend=-1) != 0)
        start = np.maximum.accumulate(np.where(new_slot, place, 0))
        match self.function:
            case "row_number":
                number = place - start + 1
            case "rank":
                number = (
                    np.maximum.accumulate(np.where(new_value, place, 0)) - start + 1
                )
            case "dense_rank":
                group = np.cumsum(new_value)
                number = group - group[start] + 1 if len(rows) else place
        within = number <= (len(rows) if self.limit is None else self.limit)
        return rows[within], number[within]

    def _reached(self, side: Side) -> Ints:
        """How many copies of each row are within the limit."""
        position, _ = self._numbered(side, side.after)
        return np.asarray(np.bincount(position, minlength=len(side.slot)), np.int64)

    def _ranks(self, side: Side) -> Ints:
        columns = [whole(side.rows[o.column]) for o in self.order]
        return joint_ranks(columns, self.order)

    def _sorted(self, side: Side) -> Ints:
        ties = [Order(name) for name in value_columns(side.rows)]
        by = [*self.order, *ties]
        columns = [whole(side.rows[o.column]) for o in by]
        return sorted_positions(side.slot, joint_ranks(columns, by))

    def _changes(
        self, rows: pa.Table, position: Ints, number: Ints, weight: Ints
    ) -> pa.Table:
        changes = rows.take(pa.array(position))
        if self.name is not None:
            changes = changes.append_column(self.name, pa.array(number))
        changes = changes.select(self.output.names)
        order = np.argsort(weight > 0, kind="stable")
        return changes.append_column(WEIGHT, pa.array(weight)).take(pa.array(order))
