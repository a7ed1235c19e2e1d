"""OVER on an Arrow table of whole partitions: a sort for each ORDER BY, a column for
each call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.changelog.measures import Order
from arroyo_nb.lazy_imports import np, pa, pc
from arroyo_nb.over.partitions import sorted_places
from arroyo_nb.over.rows import OverCall, OverRows


@dataclass(frozen=True)
class OrderedCalls:
    """Calls that share ORDER BY."""

    order: tuple[Order, ...]
    calls: tuple[OverCall, ...]


@dataclass(frozen=True)
class CallLimit:
    """Rows in which the call of that name gives ``last`` or less."""

    name: str
    last: int


@dataclass(frozen=True)
class OverKernel:
    """The rows of the input with the values of calls that share PARTITION BY.

    Parameters
    ----------
    input
        Columns of the rows.
    keys
        PARTITION BY, as columns.
    ties
        The columns by which peers are put in an order.
    kept
        The columns of the input that the output has.
    groups
        The calls, further output columns; the rows come in the order of the first.
    limit
        Which rows of the output there are; None for all.
    """

    input: pa.Schema
    keys: tuple[str, ...]
    ties: tuple[str, ...]
    kept: tuple[str, ...]
    groups: tuple[OrderedCalls, ...]
    limit: CallLimit | None = None

    @cached_property
    def output(self) -> pa.Schema:
        """The kept columns, then the calls."""
        kept = [self.input.field(name) for name in self.kept]
        calls = [call for group in self.groups for call in group.calls]
        return pa.schema([*kept, *(pa.field(c.name, c.type) for c in calls)])

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The output, partition after partition, in the order of each."""
        first, *others = self.groups
        places, partitions = sorted_places(rows, self.keys, first.order, self.ties)
        table = rows.take(pa.array(places))
        made = _computed(first, OverRows(table, partitions, first.order))
        for group in others:
            # Sorted anew from the same rows: equal ones stay in one order for all
            # calls, so that their values belong together in each run.
            places, partitions = sorted_places(table, self.keys, group.order, self.ties)
            over = OverRows(table.take(pa.array(places)), partitions, group.order)
            back = pa.array(np.argsort(places))
            made += [values.take(back) for values in _computed(group, over)]
        kept = [table[name] for name in self.kept]
        output = pa.table([*kept, *made], schema=self.output)
        if self.limit is None:
            return output
        return output.filter(pc.less_equal(output[self.limit.name], self.limit.last))


def _computed(group: OrderedCalls, rows: OverRows) -> list[pa.Array]:
    return [call.compute(rows, call).cast(call.type) for call in group.calls]
