from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.run.results.preview import Preview
from arroyo_nb.run.results.row_store import RowStore
from arroyo_nb.schema import (
    BIGINT,
    TEXT,
    WINDOW_STRUCT,
    Field,
    ListOf,
    Schema,
    arrow_schema,
    nullable,
)

SCHEMA = Schema((Field("v", BIGINT),))


def rows(*values):
    return pa.table({"v": pa.array(values, pa.int64())})


@given(st.lists(st.lists(st.integers(0, 99), max_size=7), max_size=8))
def test_the_newest_rows_are_kept_in_order_and_all_are_counted(batches):
    preview = Preview(SCHEMA, limit_rows=5)
    for batch_id, values in enumerate(batches):
        preview.put(rows(*values), batch_id)
    flat = [v for values in batches for v in values]
    assert preview.table()["v"].to_pylist() == flat[-5:]
    assert preview.total_rows == len(flat)
    assert preview.cut_rows == len(flat) - len(flat[-5:])
    assert preview.newest(3) == [(v,) for v in reversed(flat[-3:])]


def test_a_replayed_batch_takes_the_place_of_its_first_try():
    preview = Preview(SCHEMA)
    preview.put(rows(1), 0)
    preview.put(rows(2, 3), 1)
    preview.put(rows(3, 2), 1)
    assert preview.table()["v"].to_pylist() == [1, 3, 2]
    assert preview.total_rows == 3


def test_a_replayed_batch_that_was_cut_is_counted_once():
    preview = Preview(SCHEMA, limit_rows=2)
    preview.put(rows(1, 2, 3), 0)
    preview.put(rows(1, 2, 3), 0)
    assert (preview.total_rows, preview.cut_rows) == (3, 1)


def test_the_rows_of_a_batch_are_in_the_order_of_their_windows():
    hours = [datetime(2013, 1, 1, h) for h in range(4)]
    windows = [{"start": hours[h], "end": hours[h + 1]} for h in (1, 2, 1, 0)]
    fields = Field("n", BIGINT), Field("w", WINDOW_STRUCT), Field("m", ListOf(TEXT))
    preview = Preview(Schema(fields))
    types = arrow_schema(nullable(preview.schema))
    batch = {"n": [5, 4, None, 9], "w": windows, "m": [["a"], None, ["b"], []]}
    preview.put(pa.table(batch, schema=types), 0)
    preview.put(pa.table({"n": [1], "w": windows[-1:], "m": [None]}, schema=types), 1)
    assert preview.table()["n"].to_pylist() == [9, 5, None, 4, 1]
    assert [row[0] for row in preview.newest(2)] == [1, 4]


def test_an_append_only_changelog_only_creates():
    preview = Preview(SCHEMA)
    preview.put(rows(1, 2), 0)
    preview.put(rows(), 1)
    preview.put(rows(3), 2)
    assert preview.changelog().to_pylist() == [
        {"op": "c", "batch": 0, "before": None, "after": {"v": 1}},
        {"op": "c", "batch": 0, "before": None, "after": {"v": 2}},
        {"op": "c", "batch": 2, "before": None, "after": {"v": 3}},
    ]


@pytest.mark.parametrize("read", [Preview.table, Preview.changelog])
def test_an_empty_preview_has_its_columns(read):
    assert read(Preview(SCHEMA)).num_rows == 0


def test_who_looks_while_a_batch_is_kept_misses_none_of_it(tmp_path, monkeypatch):
    preview, seen = Preview(SCHEMA), []
    append = RowStore.append

    def looked_at(store, *batch):
        seen.append(preview.cut_text)
        append(store, *batch)
        seen.append(preview.cut_text)

    monkeypatch.setattr(RowStore, "append", looked_at)
    preview.keep_in(tmp_path, 10**9)
    preview.put(rows(1, 2), 0)
    preview.put(rows(3), 1)
    assert seen == [""] * 4
    assert preview.table()["v"].to_pylist() == [1, 2, 3]
