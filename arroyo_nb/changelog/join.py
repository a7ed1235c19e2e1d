"""Joins without a window, both sides updating: inner, left, right and full.

State: the join keys (when they were last appended to) and, pointing at them, the rows
of each side with their weight and with how many rows of the other side they match. A
step looks at the keys of its batch only. With L and R before and L', R' after it, the
changes are L' x R' - L x R, found from the pairs of which one row changed; a row of an
outer side is sent padded with NULLs while it matches nothing: the padded row is
retracted when the first match comes and appended again when the last one goes.

A NULL in a key matches nothing, whatever else comes: a row with one is sent padded as
it comes and goes if its side is an outer one, and is not kept. So it is never idle: it
stays in the output until it is retracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate_plans import added
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.idle_keys import TOUCHED, idle_since
from arroyo_nb.changelog.join_state import StoredSide, pairs, rows_with_slots
from arroyo_nb.changelog.keys import Ints, group_ids, normalised, whole
from arroyo_nb.changelog.state_tables import (
    Layout,
    Operator,
    State,
    groups_where,
    stacked,
)
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.touched_keys import APPENDED, Touch, of_batch
from arroyo_nb.changelog.zset import (
    consolidate,
    int64s,
    negated,
    no_changes,
    retracts_first,
    weights,
)

KEYS, LEFT, RIGHT = "keys", "left", "right"
MATCHES = "_matches"
"""How many rows of the other side a row matches."""

How = Literal["inner", "left", "right", "full"]

Taken: TypeAlias = tuple[pa.Table, Ints]
"""Rows, and which of them are taken, any as often as wanted."""


class Columns(Protocol):
    """Columns of equal length, by name."""

    def __getitem__(self, name: str) -> pa.Array | pa.ChunkedArray:
        """The values of one."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows, of which a column is made when it is asked for.

    Parameters
    ----------
    left, right
        The rows of each side, whose names differ.
    a, b
        The positions of each pair in them.
    """

    left: pa.Table
    right: pa.Table
    a: Ints
    b: Ints

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """The values of a column, one for each pair."""
        if name in self.left.column_names:
            return self.left[name].take(pa.array(self.a))
        return self.right[name].take(pa.array(self.b))


@dataclass(frozen=True)
class JoinKernel(Operator):
    """One row per matching pair, and per row of an outer side without a match.

    Parameters
    ----------
    left, right
        Columns of the inputs; no name is in both.
    left_keys, right_keys
        Columns that must be equal, in pairs of equal type.
    condition
        Further condition: from the columns of pairs, by name, to booleans; NULL is no
        match. It must be deterministic.
    """

    left: pa.Schema
    right: pa.Schema
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    how: How = "inner"
    condition: Callable[[Columns], pa.Array] | None = None

    @cached_property
    def output(self) -> pa.Schema:
        """Left columns, right columns; without the weight."""
        return pa.schema([f for f in [*self.left, *self.right] if f.name != WEIGHT])

    @cached_property
    def layout(self) -> Layout:
        """The tables of the state."""
        return self._layout(TOUCHED, pa.int64(), MATCHES)

    @cached_property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""
        return self._layout(APPENDED, pa.bool_())

    def partial(self, left: pa.Table, right: pa.Table) -> State:
        """What a batch of each input adds to the state."""
        left = _filtered(left, self._useful("left", left, self.left_keys))
        right = _filtered(right, self._useful("right", right, self.right_keys))
        # Keys of both sides are numbered in one go: a key has one slot, whichever side
        # its rows came from.
        columns = [
            pa.chunked_array([normalised(whole(left[a])), normalised(whole(right[b]))])
            for a, b in zip(self.left_keys, self.right_keys, strict=True)
        ]
        slots = group_ids(columns, len(left) + len(right))
        weight = np.r_[weights(left), weights(right)]
        (_, of_keys), (_, of_left), (_, of_right) = self.partial_layout.tables
        cut = len(left)
        return {
            KEYS: of_batch(columns, slots, weight, of_keys),
            LEFT: rows_with_slots(left, slots[:cut], weight[:cut], of_left),
            RIGHT: rows_with_slots(right, slots[cut:], weight[cut:], of_right),
        }

    def _useful(
        self, side: str, rows: pa.Table, keys: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        """Which rows may match, or are sent without a match."""
        if self.how in (side, "full"):
            return np.ones(len(rows), np.bool_)
        return _without_null(rows, keys)

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[StateUpdate, pa.Table]:
        """What becomes of the state, and the changes of the output, retracts first."""
        delta = stacked(partials, self.partial_layout)
        may_match = _without_null(delta[KEYS], self.group_keys)
        lone = self._lone(groups_where(delta, ~may_match))
        delta = groups_where(delta, may_match)
        # Rows that never match were once kept.
        matching = _without_null(state[KEYS], self.group_keys)
        state = groups_where(state, matching)
        touch = Touch.of(self.group_keys, state[KEYS], delta[KEYS])
        keys = touch.renewed(self.group_keys, state[KEYS], delta[KEYS], now_us)
        left, left_before = self._side(LEFT, touch, state, delta)
        right, right_before = self._side(RIGHT, touch, state, delta)
        a, b = self._changed_pairs(left, right)
        weight = left.after[a] * right.after[b] - left.before[a] * right.before[b]
        left_after = left_before + _gained(left, a, right, b)
        right_after = right_before + _gained(right, b, left, a)
        matched = self._rows((left.rows, a), (right.rows, b), weight)
        padded = []
        if self.how in ("left", "full"):
            alone = _alone(left, left_before, left_after)
            padded.append(self._rows(_all(left.rows), None, alone))
        if self.how in ("right", "full"):
            alone = _alone(right, right_before, right_after)
            padded.append(self._rows(None, _all(right.rows), alone))
        (_, _), (_, of_left), (_, of_right) = self.layout.tables
        touched = {
            KEYS: keys,
            LEFT: left.state(of_left, **{MATCHES: left_after}),
            RIGHT: right.state(of_right, **{MATCHES: right_after}),
        }
        # A key stays as long as a row of either side does.
        alive = np.zeros(len(touch), np.bool_)
        for side in (LEFT, RIGHT):
            alive[int64s(touched[side][SLOT])] = True
        changes = pa.concat_tables([matched, *padded, lone])
        update = touch.update(touched, alive).among(matching)
        return update, retracts_first(changes)

    def _lone(self, delta: State) -> pa.Table:
        """Changes of rows that never match: those that came are all that there are."""
        left, right = delta[LEFT], delta[RIGHT]
        both = (
            self._rows(_all(left), None, weights(left)),
            self._rows(None, _all(right), weights(right)),
        )
        # A row of NULLs is the same row whichever side it is from.
        return consolidate(pa.concat_tables(both))

    def expire(self, state: State, before_us: int) -> tuple[StateUpdate, pa.Table]:
        """Forget keys without an append since an instant, and retract their rows."""
        old = idle_since(state[KEYS], before_us)
        old &= _without_null(state[KEYS], self.group_keys)
        if not old.any():
            return StateUpdate.nothing(self.layout), no_changes(self.output)
        idle = groups_where(state, old)
        # A batch that retracts all they have: padded rows and pairs are taken back by
        # the same step that would do so for rows of the input.
        gone = self.partial(negated(idle[LEFT]), negated(idle[RIGHT]))
        return self.step(state, [gone], before_us)

    @cached_property
    def group_keys(self) -> list[str]:
        """The columns of the state that have the keys."""
        # A column may be equal to several: it takes both to name a key.
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        return [f"key {a} = {b}" for a, b in pairs]

    def _side(
        self, name: str, touch: Touch, state: State, delta: State
    ) -> tuple[StoredSide, Ints]:
        """The touched rows of a side, and how many rows each matched before."""
        schema = dict(self.partial_layout.tables)[name]
        side = StoredSide.of(touch, state[name], delta[name], schema.names[1:-1])
        known = touch.rows_of(state[name])
        matches = np.zeros(len(side.slot), np.int64)
        matches[: len(known)] = int64s(state[name][MATCHES])[known]
        return side, matches

    def _changed_pairs(self, left: StoredSide, right: StoredSide) -> tuple[Ints, Ints]:
        """Positions of matching pairs of which at least one row changed."""
        moved = left.before != left.after
        # The second set leaves out the left rows of the first, or a pair of which both
        # rows changed would be counted twice.
        one = _pairs_of(left, moved, right, np.ones(len(right.slot), np.bool_))
        two = _pairs_of(left, ~moved, right, right.before != right.after)
        a, b = (np.concatenate(both) for both in zip(one, two, strict=True))
        if self.condition is None:
            return a, b
        # It is computed anew for pairs that are taken back: a condition that is not
        # deterministic would not retract what it has sent.
        pairs_ = Pairs(left.rows, right.rows, a, b)
        holds = pc.fill_null(whole(self.condition(pairs_)), False)
        met = np.flatnonzero(holds.to_numpy(zero_copy_only=False))
        return a[met], b[met]

    def _rows(self, left: Taken | None, right: Taken | None, weight: Ints) -> pa.Table:
        """Output rows that change by a weight other than 0, padded with NULLs."""
        # One code path for pairs and padded rows: the side that is missing is NULLs.
        moved = np.flatnonzero(weight)
        found: dict[str, pa.ChunkedArray] = {}
        for side in (left, right):
            if side is not None:
                rows, at = side
                taken = rows.take(pa.array(at[moved]))
                found |= zip(taken.column_names, taken.columns, strict=True)
        columns = [
            found[f.name] if f.name in found else pa.nulls(len(moved), f.type)
            for f in self.output
        ]
        changes = pa.table(columns, schema=self.output)
        return changes.append_column(WEIGHT, pa.array(weight[moved]))

    def _layout(self, more: str, type_: pa.DataType, *counts: str) -> Layout:
        named = zip(self.left_keys, self.group_keys, strict=True)
        keys = [self.left.field(key).with_name(name) for key, name in named]
        tables = [(KEYS, pa.schema([*keys, pa.field(more, type_)]))]
        for side, schema in ((LEFT, self.left), (RIGHT, self.right)):
            values = [f for f in schema if f.name != WEIGHT]
            numbers = [pa.field(n, pa.int64()) for n in (WEIGHT, *counts)]
            slot = pa.field(SLOT, pa.int64())
            tables.append((side, pa.schema([slot, *values, *numbers])))
        return Layout(tuple(tables))


def _without_null(rows: pa.Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which rows have no NULL in these columns."""
    filled = np.ones(len(rows), np.bool_)
    for name in names:
        if rows[name].null_count:
            filled &= rows[name].is_valid().to_numpy()
    return filled


