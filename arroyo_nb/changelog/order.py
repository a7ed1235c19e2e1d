"""Order of rows inside groups, with NULLs where SQL's dialect puts them.

A column becomes ranks (equal values, equal ranks), several become one by pairing, and
rows are sorted by numbers. NaN is greater than every number; structs and lists go by
their parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.changelog.keys import Ints, first_rows, group_ids, normalised
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.zset import int64s
from arroyo_nb.lazy_imports import np, pa, pc, pt


def ranks(column: pa.Array, order: Order) -> Ints:
    """Dense ranks from 0 in that order; equal values have equal ranks."""
    if pt.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if pt.is_nested(column.type):
        return _nested_ranks(column, order)
    values = _dense(_numbers(column), order.descending)
    if not column.null_count:
        return values
    missing = column.is_null().to_numpy(zero_copy_only=False)
    # The ranks start at 0 again where NULLs took the place before it.
    edge = -1 if order.nulls_first else values.max(initial=0) + 1
    return np.where(missing, edge, values) + int(order.nulls_first)


def joint_ranks(columns: Sequence[pa.Array], orders: Sequence[Order]) -> Ints:
    """Dense ranks by several columns, the first of which decides first."""
    joint, *others = (ranks(c, o) for c, o in zip(columns, orders, strict=True))
    for next_ in others:
        joint = refined(joint, next_)
    return joint


def refined(first: Ints, then: Ints) -> Ints:
    """Dense ranks by two ranks, the first of which decides first."""
    paired = first * (then.max(initial=0) + 1) + then
    # Dense again after each column, as in group_ids: products would overflow.
    return np.asarray(np.unique(paired, return_inverse=True)[1], np.int64)


def sorted_positions(groups: Ints, ranks_: Ints) -> Ints:
    """Positions of rows by group, then rank; equals in any order."""
    return np.argsort(groups * (ranks_.max(initial=0) + 1) + ranks_)


def ordinals(values: pa.Array) -> Ints | None:
    """Integers in the order of the values; None where the type has no such thing."""
    type_ = values.type
    if values.null_count or pt.is_decimal(type_):
        return None
    if pt.is_floating(type_):
        # IEEE 754 orders by sign and magnitude: with the other bits of negative numbers
        # flipped, integers compare as the floats do, and NaN lies above infinity.
        bits = values.cast(pa.float64()).to_numpy().view(np.int64)
        return np.asarray(bits ^ ((bits >> 63) & np.iinfo(np.int64).max), np.int64)
    if pt.is_uint64(type_):
        # The highest bit flipped, unsigned order is that of signed numbers.
        unsigned = values.to_numpy().view(np.int64)
        return np.asarray(unsigned ^ np.iinfo(np.int64).min, np.int64)
    if pt.is_integer(type_) or pt.is_temporal(type_):
        return int64s(values)
    return None


def _numbers(column: pa.Array) -> pa.Array:
    """Floats as integers in their order (Arrow puts NaN last in both directions)."""
    if not pt.is_floating(column.type):
        return column
    number = ordinals(normalised(pc.fill_null(column, 0)))
    return pa.array(number, mask=column.is_null().to_numpy(zero_copy_only=False))


def _dense(column: pa.Array, descending: bool) -> Ints:
    direction = "descending" if descending else "ascending"
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
