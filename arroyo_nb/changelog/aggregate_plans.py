"""From an aggregate call to what is kept for it, and back to its value.

Calls share what they keep: ``sum(v), avg(v), count(v)`` need one count and one sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall, Bag, Linear, Selection
from arroyo_nb.changelog.multisets import BagKind, Bags
from arroyo_nb.changelog.totals import (
    counter_terms,
    digit_terms,
    is_counter,
    linear,
    total_of,
)
from arroyo_nb.changelog.zset import with_column
from arroyo_nb.errors import Unsupported

ROWS = "_rows"
"""Counter that every group has: its rows, which is count(*) as well."""


@dataclass(frozen=True)
class Total:
    """One part over one selection of rows: a counter or digits of the state."""

    part: str
    selection: Selection

    def __str__(self) -> str:
        # This text names a table or a column of saved states: another wording refuses
        # them.
        if self.part == "count" and self.selection == Selection(()):
            return ROWS
        return f"{self.part} {self.selection}"


@dataclass(frozen=True)
class Recipe:
    """How a call is computed: from totals, from a bag, or from totals of a bag."""

    call: AggregateCall
    selection: Selection
    linear: Linear | None
    bag: Bag | None

    @property
    def totals(self) -> tuple[Total, ...]:
        """What the state adds up for it."""
        if self.bag is not None or self.linear is None:
            return ()
        return tuple(Total(part, self.selection) for part in self.linear.parts)

    def finish(
        self, counters: Mapping[str, Ints], hung: Mapping[str, pa.Table], slots: int
    ) -> pa.Array:
        """The value of each of ``slots`` groups.

        Parameters
        ----------
        counters, hung
            Counters by name; digits and bags by name.
        """
        if self.bag is not None:
            return self._of_bag(hung[str(self.bag)], slots)
        assert self.linear is not None
        totals: dict[str, Any] = {}
        for total in self.totals:
            name = str(total)
            of_digits = None if is_counter(total.part) else hung[name]
            totals[total.part] = (
                counters[name]
                if of_digits is None
                else total_of(total.part, of_digits, slots)
            )
        return self.linear.finish(totals, self.call)

    def _of_bag(self, rows: pa.Table, slots: int) -> pa.Array:
        if self.call.distinct:
            # The state keeps how often a value is there, so that it leaves with its
            # last copy; the aggregate itself sees it once.
            rows = with_column(rows, WEIGHT, pa.array(np.ones(len(rows), np.int64)))
        names = self.selection.columns + self.selection.also
        order = [replace(o, column=str(names.index(o.column))) for o in self.call.order]
        bags = Bags(rows, slots, tuple(order))
        if (compute := self.call.kernel.multiset) is not None:
            return compute(bags, self.call)
        assert self.linear is not None
        totals = {part: _over(part, bags, len(names)) for part in self.linear.parts}
        return self.linear.finish(totals, self.call)


def _over(part: str, bags: Bags, columns: int) -> Any:
    """A total over the distinct values of bags."""
    values = [bags.column(i) for i in range(columns)]
    # Only DISTINCT comes here, where each value is there once: a counter needs no
    # weight.
    if is_counter(part):
        return added(bags.slots, bags.slot, counter_terms(part, values, len(bags.slot)))
    digits = digit_terms(part, values, bags.slot, bags.weight)
    return total_of(part, digits, bags.slots)


def added(slots: int, slot: Ints, terms: Ints) -> Ints:
    """Terms summed by slot, wrapping."""
    total = np.zeros(slots, np.int64)
    np.add.at(total, slot, terms)
    return total


def recipe(call: AggregateCall, rows: pa.Schema, *, retracts: bool) -> Recipe:
    """How a call over such rows is computed.

    Raises
    ------
    Unsupported
        When there is no such aggregate of such arguments.
    """
    subtracts = linear(call.kernel, [rows.field(a).type for a in call.arguments])
    also = dict.fromkeys(o.column for o in call.order)
    selection = Selection(
        call.arguments,
        call.where,
        nulls=call.kernel.keeps_nulls,
        also=tuple(c for c in also if c not in call.arguments),
    )
    if subtracts is not None and not call.distinct:
        return Recipe(call, selection, subtracts, None)
    if subtracts is None and call.kernel.multiset is None:
        types = ", ".join(str(rows.field(a).type) for a in call.arguments)
        raise Unsupported(f"there is no updating aggregate {call.function}({types})")
    # The bag would hold pairs of argument and order column, and a value with two of
    # those would be counted twice.
    if call.distinct and selection.also:
        raise Unsupported("ORDER BY of a DISTINCT aggregate must name its argument")
    bag: Bag = BagKind(selection)
    if call.kernel.bag is not None and not call.distinct:
        bag = call.kernel.bag(selection)
    # Where nothing is retracted no second least value can ever become the least: one
    # value is all the state needs.
    if not retracts and call.kernel.extreme is not None:
        bag = BagKind(selection, call.kernel.extreme)
    return Recipe(call, selection, subtracts, bag)
