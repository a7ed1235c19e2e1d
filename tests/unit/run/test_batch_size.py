"""How many records a micro-batch of a topic reads."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.connectors import FIRST_BATCH_RECORDS
from arroyo_nb.run.sources.batch_size import (
    LEAST_RECORDS,
    MOST_RECORDS,
    TARGET_S,
    BatchSize,
)

RATES = st.floats(100, 2_000_000)


def sizes(rate: float, batches: int) -> list[int]:
    """The sizes of the batches of a long topic, of which so many records are read in a
    second beside a start of 0.2 s."""
    size, found = BatchSize(), []
    for _ in range(batches):
        found.append(size.records)
        size = size.after(size.records, 0.2 + size.records / rate)
    return found


def test_a_quick_machine_soon_reads_the_largest_batches() -> None:
    assert sizes(300_000, 6) == [50_000, 100_000, 200_000, 400_000, 500_000, 500_000]


def test_a_busy_machine_reads_what_it_commits_in_time() -> None:
    first, *others = sizes(8_000, 8)
    assert first == FIRST_BATCH_RECORDS
    assert all(0.2 + records / 8_000 <= 1.1 * TARGET_S for records in others)
    assert min(others) > 8_000


@given(st.lists(RATES, min_size=2, max_size=30))
def test_no_batch_is_much_too_long_twice(rates: list[float]) -> None:
    size, slow = BatchSize(), False
    for before, rate in pairwise(rates):
        seconds = size.records / rate
        is_slow = seconds > 2 * TARGET_S and size.records > LEAST_RECORDS
        assert not (slow and is_slow and rate >= before)
        slow, size = is_slow, size.after(size.records, seconds)
        assert LEAST_RECORDS <= size.records <= MOST_RECORDS


@given(RATES, st.integers(0, 40_000))
def test_one_that_is_not_full_tells_nothing(rate: float, records: int) -> None:
    assert BatchSize().after(records, records / rate) == BatchSize()
