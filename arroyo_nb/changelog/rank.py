"""row_number, rank and dense_rank without a window, and the top N of each key.

State: the keys and, pointing at them, their rows with weights. A step ranks the rows of
the keys of its batch as they were and as they are, and sends the difference: where the
number itself is selected, every row that moves is an update. Rows that compare equal
are numbered in the order of all their columns, so that the answer depends on the rows
that are there and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate_plans import added
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.idle_keys import TOUCHED, idle_since
from arroyo_nb.changelog.join_state import StoredSide, rows_with_slots
from arroyo_nb.changelog.keys import (
    Ints,
    first_rows,
    group_ids,
    normalised,
    size,
    whole,
)
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.order import joint_ranks, ranks, refined, sorted_positions
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
    int64s,
    negated,
    no_changes,
    retracts_first,
    value_columns,
    weights,
)

KEYS, RANKED = "keys", "rows"

Numbering = Literal["row_number", "rank", "dense_rank"]


@dataclass(frozen=True)
class NumberColumn:
    """``function() AS name``: how rows are numbered, from 1, in which column."""

    name: str
    function: Numbering

    def __str__(self) -> str:
        return f"{self.function}() AS {self.name}"


@dataclass(frozen=True)
class RankLimit:
    """Rows whose number, by ``function``, is ``last`` or less."""

    function: Numbering
    last: int

    def __str__(self) -> str:
        return f"{self.function}() <= {self.last}"


@dataclass(frozen=True)
class Ranked:
    """Rows in order: ``rank`` by ORDER BY alone, ``order`` with ties decided."""

    side: StoredSide
    rank: Ints
    order: Ints


def _starts(first: npt.NDArray[np.bool_]) -> Ints:
    """For each row in order, the position of the row that began its run."""
    place = np.arange(len(first))
    return np.asarray(np.maximum.accumulate(np.where(first, place, 0)), np.int64)


def _new(values: Ints) -> npt.NDArray[np.bool_]:
    return np.asarray(np.diff(values, prepend=-1) != 0, np.bool_)


def _decided(rows: pa.Table, positions: Ints, runs: Ints) -> Ints:
    """The positions of rows in the order of their columns, inside of each run."""
    if not len(positions):
        return positions
    taken = rows.take(pa.array(positions))
    columns = [whole(column) for column in taken.columns]
    decided = joint_ranks(columns, [Order(name) for name in taken.column_names])
    return positions[sorted_positions(runs, decided)]


def _unlike(slot: Ints, rank: Ints) -> npt.NDArray[np.bool_]:
    """Which rows in order have no tie with the one before."""
    return _new(slot) | _new(rank)


def _row_numbers(slot: Ints, _: Ints) -> Ints:
    return np.arange(len(slot)) - _starts(_new(slot)) + 1


def _rank_numbers(slot: Ints, rank: Ints) -> Ints:
    """As the first of its equals."""
    return _row_numbers(slot, rank)[_starts(_unlike(slot, rank))]


def _dense_numbers(slot: Ints, rank: Ints) -> Ints:
    run = np.cumsum(_unlike(slot, rank))
    return np.asarray(run - run[_starts(_new(slot))] + 1, np.int64)


_NUMBERINGS: dict[Numbering, Callable[[Ints, Ints], Ints]] = {
    "row_number": _row_numbers,
    "rank": _rank_numbers,
    "dense_rank": _dense_numbers,
}


@dataclass(frozen=True)
class RankKernel(Operator):
    """The rows of the input with their numbers, down to ``limit``.

    Parameters
    ----------
    keys, order
        PARTITION BY and ORDER BY. Without an order all rows are equal.
    numbers
        Output columns; none where only the rows are wanted.
    limit
        Which rows are sent; None for all.
    retracts
        Whether the input can retract; if not, rows below the limit are forgotten.
    """

    input: pa.Schema
    keys: tuple[str, ...]
    order: tuple[Order, ...]
    numbers: tuple[NumberColumn, ...] = ()
    limit: RankLimit | None = None
    retracts: bool = True

    @cached_property
    def output(self) -> pa.Schema:
        """Input columns, the numbers; without the weight."""
        numbers = [pa.field(number.name, pa.int64()) for number in self.numbers]
        return pa.schema([*self._values, *numbers])

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
        weight = weights(rows)
        keys = [normalised(whole(rows[k])) for k in self.keys]
        (_, of_keys), (_, of_rows) = self.partial_layout.tables
        # Also the keys of which the limit keeps out every row: an append keeps its key
        # alive (ttl) whether it is sent or not.
        state = {KEYS: of_batch(keys, slots, weight, of_keys)}
        some = self._reaching(rows, slots, weight)
        reaching = rows.take(pa.array(some))
        state[RANKED] = rows_with_slots(reaching, slots[some], weight[some], of_rows)
        return state

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[StateUpdate, pa.Table]:
        """What becomes of the state, and the changes of the output, retracts first."""
        delta = stacked(partials, self.partial_layout)
        touch = Touch.of(self.group_keys, state[KEYS], delta[KEYS])
        keys = touch.renewed(self.group_keys, state[KEYS], delta[KEYS], now_us)
        names = [f.name for f in self._values]
        side = StoredSide.of(touch, state[RANKED], delta[RANKED], names)
        ranked = self._ranked(side)
        moves, weight = self._moves(ranked)
        # Nothing frees a place: a row below the limit now stays below it, so the state
        # needs no more rows than are sent.
        if not self.retracts:
            reached, *_ = self._numbered(ranked, side.after)
            # Copies one by one: a row may be within the limit with some of them.
            copies = np.bincount(reached, minlength=len(side.slot))
            side = replace(side, after=np.asarray(copies, np.int64))
        (_, _), (_, of_rows) = self.layout.tables
        rows = side.state(of_rows)
        alive = np.zeros(len(touch), np.bool_)
        alive[int64s(rows[SLOT])] = True
        changes = self._changes(side.rows, moves, weight)
        return touch.update({KEYS: keys, RANKED: rows}, alive), changes

    def expire(self, state: State, before_us: int) -> tuple[StateUpdate, pa.Table]:
        """Forget keys without an append since an instant, and retract their rows."""
        old = idle_since(state[KEYS], before_us)
        if not old.any():
            return StateUpdate.nothing(self.layout), no_changes(self.output)
        idle = groups_where(state, old)
        # An operator of appends cuts its batch at the limit, and of rows with a weight
        # below zero it would let none through.
        retracting = replace(self, retracts=True)
        gone = retracting.partial(negated(idle[RANKED]))
        return self.step(state, [gone], before_us)

    @cached_property
    def group_keys(self) -> list[str]:
        """The columns of the state that have the keys."""
        return [f"key {k}" for k in self.keys]

    @cached_property
    def _values(self) -> list[pa.Field]:
        return [f for f in self.input if f.name != WEIGHT]

    def _reaching(self, rows: pa.Table, slots: Ints, weight: Ints) -> Ints:
        """Positions of the rows of a batch that may be sent: what the limit keeps out
        among the batch alone, it keeps out among more rows."""
        if self.limit is None or self.retracts:
            return np.arange(len(rows))
        near = self._near(rows, slots, self.limit)
        values = rows.select([f.name for f in self._values]).take(pa.array(near))
        side = StoredSide(values, slots[near], np.zeros_like(near), weight[near])
        reached, *_ = self._numbered(self._ranked(side), side.after)
        return near[np.unique(reached)]

    def _near(self, rows: pa.Table, slots: Ints, limit: RankLimit) -> Ints:
        """Positions of the rows that ORDER BY alone does not keep out.

        Column by column, as the first of them leaves few rows to look at. A row's
        number is its rank at least, and more columns never rank it higher.
        """
        numbered = _dense_numbers if limit.function == "dense_rank" else _rank_numbers
        near, rank = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        for order in self.order:
            values = whole(rows[order.column]).take(pa.array(near))
            rank = refined(rank, ranks(values, order))
            place = sorted_positions(slots[near], rank)
            within = numbered(slots[near][place], rank[place]) <= limit.last
            kept = np.sort(place[within])
            near, rank = near[kept], rank[kept]
        return near

    def _ranks(self, rows: pa.Table) -> Ints:
        """By ORDER BY; without one all rows are equal."""
        if not self.order:
            return np.zeros(len(rows), np.int64)
        return joint_ranks([whole(rows[o.column]) for o in self.order], self.order)

    def _layout(self, more: pa.Field) -> Layout:
        keys = [self.input.field(k).with_name(f"key {k}") for k in self.keys]
        slot, weight = pa.field(SLOT, pa.int64()), pa.field(WEIGHT, pa.int64())
        keyed = (KEYS, pa.schema([*keys, more]))
        return Layout((keyed, (RANKED, pa.schema([slot, *self._values, weight]))))

    def _moves(self, ranked: Ranked) -> tuple[list[Ints], Ints]:
        """Rows whose presence in the output changes, as :meth:`_numbered` has them, and
        by how much."""
        side = ranked.side
        # Both images are numbered in full and compared: one row that comes at the top
        # moves all that follow it, and what did not move cancels out.
        was, is_ = (self._numbered(ranked, w) for w in (side.before, side.after))
        columns = [np.r_[a, b] for a, b in zip(was, is_, strict=True)]
        sign = np.repeat([-1, 1], [len(was[0]), len(is_[0])])
        ids = group_ids([pa.array(column) for column in columns], len(sign))
        change = added(size(ids), ids, sign)
        moved = np.flatnonzero(change)
        first = first_rows(ids)[moved]
        return [column[first] for column in columns], change[moved]

    def _numbered(self, ranked: Ranked, there: Ints) -> list[Ints]:
        """Position and numbers of each row that is there, copies one by one."""
        order = ranked.order[there[ranked.order] > 0]
        copies, limit = there[order], self.limit
        # Each copy takes a place of its own, so more than `last` of them are never
        # reached; without this a row with a great weight would be written out in full.
        if limit is not None and limit.function == "row_number":
            copies = np.minimum(copies, limit.last)
        rows = np.repeat(order, copies)
        runs = ranked.side.slot[rows], ranked.rank[rows]
        columns = [rows, *(_NUMBERINGS[n.function](*runs) for n in self.numbers)]
        if limit is None:
            return columns
        within = _NUMBERINGS[limit.function](*runs) <= limit.last
        return [column[within] for column in columns]

    def _ranked(self, side: StoredSide) -> Ranked:
        decided = {*self.keys, *(o.column for o in self.order)}
        # By all other columns, not by arrival: Spark may give the rows of a batch in
        # another order when it runs the batch again.
        ties = [n for n in value_columns(side.rows) if n not in decided]
        rank = self._ranks(side.rows)
        order = sorted_positions(side.slot, rank)
        if ties:
            # Of the rows with a tie alone: most orders leave few, and to rank all other
            # columns is most of the work.
            first = _unlike(side.slot[order], rank[order])
            tied = ~(first & np.r_[first[1:], True])
            order[tied] = _decided(
                side.rows.select(ties), order[tied], np.cumsum(first)[tied]
            )
        return Ranked(side, rank, order)

    def _changes(self, rows: pa.Table, moves: list[Ints], weight: Ints) -> pa.Table:
        position, *values = moves
        changes = rows.take(pa.array(position))
        for number, column in zip(self.numbers, values, strict=True):
            changes = changes.append_column(number.name, pa.array(column))
        changes = changes.select(self.output.names)
        return retracts_first(changes.append_column(WEIGHT, pa.array(weight)))
