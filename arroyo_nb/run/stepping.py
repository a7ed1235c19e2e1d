"""Stepping from micro-batch to micro-batch, until something has happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from arroyo_nb.errors import RunProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.run.observe.moments import instant
from arroyo_nb.run.observe.snapshot import WindowState, naive

if TYPE_CHECKING:
    from arroyo_nb.run.observe.query_observation import QueryObservation

LATE, WINDOW = "late", "window"

UNTIL = {LATE: "the next late row", WINDOW: "the next window that closes"}
"""What one can step to, beside a time that the watermark reaches."""

Reached = Callable[[], bool]


class Goal(NamedTuple):
    """What is stepped to.

    Parameters
    ----------
    is_reached
        Whether it has happened.
    words
        How far it is.
    """

    is_reached: Reached
    words: Callable[[], str]


def condition(
    outputs: Sequence[QueryObservation], batches: int, until: str | datetime | None
) -> Goal:
    """What is stepped to, from now on.

    Parameters
    ----------
    outputs
        What the query of each output did so far. Batches and the watermark are those of
        the first one, windows those of the first one that has any.
    batches
        How many micro-batches to go, where there is no ``until``.
    until
        One of :data:`UNTIL`, or a time that the watermark reaches, UTC.

    Raises
    ------
    RunProblem
        When it is none of these, or cannot happen in this query.
    """
    seen = outputs[0]
    if until is None:
        if not isinstance(batches, int) or batches < 1:
            raise RunProblem(f"a run cannot be stepped {batches} times")
        first, last = seen.next_batch, seen.next_batch + batches - 1
        return Goal(
            lambda: seen.next_batch > last,
            lambda: f"step {min(seen.next_batch, last) - first + 1} of {batches}",
        )
    if until in UNTIL:
        seen = next((each for each in outputs if each.traces), seen)
    if until in UNTIL and not seen.traces:
        raise RunProblem(
            f"the query has no window: {UNTIL[str(until)]} never comes",
            hint="step() reads the next micro-batch",
        )
    if until == LATE:
        late = seen.late_rows
        return Goal(lambda: seen.late_rows > late, _to(UNTIL[LATE]))
    if until == WINDOW:
        closed = _closed(seen)
        return Goal(lambda: _closed(seen) > closed, _to(UNTIL[WINDOW]))
    try:
        goal = instant(until)
    except RunProblem:
        near = did_you_mean(str(until), UNTIL)
        raise RunProblem(
            f"a run cannot be stepped to '{until}'",
            hint=near
            or "write 'late', 'window', or a time for the watermark, such as "
            "'2013-02-08 12:00'",
        ) from None
    return Goal(lambda: _has_reached(seen, goal), _to(f"the watermark {goal}"))


def _to(what: str) -> Callable[[], str]:
    return lambda: f"stepping to {what}"


def _closed(seen: QueryObservation) -> int:
    trace = seen.traces[0]
    closed = sum(window.state is WindowState.CLOSED for window in trace.windows())
    return closed + trace.forgotten


def _has_reached(seen: QueryObservation, goal: datetime) -> bool:
    watermark = naive(seen.progress.watermark) if seen.progress else None
    return watermark is not None and watermark >= goal


class Stepping:
    """Reads one micro-batch after the other until a condition holds.

    Parameters
    ----------
    step
        Has the run read the next one.
    batches
        How many have ended, of all outputs.
    """

    def __init__(self, step: Callable[[], None], batches: Callable[[], int]) -> None:
        self._step = step
        self._batches = batches
        self._goal: Goal | None = None
        self._begun_s = 0.0
        self._since = 0
        # The user begins on a thread of his own, the engine's worker goes on.
        self._lock = Lock()

    def begin(self, goal: Goal) -> None:
        """Step to a goal; it takes the place of an earlier one."""
        with self._lock:
            self._goal, self._since = goal, self._batches()
            self._begun_s = time.monotonic()
            self._step()

    @property
    def words(self) -> str:
        """How far it is, with the seconds; empty: it does not step."""
        goal = self._goal
        if goal is None:
            return ""
        return f"{goal.words()}, {time.monotonic() - self._begun_s:.0f} s"

    @property
    def is_going(self) -> bool:
        """Whether the condition does not hold yet."""
        return self._goal is not None

    def end(self) -> None:
        """Step no further."""
        with self._lock:
            self._goal = None

    def go_on(self) -> None:
        """Read the next micro-batch where one has ended and the condition does not hold
        yet; on the engine's worker."""
        with self._lock:
            # Of a batch that had ended before the step was asked for it is told later.
            ended = self._batches()
            if self._goal is None or ended <= self._since:
                return
            self._since = ended
            if self._goal.is_reached():
                self._goal = None
                return
            # Under the lock: once end() has returned, no step pauses the run again that
            # its user has resumed.
            self._step()
