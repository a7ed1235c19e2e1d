"""Whether a query works: how long its micro-batches took, and since when none ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

BOUNDS_S: Sequence[float] = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Upper bounds of the buckets; one more has what took longer."""


class Took:
    """Counts of durations by bucket, their sum, and the longest of them.

    >>> took = Took()
    >>> for seconds in (0.05, 0.3, 400):
    ...     took.add(seconds)
    >>> took.counts
    [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0
        self.longest_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds
        self.longest_s = max(self.longest_s, seconds)


@dataclass(frozen=True)
class Vitals:
    """Whether a query works.

    Parameters
    ----------
    name
        Of its sink.
    since_batch_s
        Seconds since its newest batch ended, or since it was started.
    busy_s
        For how long it has been at work on a trigger that has not ended; 0: it waits
        for rows, or for its next trigger.
    state_bytes
        Memory of its stateful operators.
    batch_counts
        Batches by their duration, as :data:`BOUNDS_S` parts them.
    batch_sum_s, longest_batch_s
        The duration of all batches, and of the longest one.
    """

    name: str
    since_batch_s: float = 0.0
    busy_s: float = 0.0
    state_bytes: int = 0
    batch_counts: Sequence[int] = (0,) * (len(BOUNDS_S) + 1)
    batch_sum_s: float = 0.0
    longest_batch_s: float = 0.0
