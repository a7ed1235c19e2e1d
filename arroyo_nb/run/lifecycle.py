"""Where a run is, and since when.

::

    starting -> running -> finished | stopped | failed
"""

from __future__ import annotations

import time
from threading import RLock
from typing import TYPE_CHECKING

from arroyo_nb.run.observe.snapshot import RunState

if TYPE_CHECKING:
    from arroyo_nb.errors import ArroyoError


class Lifecycle:
    """The state of a run and its clock; read from any thread.

    Attributes
    ----------
    state, note
        Where it is, and one line about that; they change together, under :attr:`lock`.
    error
        Why it failed.
    is_begun
        Whether its queries are being started: from then on only the worker ends it.

    Parameters
    ----------
    lived_s
        Seconds of the runs that this one resumes: it goes on with their age.
    """

    def __init__(self, lived_s: float = 0.0) -> None:
        self.state = RunState.STARTING
        self.note = "waiting for the engine"
        self.error: ArroyoError | None = None
        self.is_begun = False
        self.lock = RLock()
        # What is said once :meth:`interrupt_note` is over.
        self._note_after: str | None = None
        self._begun_s = time.monotonic() - lived_s
        self._opened_s = time.monotonic()
        self._started_s: float | None = None
        self._ended_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, until the end; of one that is resumed together with
        those of before."""
        return (self._ended_s or time.monotonic()) - self._begun_s

    @property
    def running_s(self) -> float:
        """Seconds since its queries started, until the end; 0 before."""
        if self._started_s is None:
            return 0.0
        return (self._ended_s or time.monotonic()) - self._started_s

    def begin(self) -> bool:
        """Note that its queries are being started; False: it was stopped meanwhile."""
        with self.lock:
            self.is_begun = not self.state.ended
            if self.is_begun:
                self._opened_s = time.monotonic()
                self.note = "starting its queries"
            return self.is_begun

    @property
    def opening_s(self) -> float:
        """Seconds since its queries are being started."""
        return time.monotonic() - self._opened_s

    def run(self, note: str) -> None:
        """Note that its queries run."""
        self._started_s = time.monotonic()
        self.move(RunState.RUNNING, note)

    def withdraw(self, note: str) -> bool:
        """End it at once, if no query of it is being started."""
        with self.lock:
            if self.is_begun or self.state.ended:
                return False
            self.stop_clock()
            self.move(RunState.STOPPED, note)
            return True

    def stop_clock(self) -> None:
        """Its age is final from now on."""
        self._ended_s = time.monotonic()

    def end(self, state: RunState, note: str) -> None:
        """Note the end; with an error it has failed."""
        self.move(state if self.error is None else RunState.FAILED, note)

    def move(self, state: RunState, note: str) -> None:
        """Change the state and the note together."""
        with self.lock:
            self.state, self.note, self._note_after = state, note, None

    def interrupt_note(self, note: str) -> None:
        """Say something else for a while, until :meth:`restore_note`."""
        with self.lock:
            if self._note_after is None:
                self._note_after = self.note
            self.note = note

    def restore_note(self) -> None:
        """Say again what was said before; nothing changes where the state has moved."""
        with self.lock:
            if self._note_after is not None:
                self.note, self._note_after = self._note_after, None
