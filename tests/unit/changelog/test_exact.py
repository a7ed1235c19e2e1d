"""Sums against fractions: exact whatever the order, and undone by retracts."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arroyo_nb.changelog.exact import (
    decimal_digits,
    decimal_sums,
    float_digits,
    float_sums,
    two_product,
)
from arroyo_nb.errors import RunProblem

ANY_FLOAT = st.floats()
ROWS = st.lists(
    st.tuples(st.integers(0, 2), ANY_FLOAT, st.integers(-3, 3)), max_size=12
)
TINY, HUGE = 5e-324, 1.7976931348623157e308


def transposed(rows: list[tuple]) -> list[list]:
    return [[row[i] for row in rows] for i in range(3)]


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def sums(rows: list[tuple[int, float, int]]) -> list[float]:
    slots, values, weights = transposed(rows)
    digits = float_digits(
        ints(slots),
        [np.array(values, float)],
        ints(weights),
    )
    return float_sums(digits, 3)[0].tolist()


def true_sum(rows: list[tuple[float, int]]) -> float:
    """The correctly rounded sum of finite floats."""
    total = sum((Fraction(v) * w for v, w in rows), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(ROWS)
@example([(0, -9.7e288, 1), (0, 1e200, 1)])
@example([(0, TINY, 1), (0, HUGE, 1), (0, HUGE, -1)])
@example([(0, HUGE, 3), (0, HUGE, -2)])
@example([(1, 0.1, 1), (1, 0.2, 1), (1, 0.3, -1)])
@example([(0, 1.0, 1 << 29), (0, 1.0, -(1 << 29)), (0, 1e-9, 1)])
def test_a_sum_is_rounded_once(rows):
    finite = [(s, v, w) for s, v, w in rows if math.isfinite(v)]
    for slot, total in enumerate(sums(finite)):
        assert total == true_sum([(v, w) for s, v, w in finite if s == slot])


@given(ROWS, st.randoms())
def test_order_does_not_matter_and_a_retract_undoes(rows, random):
    shuffled = random.sample(rows, len(rows))
    others = [(s, v, w) for s, v, w in rows for w in (7, -7)]
    np.testing.assert_equal(sums(rows), sums(others + shuffled))


@given(st.lists(st.sampled_from([math.inf, -math.inf, math.nan, 1.0]), max_size=4))
def test_infinities_and_nan_add_as_floats_do(values):
    np.testing.assert_equal(sums([(0, v, 1) for v in values])[0], sum(values, 0.0))


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
@example(1e-60, 3.0)
def test_two_product_is_exact(a, b):
    high, low = two_product(np.array([a]), np.array([b]))
    if abs(a * b) > 1e-280:
        assert Fraction(a) * Fraction(b) == Fraction(high[0]) + Fraction(low[0])


LIMIT = 10**38 - 1


def test_more_rows_than_can_be_counted_are_refused():
    with pytest.raises(RunProblem, match="2\\*\\*31 rows or more are added up"):
        sums([(0, 1.0, 1 << 30), (0, 1.0, 1 << 30)])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(-LIMIT, LIMIT),
            st.integers(-3, 3),
        ),
        max_size=8,
    )
)
def test_sums_of_decimals_are_integers(rows):
    slots, values, weights = transposed(rows)
    digits = decimal_digits(
        ints(slots),
        pa.array([Decimal(str(v)) for v in values], pa.decimal128(38, 0)),
        ints(weights),
    )
    expected = [sum(v * w for s, v, w in rows if s == slot) for slot in range(3)]
    assert decimal_sums(digits, 3) == expected
