"""OVER on an Arrow table of whole partitions: one sort, then a column for each call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.changelog.measures import Order
from arroyo_nb.lazy_imports import pa
from arroyo_nb.over.partitions import sort_rows
from arroyo_nb.over.rows import OverCall, OverRows


@dataclass(frozen=True)
class OverKernel:
    """The rows of the input with the values of the calls.

    Parameters
    ----------
    input
        Columns of the rows.
    keys, order
        PARTITION BY and ORDER BY, as columns.
    ties
        The columns by which peers are put in an order.
    kept
        The columns of the input that the output has.
    calls
        Further output columns.
    """

    input: pa.Schema
    keys: tuple[str, ...]
    order: tuple[Order, ...]
    ties: tuple[str, ...]
    kept: tuple[str, ...]
    calls: tuple[OverCall, ...]

    @cached_property
    def output(self) -> pa.Schema:
        """The kept columns, then the calls."""
        kept = [self.input.field(name) for name in self.kept]
        return pa.schema([*kept, *(pa.field(c.name, c.type) for c in self.calls)])

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The output, partition after partition, in the order of each."""
        table, partitions = sort_rows(rows, self.keys, self.order, self.ties)
        over = OverRows(table, partitions, self.order)
        made = [call.compute(over, call).cast(call.type) for call in self.calls]
        kept = [table[name] for name in self.kept]
        return pa.table([*kept, *made], schema=self.output)
