"""Reading tables whose columns have types of their own."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from arroyo_nb.formats.parquet.columns import ColumnDecoder
from arroyo_nb.schema import FLOAT, Field, ListOf, Schema, StructOf

BEYOND = 1e300


@pytest.mark.parametrize(
    ("type_", "of"),
    [
        (FLOAT, lambda number: number),
        (ListOf(FLOAT), lambda number: [0.5, number]),
        (StructOf((Field("f", FLOAT),)), lambda number: {"f": number}),
    ],
)
def test_a_double_that_is_no_float_is_bad_data(type_, of):
    numbers = [0.5, BEYOND, math.inf, -BEYOND, None]
    table = pa.table({"x": [of(number) for number in numbers]})
    decoder = ColumnDecoder(Schema((Field("x", type_),)), None, drop=True)
    decoder.check(table.schema, "x.parquet")
    found = decoder.decode(table, "x.parquet", 1)
    assert found.rows["x"].to_pylist() == [of(0.5), of(math.inf), of(None)]
    assert [bad.place for bad in found.bad] == ["x.parquet:2", "x.parquet:4"]
    assert "does not fit into" in found.bad[0].reason
