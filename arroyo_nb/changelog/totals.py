"""Aggregates that subtract: counts and sums, and what is computed from them.

A **part** is one thing that adds up over rows: a counter (int64, wrapping as Arroyo's
sums do) or digits (``exact``). ``a`` is the first argument, ``b`` the second, ``ab``
their product. Variance and its kin are computed from exact sums in twice the precision
of a double, so they depend on the rows that are there and not on how they came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from arroyo_nb.changelog.exact import (
    Floats,
    decimal_digits,
    decimal_sums,
    float_digits,
    float_sums,
    two_product,
)
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.changelog.moments import MOMENTS, Double
from arroyo_nb.errors import RunProblem

Totals: TypeAlias = Mapping[str, Any]
"""Part -> its total by slot: int64s, (high, low) floats, or integers of any length."""


@dataclass(frozen=True)
class Linear:
    """An aggregate as a function of the totals of some parts."""

    parts: tuple[str, ...]
    finish: Callable[[Totals, AggregateCall], pa.Array]


def linear(function: str, types: Sequence[pa.DataType]) -> Linear | None:
    """How an aggregate of arguments of these types subtracts; None where it cannot."""
    if function in MOMENTS:
        return Linear(*MOMENTS[function])
    family = _family(types[0]) if types else "rows"
    return _FUNCTIONS.get((function, family)) or _FUNCTIONS.get((function, "any"))


def is_counter(part: str) -> bool:
    """Whether a part is an int64 per group; it is digits otherwise."""
    return part in _COUNTERS


def counter_terms(part: str, columns: Sequence[pa.Array], rows: int) -> Ints:
    """What each row adds to a counter, for a weight of 1."""
    if part == "count":
        return np.ones(rows, np.int64)
    values = columns[0].to_numpy(zero_copy_only=False)
    wide = values if values.dtype == np.uint64 else values.astype(np.int64)
    return _COUNTERS[part](wide).astype(np.int64)


def digit_terms(
    part: str, columns: Sequence[pa.Array], slots: Ints, weights: Ints
) -> pa.Table:
    """What a batch adds to the digits of a part."""
    if part == "units":
        return decimal_digits(slots, columns[0], weights)
    floats = [c.cast(pa.float64(), safe=False).to_numpy() for c in columns]
    return float_digits(slots, _TERMS[part](*floats), weights)


def total_of(part: str, digits: pa.Table, slots: int) -> Double | list[int]:
    """The totals that digits stand for."""
    if part == "units":
        return decimal_sums(digits, slots)
    return float_sums(digits, slots)


def _family(type_: pa.DataType) -> str:
    tests = {
        "integer": pt.is_integer,
        "float": pt.is_floating,
        "decimal": pt.is_decimal,
    }
    return next((name for name, test in tests.items() if test(type_)), "other")


_COUNTERS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "count": np.ones_like,
    "sum": np.asarray,
    "low": lambda values: values & 0xFFFFFFFF,
    "high": lambda values: values >> 32,
    "true": np.asarray,
}
_TERMS: dict[str, Callable[..., tuple[Floats, ...]]] = {
    "a": lambda a, *_: (a,),
    "b": lambda _, b: (b,),
    "aa": lambda a, *_: two_product(a, a),
    "ab": two_product,
    "bb": lambda _, b: two_product(b, b),
}


def _count(totals: Totals, call: AggregateCall) -> pa.Array:
    return pa.array(totals["count"]).cast(call.type)


def _integer_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    wrapped = totals["sum"].astype(call.type.to_pandas_dtype())
    return pa.array(wrapped, call.type, mask=totals["count"] == 0)


def _integer_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    whole = totals["high"].astype(np.float64) * 2.0**32 + totals["low"]
    return pa.array(whole / np.maximum(count, 1), call.type, mask=count == 0)


def _float_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    empty = totals["count"] == 0
    return pa.array(totals["a"][0], mask=empty).cast(call.type, safe=False)


def _float_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    average = totals["a"][0] / np.maximum(count, 1)
    return pa.array(average, mask=count == 0).cast(call.type, safe=False)


def _decimal_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    pairs = zip(totals["units"], totals["count"].tolist(), strict=True)
    units = [total if n else None for total, n in pairs]
    return _decimals(units, call.type, "a sum")


def _decimal_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    """Scale 4 more than the argument's, as its type says; truncated toward zero."""
    pairs = zip(totals["units"], totals["count"].tolist(), strict=True)
    units = [_quotient(total * 10**4, n) for total, n in pairs]
    return _decimals(units, call.type, "an average, with four digits more,")


def _quotient(dividend: int, divisor: int) -> int | None:
    if divisor == 0:
        return None
    magnitude = abs(dividend) // divisor
    return magnitude if dividend >= 0 else -magnitude


def _decimals(units: Sequence[int | None], type_: pa.DataType, what: str) -> pa.Array:
    """Unscaled integers as decimals.

    Raises
    ------
    RunProblem
        When one has more digits than the type.
    """
    limit = 10**type_.precision
    if any(abs(u) >= limit for u in units if u is not None):
        raise RunProblem(
            f"{what} has more than the {type_.precision} digits of its type",
            hint="cast what it is of to DOUBLE, or to a DECIMAL of fewer digits",
        )
    words = b"".join((u or 0).to_bytes(16, "little", signed=True) for u in units)
    mask = pa.array(np.array([u is not None for u in units], np.bool_))
    buffers = [mask.buffers()[1], pa.py_buffer(words)]
    return pa.Array.from_buffers(type_, len(units), buffers)


def _bool_and(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    return pa.array(totals["true"] == count, call.type, mask=count == 0)


def _bool_or(totals: Totals, call: AggregateCall) -> pa.Array:
    return pa.array(totals["true"] > 0, call.type, mask=totals["count"] == 0)


_FUNCTIONS: dict[tuple[str, str], Linear] = {
    ("count", "rows"): Linear(("count",), _count),
    ("count", "any"): Linear(("count",), _count),
    ("sum", "integer"): Linear(("count", "sum"), _integer_sum),
    ("sum", "float"): Linear(("count", "a"), _float_sum),
    ("sum", "decimal"): Linear(("count", "units"), _decimal_sum),
    ("avg", "integer"): Linear(("count", "low", "high"), _integer_avg),
    ("avg", "float"): Linear(("count", "a"), _float_avg),
    ("avg", "decimal"): Linear(("count", "units"), _decimal_avg),
    ("bool_and", "any"): Linear(("count", "true"), _bool_and),
    ("bool_or", "any"): Linear(("count", "true"), _bool_or),
}
