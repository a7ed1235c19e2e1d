"""Values at a share of the sorted rows, and distinct counts; multiplicities count.

The median of 1, 1, 1, 9 is 1. Approximate aggregates are exact here.
"""

from __future__ import annotations

from decimal import Context
from decimal import Decimal as Exact
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog.exact import Floats
from arroyo_nb.changelog.measures import AggregateCall, Kernel
from arroyo_nb.changelog.multisets import (
    Bags,
    count_values,
    nth,
    sizes,
    values_at_places,
)
from arroyo_nb.functions.aggregates.row import AggregateFunction, numeric
from arroyo_nb.functions.types import is_integer
from arroyo_nb.lazy_imports import np, npt, pa, pc, pt
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    BYTEA,
    DOUBLE,
    JSON,
    TEXT,
    Decimal,
    Type,
)

if TYPE_CHECKING:
    from sqlglot import exp


def _counted(type_: Type) -> Type | None:
    counts = is_integer(type_) or type_ in (TEXT, JSON, BYTEA)
    return BIGINT_UNSIGNED if counts else None


def _interpolated(type_: Type) -> Type | None:
    """A digest is of the argument's type, but for DECIMALs."""
    return DOUBLE if isinstance(type_, Decimal) else numeric(type_)


def _read(type_: Type) -> Type:
    return _interpolated(type_) or type_


def _fraction(literal: exp.Expr) -> float | None:
    is_numeral = literal.key == "literal" and not literal.is_string
    value = float(literal.name) if is_numeral else -1.0
    return value if 0 <= value <= 1 else None


def _median(bags: Bags, call: AggregateCall) -> pa.Array:
    """Of the argument's type: the mean of the middle two is truncated to it."""
    size = sizes(bags)
    low, high = nth(bags, (size - 1) // 2), nth(bags, size // 2)
    return _between(low, high, np.full(bags.slots, 0.5)).cast(call.type)


def _percentile(bags: Bags, call: AggregateCall) -> pa.Array:
    fraction = 0.5 if call.parameter is None else float(call.parameter)
    place = np.maximum(sizes(bags) - 1, 0) * fraction
    low, high = (nth(bags, f(place).astype(np.int64)) for f in (np.floor, np.ceil))
    return _between(low, high, place % 1).cast(call.type)


def _weighted_percentile(bags: Bags, call: AggregateCall) -> pa.Array:
    """The least value at which the second argument's total reaches the fraction.

    Weights are added up group by group: in a running sum over all of them, the
    roundings of one group would reach the others.
    """
    ordered = bags.in_order
    slot, fraction = ordered.slot, float(call.parameter or 0)
    # A whole number that a float has not is rounded.
    each = ordered.column(1).cast(pa.float64(), safe=False)
    weight = each.to_numpy() * ordered.weight
    last = np.flatnonzero(np.diff(slot, append=-1))
    groups = np.split(weight, last[:-1] + 1)
    reached = np.concatenate([np.cumsum(group) for group in groups])
    total = np.zeros(bags.slots)
    total[slot[last]] = reached[last]
    enough = reached >= fraction * total[slot]
    enough[last] = True
    there = np.flatnonzero(enough)
    slots, first = np.unique(slot[there], return_index=True)
    return values_at_places(ordered, slots, there[first]).cast(call.type)


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


def _decimal(low: Exact, high: Exact, share: float, scale: int) -> Exact:
    exact = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(share)
    return Exact(int(exact * 10**scale)).scaleb(-scale, _WIDE)


_WIDE = Context(prec=60)


_EXACT = "it is exact; Arroyo's gives a value between, and of no rows 0 or NaN"

AGGREGATES = (
    AggregateFunction(
        name="approx_distinct",
        doc="how many different values there are; exact here",
        example="approx_distinct(name) -> 3",
        result=_counted,
        wants="a whole number or TEXT",
        differs=_EXACT,
        kernel=Kernel(multiset=count_values),
    ),
    AggregateFunction(
        name="approx_median",
        doc="the middle value, between two where they are even; exact here",
        example="approx_median(fare) -> 8.0",
        result=_interpolated,
        reads=_read,
        never_distinct="APPROX_MEDIAN",
        differs=_EXACT,
        kernel=Kernel(multiset=_percentile),
    ),
    AggregateFunction(
        name="approx_percentile_cont",
        doc="the value at a fraction of the sorted values; exact here",
        example="approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY seats) -> 3",
        result=_interpolated,
        reads=_read,
        constant=_fraction,
        constant_words="a number from 0 to 1",
        within=True,
        differs=_EXACT,
        kernel=Kernel(multiset=_percentile),
    ),
    AggregateFunction(
        name="approx_percentile_cont_with_weight",
        doc="the value at a fraction of the total weight; exact here",
        example="approx_percentile_cont_with_weight(seats, 0.5) "
        "WITHIN GROUP (ORDER BY fare) -> 12.0",
        result=_interpolated,
        reads=_read,
        arguments=2,
        alike=True,
        constant=_fraction,
        constant_words="a number from 0 to 1",
        within=True,
        differs=_EXACT,
        kernel=Kernel(multiset=_weighted_percentile),
    ),
    AggregateFunction(
        name="median",
        doc="the middle value, between two where they are even",
        example="median(seats) -> 3",
        result=numeric,
        kernel=Kernel(multiset=_median),
    ),
)
