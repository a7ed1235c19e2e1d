"""What a check would read beside the cell: read on threads, and known to later checks.

Without it a schema of Protocol Buffers is compiled, in a process of its own, while a
cell waits for the planner.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from arroyo_nb.editor.background_value import BackgroundValue
from arroyo_nb.errors import ArroyoError
from arroyo_nb.outside_reads import may_wait

NEW_S = 10.0
"""For so many seconds a value is not read again."""

WAIT_S = 0.4
"""So long a check waits for what it was the first to ask for."""

MOST = 100
"""Of so many files the newest values are kept."""


@dataclass(frozen=True)
class _Outcome:
    """What was read, or why it could not be."""

    value: Any = None
    message: str = ""
    error: ArroyoError | None = None


class BackgroundReads:
    """Reads for all cells of a session; it is told apart by its version what was known
    when a cell was checked.

    Attributes
    ----------
    version
        Another one after each value that differs from the one before.
    """

    def __init__(self) -> None:
        self.version = 0
        self._values: OrderedDict[Hashable, BackgroundValue[_Outcome]] = OrderedDict()
        self._outcomes: dict[Hashable, _Outcome] = {}
        self._changed = threading.Condition()
        self._awaited: set[Hashable] = set()

    def known(self, key: Hashable, read: Callable[[], Any]) -> Any | None:
        """What was read, None before; as of :class:`arroyo_nb.outside_reads`."""
        value = self._values.get(key)
        if value is None:
            value = BackgroundValue(lambda: self._read(key, read), NEW_S)
            self._values[key] = value
            self._awaited.add(key)
            if len(self._values) > MOST:
                oldest, _ = self._values.popitem(last=False)
                self._outcomes.pop(oldest, None)
        value.newest()
        outcome = self._outcomes.get(key)
        if outcome is None:
            return None
        if outcome.error is not None:
            # Who catches it may add to its message.
            outcome.error.message = outcome.message
            raise outcome.error.with_traceback(None)
        return outcome.value

    def wait(self) -> bool:
        """Wait a moment for what was asked for the first time; whether something is
        known now that was not. Whoever plans must not wait here."""
        before, awaited = self.version, self._awaited
        self._awaited = set()
        if not awaited:
            return False
        until = time.monotonic() + WAIT_S
        with self._changed:
            self._changed.wait_for(
                lambda: awaited <= self._outcomes.keys(), until - time.monotonic()
            )
        return self.version != before

    def _read(self, key: Hashable, read: Callable[[], Any]) -> _Outcome:
        try:
            outcome = _Outcome(read())
        except ArroyoError as error:
            outcome = _Outcome(message=error.message, error=error)
        with self._changed:
            before = self._outcomes.get(key)
            if before is None or not _is_same(before, outcome):
                self.version += 1
            self._outcomes[key] = outcome
            self._changed.notify_all()
        return outcome


def _is_same(one: _Outcome, other: _Outcome) -> bool:
    return one.message == other.message and bool(one.value == other.value)


READS = BackgroundReads()
"""Those of this process, as its files are."""


def reads_version() -> tuple[bool, int]:
    """What was known at a check: checks with equal ones find the same. One that waits
    for what it reads knows more than an editor's."""
    return may_wait(), READS.version
