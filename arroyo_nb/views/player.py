"""Which micro-batch of a run a panel shows: the newest, or an earlier one; and inside
of it up to which row.

It moves over batches in the time that they took when the run was recorded: at speed 1
a second of the run takes a second. Moving it moves every view of the panel; the run
itself goes on.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Protocol

from arroyo_nb.run.observe.snapshot import BatchArrivals, Moment, Snapshot

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""How many seconds of the run a second plays."""

NEWEST, HOLD = "newest", "hold"


COMMANDS = ("at", "back", "forward", "first", "play", HOLD, NEWEST)
"""What a page may ask for."""

ROW_BACK, ROW_ON, FIRST_ROW = ROW_COMMANDS = ("row back", "row on", "row first")
"""The same of the rows of micro-batches."""


class MomentSource(Protocol):
    """The recorded micro-batches of a run's output."""

    @property
    def times(self) -> Sequence[tuple[int, float]]:
        """Each batch and the seconds since the start at which it ended."""

    def snapshot(self, newest: Snapshot, batch_id: int, rows: int) -> Snapshot:
        """The run as it was after a batch."""

    def arrivals(self, batch_id: int) -> BatchArrivals | None:
        """The sampled rows of a batch; None: there are none."""

    def within(
        self, newest: Snapshot, batch_id: int, taken: int, rows: int
    ) -> Snapshot:
        """The run after the first so many of these rows."""


class Player:
    """The place of one panel in its run; used under the panel's lock.

    Parameters
    ----------
    moments
        What can be shown.

    Attributes
    ----------
    batch_id
        The batch that is shown; None: the newest.
    taken
        How many of the batch's sampled rows have come; None: it has ended.
    speed
        How fast it plays; 0: it stands.
    """

    def __init__(self, moments: MomentSource) -> None:
        self._moments = moments
        self.batch_id: int | None = None
        self.taken: int | None = None
        self.speed = 0.0
        self._played_s = 0.0
        self._at_s = 0.0

    @property
    def follows(self) -> bool:
        """Whether the newest batch is shown."""
        return self.batch_id is None

    def press(self, command: str) -> bool:
        """Follow a command of the page: ``at 12``, ``back``, ``forward``, ``back 10``,
        ``play 2``, ``hold``, ``first``, ``newest``, ``row back``, ``row on`` or
        ``row first``.

        Returns
        -------
        bool
            False: it is none of these, or there is nothing to move over.
        """
        word, _, value = command.partition(" ")
        times = self._moments.times
        if command in ROW_COMMANDS and times:
            self._move_by_row(command, times)
            return True
        if word not in COMMANDS or not times:
            return False
        try:
            number = float(value) if value else 1.0
        except ValueError:
            return False
        if not isfinite(number):
            return False
        if word == "play":
            self._play(number)
        elif word == HOLD:
            self._move(self._index(), times)
        elif word == NEWEST:
            self._follow()
        elif word == "at":
            ids = [batch_id for batch_id, _ in times]
            self._move(bisect_right(ids, number) - 1, times)
        else:
            self._step(word, int(number), times)
        return True

    def snapshot(self, newest: Snapshot, rows: int) -> Snapshot:
        """What is to be shown now, with the place among the other batches.

        Parameters
        ----------
        newest
            The run as it is.
        rows
            How many of the newest result rows to include.
        """
        times = self._moments.times
        if not times:
            return newest
        if self.speed:
            self._go_on(times)
        if self.batch_id is None:
            # The newest batch may be a later one than the trace has recorded.
            last = times[-1][0]
            return replace(newest, moment=Moment(last, times[0][0], last))
        if self.taken is not None:
            return self._moments.within(newest, self.batch_id, self.taken, rows)
        made = self._moments.snapshot(newest, self.batch_id, rows)
        first, last = times[0][0], times[-1][0]
        moment = Moment(self.batch_id, first, last, is_newest=False, speed=self.speed)
        return replace(made, moment=moment)

    def _move_by_row(self, command: str, times: Sequence[tuple[int, float]]) -> None:
        """To the row before or after, over the ends of batches; a batch that has ended
        stands at its last row."""
        index = self._index()
        drawn = self._drawn(times, index)
        at = drawn if self.taken is None else self.taken
        if command == FIRST_ROW:
            at = min(1, drawn)
        elif command == ROW_BACK:
            at -= 1
            while at < 1 and index > 0:
                index -= 1
                at = self._drawn(times, index)
        else:
            at += 1
            while at > self._drawn(times, index):
                index, at = index + 1, 1
                if index == len(times):
                    self._follow()
                    return
        if at > 0:
            self._move(index, times)
            self.taken = at

    def _drawn(self, times: Sequence[tuple[int, float]], index: int) -> int:
        came = self._moments.arrivals(times[index][0])
        return 0 if came is None else len(came.times)

    def _index(self) -> int:
        times = self._moments.times
        if self.batch_id is None:
            return len(times) - 1
        return bisect_right(times, (self.batch_id, float("inf"))) - 1

    def _step(self, word: str, count: int, times: Sequence[tuple[int, float]]) -> None:
        if word == "first":
            self._move(0, times)
        elif word == "back":
            self._move(self._index() - count, times)
        elif self._index() + count >= len(times):
            self._follow()
        else:
            self._move(self._index() + count, times)

    def _follow(self) -> None:
        self.batch_id, self.taken, self.speed = None, None, 0.0

    def _move(self, index: int, times: Sequence[tuple[int, float]]) -> None:
        index = min(max(index, 0), len(times) - 1)
        self.batch_id, self.taken, self.speed = times[index][0], None, 0.0

    def _play(self, speed: float) -> None:
        times = self._moments.times
        # From the newest there is nothing to play: it begins again.
        index = 0 if self.batch_id is None else self._index()
        self.batch_id, self._at_s = times[index]
        self.taken = None
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self._played_s = time.monotonic()

    def _go_on(self, times: Sequence[tuple[int, float]]) -> None:
        now = time.monotonic()
        self._at_s += self.speed * (now - self._played_s)
        self._played_s = now
        ended = [elapsed_s for _, elapsed_s in times]
        index = bisect_right(ended, self._at_s) - 1
        if index >= len(times) - 1:
            self._follow()
        else:
            self.batch_id = times[max(index, 0)][0]
