"""What happens to a job: sentences for a person, JSON lines for a program.

A JSON line is one object with ``time`` (UTC, ISO 8601, milliseconds), ``level``
(``info``, ``warn`` or ``error``), ``job``, ``event``, and the event's own facts.
"""

from __future__ import annotations

import io
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

MOST_BYTES = 1_000_000
"""How large the file of a log grows; there are two of them at most."""

SENTENCES: Mapping[str, str] = {
    "counts": "{new_rows_in:,} rows in, {new_rows_out:,} rows out in the last minute; "
    "in all {rows_in:,} in, {rows_out:,} out, {late_rows:,} late, {dropped_rows:,} "
    "dropped; batch {batch}, watermark {watermark}, lag {lag:,}",
    "job_ended": "ended: {state}; {rows_in:,} rows in, {rows_out:,} rows out",
    "job_started": "started: process {pid}, state in {folder}",
    "not_ready": "not ready: {reason}",
    "note": "note: {text}",
    "ready": "ready again",
    "restarting": "restarting in {after_s:g} s, failure {failure} of {of}: {error}",
    "running": "running {where}",
    "serving": "serving /healthz, /readyz and /metrics at http://127.0.0.1:{port}",
    "step": "{text}",
    "stop_forced": "it has not ended within {after_s:g} s: the process is ended; who "
    "goes on does the last micro-batch again",
    "stop_late": "it has not ended within {after_s:g} s",
    "stopping": "stopping ({mode}): {reason}",
    "unknown_fields": "{new_unknown_records:,} records in the last minute have fields "
    "that the schema of their table lacks; in all {unknown_records:,}",
    "waiting": "cannot start yet, trying again in {after_s:g} s, attempt {failure} of "
    "{of}: {error}",
}
"""What a person is told of an event; of another one, nothing."""


class _Dash:
    def __format__(self, _: str) -> str:
        return "-"


UNKNOWN: Mapping[str, object] = {
    "rows_in": 0, "rows_out": 0, "batch": "-", "watermark": "-", "lag": _Dash()
}  # fmt: skip
"""What a sentence says of facts that an event does not have."""


def sentence(event: str, facts: Mapping[str, object]) -> str | None:
    """What a person is told of an event; None: nothing, or facts of it are missing.

    >>> sentence("serving", {"port": 8080})
    'serving /healthz, /readyz and /metrics at http://127.0.0.1:8080'
    """
    try:
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return SENTENCES[event].format(**{**UNKNOWN, **known})
    except (KeyError, ValueError, TypeError):
        return None


class Log(ABC):
    """Tells what happens to a job, each event whole, from any thread. What cannot be
    written is lost: a full disk, or a reader that is gone, ends no job.

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
        with self._lock, suppress(OSError):
            self._out.write(f"{whole}\n")
            self._out.flush()


class TextLog(Log):
    """Sentences, of :data:`SENTENCES`."""

    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:  # noqa: ARG002
        """Tell an event."""
        if (text := sentence(event, facts)) is not None:
            self._write(text)


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


class FileLog(JsonLog):
    """JSON lines in a file of bounded size: once that is full it becomes the older one
    of two, in place of the one before.

    Parameters
    ----------
    path
        The file; its folder is made if need be.
    """

    def __init__(self, job: str, path: Path) -> None:
        super().__init__(job, io.StringIO())
        self._path = path

    def _write(self, line: str) -> None:
        whole = f"{line}\n".encode(errors="replace")
        with self._lock, suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.exists() and self._path.stat().st_size >= MOST_BYTES:
                self._path.replace(older(self._path))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            file = os.open(self._path, flags, 0o600)
            try:
                os.write(file, whole)
            finally:
                os.close(file)


class Logs:
    """Several logs that are told the same.

    Parameters
    ----------
    logs
        The logs.
    """

    def __init__(self, *logs: Log) -> None:
        self._logs = logs

    def tell(self, event: str, *, level: str = "info", **facts: object) -> None:
        """Tell an event."""
        for log in self._logs:
            log.tell(event, level=level, **facts)

    def note(self, text: str) -> None:
        """Tell what a person should know."""
        self.tell("note", text=text)


def log_path(folder: Path) -> Path:
    """Where the log of a job is: beside the folder of its run, which may be set aside,
    or be that of another process."""
    return folder.with_name(f"{folder.name}.events.jsonl")


def older(path: Path) -> Path:
    """Where the older lines of a log are."""
    return path.with_suffix(".1.jsonl")


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """The events that the log of a job still has, oldest first."""
    path = log_path(folder)
    for each in (older(path), path):
        with suppress(OSError):
            # Not by splitlines: a text in JSON may have other ends of lines in it.
            for line in each.read_text("utf-8", errors="replace").split("\n"):
                with suppress(ValueError):  # a line that a kill has cut
                    event = json.loads(line)
                    if isinstance(event, dict):
                        yield event


LOGS: Mapping[str, type[Log]] = {"text": TextLog, "json": JsonLog}
"""Logs by the names of what they write."""
