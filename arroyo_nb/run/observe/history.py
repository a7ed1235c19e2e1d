"""What a picture draws over batches, with as many points as it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

HISTORY_POINTS = 400
"""Points that are kept at most, and the newest one; older ones are thinned."""

T = TypeVar("T")


class History(Generic[T]):
    """Points in the order of their batches, evenly thinned; written by one thread, read
    by any.

    >>> history = History()
    >>> for batch in range(1000):
    ...     history.add(batch)
    >>> history.points[:3], len(history.points), history.points[-1]
    ((0, 4, 8), 251, 999)
    """

    def __init__(self) -> None:
        self._points: tuple[T, ...] = ()
        self._newest: tuple[T, ...] = ()
        self._every = 1
        self._added = 0

    @property
    def points(self) -> tuple[T, ...]:
        """What is kept; the newest point always is."""
        points, newest = self._points, self._newest
        return points if points[-1:] == newest else points + newest

    def add(self, point: T) -> None:
        """The next batch's."""
        if self._added % self._every == 0:
            self._points += (point,)
        self._newest = (point,)
        self._added += 1
        if len(self._points) > HISTORY_POINTS:
            self._points = self._points[::2]
            self._every *= 2


def thinned(points: Sequence[T], most: int = HISTORY_POINTS) -> Sequence[T]:
    """At most so many of some points, evenly, the last one among them.

    >>> len(thinned(range(1000))), thinned(range(1000))[-1]
    (334, 999)
    """
    every = -(-len(points) // most) or 1
    return tuple(reversed(points[::-1][::every]))
