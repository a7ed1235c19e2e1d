"""Stepping from micro-batch to micro-batch, until something has happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

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


def condition(
    outputs: Sequence[QueryObservation], batches: int, until: str | datetime | None
) -> Reached:
    """Whether what is stepped to has happened, from now on.

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
        last = seen.next_batch + batches - 1
        return lambda: seen.next_batch > last
    if until in UNTIL:
        seen = next((each for each in outputs if each.traces), seen)
    if until in UNTIL and not seen.traces:
        raise RunProblem(
            f"the query has no window: {UNTIL[str(until)]} never comes",
            hint="step() reads the next micro-batch",
        )
    if until == LATE:
        late = seen.late_rows
        return lambda: seen.late_rows > late
    if until == WINDOW:
        closed = _closed(seen)
        return lambda: _closed(seen) > closed
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
    return lambda: _has_reached(seen, goal)


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
        self._is_reached: Reached | None = None
        self._since = 0
        # The user begins on a thread of his own, the engine's worker goes on.
        self._lock = Lock()

    def begin(self, is_reached: Reached) -> None:
        """Step to where a condition holds; takes the place of an earlier one."""
        with self._lock:
            self._is_reached, self._since = is_reached, self._batches()
        self._step()

    @property
    def is_going(self) -> bool:
        """Whether the condition does not hold yet."""
        return self._is_reached is not None

    def end(self) -> None:
        """Step no further."""
        with self._lock:
            self._is_reached = None

    def go_on(self) -> None:
        """Read the next micro-batch where one has ended and the condition does not hold
        yet; on the engine's worker."""
        with self._lock:
            # Of a batch that had ended before the step was asked for it is told later.
            ended = self._batches()
            if self._is_reached is None or ended <= self._since:
                return
            self._since = ended
            if self._is_reached():
                self._is_reached = None
                return
        self._step()
