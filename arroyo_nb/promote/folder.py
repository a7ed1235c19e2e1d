"""The folder of a job, as a pull request shows it: spec, plan, and what was found."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from arroyo_nb.errors import PromoteProblem
from arroyo_nb.plan import Plan
from arroyo_nb.promote.jobfile import JobFile, load
from arroyo_nb.promote.jobspec import STATE, JobSpec
from arroyo_nb.promote.lint import Finding, report

JOBS = "jobs"
"""Where the folders of jobs are, beside their notebook."""
SPEC, PLAN, LINT, IGNORED = "job.yaml", "plan.txt", "lint.md", ".gitignore"


def before(folder: Path) -> JobSpec | None:
    """The spec that is in a folder; None where there is none.

    Raises
    ------
    PromoteProblem
        When there is something else in its place.
    """
    path = folder / SPEC
    return load(path).spec if path.exists() else None


def write(folder: Path, file: JobFile, plan: Plan, findings: Sequence[Finding]) -> None:
    """Write a job's folder; other files in it stay.

    Raises
    ------
    PromoteProblem
        When it cannot be written.
    """
    texts = {SPEC: file.source.text, PLAN: plan.explain(), LINT: report(findings)}
    if file.spec.state == STATE:
        texts[IGNORED] = f"/{STATE}/\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PromoteProblem(f"cannot write '{folder}': {error.strerror}") from None


def command(folder: Path) -> str:
    """The one command that runs the job."""
    return f"arroyo-nb run {shlex.quote(str(folder / SPEC))}"
