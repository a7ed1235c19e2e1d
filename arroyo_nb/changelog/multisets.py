"""Multisets of argument values by group, for aggregates that are recomputed.

A bag is a Z-set of (group, values): how often each value is there. Retracting a value
lowers its count, so that the minimum falls back to the next one and a median moves as
if the row had never come. Where the input only appends, the bag of a minimum or maximum
keeps nothing but that value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.keys import Ints, normalised, whole
from arroyo_nb.changelog.measures import AggregateCall, Order, Selection
from arroyo_nb.changelog.order import joint_ranks, ordinals, ranks, sorted_positions
from arroyo_nb.changelog.zset import consolidate, int64s
from arroyo_nb.lazy_imports import np, pa

Extreme = Literal["min", "max"]


@dataclass(frozen=True)
class BagKind:
    """Which values a bag holds; aggregates of equal kind share one.

    Parameters
    ----------
    only
        The one value per group worth keeping; None keeps all.
    """

    selection: Selection
    only: Extreme | None = None

    def __str__(self) -> str:
        # The name of the bag's table in saved states: another wording refuses them.
        return f"{self.only or 'bag'} {self.selection}"

    def schema(self, rows: pa.Schema) -> pa.Schema:
        """The columns of the bag: slot, values by position, weight."""
        names = self.selection.columns + self.selection.also
        values = [(str(i), rows.field(name).type) for i, name in enumerate(names)]
        return pa.schema([(SLOT, pa.int64()), *values, (WEIGHT, pa.int64())])

    def of_rows(self, rows: pa.Table, slots: Ints, weights: Ints) -> pa.Table:
        """The bag of a batch of input rows, whose groups are ``slots``."""
        positions, columns = self.selection.rows_of(rows)
        values = [normalised(column) for column in columns]
        parts = [pa.array(slots[positions]), *values, pa.array(weights[positions])]
        return self.merged(pa.table(parts, schema=self.schema(rows.schema)))

    def merged(self, bag: pa.Table) -> pa.Table:
        """The bag with each value once; what is retracted too often is not there."""
        if self.only is None:
            return consolidate(bag)
        # Only an input that never retracts has such a bag: weights play no part in it.
        slots = int64s(bag[SLOT])
        place = extremes(slots, whole(bag["0"]), self.only)
        return bag.take(pa.array(place))


def extremes(slots: Ints, values: pa.Array, which: Extreme) -> Ints:
    """Position of a least or greatest value of each slot, by slot."""
    order = Order("", descending=which == "max")
    number = ordinals(values)
    if number is None:
        number = ranks(values, order)
    elif order.descending:
        # Not -number, which has no room for the least int64.
        number = ~number
    best = np.full(int(slots.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, slots, number)
    # Of equal values any one will do.
    places = np.flatnonzero(number == best[slots])
    chosen = np.full(len(best), -1)
    chosen[slots[places]] = places
    return np.compress(chosen >= 0, chosen)


@dataclass(frozen=True)
class Bags:
    """The bags of numbered groups, as the aggregate functions see them.

    Parameters
    ----------
    rows
        A consolidated bag with positive weights.
    slots
        How many groups there are, from 0.
    order
        Of lists; columns by their position in the bag.
    """

    rows: pa.Table
    slots: int
    order: Sequence[Order] = ()

    @cached_property
    def slot(self) -> Ints:
        """The group of each value."""
        return int64s(self.rows[SLOT])

    @cached_property
    def weight(self) -> Ints:
        """How often each value is there."""
        return int64s(self.rows[WEIGHT])

    def column(self, position: int = 0) -> pa.Array:
        """One argument of the aggregate, as a column of the bags' values, by its
        position."""
        return whole(self.rows[str(position)])

    @cached_property
    def occupied(self) -> Ints:
        """How many distinct values each group holds."""
        return np.asarray(np.bincount(self.slot, minlength=self.slots), np.int64)

    @cached_property
    def in_order(self) -> Bags:
        """The same, by group and then by the asked order, ties by value."""
        names = [n for n in self.rows.column_names if n not in (SLOT, WEIGHT)]
        asked = {o.column for o in self.order}
        # Ties are broken by the values: a list must not depend on how its rows came.
        orders = [*self.order, *(Order(name) for name in names if name not in asked)]
        joint = joint_ranks([whole(self.rows[o.column]) for o in orders], orders)
        positions = sorted_positions(self.slot, joint)
        return Bags(self.rows.take(pa.array(positions)), self.slots)

    @cached_property
    def ends(self) -> Ints:
        """Rows up to the end of each group, multiplicities counted (when in order)."""
        total = np.zeros(self.slots, np.int64)
        np.add.at(total, self.slot, self.weight)
        return np.asarray(np.cumsum(total), np.int64)

    @property
    def starts(self) -> Ints:
        """Rows before each group, multiplicities counted (when in order)."""
        return np.asarray(np.r_[0, self.ends[:-1]], np.int64)

    def at(self, row: Ints) -> Ints:
        """Positions of the values that cover those rows, multiplicities counted."""
        # Copies are found by their running count and never written out: a value that is
        # there a million times is one row.
        places = np.searchsorted(np.cumsum(self.weight), row, side="right")
        return np.asarray(places, np.int64)


def count_values(bags: Bags, call: AggregateCall) -> pa.Array:
    """How many distinct values each group has."""
    return pa.array(bags.occupied).cast(call.type)


def values_at_places(bags: Bags, slots: Ints, places: Ints) -> pa.Array:
    """The values at ``places`` as the results of ``slots``, NULL for the others."""
    chosen = np.full(bags.slots, -1)
    chosen[slots] = places
    return bags.column().take(pa.array(chosen, mask=chosen < 0))


def nth(bags: Bags, rows: Ints) -> pa.Array:
    """Row number ``rows`` of each group from 0; NULL where there is no such row."""
    ordered = bags.in_order
    there = np.flatnonzero((rows >= 0) & (rows < ordered.ends - ordered.starts))
    places = ordered.at((ordered.starts + rows)[there])
    return values_at_places(ordered, there, places)


def sizes(bags: Bags) -> Ints:
    """How many values each group has."""
    return bags.in_order.ends - bags.in_order.starts
