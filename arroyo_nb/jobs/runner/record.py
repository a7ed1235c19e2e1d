"""What a job notes of itself in the folder of its run, for who looks for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arroyo_nb.jobs.owner import JobProcess, requested_mode
from arroyo_nb.jobs.runner.supervisor import JobState, Tell

_STATES = {
    "running": JobState.RUNNING.value,
    "restarting": JobState.WAITING.value,
    "stopping": "stopping",
}


class JobRecord:
    """Hears the events of a job, notes them, and passes them on.

    Parameters
    ----------
    name
        The job's.
    folder
        Its run's. Nothing is noted in it before the run has begun: it may be that of
        another process.
    tell
        Is told every event.
    """

    def __init__(self, name: str, folder: Path, tell: Tell) -> None:
        self._job = JobProcess(name, JobState.STARTING.value)
        self._folder = folder
        self._tell = tell
        self._is_ours = False

    def tell(self, event: str, *, level: str = "info", **facts: Any) -> None:
        """Take note of an event."""
        if event == "serving":
            self._job = replace(self._job, port=facts["port"])
        elif event in _STATES and (event == "running" or self._is_ours):
            self._note(state=_STATES[event], restarts=facts.get("restarts"))
        elif event == "job_ended" and self._is_ours:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            error = facts.get("error")
            self._note(state=facts["state"], ended=at, error=error)
        self._tell(event, level=level, **facts)

    def _note(self, **changed: Any) -> None:
        known = {name: value for name, value in changed.items() if value is not None}
        self._job = replace(self._job, **known)
        try:
            self._write()
        except OSError as error:  # as of a full disk, of which the run tells more
            text = f"what runs in '{self._folder}' cannot be noted: {error.strerror}"
            self._tell("note", level="warn", text=text)

    def _write(self) -> None:
        if not self._is_ours:
            requested_mode(self._folder)  # that of a process before this one
        elif (
            noted := JobProcess.of(self._folder)
        ) is None or noted.pid != self._job.pid:
            return  # while this one waited, another has taken the folder
        self._job.write(self._folder)
        self._is_ours = True
