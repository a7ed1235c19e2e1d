"""The time of day, by a clock that goes on evenly.

The system's clock may be set, by an hour and more, in either direction. What arrives
after what came before must not be older: it would be late, and dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from arroyo_nb.schema import EPOCH, MICROSECOND


class EvenClock:
    """Begins with the system's time, and goes on from there by itself.

    Parameters
    ----------
    now_s, elapsed_s
        The system's two clocks, in seconds: the time of day, and one that nobody sets.

    Examples
    --------
    >>> times, elapsed = iter([7200.0, 0.0]), iter([10.0, 11.0])
    >>> clock = EvenClock(lambda: next(times), lambda: next(elapsed))
    >>> clock.now().isoformat()  # though the time of day went back by two hours
    '1970-01-01T02:00:01+00:00'
    """

    def __init__(
        self,
        now_s: Callable[[], float] = time.time,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._elapsed_s = elapsed_s
        self._begun = datetime.fromtimestamp(now_s(), UTC)
        self._begun_s = elapsed_s()

    def now(self) -> datetime:
        """The time, aware UTC."""
        return self._begun + timedelta(seconds=self._elapsed_s() - self._begun_s)

    def now_us(self) -> int:
        """The same, in microseconds after the epoch."""
        return (self.now() - EPOCH) // MICROSECOND
