"""What is told while a function is compiled, which takes minutes the first time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Tell = Callable[[str], None]

_SILENT_S = 2.0
"""Nothing is told of what takes no longer."""

_EVERY_S = 5.0
"""A line for each crate would be a hundred lines."""


def tell_stderr(text: str) -> None:
    """Tell it where warnings are told."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@dataclass
class Progress:
    """Tells how far a compilation is: now and then, and nothing of a short one.

    Parameters
    ----------
    tell
        Called with each line.
    clock
        Gives the seconds.
    """

    tell: Tell
    clock: Callable[[], float] = time.monotonic
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.clock() + _SILENT_S

    def at(self, text: Callable[[], str]) -> None:
        """Tell the text, if it is time to tell one."""
        now = self.clock()
        if now >= self._next:
            self._next = now + _EVERY_S
            self.tell(text())
