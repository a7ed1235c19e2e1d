"""The end of a process that was asked to stop, whatever holds it up.

A stop writes first what is being written. Where that hangs, as at a frozen disk or in a
library, nothing inside would ever end it, and who asked would kill it: so it ends at a
time that is known before. As after a kill, its state is whole, and who goes on does the
last micro-batch again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

STOP_LIMIT_S = 150.0
"""How long a process may take to end from when it was asked to, if nobody says."""

_SIGNALLED = 128

_pending: set[threading.Event] = set()
"""Those that have begun; each ends the process unless it is set."""


@dataclass(frozen=True)
class StopLimit:
    """By when a process ends.

    Parameters
    ----------
    seconds
        From the signal on.
    """

    seconds: float = STOP_LIMIT_S

    @property
    def writing_s(self) -> float:
        """How long a micro-batch that is being written is waited for."""
        return 0.8 * self.seconds

    @property
    def leaving_s(self) -> float:
        """How long after that a stop that waits for nothing may take."""
        return 0.15 * self.seconds

    def begin(self, number: int, tell: Callable[[], None]) -> None:
        """Have this process end in time; returns at once.

        Parameters
        ----------
        number
            The signal that asked for it: the exit status is 128 and that.
        tell
            Is called before the process is ended by force.
        """
        is_over = threading.Event()
        _pending.add(is_over)

        def end() -> None:
            if is_over.wait(self.seconds):
                return
            # A log that cannot be written must not hold it up either.
            telling = threading.Thread(target=_quietly, args=(tell,), daemon=True)
            telling.start()
            telling.join(0.5)
            os._exit(_SIGNALLED + number)

        threading.Thread(target=end, name="stop limit", daemon=True).start()


STANDARD = StopLimit()


def forget_limits() -> None:
    """Note that the process has stopped what it was asked to stop."""
    while _pending:
        _pending.pop().set()


def _quietly(tell: Callable[[], None]) -> None:
    with suppress(Exception):
        tell()