def _filtered(rows: pa.Table, keep: npt.NDArray[np.bool_]) -> pa.Table:
    return rows if keep.all() else rows.filter(pa.array(keep))


def _all(rows: pa.Table) -> Taken:
    return rows, np.arange(len(rows))


def _pairs_of(
    left: StoredSide,
    ours: npt.NDArray[np.bool_],
    right: StoredSide,
    theirs: npt.NDArray[np.bool_],
) -> tuple[Ints, Ints]:
    a, b = np.flatnonzero(ours), np.flatnonzero(theirs)
    first, second = pairs(left.slot[a], right.slot[b])
    return a[first], b[second]


def _gained(mine: StoredSide, at: Ints, other: StoredSide, there: Ints) -> Ints:
    """By how much the matches of each row grew, from the pairs that changed.

    A row that was not there had no matches: all its pairs are among the changed ones.
    """
    grown = other.after[there] - other.before[there]
    gained = np.where(mine.before[at] == 0, other.after[there], grown)
    return added(len(mine.slot), at, gained)


def _alone(side: StoredSide, matches_before: Ints, matches_after: Ints) -> Ints:
    """How the padded rows of an outer side change."""
    alone = np.where(matches_after == 0, side.after, 0)
    was_alone = np.where(matches_before == 0, side.before, 0)
    return np.subtract(alone, was_alone)
