"""Order of rows inside groups, with NULLs where SQL's dialect puts them.

A column becomes ranks (equal values, equal ranks), several become one by pairing, and
rows are sorted by numbers. NaN is greater than every number; structs and lists go by
their parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arroyo_nb.changelog.keys import Ints, first_rows, group_ids, normalised
from arroyo_nb.changelog.measures import Order


def ranks(column: pa.Array, order: Order) -> Ints:
    """Dense ranks from 0 in that order; equal values have equal ranks."""
    if pt.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if pt.is_nested(column.type):
        return _nested_ranks(column, order)
    column = normalised(column)
    values = _dense(column, "descending" if order.descending else "ascending")
    if not column.null_count:
        return values
    missing = column.is_null().to_numpy(zero_copy_only=False)
    edge = -1 if order.nulls_first else values.max(initial=0) + 1
    return np.where(missing, edge, values) + int(order.nulls_first)


def joint_ranks(columns: Sequence[pa.Array], orders: Sequence[Order]) -> Ints:
    """Ranks by several columns, the first of which decides first; dense or not."""
    joint = np.zeros(len(columns[0]), np.int64)
    for column, order in zip(columns, orders, strict=True):
        next_ = ranks(column, order)
        paired = joint * (next_.max(initial=0) + 1) + next_
        joint = np.unique(paired, return_inverse=True)[1].astype(np.int64)
    return joint


def sorted_positions(groups: Ints, ranks_: Ints) -> Ints:
    """Positions of rows by group, then rank, then as they came."""
    return np.lexsort((ranks_, groups)).astype(np.int64)


def _dense(column: pa.Array, direction: str) -> Ints:
    ranked = pc.rank(column, direction, tiebreaker="dense")
    return np.asarray(ranked.to_numpy(), np.int64) - 1


def _nested_ranks(column: pa.Array, order: Order) -> Ints:
    """By the parts of distinct values, in Python: such columns are few and small."""
    ids = group_ids([column], len(column))
    first = first_rows(ids)
    missing = column.is_null().to_numpy(zero_copy_only=False)[first]
    values = [_sortable(v) for v in column.take(pa.array(first)).to_pylist()]
    present = np.flatnonzero(~missing).tolist()
    present.sort(key=values.__getitem__, reverse=order.descending)
    nulls = np.flatnonzero(missing).tolist()
    places = nulls + present if order.nulls_first else present + nulls
    rank = np.empty(len(first), np.int64)
    rank[places] = np.arange(len(first))
    return rank[ids]


def _sortable(value: object) -> tuple[object, ...]:
    """A tuple that Python orders as SQL does: by parts, then NaN, then NULL."""
    match value:
        case None:
            return (2,)
        case dict():
            return (0, tuple(_sortable(v) for v in value.values()))
        case list() | tuple():
            return (0, tuple(_sortable(v) for v in value))
        case float() if value != value:
            return (1,)
    return (0, value)
