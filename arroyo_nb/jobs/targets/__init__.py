"""Where a job can run: plug-ins, a file each, that bind ``TARGET``.

A target says which files a job needs there beside its spec, and the one command that
runs it; or, each with its place, why it cannot run there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arroyo_nb.registry import Registry

if TYPE_CHECKING:
    from arroyo_nb.jobs.spec_file import JobFile
    from arroyo_nb.plan import Plan

LOCAL = "local"
"""The target where none is named."""


@dataclass(frozen=True)
class Delivery:
    """What a target makes of a job.

    Parameters
    ----------
    command
        What runs it, from where the path of its folder leads from.
    files
        Texts by their paths in the job's folder.
    notes
        What else a person should know.
    """

    command: str
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class JobTarget(Protocol):
    """A place where jobs run."""

    name: str
    doc: str
    aliases: tuple[str, ...]
    """Other names that people try, for which it is suggested."""
    runs_here: bool
    """Whether a job runs on this machine, its state beside its spec."""

    def deliver(self, job: JobFile, plan: Plan, folder: Path) -> Delivery:
        """What a job needs there.

        Parameters
        ----------
        plan
            The job's.
        folder
            Where its spec is.

        Raises
        ------
        ArroyoError
            When it cannot run there: every reason, with its place in the spec.
        """


TARGETS: Registry[JobTarget] = Registry(
    "target", (__name__,), "TARGET", dashed=True, aliases=lambda target: target.aliases
)
