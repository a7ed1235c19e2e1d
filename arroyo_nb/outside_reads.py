"""What the planner reads beside the script: files of schemas, and what compiles them.

A plan that is run waits for them. An editor checks at each key, while a cell may wait
for the planner: there they are read in the background, and what is not known yet is
said nothing about.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Value = TypeVar("Value")


class ReadsLater(Protocol):
    """Knows what was read before, and reads the rest in the background."""

    def known(self, key: Hashable, read: Callable[[], Any]) -> Any | None:
        """What was read, None where nothing is known yet; returns at once.

        Parameters
        ----------
        key
            Names it: equal keys are read once.
        read
            Reads it. What it raises is raised here, once it is known.
        """


_LATER: ContextVar[ReadsLater | None] = ContextVar("reads_later", default=None)


def read_outside(key: Hashable, read: Callable[[], Value]) -> Value | None:
    """What ``read`` gives; None: it is not known yet, as nobody may wait for it."""
    later = _LATER.get()
    if later is None:
        return read()
    found: Value | None = later.known(key, read)
    return found


def may_wait() -> bool:
    """Whether the planner may look at files itself."""
    return _LATER.get() is None


@contextmanager
def reading_later(reads: ReadsLater) -> Iterator[None]:
    """In the block nothing waits for what is read."""
    token = _LATER.set(reads)
    try:
        yield
    finally:
        _LATER.reset(token)
