"""A value that takes long to find: found on a thread, so that who asks never waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")


class BackgroundValue(Generic[Value]):
    """The newest value that was found; nothing is looked for while nobody asks.

    Parameters
    ----------
    find
        Finds the value, on a thread of its own, and ends by itself. What it raises is
        logged: the value before stays the newest one.
    keep_s
        For how many seconds a value is new enough.
    """

    def __init__(self, find: Callable[[], Value], keep_s: float) -> None:
        self._find = find
        self._keep_s = keep_s
        self._value: Value | None = None
        self._found_at = float("-inf")
        self._finder: threading.Thread | None = None

    def newest(self) -> Value | None:
        """The newest value, None before the first; returns at once. One that is too old
        is looked for again meanwhile."""
        is_old = time.monotonic() - self._found_at >= self._keep_s
        if is_old and (self._finder is None or not self._finder.is_alive()):
            # A daemon: a kernel that ends does not wait for a broker.
            self._finder = threading.Thread(target=self._look, daemon=True)
            self._finder.start()
        return self._value

    def _look(self) -> None:
        try:
            self._value = self._find()
        except Exception:
            _LOG.exception("a value of the side panel could not be found")
        self._found_at = time.monotonic()
