"""Whether an expression has Arroyo's value where ours differs: in strict mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_copies: ContextVar[bool] = ContextVar("copies_arroyo", default=False)


@contextmanager
def copying_arroyo(copies: bool) -> Iterator[None]:
    """Bind expressions in the block to Arroyo's own values, or to ours."""
    token = _copies.set(copies)
    try:
        yield
    finally:
        _copies.reset(token)


def copies_arroyo() -> bool:
    """Whether an expression that is bound now has Arroyo's own value."""
    return _copies.get()
