"""Rows for pandas: what a struct holds can be grouped by."""

from datetime import datetime

import pyarrow as pa

from arroyo_nb.run.results.run_results import without_structs

NOON = datetime(2026, 1, 31, 12)


def test_a_struct_is_a_column_for_each_field_however_deep():
    window = {"start": NOON, "end": NOON}
    rows = pa.table({"window": [window, None], "a": [{"b": {"c": 1}}] * 2, "n": [1, 2]})
    found = without_structs(rows)
    assert found.column_names == ["window.start", "window.end", "a.b.c", "n"]
    assert found["window.start"].to_pylist() == [NOON, None]
    assert found.to_pandas().groupby("window.start")["n"].sum().tolist() == [1]
