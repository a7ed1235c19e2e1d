"""Aggregates of a multiset: recomputed for each group that changed.

Multiplicities count: the median of 1, 1, 1, 9 is 1. Lists without ORDER BY come in
ascending order of their values, NULLs last, so that a list depends on the rows that are
there and on nothing else; the first value is then the least. Approximate aggregates
are exact here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arroyo_nb.changelog.exact import Floats
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.changelog.multisets import Bags, Extreme, extremes
from arroyo_nb.errors import RunProblem

KEEP_NULLS = frozenset(("array_agg", "first_value", "last_value", "nth_value"))
"""Functions to which a NULL is a value."""


def _count(bags: Bags, call: AggregateCall) -> pa.Array:
    return pa.array(bags.occupied).cast(call.type)


def _extreme(which: Extreme) -> Callable[[Bags, AggregateCall], pa.Array]:
    def finish(bags: Bags, call: AggregateCall) -> pa.Array:
        places = extremes(bags.slot, bags.column(), which)
        return _placed(bags, bags.slot[places], places).cast(call.type)

    return finish


def _placed(bags: Bags, slots: Ints, places: Ints) -> pa.Array:
    """The values at ``places`` as the results of ``slots``, NULL for the others."""
    chosen = np.full(bags.slots, -1)
    chosen[slots] = places
    return bags.column().take(pa.array(chosen, mask=chosen < 0))


def _nth(bags: Bags, rows: Ints) -> pa.Array:
    """Row number ``rows`` of each group from 0; NULL where there is no such row."""
    ordered = bags.in_order
    there = np.flatnonzero((rows >= 0) & (rows < ordered.ends - ordered.starts))
    places = ordered.at((ordered.starts + rows)[there])
    return _placed(ordered, there, places)


def _first_value(bags: Bags, call: AggregateCall) -> pa.Array:
    return _nth(bags, np.zeros(bags.slots, np.int64)).cast(call.type)


def _last_value(bags: Bags, call: AggregateCall) -> pa.Array:
    return _nth(bags, _sizes(bags) - 1).cast(call.type)


def _nth_value(bags: Bags, call: AggregateCall) -> pa.Array:
    """Row ``parameter`` from 1; from the end where it is negative."""
    n = int(call.parameter or 0)
    rows = np.full(bags.slots, n - 1) if n > 0 else _sizes(bags) + n
    return _nth(bags, rows).cast(call.type)


def _sizes(bags: Bags) -> Ints:
    return bags.in_order.ends - bags.in_order.starts


def _array_agg(bags: Bags, call: AggregateCall) -> pa.Array:
    """Lists of all groups are one Arrow array, whose offsets have 32 bits.

    Raises
    ------
    RunProblem
        When the lists have 2**31 elements or more.
    """
    ordered = bags.in_order
    if int(ordered.weight.sum()) >= 1 << 31:
        raise RunProblem(
            f"{call.function} collects 2**31 values or more at once",
            hint="filter rows before they are aggregated",
        )
    values = ordered.column().take(
        pa.array(np.repeat(np.arange(len(ordered.slot)), ordered.weight))
    )
    offsets = np.r_[0, ordered.ends].astype(np.int32)
    empty = pa.array(np.diff(offsets) == 0)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=empty)


def _string_agg(bags: Bags, call: AggregateCall) -> pa.Array:
    return pc.binary_join(_array_agg(bags, call), str(call.parameter or ""))


def _median(bags: Bags, call: AggregateCall) -> pa.Array:
    """Of the argument's type: the mean of the middle two is truncated to it."""
    size = _sizes(bags)
    low, high = _nth(bags, (size - 1) // 2), _nth(bags, size // 2)
    return _between(low, high, np.full(bags.slots, 0.5)).cast(call.type)


def _percentile(bags: Bags, call: AggregateCall) -> pa.Array:
    fraction = 0.5 if call.parameter is None else float(call.parameter)
    place = np.maximum(_sizes(bags) - 1, 0) * fraction
    low, high = (_nth(bags, f(place).astype(np.int64)) for f in (np.floor, np.ceil))
    return _between(low, high, place % 1).cast(call.type)


def _weighted_percentile(bags: Bags, call: AggregateCall) -> pa.Array:
    """The least value at which the second argument's total reaches the fraction.

    Weights are added up group by group: in a running sum over all of them, the
    roundings of one group would reach the others.
    """
    ordered = bags.in_order
    slot, fraction = ordered.slot, float(call.parameter or 0)
    weight = ordered.column(1).cast(pa.float64()).to_numpy() * ordered.weight
    last = np.flatnonzero(np.diff(slot, append=-1))
    groups = np.split(weight, last[:-1] + 1)
    reached = np.concatenate([np.cumsum(group) for group in groups])
    total = np.zeros(bags.slots)
    total[slot[last]] = reached[last]
    enough = reached >= fraction * total[slot]
    enough[last] = True
    there = np.flatnonzero(enough)
    slots, first = np.unique(slot[there], return_index=True)
    return _placed(ordered, slots, there[first]).cast(call.type)


def _between(low: pa.Array, high: pa.Array, share: Floats) -> pa.Array:
    """``low + share * (high - low)`` in the type of both, truncated to it."""
    if pt.is_decimal(low.type):
        pairs = zip(low.to_pylist(), high.to_pylist(), share.tolist(), strict=True)
        scale = low.type.scale
        values = [None if a is None else _decimal(a, b, s, scale) for a, b, s in pairs]
        return pa.array(values, low.type)
    missing = low.is_null().to_numpy(zero_copy_only=False)
    a, b = (pc.fill_null(x, 0).to_numpy(zero_copy_only=False) for x in (low, high))
    with np.errstate(invalid="ignore", over="ignore"):
        if pt.is_integer(low.type):
            between = np.trunc(a + (b.astype(np.float64) - a) * share).astype(a.dtype)
            middle = np.where(share == 0.5, _half_way(a, b), between)
        else:
            middle = a * (1 - share) + b * share
    return pa.array(np.where(a == b, a, middle), low.type, mask=missing)


def _half_way(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The mean of integers truncated toward zero, which must not overflow."""
    floor = (a & b) + ((a ^ b) >> 1)
    odd = ((a ^ b) & 1).astype(np.bool_)
    half: npt.NDArray[Any] = floor + ((floor < 0) & odd).astype(a.dtype)
    return half


def _decimal(low: Decimal, high: Decimal, share: float, scale: int) -> Decimal:
    exact = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(share)
    return Decimal(int(exact * 10**scale)).scaleb(-scale, _WIDE)


_WIDE = Context(prec=60)
_BITS: dict[str, tuple[np.ufunc, int]] = {
    "bit_and": (np.bitwise_and, -1),
    "bit_or": (np.bitwise_or, 0),
    "bit_xor": (np.bitwise_xor, 0),
}


def _bits(bags: Bags, call: AggregateCall) -> pa.Array:
    ufunc, neutral = _BITS[call.function]
    values = bags.column().to_numpy().astype(np.int64)
    result = np.full(bags.slots, neutral)
    counted = bags.weight % 2 == 1 if call.function == "bit_xor" else slice(None)
    ufunc.at(result, bags.slot[counted], values[counted])
    narrow = result.astype(call.type.to_pandas_dtype())
    return pa.array(narrow, call.type, mask=bags.occupied == 0)


RECOMPUTED: dict[str, Callable[[Bags, AggregateCall], pa.Array]] = {
    "count": _count,
    "approx_distinct": _count,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "median": _median,
    "approx_median": _percentile,
    "approx_percentile_cont": _percentile,
    "approx_percentile_cont_with_weight": _weighted_percentile,
    "array_agg": _array_agg,
    "string_agg": _string_agg,
    "first_value": _first_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
    **dict.fromkeys(_BITS, _bits),
}
