"""The time of a plan: what ``now()`` and its like are, wherever they stand in a script.

Arroyo folds them into a literal when it plans. A plan here keeps the call, so that
its text and the identity of its state are those of the script, with the time beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

PLANNED_AT = "planned_at"
"""Of a bound call of the clock, in its ``meta``: the time, in UTC."""

_time: ContextVar[datetime | None] = ContextVar("planning_time", default=None)


@contextmanager
def at_one_time() -> Iterator[None]:
    """What is planned in the block is planned at one time."""
    token = _time.set(datetime.now(UTC))
    try:
        yield
    finally:
        _time.reset(token)


def planning_time() -> datetime:
    """The time of the plan that is made; outside of one, the time of day."""
    return _time.get() or datetime.now(UTC)
