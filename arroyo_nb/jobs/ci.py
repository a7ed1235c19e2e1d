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
from arroyo_nb.jobs.carried_tests import (
    MADE,
    NO_TESTS,
    TEST_SUFFIX,
    CarriedTests,
    imports,
    pytest_functions,
)

CELLS = "cells"
"""The folder of the tests that came with the notebook."""

_ON_SPARK = ", and does what\nthe tests of its notebook expect: these start Spark"

_TEXT = (
    MADE
    + """, anew at each promotion: put tests of your own into another file.

The job of this folder is the one that was reviewed{spark}.
\"""

from pathlib import Path
{pytest}
{imports}from arroyo_nb.jobs.review import review
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
{tests}"""
)


def file_name(job: str) -> str:
    """What the test of a job is called.

    >>> file_name("by-hour")
    'test_by_hour.py'
    """
    return f"test_{job.replace('-', '_')}.py"


def text(job: str, deny: Collection[str], tests: CarriedTests = NO_TESTS) -> str:
    """The test of a job.

    Parameters
    ----------
    job
        Its name.
    deny
        The codes of findings that it was promoted without.
    tests
        Those of its notebook, which are in the folder :data:`CELLS`.
    """
    denied = json.dumps(sorted(set(deny)))
    folder = f"SPEC.with_name({json.dumps(CELLS)})"
    return _TEXT.format(
        spec=SPEC,
        plan=PLAN,
        denied=denied,
        name=json.dumps(job),
        spark=_ON_SPARK if tests.names else "; no Spark is started",
        pytest="\nimport pytest\n" if tests.names else "",
        imports=imports(tests),
        tests=pytest_functions(tests, folder, TEST_SUFFIX),
    )


def is_generated_test(found: str) -> bool:
    """Whether a file is such a test, of this version or another."""
    return found.startswith(MADE)
