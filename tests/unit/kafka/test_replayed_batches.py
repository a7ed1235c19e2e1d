"""Batches that come once are gone through again."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa
import pytest

from arroyo_nb.kafka import replayed_batches
from arroyo_nb.kafka.replayed_batches import ReplayedBatches


def batches(count=5):
    return iter([pa.RecordBatch.from_pydict({"n": [n, n + 1]}) for n in range(count)])


def firsts(found):
    return [batch["n"][0].as_py() for batch in found]


@pytest.mark.parametrize("in_memory_bytes", [1 << 20, 100])
@pytest.mark.parametrize("read", range(6))
def test_batches_come_again_however_many_were_read(read, in_memory_bytes, monkeypatch):
    monkeypatch.setattr(replayed_batches, "IN_MEMORY_BYTES", in_memory_bytes)
    with closing(ReplayedBatches(batches())) as kept:
        first_time = iter(kept)
        assert firsts(next(first_time) for _ in range(read)) == list(range(read))
        for _ in range(2):
            assert firsts(kept) == list(range(5))


def test_a_second_reader_may_stop_too():
    with closing(ReplayedBatches(batches())) as kept:
        for wanted in (2, 3, 1):
            again = iter(kept)
            assert firsts(next(again) for _ in range(wanted)) == list(range(wanted))
        assert firsts(kept) == list(range(5))


def test_no_batches_come_again_either():
    with closing(ReplayedBatches(batches(0))) as kept:
        assert firsts(kept) == firsts(kept) == []
