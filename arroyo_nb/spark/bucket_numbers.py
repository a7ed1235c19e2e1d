"""Where Spark puts the buckets that state is cut into.

Spark deals keys out to its partitions by their hash, and eight keys are few: of the
numbers 0 to 7, four land on one of four partitions and none on another. So a bucket
goes by a number whose hash is known to be evenly dealt.
"""

from __future__ import annotations

from itertools import count

from arroyo_nb.spark.stateful_operators import BUCKET

_SEED = 42
_BITS = 0xFFFFFFFF


def bucket_number_sql(buckets: int) -> str:
    """The number that a bucket goes by in Spark's state, as Spark SQL text."""
    arms = (f"WHEN {i} THEN {n}" for i, n in enumerate(numbers(buckets)))
    return f"CASE {BUCKET} {' '.join(arms)} END AS {BUCKET}"


def numbers(buckets: int) -> list[int]:
    """One number per bucket, dealt out evenly to any power of two of partitions.

    The state of a query is found by them: they must never change.

    Examples
    --------
    >>> numbers(4)
    [12, 6, 2, 0]
    """
    turns = 1 << (buckets - 1).bit_length()
    found: list[int] = []
    for turn in range(buckets):
        fits = (n for n in count() if spark_hash(n) % turns == turn)
        found.append(next(fits))
    return found


def spark_hash(number: int) -> int:
    """Spark's hash of an INT, by which it deals out keys: Murmur3, x86, 32 bits."""
    mixed = _turned(number * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS
    mixed = (_turned(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _BITS
    mixed ^= 4  # the length in bytes
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _BITS
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _BITS
    return mixed ^ mixed >> 16


def _turned(bits: int, left: int) -> int:
    return (bits << left | bits >> 32 - left) & _BITS
