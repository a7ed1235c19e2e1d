"""Holds the micro-batches of a query, for a run of topics that is paused.

A tape that is paused releases no chunk. A topic is read by Spark itself, at offsets
that it fixes when it plans a batch; the records are read when the batch is written. So
the batch is held before it is written, and nothing is read of it. The gate is asked on
Spark's callback thread, and moved from any other.
"""

from __future__ import annotations

import threading
import time

from arroyo_nb.errors import RunProblem

LOOK_S = 0.02
"""How often a batch that is held looks whether it may go."""


class BatchGate:
    """One query's; open until it is paused.

    Attributes
    ----------
    paused
        Whether batches are held.
    is_holding
        Whether there is one that waits.
    """

    def __init__(self, *, paused: bool = False) -> None:
        self.paused = paused
        self.is_holding = False
        self._steps = 0
        self._abandoned = False
        self._lock = threading.Lock()

    def reset(self, *, paused: bool) -> None:
        """Begin anew, with the query of a resumed run."""
        self.paused, self._steps, self._abandoned = paused, 0, False

    def pause(self) -> None:
        """Hold the batches that begin from now on."""
        self.paused = True

    def resume(self) -> None:
        """Let all go."""
        self.paused, self._steps = False, 0

    def step(self) -> None:
        """Let exactly one batch go, the next one, and hold those after it."""
        with self._lock:
            self._steps += 1
            self.paused = True

    def abandon(self) -> None:
        """Fail the batch that is held: its run has ended."""
        self._abandoned = True

    def pass_batch(self) -> float:
        """Wait until a batch may go; returns the seconds that it was held.

        Raises
        ------
        RunProblem
            When its run ends first.
        """
        begun_s = time.monotonic()
        # No Condition: whoever notifies it may be interrupted while it holds its lock.
        try:
            while not self._admits():
                if self._abandoned:
                    raise RunProblem("the run ended while it was paused")
                self.is_holding = True
                time.sleep(LOOK_S)
        finally:
            self.is_holding = False
        return time.monotonic() - begun_s

    def _admits(self) -> bool:
        with self._lock:
            if self.paused and not self._steps:
                return False
            self._steps = max(0, self._steps - 1)
            return True
