"""The numbers that buckets go by."""

from collections import Counter

import pytest

from arroyo_nb.spark.bucket_numbers import numbers, spark_hash


@pytest.mark.parametrize("partitions", [1, 2, 4, 8])
def test_eight_buckets_are_dealt_out_evenly(partitions: int) -> None:
    dealt = Counter(spark_hash(number) % partitions for number in numbers(8))
    assert dealt == dict.fromkeys(range(partitions), 8 // partitions)


@pytest.mark.parametrize("buckets", range(1, 20))
def test_each_bucket_has_a_number_of_its_own(buckets: int) -> None:
    assert len(set(numbers(buckets))) == buckets


def test_states_that_are_kept_are_found_by_them() -> None:
    assert numbers(8) == [12, 6, 5, 1, 25, 15, 2, 0]
