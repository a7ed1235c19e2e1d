"""Rows in the order that a query's ORDER BY asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.plan.nodes import SortKey


def in_order(rows: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """The rows sorted; equal ones stay as they came.

    A struct, such as a window, is sorted by its fields from left to right. NaN is
    greater than any other number, as in Spark.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not keys or rows.num_rows < 2:
        return rows
    columns = [part for key in keys for part in _columns(rows[key.column], key)]
    columns.append((pa.chunked_array([np.arange(len(rows))]), False))
    named = {str(number): column for number, (column, _) in enumerate(columns)}
    order = [
        (str(number), "descending" if down else "ascending")
        for number, (_, down) in enumerate(columns)
    ]
    return rows.take(pc.sort_indices(pa.table(named), sort_keys=order))


def _columns(
    column: pa.ChunkedArray, key: SortKey
) -> Iterator[tuple[pa.ChunkedArray, bool]]:
    """What Arrow sorts by for a key, and whether the largest comes first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Arrow places NULL, and NaN, alike for all keys and either direction.
    yield pc.is_null(column), key.nulls_first
    if pa.types.is_struct(column.type):
        for field in column.type:
            yield from _columns(pc.struct_field(column, field.name), key)
        return
    if pa.types.is_floating(column.type):
        yield pc.is_nan(column), key.descending
    yield column, key.descending
