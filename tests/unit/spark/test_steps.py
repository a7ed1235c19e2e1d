"""What a bucket keeps from batch to batch, with a state store that is a variable."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.join import JoinKernel
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.functions.aggregates import aggregate
from arroyo_nb.spark.processors import Step

SCHEMA = pa.schema({"k": pa.string()})
COUNTS = AggregateKernel(
    SCHEMA,
    ("k",),
    (AggregateCall("n", "count", pa.int64(), kernel=aggregate("count").kernel),),
)


class Kept:
    """Spark's state of one bucket."""

    value: tuple[bytes] | None = None

    def getValueState(self, *_: str) -> Kept:  # noqa: N802
        return self

    def get(self) -> tuple[bytes] | None:
        return self.value

    def update(self, value: tuple[bytes]) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = None


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def bucket(kept: Kept) -> Step:
    step = Step(COUNTS, ttl_us=10)
    step.init(kept)
    return step


def batch(now_us: int, **weights: int) -> list[Row]:
    """Rows of one micro-batch; without any, a beat."""
    part = None
    if weights:
        columns = {"k": list(weights), "_weight": list(weights.values())}
        part = COUNTS.partial_layout.to_bytes(COUNTS.partial(pa.table(columns)))
    return [Row(_bucket=0, part=part, _now_us=now_us)]


def sent(bucket: Step, rows: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (change["k"], change["n"], change["_weight"])
        for told in bucket.handleInputRows((0,), iter(rows), None)
        for change in pa.ipc.open_stream(told.changes).read_all().to_pylist()
    ]


def test_a_key_is_idle_by_the_time_of_its_batches(bucket: Step):
    assert sent(bucket, batch(100, a=1, b=1)) == [("a", 1, 1), ("b", 1, 1)]
    assert sent(bucket, batch(110, b=1)) == [("b", 1, -1), ("b", 2, 1)]
    assert sent(bucket, batch(111)) == [("a", 1, -1)]
    assert sent(bucket, batch(120)) == []
    assert sent(bucket, batch(121)) == [("b", 2, -1)]


def test_a_batch_that_is_run_again_says_the_same(bucket: Step, kept: Kept):
    sent(bucket, batch(100, a=1))
    before, rows = kept.value, batch(111, b=1)
    first, after = sent(bucket, rows), kept.value
    kept.value = before
    assert (sent(bucket, rows), kept.value) == (first, after)
    assert first == [("a", 1, -1), ("b", 1, 1)]


def test_an_empty_bucket_has_no_state(bucket: Step, kept: Kept):
    sent(bucket, batch(100, a=1))
    assert kept.value is not None
    assert sent(bucket, batch(101, a=-1)) == [("a", 1, -1)]
    assert kept.value is None
    sent(bucket, batch(102, a=1))
    assert sent(bucket, batch(200)) == [("a", 1, -1)]
    assert kept.value is None
    assert sent(bucket, batch(201)) == []
    assert sent(bucket, batch(202, a=-1)) == []
    assert kept.value is None


LEFT, RIGHT = pa.schema({"a": pa.int64()}), pa.schema({"b": pa.int64()})
PAIRS = JoinKernel(LEFT, RIGHT, ("a",), ("b",), "inner")


def joined(now_us: int, left: list[int], right: list[int]) -> list[Row]:
    """Rows of one micro-batch of a join; without any, a beat."""
    tables = pa.table([left], schema=LEFT), pa.table([right], schema=RIGHT)
    part = PAIRS.partial_layout.to_bytes(PAIRS.partial(*tables))
    return [Row(_bucket=0, part=part if left or right else None, _now_us=now_us)]


def test_a_row_without_a_match_is_forgotten_too(kept: Kept):
    step = Step(PAIRS, ttl_us=10)
    step.init(kept)
    assert list(step.handleInputRows((0,), iter(joined(100, [1], [])), None)) == []
    assert list(step.handleInputRows((0,), iter(joined(109, [2], [])), None)) == []
    both = kept.value
    assert list(step.handleInputRows((0,), iter(joined(115, [], [])), None)) == []
    assert kept.value != both
    # 1 is forgotten whether other keys of its bucket are, or not.
    (told,) = step.handleInputRows((0,), iter(joined(118, [], [1, 2])), None)
    pairs = pa.ipc.open_stream(told.changes).read_all().to_pylist()
    assert pairs == [{"a": 2, "b": 2, "_weight": 1}]
    after = kept.value
    assert list(step.handleInputRows((0,), iter(joined(119, [], [])), None)) == []
    assert kept.value is after, "a beat that finds nothing writes nothing"
