"""Rows in the order of an ORDER BY: where NaN, NULL and the fields of a struct go."""

import math
from itertools import permutations

import pyarrow as pa
import pytest

from arroyo_nb.plan.nodes import SortKey
from arroyo_nb.run.results.sorting import in_order

NAN = math.nan


@pytest.mark.parametrize("in_struct", [False, True])
@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("descending", [False, True])
def test_nan_is_greater_than_any_number(type_, nulls_first, descending, in_struct):
    numbers = [-math.inf, 1.0, math.inf, NAN]
    expected = list(reversed(numbers)) if descending else numbers
    expected = [None, *expected] if nulls_first else [*expected, None]
    for values in permutations([*numbers, None]):
        column = pa.array(values, type_)
        if in_struct:
            column = pa.StructArray.from_arrays([column], ["f"])
        table = pa.table({"x": column})
        found = in_order(table, [SortKey("x", descending, nulls_first)])["x"]
        found = found.combine_chunks().field("f") if in_struct else found
        assert list(map(repr, found.to_pylist())) == list(map(repr, expected))


def test_the_next_key_decides_among_rows_that_are_nan():
    table = pa.table({"x": [NAN, 1.0, NAN, 1.0], "y": [1, 2, 3, 4]})
    keys = SortKey("x", True, False), SortKey("y", True, False)
    assert in_order(table, keys)["y"].to_pylist() == [3, 1, 4, 2]


def test_equal_rows_stay_as_they_came():
    table = pa.table({"x": [2.0, NAN, 2.0, NAN, None], "y": range(5)})
    assert in_order(table, [SortKey("x")])["y"].to_pylist() == [0, 2, 1, 3, 4]
