"""The jobs of a notebook: what runs, since when, and where it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.views.formatting import duration
from arroyo_nb.views.listing import listing

JOB_COLUMNS = ("job", "state", "process", "running for", "restarts", "health", "folder")


class Row(NamedTuple):
    """A job: what it is called, where it is, its folder, and of a process that runs it
    its number, when it began (ISO 8601), how often the job began again since, and where
    its health is asked."""

    name: str
    state: str
    folder: Path
    pid: int | None = None
    since: str = ""
    restarts: int | None = None
    address: str = ""


def jobs(known: Iterable[Row], now: datetime | None = None) -> dict[str, str]:
    """Jobs as a MIME bundle.

    Parameters
    ----------
    now
        The time; None: that of the clock.
    """
    rows = [_job(job, now or datetime.now(UTC)) for job in known]
    return listing(JOB_COLUMNS, rows, nothing="no job yet: %arroyo promote makes one")


def _job(job: Row, now: datetime) -> tuple[str, ...]:
    age = duration(now - datetime.fromisoformat(job.since)) if job.since else ""
    return (
        job.name,
        job.state,
        "" if job.pid is None else str(job.pid),
        age,
        "" if job.restarts is None else str(job.restarts),
        job.address,
        str(_from_here(job.folder)),
    )


def _from_here(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
