"""Rows that two tables do not share, as multisets: order says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arroyo_nb.run.results.run_results import without_structs

if TYPE_CHECKING:
    import pyarrow as pa

WEIGHT = "weight"
"""Column of a :class:`Difference`: how often a row is more in the first table, or,
below zero, in the second."""

FLOAT_BITS = 40
"""Bits of a floating-point number that count: the order of a sum changes the others."""


@dataclass(frozen=True)
class Difference:
    """What two tables do not share.

    Parameters
    ----------
    rows
        The columns of the tables, structs as a column for each field, and before them
        ``weight``.
    only_first, only_second
        How many rows each has that the other has not.
    """

    rows: pa.Table
    only_first: int
    only_second: int

    @property
    def is_empty(self) -> bool:
        """Whether the tables have the same rows."""
        return not (self.only_first or self.only_second)


def difference(first: pa.Table, second: pa.Table) -> Difference:
    """The rows that two tables do not share.

    Tables whose columns have other names or types share no row.

    >>> import pyarrow as pa
    >>> found = difference(pa.table({"n": [1, 2, 2]}), pa.table({"n": [2, 3]}))
    >>> found.only_first, found.only_second
    (2, 1)
    >>> sorted(zip(*found.rows.to_pydict().values()))
    [(-1, 3), (1, 1), (1, 2)]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = without_structs(first).column_names
    if names != without_structs(second).column_names:
        return Difference(_weighed(first, 1, names), first.num_rows, second.num_rows)
    # By number: a column may have the name of another, or of the weight.
    keys = [str(number) for number in range(1, len(names) + 1)]
    both = pa.concat_tables(
        [_weighed(first, 1, keys), _weighed(second, -1, keys)],
        promote_options="permissive",
    )
    if not names:
        more = first.num_rows - second.num_rows
        return Difference(both.slice(0, 0), max(more, 0), max(-more, 0))
    sums = both.group_by(keys, use_threads=False).aggregate([(WEIGHT, "sum")])
    sums = sums.select([f"{WEIGHT}_sum", *keys]).rename_columns([WEIGHT, *names])
    rows = sums.filter(pc.not_equal(sums.column(0), 0))
    weights = rows.column(0)
    more = pc.sum(pc.max_element_wise(weights, 0)).as_py() or 0
    less = pc.sum(pc.min_element_wise(weights, 0)).as_py() or 0
    return Difference(rows, more, -less)


def _weighed(table: pa.Table, weight: int, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    flat = without_structs(table)
    weights = pa.repeat(pa.scalar(weight, pa.int64()), flat.num_rows)
    columns = [_comparable(column) for column in flat.columns]
    return pa.table([weights, *columns], names=[WEIGHT, *names])


def _comparable(column: pa.ChunkedArray) -> Any:
    """Values that can be a key, equal where they mean the same."""
    import pyarrow as pa
    import pyarrow.types as types

    kind = column.type
    if types.is_floating(kind):
        return _rounded(column)
    if types.is_nested(kind):
        # Arrow groups by no list or map.
        texts = [None if v is None else repr(v) for v in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column


def _rounded(column: pa.ChunkedArray) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    there = pc.is_valid(column)
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    parts, exponents = np.frexp(values)
    scale = 2.0**FLOAT_BITS
    # Adding zero makes one zero of both.
    rounded = np.ldexp(np.round(parts * scale) / scale, exponents) + 0.0
    return pa.array(rounded, mask=~there.to_numpy(zero_copy_only=False))
