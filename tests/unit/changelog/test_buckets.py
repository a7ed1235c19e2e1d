"""Buckets: the same for equal keys of any type, and for ever."""

from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_keys import expected, relations

from arroyo_nb.changelog.buckets import buckets_of

MANY, THOUSAND = 2**62, 1000
PINNED = [
    (pa.int64(), [0, -1, None], [55, 767, 876]),
    (pa.uint64(), [2**64 - 1], [767]),
    (pa.int8(), [0, -1], [55, 767]),
    (pa.bool_(), [False, True], [55, 158]),
    (pa.float64(), [1.5, -0.0], [358, 55]),
    (pa.decimal128(38, 2), [Decimal("-1.25")], [272]),
    (pa.date32(), [date(2024, 2, 29)], [814]),
    (pa.time64("us"), [time(1, 2, 3)], [302]),
    (pa.timestamp("us", "UTC"), [datetime(2024, 2, 29)], [222]),
    (pa.string(), ["", "a", "a\0", "größe"], [55, 675, 240, 37]),
    (pa.binary(), [b"a"], [675]),
    (pa.list_(pa.int64()), [[], [0], [0, 0], None], [55, 216, 678, 876]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], [880]),
    (pa.struct({"x": pa.int64(), "y": pa.string()}), [{"x": 1, "y": None}], [568]),
]


@given(relations(), st.integers(0, 12))
def test_equal_keys_go_to_one_bucket_and_others_rarely_do(columns, cut):
    ids = expected(columns)
    buckets = buckets_of(columns, len(ids), MANY)
    assert len(set(zip(ids, buckets.tolist(), strict=True))) == len(set(ids))
    # A struct is mixed as the columns before it are, so that (1, 2, {3, 4}) and
    # (3, 4, {1, 2}) share a number: it costs nothing but a wider look, and is for ever.
    if not any(pa.types.is_struct(c.type) for c in columns):
        assert len(set(buckets.tolist())) == len(set(ids))
    chunked = [pa.chunked_array([c[:cut], c[cut:]], c.type) for c in columns]
    assert buckets_of(chunked, len(ids), MANY).tolist() == buckets.tolist()
    slices = [pa.concat_arrays([c, c])[len(c) :] for c in columns]
    assert buckets_of(slices, len(ids), MANY).tolist() == buckets.tolist()


@pytest.mark.parametrize(("type_", "values", "buckets"), PINNED, ids=str)
def test_what_a_state_was_cut_by_never_changes(type_, values, buckets):
    column = pa.array(values, type_)
    assert buckets_of([column], len(values), THOUSAND).tolist() == buckets


@pytest.mark.parametrize("of", [pa.int64(), pa.string(), pa.list_(pa.int64())], ids=str)
def test_keys_that_follow_each_other_are_dealt_out_evenly(of):
    keys = pa.array(range(80_000))
    if pa.types.is_list(of):
        keys = pa.ListArray.from_arrays(np.arange(80_001, dtype=np.int32), keys)
    dealt = np.bincount(buckets_of([keys.cast(of)], len(keys), 8), minlength=8)
    assert abs(dealt - 10_000).max() < 500


def test_without_keys_there_is_one_bucket():
    assert buckets_of([], 3, 8).tolist() == [0, 0, 0]
