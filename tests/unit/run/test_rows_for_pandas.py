"""Rows for pandas: what a struct holds can be grouped by."""

from datetime import datetime

import pyarrow as pa
import pytest

from arroyo_nb.run.results.run_results import exact_frame, without_structs

NOON = datetime(2026, 1, 31, 12)


def test_a_struct_is_a_column_for_each_field_however_deep():
    window = {"start": NOON, "end": NOON}
    rows = pa.table({"window": [window, None], "a": [{"b": {"c": 1}}] * 2, "n": [1, 2]})
    found = without_structs(rows)
    assert found.column_names == ["window.start", "window.end", "a.b.c", "n"]
    assert found["window.start"].to_pylist() == [NOON, None]
    assert found.to_pandas().groupby("window.start")["n"].sum().tolist() == [1]


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    ("type_", "values", "dtype"),
    [
        (pa.int64(), [LARGE, None], "Int64"),
        (pa.int64(), [-LARGE, None, 1], "Int64"),
        (pa.uint64(), [2**64 - 1, None], "UInt64"),
        (pa.int64(), [LARGE, 1], "int64"),
        (pa.int64(), [2**53, None], "float64"),
        (pa.int64(), [None], "float64"),
        (pa.float64(), [0.5, None], "float64"),
    ],
)
def test_a_whole_number_beside_a_null_keeps_its_digits(type_, values, dtype):
    rows = pa.table({"n": pa.array(values, type_), "b": ["x"] * len(values)})
    found = exact_frame(rows)
    assert str(found["n"].dtype) == dtype
    assert found["n"].dropna().tolist() == [
        value for value in values if value is not None
    ]
