"""Rows in the order that a query's ORDER BY asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.plan.nodes import SortKey


def in_order(rows: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """The rows sorted; equal ones stay as they came.

    A window is sorted by its start, then its end.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not keys or rows.num_rows < 2:
        return rows
    columns: list[tuple[pa.ChunkedArray, bool]] = []
    for key in keys:
        column = rows[key.column]
        parts = [column]
        if pa.types.is_struct(column.type):
            names = [field.name for field in column.type]
            parts = [pc.struct_field(column, name) for name in names]
        # Arrow places NULLs alike for all keys: a key of its own does so for each.
        columns.append((pc.is_null(column), key.nulls_first))
        columns += ((part, key.descending) for part in parts)
    columns.append((pa.chunked_array([pa.array(range(len(rows)))]), False))
    named = {str(number): column for number, (column, _) in enumerate(columns)}
    order = [
        (str(number), "descending" if down else "ascending")
        for number, (_, down) in enumerate(columns)
    ]
    return rows.take(pc.sort_indices(pa.table(named), sort_keys=order))
