"""How event time and the watermark moved, with as many points as a picture needs."""

from __future__ import annotations

from arroyo_nb.run.observe.snapshot import MarkPoint

HISTORY_POINTS = 400
"""Points that are kept at most, and the newest one; older ones are thinned."""


class History:
    """Points in the order of their batches, evenly thinned; written by one thread, read
    by any.

    >>> history = History()
    >>> for batch in range(1000):
    ...     history.add(MarkPoint(batch, float(batch), None, None))
    >>> [point.batch_id for point in history.points][:3], len(history.points)
    ([0, 4, 8], 251)
    >>> history.points[-1].batch_id
    999
    """

    def __init__(self) -> None:
        self._points: tuple[MarkPoint, ...] = ()
        self._newest: tuple[MarkPoint, ...] = ()
        self._every = 1
        self._added = 0

    @property
    def points(self) -> tuple[MarkPoint, ...]:
        """What is kept; the newest point always is."""
        points, newest = self._points, self._newest
        return points if points[-1:] == newest else points + newest

    def add(self, point: MarkPoint) -> None:
        """The next batch's."""
        if self._added % self._every == 0:
            self._points += (point,)
        self._newest = (point,)
        self._added += 1
        if len(self._points) > HISTORY_POINTS:
            self._points = self._points[::2]
            self._every *= 2
