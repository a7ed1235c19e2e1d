"""The test in a job's folder, as a team's CI runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.folder import promote
from arroyo_nb.plan.planner import plan_script

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);\n"
QUERY = TICKS + "SELECT counter FROM ticks WHERE counter < 3"
INSERT = QUERY.replace("SELECT", "INSERT INTO b SELECT")
STORED = (
    "CREATE TABLE b WITH (connector = 'single_file', path = '/data/ticks', "
    f"type = 'sink', format = 'json');\n{INSERT}"
)
RUN = """
import sys, pytest

status = pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]])
sys.exit(3 if "pyspark" in sys.modules else status)
"""
"""Exits with 3 where Spark was so much as imported."""


@pytest.fixture
def jobs(tmp_path):
    """Promotes a query; gives the folder of all jobs."""

    def make(name="by-hour", sql=QUERY, **options):
        promote(plan_script(sql, Catalog()), name, tmp_path / "jobs" / name, **options)
        return tmp_path / "jobs"

    return make


def pytest_of(folder):
    """The status of pytest, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_jobs_pass_as_they_were_promoted_side_by_side(jobs):
    folder = jobs("few", sql=QUERY.replace("3", "4"))
    change(folder / "few/job.yaml", "counter < 4", "counter < 3")
    jobs("few")
    status, said = pytest_of(jobs("by-hour", deny=["time-zone", "unbounded-state"]))
    assert (status, "6 passed" in said) == (0, True), said


def test_jobs_that_are_not_what_was_reviewed_fail(jobs):
    folder = jobs("edited")
    change(folder / "edited/job.yaml", "counter < 3", "counter < 4")
    jobs("denied", STORED, deny=["relative-path"])
    change(folder / "denied/job.yaml", "/data/ticks", "ticks")
    (jobs("broken") / "broken/job.yaml").write_text("versoin: 1\n")
    (jobs("gone") / "gone/plan.txt").unlink()
    status, said = pytest_of(folder)
    assert status == 1, said
    assert sorted(re.findall(r"^FAILED \S+/(\w+/\S+)", said, re.MULTILINE)) == [
        "broken/test_broken.py::test_its_plan_is_the_one_that_was_reviewed",
        "broken/test_broken.py::test_nothing_is_found_that_was_denied",
        "broken/test_broken.py::test_the_spec_can_be_read",
        "denied/test_denied.py::test_nothing_is_found_that_was_denied",
        "edited/test_edited.py::test_its_plan_is_the_one_that_was_reviewed",
        "gone/test_gone.py::test_its_plan_is_the_one_that_was_reviewed",
    ]
    assert "edited/job.yaml: drift: its plan is another than that of" in said
    assert "the path of 'b' is relative: 'ticks' [relative-path]" in said


def test_what_it_denies_is_what_the_last_promotion_did(jobs):
    path = jobs(deny=["time-zone"]) / "by-hour/test_by_hour.py"
    assert 'DENIED = ["time-zone"]\n' in path.read_text()
    jobs()
    assert "DENIED = []\n" in path.read_text()
    assert "put tests of your own into another file" in path.read_text()


def test_a_test_of_somebody_else_is_left_alone(jobs):
    folder = jobs() / "by-hour"
    own, path = folder / "test_more.py", folder / "test_by_hour.py"
    for file in (own, path):
        file.write_text("def test_ours(): pass\n")
    before = (folder / "plan.txt").read_text()
    with pytest.raises(PromoteProblem, match=r"py' was not made by a promotion"):
        jobs(sql=QUERY.replace("3", "4"))
    assert (folder / "plan.txt").read_text() == before
    path.unlink()
    jobs()
    assert own.read_text() == "def test_ours(): pass\n"


def test_it_is_as_a_formatter_would_have_it(jobs):
    path = jobs(deny=["time-zone", "no-watermark"]) / "by-hour/test_by_hour.py"
    for command in (["check", "--isolated"], ["format", "--isolated", "--check"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--no-cache", str(path)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
