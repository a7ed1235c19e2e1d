"""Disorder on purpose: when the rows of a tape arrive, and in which order.

Rows keep their event times; only their arrivals change. What is random follows from
the seed and the number of a row, so the same rows come in the same disorder each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import NamedTuple


class Arrival(NamedTuple):
    """A row, by its number from 0 on, and when it arrives, in microseconds after the
    epoch."""

    row: int
    us: int


@dataclass(frozen=True)
class Disorder:
    """What happens to rows on their way, in this order; 0 is nothing.

    Parameters
    ----------
    shuffle_us
        Each row arrives later by a random time below this bound.
    delay_us
        The rows that are delayed arrive later by this.
    duplicate
        Which share of the rows, from 0 to 1, arrives twice, the second time together
        with the next row.
    gap_us
        From the arrival of the middle row on nothing arrives for so long; what would,
        arrives when it ends.
    burst_us
        What arrives within each span of so long arrives at the span's end.
    seed
        What is random is made of it.
    """

    shuffle_us: int = 0
    delay_us: int = 0
    duplicate: float = 0.0
    gap_us: int = 0
    burst_us: int = 0
    seed: int = 0

    def apply(
        self, arrivals_us: Sequence[int], delayed: Sequence[bool]
    ) -> list[Arrival]:
        """The arrivals in their new order.

        Parameters
        ----------
        arrivals_us
            When each row arrives, in microseconds after the epoch; never going back.
        delayed
            Which rows ``delay_us`` is for.
        """
        shuffle, twice = self._random("shuffle"), self._random("duplicate")
        late_us = [
            int(shuffle.random() * self.shuffle_us) + self.delay_us * is_delayed
            for is_delayed in delayed
        ]
        moments = map(int.__add__, arrivals_us, late_us)
        found = sorted(map(Arrival, count(), moments), key=_moment)
        # Drawn by row, so that no other option changes which rows come twice.
        repeated = {row for row in range(len(found)) if twice.random() < self.duplicate}
        following = [*found[1:], *found[-1:]]
        found += [
            Arrival(arrival.row, after.us)
            for arrival, after in zip(tuple(found), following, strict=False)
            if arrival.row in repeated
        ]
        found.sort(key=_moment)
        begin_us = arrivals_us[len(arrivals_us) // 2] if arrivals_us else 0
        return [Arrival(row, self._released_us(us, begin_us)) for row, us in found]

    def _random(self, option: str) -> Random:
        # One for each option: another value of one changes nothing of the others. A
        # text gives the same numbers in each version of Python.
        return Random(f"{self.seed} {option}")

    def _released_us(self, us: int, begin_us: int) -> int:
        """When a row arrives after the gap that begins then, and in a burst."""
        if begin_us <= us < begin_us + self.gap_us:
            us = begin_us + self.gap_us
        if self.burst_us:
            us = -(-us // self.burst_us) * self.burst_us
        return us


def _moment(arrival: Arrival) -> int:
    return arrival.us
