"""Restarts a run from its checkpoint after transient failures.

::

    running -> finished | stopped
    running -> waiting -> running ... up to the allowed restarts, then failed

As Arroyo does (its ``allowed-restarts`` and ``healthy-duration``), only failures that
follow each other soon are counted: a run that held for a while begins to count anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from arroyo_nb.errors import ArroyoError, Unreached
from arroyo_nb.jobs.runner.stop_limit import StopLimit
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.stopping import StopMode

LOOK_S = 0.1
"""How often a run, and whether it is to stop, is looked at."""


class JobState(Enum):
    """Where a job is."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self in (JobState.FINISHED, JobState.STOPPED, JobState.FAILED)


@dataclass(frozen=True)
class Restarts:
    """When a run that failed begins again.

    Parameters
    ----------
    most
        How many failures may follow each other.
    healthy_s
        After how many seconds of running the failures before it are forgotten.
    first_s, longest_s
        The wait after the first failure; each one after it is twice as long, up to
        the longest.
    """

    most: int = 20
    healthy_s: float = 120.0
    first_s: float = 0.5
    longest_s: float = 60.0

    def wait_s(self, failures: int) -> float:
        """How long to wait after so many failures that followed each other.

        >>> [Restarts().wait_s(n) for n in (1, 2, 3, 8, 1000)]
        [0.5, 1.0, 2.0, 60.0, 60.0]
        """
        doublings = min(failures - 1, 60)
        return float(min(self.first_s * 2**doublings, self.longest_s))


