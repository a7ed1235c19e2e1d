"""This machine, or any that has arroyo_nb: the spec is all that is needed."""

from __future__ import annotations

from pathlib import Path

from arroyo_nb.jobs.shell_quoting import shell_path
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.targets import Delivery
from arroyo_nb.plan import Plan


class Local:
    """``arroyo-nb run job.yaml``."""

    name = "local"
    doc = "one machine, with its own Spark"
    aliases = ("here", "systemd")
    runs_here = True

    def deliver(self, job: JobFile, plan: Plan, folder: Path) -> Delivery:
        """No file but the spec."""
        job.check_runs_on_spark(plan)
        name = Path(job.source.name).name
        return Delivery(f"arroyo-nb run {shell_path(folder / name)}")


TARGET = Local()
