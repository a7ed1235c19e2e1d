"""The jobs of a session: those that were made or attached there, and those beside its
notebook."""

from __future__ import annotations

from pathlib import Path

from arroyo_nb.jobs import JOBS, SPEC


class KnownJobs:
    """The specs of a session's jobs, in the order in which they became known."""

    def __init__(self) -> None:
        self._made: dict[Path, None] = {}

    def add(self, spec: Path) -> None:
        """Remember a job, wherever it is."""
        self._made[spec.absolute()] = None

    @property
    def specs(self) -> tuple[Path, ...]:
        """Each ``job.yaml``, also of the jobs in the working directory's folder of
        jobs."""
        beside = (p.absolute() for p in sorted(Path(JOBS).glob(f"*/{SPEC}")))
        return tuple(dict.fromkeys((*self._made, *beside)))
