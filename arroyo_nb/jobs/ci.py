"""What a team's CI runs: the test in a job's folder, that the job is what was reviewed.

It is named after the job, as pytest wants no two modules of one name. A promotion
writes it anew, as it does the plan: tests of one's own go into another file, which is
what the test itself says first. A file of its name that does not say so is somebody
else's, and is not written over.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from arroyo_nb.jobs import PLAN, SPEC

_MADE = '"""Made by arroyo_nb'

_TEXT = (
    _MADE
    + """, anew at each promotion: put tests of your own into another file.

The job of this folder is the one that was reviewed; no Spark is started.
\"""

from pathlib import Path

from arroyo_nb.jobs.review import review
from arroyo_nb.jobs.spec_file import load

SPEC = Path(__file__).with_name("{spec}")
PLAN = SPEC.with_name("{plan}")
DENIED = {denied}


def test_the_spec_can_be_read():
    assert load(SPEC).spec.name == {name}


def test_its_plan_is_the_one_that_was_reviewed():
    assert PLAN.exists()
    assert review(SPEC).unreviewed == ()


def test_nothing_is_found_that_was_denied():
    assert review(SPEC, DENIED).denied == ()
"""
)


def file_name(job: str) -> str:
    """What the test of a job is called.

    >>> file_name("by-hour")
    'test_by_hour.py'
    """
    return f"test_{job.replace('-', '_')}.py"


def text(job: str, deny: Collection[str]) -> str:
    """The test of a job.

    Parameters
    ----------
    job
        Its name.
    deny
        The codes of findings that it was promoted without.
    """
    denied = json.dumps(sorted(set(deny)))
    return _TEXT.format(spec=SPEC, plan=PLAN, denied=denied, name=json.dumps(job))


def is_generated_test(found: str) -> bool:
    """Whether a file is such a test, of this version or another."""
    return found.startswith(_MADE)
