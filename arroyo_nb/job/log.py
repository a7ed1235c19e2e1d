"""What happens to a job: sentences for a person, JSON lines for a program.

A JSON line is one object with ``time`` (UTC, ISO 8601, milliseconds), ``level``
(``info``, ``warn`` or ``error``), ``job``, ``event``, and the event's own facts.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TextIO

SENTENCES: Mapping[str, str] = {
    "note": "note: {text}",
    "restarting": "restarting in {after_s:g} s, failure {failure} of {of}: {error}",
    "serving": "serving /healthz and /metrics at http://127.0.0.1:{port}",
    "stop_late": "it has not ended within {after_s:g} s",
    "stopping": "stopping ({mode}): {reason}",
}
"""What a person is told of an event; of another one, nothing."""


class Log(ABC):
    """Tells what happens to a job, each event whole, from any thread.

    Parameters
    ----------
    job
        Its name.
    out
        Where to; each line is flushed.
    """

    def __init__(self, job: str, out: TextIO) -> None:
        self._job = job
        self._out = out
        self._lock = threading.Lock()

    @abstractmethod
    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:
        """Tell an event; facts that are None are left out."""

    def note(self, text: str) -> None:
        """Tell what a person should know."""
        self.tell("note", text=text)

    def _write(self, line: str) -> None:
        # A lone surrogate, as of a broken record, has no UTF-8.
        whole = line.encode(errors="replace").decode()
        with self._lock:
            self._out.write(f"{whole}\n")
            self._out.flush()


class TextLog(Log):
    """Sentences, of :data:`SENTENCES`."""

    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:  # noqa: ARG002
        """Tell an event."""
        if (sentence := SENTENCES.get(event)) is not None:
            self._write(sentence.format(**facts))


class JsonLog(Log):
    """JSON lines.

    Parameters
    ----------
    now
        The clock of the events.
    """

    def __init__(
        self, job: str, out: TextIO, now: Callable[[], datetime] | None = None
    ) -> None:
        super().__init__(job, out)
        self._now = now or (lambda: datetime.now(UTC))

    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:
        """Tell an event."""
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: fact for name, fact in facts.items() if fact is not None}
        line = {"time": at, "level": level, "job": self._job, "event": event, **known}
        self._write(json.dumps(line, ensure_ascii=False, default=str))


LOGS: Mapping[str, type[Log]] = {"text": TextLog, "json": JsonLog}
"""Logs by the names of what they write."""