class Supervised(Protocol):
    """What the supervisor asks of a run: :class:`arroyo_nb.run.run.Run` has it."""

    @property
    def state(self) -> RunState:
        """Where it is."""

    @property
    def error(self) -> ArroyoError | None:
        """Why it failed."""

    @property
    def note(self) -> str:
        """One line about where it is."""

    @property
    def running_s(self) -> float:
        """For how long its queries ran; 0 where they never began."""

    def stop(self, note: str, mode: StopMode) -> object:
        """Stop it; returns at once."""

    def wait_quietly(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; True when so."""


R = TypeVar("R", bound=Supervised)

Tell = Callable[..., None]
"""Takes an event's name and its facts, as
:meth:`arroyo_nb.jobs.runner.log.Log.tell`."""


class Supervisor(Generic[R]):
    """Keeps a job going.

    Parameters
    ----------
    begin
        Begins the run, or goes on with it where it stood; it returns at once.
    may_pass
        Whether the same run may succeed after such an error.
    tell
        Is told what happens.
    restarts
        When it begins again.
    last_facts
        Gives what is told of its end beside the state.
    text
        An error as it is told: the first time whole, after that its message only.
    stop_limit
        How long a stop waits for what is being written, and for the end.

    Attributes
    ----------
    run
        The present run, or the last one; None before there is one.
    failures
        How many of them have followed each other.
    restarted
        How often it began again, in all.
    error
        Why the last run failed.
    """

    def __init__(
        self,
        begin: Callable[[], R],
        may_pass: Callable[[ArroyoError], bool],
        tell: Tell,
        restarts: Restarts | None = None,
        last_facts: Callable[[], Mapping[str, object]] = dict,
        text: Callable[[ArroyoError], str] = str,
        stop_limit: StopLimit | None = None,
    ) -> None:
        self._limit = stop_limit or StopLimit()
        self._begin = begin
        self._may_pass = may_pass
        self._tell = tell
        self._last_facts = last_facts
        self._whole_text = text
        self._told_error = ""
        self._restarts = restarts or Restarts()
        self._stopping = ""
        self._mode = StopMode.CHECKPOINT
        self._ran = False
        self._ended: JobState | None = None
        self.run: R | None = None
        self.failures = 0
        self.restarted = 0
        self.error: ArroyoError | None = None
        self._waiting = False

    @property
    def state(self) -> JobState:
        """Where the job is; from any thread."""
        if self._ended is not None:
            return self._ended
        if self._waiting:
            return JobState.WAITING
        running = self.run is not None and self.run.state is RunState.RUNNING
        return JobState.RUNNING if running else JobState.STARTING

    @property
    def has_run(self) -> bool:
        """Whether the queries of any run of it ran."""
        return self._ran or (self.run is not None and self.run.running_s > 0)

    def stop(self, reason: str, mode: StopMode = StopMode.CHECKPOINT) -> None:
        """Have it stopped with what is done kept; returns at once, from any thread or
        from within a signal."""
        # The mode before the reason, as other threads go by the reason; a second signal
        # changes neither. No lock: a signal handler may interrupt whoever holds it.
        if not self._stopping:
            self._mode, self._stopping = mode, reason

    def supervise(self) -> JobState:
        """Run it until it ends, which may be never.

        Returns
        -------
        JobState
            ``FINISHED``, ``STOPPED`` or ``FAILED``; of the latter :attr:`error` says
            why.
        """
        self._ended = self._supervised()
        failed = self._ended is JobState.FAILED
        self._tell(
            "job_ended",
            level="error" if failed else "info",
            state=self._ended.value,
            error=self._text(self.error) if failed else None,
            **self._last_facts(),
        )
        return self._ended

    def _supervised(self) -> JobState:
        while not self._stopping:
            ended = self._once()
            if ended is not None:
                return ended
        return JobState.STOPPED

    def _once(self) -> JobState | None:
        """One run, and the wait after it; None: again."""
        try:
            run = self.run = self._begin()
        except ArroyoError as problem:  # refused before it was one
            self.error = problem
            return self._after_failure(problem, 0)
        self._watch(run)
        self.error = run.error
        if run.error is None:
            # One that does not end in time was stopped all the same.
            over = run.state is RunState.FINISHED
            return JobState.FINISHED if over else JobState.STOPPED
        if self._stopping:  # its last batch failed: nothing was kept of that
            is_away = isinstance(run.error, Unreached)  # resumed once it is back
            return JobState.STOPPED if is_away else JobState.FAILED
        return self._after_failure(run.error, run.running_s)

    def _watch(self, run: Supervised) -> None:
        told = False
        while not run.wait_quietly(LOOK_S):
            if not told and run.state is RunState.RUNNING:
                self._tell("running", restarts=self.restarted)
                told = True
            if self._stopping:
                self._end(run)
                return

    def _end(self, run: Supervised) -> None:
        self._tell("stopping", reason=self._stopping, mode=self._mode.value)
        run.stop(self._stopping, self._mode)
        if run.wait_quietly(self._limit.writing_s):
            if run.state is RunState.STOPPED and run.note != self._stopping:
                self._tell("note", level="warn", text=run.note)
            return
        self._tell("stop_late", level="warn", after_s=self._limit.writing_s)
        run.stop(self._stopping, StopMode.IMMEDIATE)
        run.wait_quietly(self._limit.leaving_s)

    def _after_failure(self, error: ArroyoError, held_s: float) -> JobState | None:
        self._ran = self._ran or held_s > 0
        is_away = isinstance(error, Unreached)
        # A run that worked for so long shows that what failed before has passed.
        if held_s >= self._restarts.healthy_s:
            self.failures = 0
        self.failures += 1
        # What never ran was wrong from the start, as a misspelt host; but a server that
        # is away may come.
        hopeful = (self._ran or is_away) and self._may_pass(error)
        if not hopeful or self.failures > self._restarts.most:
            return JobState.FAILED
        wait_s = self._restarts.wait_s(self.failures)
        self._tell(
            "restarting" if self._ran else "waiting",
            level="warn",
            error=self._text(error),
            after_s=wait_s,
            failure=self.failures,
            of=self._restarts.most,
        )
        self._wait(wait_s)
        self.restarted += 1
        return None

    def _wait(self, seconds: float) -> None:
        self._waiting = True
        deadline = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < deadline:
            time.sleep(min(LOOK_S, seconds))
        self._waiting = False

    def _text(self, error: ArroyoError | None) -> str | None:
        if error is None:
            return None
        whole = self._whole_text(error)
        again, self._told_error = whole == self._told_error, whole
        return error.message if again else whole
