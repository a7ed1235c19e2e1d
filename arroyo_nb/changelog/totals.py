"""Totals that subtract, which counts, sums and moments are computed from.

A **part** is one thing that adds up over rows. Counters are int64, wrapping as Arroyo's
sums do: ``count``, ``sum``, ``low`` and ``high`` (the halves of a whole number), and
``true``. The others are kept as digits (``exact``): ``a`` is the first argument, ``b``
the second, ``ab`` their product, ``aa`` and ``bb`` their squares, and ``units`` the
unscaled values of a DECIMAL. Variance and its kin are computed from exact sums in twice
the precision of a double, so they depend on the rows that are there and not on how they
came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from arroyo_nb.changelog.exact import (
    Double,
    Floats,
    decimal_digits,
    decimal_sums,
    float_digits,
    float_sums,
    two_product,
)
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import Kernel, Linear


def linear(kernel: Kernel, types: Sequence[pa.DataType]) -> Linear | None:
    """How an aggregate of arguments of these types subtracts; None where it cannot."""
    family = _family(types[0]) if types else "rows"
    return kernel.totals.get(family) or kernel.totals.get("any")


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
