"""Waiting for what runs in the background: a run, an emission."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from arroyo_nb.run.interrupts import Interrupted

if TYPE_CHECKING:
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.run.observe.snapshot import RunState

LOOK_S = 0.02
"""How often who waits looks."""


class BackgroundTask(ABC):
    """Something that ends."""

    _told = False
    """Whether somebody has been told its error."""

    @property
    @abstractmethod
    def state(self) -> RunState:
        """Where it is: starting, running, finished, stopped or failed."""

    @property
    @abstractmethod
    def error(self) -> ArroyoError | None:
        """Why it failed."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended.

        Parameters
        ----------
        timeout
            Seconds; None waits as long as it takes. An interrupt gets through.

        Returns
        -------
        bool
            Whether it has ended.

        Raises
        ------
        ArroyoError
            When it failed, however often that was told.
        Interrupted
            When the wait was interrupted: the run goes on.
        """
        try:
            if not self.wait_quietly(timeout):
                return False
        except KeyboardInterrupt:
            raise Interrupted("the wait was interrupted; the run goes on") from None
        if self.error is not None:
            self._told = True
            raise self.error
        return True

    def wait_quietly(self, timeout: float | None = None) -> bool:
        """Wait like :meth:`wait`, and leave its error to whoever touches it next."""
        # No Event: an interrupt inside its wait can leave its lock held, and then the
        # thread that sets it stands still for ever.
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.state.ended:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_S)
        return True
