"""State as bytes: read back as it was, or refused with a reason; cut by bucket."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from histories import stepped

from arroyo_nb.changelog import state_tables
from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.changelog.state_tables import Layout, split
from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.aggregates import aggregate

INPUT = pa.schema({"k": pa.string(), "v": pa.float64()})
ROWS = pa.table({"k": ["a", "b", "c", "a"], "v": [1.5, 2.0, None, 0.25]}, schema=INPUT)

LONGS = pa.schema({"k": pa.int64(), "v": pa.float64()})
MEDIAN = AggregateCall(
    "m", "median", pa.float64(), ("v",), kernel=aggregate("median").kernel
)


def totals(function: str, type_: pa.DataType) -> AggregateKernel:
    call = AggregateCall(
        "m", function, type_, ("v",), kernel=aggregate(function).kernel
    )
    return AggregateKernel(INPUT, ("k",), (call,))


def test_bytes_are_the_state():
    operator = totals("median", pa.float64())
    state, _ = stepped(operator, operator.layout.empty(), [operator.partial(ROWS)], 0)
    back = operator.layout.from_bytes(operator.layout.to_bytes(state))
    assert {name: t.to_pylist() for name, t in back.items()} == {
        name: t.to_pylist() for name, t in state.items()
    }


def test_a_large_state_is_compressed_and_one_that_is_not_can_be_read(monkeypatch):
    rows = pa.table({"k": [f"key {n}" for n in range(5_000)], "v": [1.0] * 5_000})
    operator = totals("count", pa.int64())
    part = operator.partial(rows.cast(INPUT))
    state, _ = stepped(operator, operator.layout.empty(), [part], 0)
    small = operator.layout.to_bytes(state)
    monkeypatch.setattr(state_tables, "COMPRESSED_BYTES", 2**40)
    large = operator.layout.to_bytes(state)
    assert 3 * len(small) < len(large)
    for blob in (small, large):
        assert operator.layout.from_bytes(blob) == state


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (
            AggregateKernel(LONGS, ("k",), (MEDIAN,)).layout,
            "groups.value m is int64, not double|groups.key k is int64, not string",
        ),
        (
            AggregateKernel(INPUT, ("k",), (MEDIAN,)).partial_layout,
            "groups has no column '_touched_us'",
        ),
        (Layout((("left", INPUT),)), "its table is 'left', not 'groups'"),
        (b"", "groups cannot be read"),
        (b"\xff\xff\xff\xff\x10\0\0\0garbage", "groups cannot be read"),
    ],
)
def test_the_state_of_another_query_is_refused(blob, reason):
    written = blob.to_bytes(blob.empty()) if isinstance(blob, Layout) else blob
    with pytest.raises(RunProblem, match=f"does not belong to this query: ({reason})"):
        totals("median", pa.float64()).layout.from_bytes(written)


def test_a_partial_state_is_cut_by_bucket_and_stays_whole():
    operator = totals("array_agg", pa.list_(pa.float64()))
    whole = operator.partial(ROWS)
    parts = dict(split(whole, np.array([1, 0, 1])))
    sent = {}
    for bucket, part in parts.items():
        _, changes = stepped(operator, operator.layout.empty(), [part], 0)
        sent[bucket] = {row["k"]: row["m"] for row in changes.to_pylist()}
    assert sent == {0: {"b": [2.0]}, 1: {"a": [0.25, 1.5], "c": [None]}}
