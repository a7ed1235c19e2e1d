"""Whether a job is still what was reviewed: what ``arroyo-nb check`` says of it, and
the test in its folder."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.jobs import PLAN, spec_file
from arroyo_nb.jobs.lint import denied, lint
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.plan import Plan


class Review(NamedTuple):
    """What there is to say of a job, a line each.

    Parameters
    ----------
    file
        Its spec.
    findings
        What production would do differently.
    denied
        Those of them that are errors.
    unreviewed
        How its plan differs from the one beside it; empty where there is none.
    """

    file: JobFile
    findings: tuple[str, ...]
    denied: tuple[str, ...]
    unreviewed: tuple[str, ...]


def review(spec: Path, deny: Collection[str] = (), *, strict: bool = False) -> Review:
    """Look at a job; needs no JVM.

    Parameters
    ----------
    spec
        Its ``job.yaml``.
    deny
        Codes of findings that are errors.
    strict
        Refuse what Arroyo would refuse.

    Raises
    ------
    ArroyoError
        When it is no spec or has no plan, with the place; or when a code is none.
    """
    file = spec_file.load(spec)
    plan = file.plan(strict=strict)
    findings = lint(file, plan)
    errors = denied(findings, deny)
    return Review(
        file,
        tuple(finding.line for finding in findings),
        tuple(finding.line for finding in errors),
        tuple(_unreviewed(spec, plan)),
    )


def _unreviewed(path: Path, plan: Plan) -> Iterator[str]:
    """How the plan beside a spec differs from the spec's, which people may edit."""
    reviewed = path.parent / PLAN
    if not reviewed.exists():
        return
    then, now = spec_file.read_text(reviewed), plan.explain()
    if then != now:
        yield f"{path}: drift: its plan is another than that of {reviewed}"
        texts = then.splitlines(), now.splitlines()
        yield from difflib.unified_diff(*texts, str(reviewed), str(path), lineterm="")
