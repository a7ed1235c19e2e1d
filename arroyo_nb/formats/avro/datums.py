"""Many datums side by side, of which a field is read at once.

A datum that is odd in any way is marked, and never read beyond its end; what else is
read of it has no meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from arroyo_nb.formats.avro.cursor import FREE_VALUES, VALUES_PER_BYTE

PADDING = 32
"""Zeros behind the bytes: what is read beyond a datum's end is found to be wrong only
afterwards."""

MAX_TURNS = 5_000
"""So many turns are taken for the lists of one block of datums. A turn costs the same
for one datum as for thousands, so few long lists are left to the exact reader."""


class Datums:
    """Where the reader stands in each of some datums.

    Parameters
    ----------
    data
        The bytes of all, and :data:`PADDING`.
    at, end
        Where each begins, and ends.
    """

    def __init__(self, data: np.ndarray, at: np.ndarray, end: np.ndarray) -> None:
        self.data = data
        self.at = at.astype(np.int64)
        self.end = end.astype(np.int64)
        self.bad = np.zeros(len(at), bool)
        self.turns = 0
        self._values = FREE_VALUES + VALUES_PER_BYTE * (self.end - self.at)

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """How many items follow in the next block of a list of each; 0 ends it."""
        count = self.longs(rows)
        backwards = np.flatnonzero(count < 0)
        if len(backwards):
            self.longs(rows[backwards])  # the size of the block
            count[backwards] = -count[backwards]
        self.bad[rows[(count < 0) | (count > self._values[rows])]] = True
        count[self.bad[rows]] = 0
        self._values[rows] -= count
        return count

    def longs(self, rows: np.ndarray) -> np.ndarray:
        """The next whole number of some datums."""
        at = self.at[rows]
        first = self.data[at]
        number = (first & 0x7F).astype(np.uint64)
        size = np.ones(len(rows), np.int64)
        more = np.flatnonzero(first & 0x80)
        for byte in range(1, 10):
            if not len(more):
                break
            found = self.data[at[more] + byte]
            number[more] |= (found & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
            size[more] += 1
            if byte == 9:  # of which one bit belongs to a number of 64 bits
                self.bad[rows[more[found > 1]]] = True
            more = more[found & 0x80 != 0]
        self._move(rows, at + size)
        magnitude = (number >> np.uint64(1)).astype(np.int64)
        signed: np.ndarray = magnitude ^ -(number & np.uint64(1)).astype(np.int64)
        return signed

    def ints(self, rows: np.ndarray) -> np.ndarray:
        """The same, of numbers of 32 bits."""
        found = self.longs(rows)
        self.bad[rows[(found < -(2**31)) | (found >= 2**31)]] = True
        return found

    def fixed(self, rows: np.ndarray, size: int) -> np.ndarray:
        """The next so many bytes of each, a row of bytes each."""
        at = self.at[rows]
        self.skip(rows, size)
        # Where they end too early, others are read in their place, and thrown away.
        at = np.minimum(at, len(self.data) - PADDING)
        places = np.minimum(at[:, None] + np.arange(size), len(self.data) - 1)
        found: np.ndarray = self.data[places]
        return found

    def skip(self, rows: np.ndarray, size: int) -> None:
        """Pass over so many bytes of each."""
        self._move(rows, self.at[rows] + size)

    def spans(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the next bytes of each begin, and how many they are."""
        size = self.longs(rows)
        at = self.at[rows]
        wrong = (size < 0) | (size > self.end[rows] - at)
        self.bad[rows[wrong]] = True
        size[wrong] = 0
        self.at[rows] = at + size
        return at, size

    def _move(self, rows: np.ndarray, to: np.ndarray) -> None:
        end = self.end[rows]
        late = to > end
        self.bad[rows[late]] = True
        self.at[rows] = np.where(late, end, to)


Take: TypeAlias = "Callable[[Datums, np.ndarray], Any]"
"""Reads a field of some datums: as an Arrow array of the column's type, or None where
no column wants it."""


def list_items(
    take: Take, datums: Datums, rows: np.ndarray
) -> tuple[list[Any], list[np.ndarray]]:
    """The items of a list of each of some datums, a turn at a time, and whose they
    are: places in ``rows``."""
    left = np.zeros(len(rows), np.int64)
    active = np.arange(len(rows))
    items, owners = list[Any](), list[np.ndarray]()
    while len(active):
        done = active[left[active] == 0]
        left[done] = datums.counts(rows[done])
        active = active[left[active] > 0]
        datums.turns += 1
        if datums.turns > MAX_TURNS:
            datums.bad[rows[active]] = True
        active = active[~datums.bad[rows[active]]]
        if len(active):
            items.append(take(datums, rows[active]))
            owners.append(active)
            left[active] -= 1
    return items, owners
