"""What happens to a job, as JSON lines.

One object a line, with ``time`` (UTC, ISO 8601, milliseconds), ``level`` (``info``,
``warn`` or ``error``), ``job``, ``event``, and the event's own facts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO


class Log:
    """Writes the events of one job.

    Parameters
    ----------
    job
        Its name.
    out
        Where to; each line is flushed, and written whole, from any thread.
    now
        The clock of the events.
    """

    def __init__(
        self, job: str, out: TextIO, now: Callable[[], datetime] | None = None
    ) -> None:
        self._job = job
        self._out = out
        self._now = now or (lambda: datetime.now(UTC))
        self._lock = threading.Lock()

    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:
        """Write an event; facts that are None are left out."""
        at = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: fact for name, fact in facts.items() if fact is not None}
        line = {"time": at, "level": level, "job": self._job, "event": event, **known}
        text = json.dumps(line, ensure_ascii=False, default=str)
        with self._lock:
            # A lone surrogate, as of a broken record, has no UTF-8.
            self._out.write(text.encode(errors="replace").decode() + "\n")
            self._out.flush()
