"""Event time as a line of pixels, with round moments to mark on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from arroyo_nb.schema import EPOCH
from arroyo_nb.views.formatting import DAY, clock

ORIGIN = EPOCH.replace(tzinfo=None)
"""The epoch as views hold instants: UTC, without a zone."""

END_OF_TIME = datetime(9998, 1, 1)
"""A watermark from here on means that the input has ended."""

_SECONDS = (1, 2, 5, 10, 15, 30)
STEPS = (
    *(timedelta(milliseconds=n) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(timedelta(seconds=n) for n in _SECONDS),
    *(timedelta(minutes=n) for n in _SECONDS),
    *(timedelta(hours=n) for n in (1, 2, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 2, 7, 14, 28, 91, 364, 3640)),
)
"""Distances between ticks, all of them multiples since the epoch."""


@dataclass(frozen=True)
class Axis:
    """Maps ``[low, high]`` to ``[left, right]`` pixels; a moment outside is clamped.

    >>> Axis(ORIGIN, ORIGIN + DAY, 0, 240).at(ORIGIN + DAY / 2)
    120.0
    """

    low: datetime
    high: datetime
    left: float
    right: float

    def at(self, moment: datetime) -> float:
        """Where a moment lies, in pixels."""
        inside = min(max(moment, self.low), self.high)
        share = (inside - self.low) / max(self.high - self.low, timedelta.resolution)
        return round(self.left + share * (self.right - self.left), 1)

    def ticks(self, apart: float) -> list[tuple[datetime, str]]:
        """Round moments at least ``apart`` pixels from each other, with their texts.

        The first tick and the first one of each day carry the date.
        """
        step = self._step(apart)
        number = -((ORIGIN - self.low) // step)
        ticks: list[tuple[datetime, str]] = []
        while len(ticks) < 64 and (moment := ORIGIN + number * step) <= self.high:
            ticks.append((moment, ""))
            number += 1
        return [
            (moment, _text(moment, step, ticks[i - 1][0] if i else None))
            for i, (moment, _) in enumerate(ticks)
        ]

    def _step(self, apart: float) -> timedelta:
        span = max(self.high - self.low, timedelta.resolution)
        least = span * (apart / abs(self.right - self.left))
        return next((step for step in STEPS if step >= least), STEPS[-1])


def _text(moment: datetime, step: timedelta, before: datetime | None) -> str:
    if step >= DAY:
        return f"{moment:%Y-%m-%d}"
    time = clock(moment, [ORIGIN + step])
    new_day = before is None or before.date() != moment.date()
    return f"{moment:%b} {moment.day}, {time}" if new_day else time
