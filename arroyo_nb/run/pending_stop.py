"""A stop that waits: for the micro-batch that runs, or for all that has come by now."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arroyo_nb.errors import ArroyoError
from arroyo_nb.run.stopping import StopMode

if TYPE_CHECKING:
    from arroyo_nb.run.lifecycle import Lifecycle
    from arroyo_nb.run.prepare import PreparedRun

WAITS_FOR = {
    StopMode.CHECKPOINT: "ending the micro-batch that runs",
    StopMode.GRACEFUL: "reading what has come by now",
}
"""What a run that is being stopped does, as its note says it."""

MISSED_CHECKS = 2
"""How often in a row a server may not answer before a stopping run gives up
its micro-batch; each check takes some seconds, as a server may be busy."""

CHECK_S = 0.1
"""How long after one check of the servers the next begins."""

GIVEN_UP = "its micro-batch is given up, and is done again on resume"


class _EndedError(Exception):
    """That the run has ended meanwhile."""


@dataclass(eq=False)
class PendingStop:
    """The stop of a run, from when it is asked for until it has ended.

    Parameters
    ----------
    mode, reason
        How it stops, and one line about why.
    hindrance
        Why it cannot come to its end: a server that does not answer.
    """

    mode: StopMode
    reason: str
    hindrance: str = ""

    @property
    def note(self) -> str:
        """One line about where it is."""
        return f"{self.reason}: {WAITS_FOR[self.mode]}"

    @property
    def given_up(self) -> str:
        """One line about its end where it was hindered."""
        return f"{self.reason}: {self.hindrance}; {GIVEN_UP}"

    def is_slower_than(self, mode: StopMode) -> bool:
        """Whether a stop of that mode would come to its end sooner."""
        return self.mode is StopMode.GRACEFUL and mode is StopMode.CHECKPOINT

    def watch_servers(self, prepared: PreparedRun, lifecycle: Lifecycle) -> None:
        """Find out, on a thread of its own, whether the run can end: with a server away
        it cannot."""
        arguments = prepared, lifecycle
        threading.Thread(target=self._watch, args=arguments, daemon=True).start()

    def _watch(self, prepared: PreparedRun, lifecycle: Lifecycle) -> None:
        def look() -> None:
            if lifecycle.state.ended:
                raise _EndedError

        missed = 0
        while not lifecycle.state.ended:
            try:
                prepared.check(look)
            except _EndedError:
                return
            except ArroyoError as error:
                missed += 1
                if missed == MISSED_CHECKS:
                    self.hindrance = error.message
                    return
            else:
                missed = 0
            time.sleep(CHECK_S)
