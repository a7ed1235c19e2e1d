"""``%arroyo promote`` in an IPython shell, over a run that only pretends."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from IPython.utils.capture import capture_output
from shells import new_shell

from arroyo_nb.catalog import Catalog
from arroyo_nb.extension import load, unload
from arroyo_nb.jobs.spec import Origin
from arroyo_nb.jobs.spec_file import load as load_spec
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.options import RunOptions
from arroyo_nb.session import Session

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10)"
QUERY = "SELECT counter, '<script>' AS tag FROM ticks"


class FakeRun:
    """A run that has ended."""

    name = "few"
    options = RunOptions()

    def __init__(self, plan):
        self.plan = plan

    def discard(self, reason=""):
        pass

    def detach(self):
        pass

    def wait_quietly(self, timeout):
        return True


@pytest.fixture
def line(monkeypatch, tmp_path):
    """Runs a cell in a shell whose session has one run; says what it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    engine = SimpleNamespace(warm_up=lambda *_: None)
    session = Session(engine=engine)
    catalog = plan_script(TICKS, Catalog()).catalog
    session._runs.add(FakeRun(plan_script(QUERY, catalog)))
    with new_shell() as shell:
        load(shell, session)

        def run(code):
            with capture_output() as captured:
                done = shell.run_cell(code)
            run.error = done.error_in_exec
            return captured.outputs[0].data if captured.outputs else {}

        yield run
        unload(shell)


def test_a_promotion_shows_its_folder_what_was_found_and_the_command(line):
    shown = line("%arroyo promote few")
    assert shown["text/plain"].splitlines() == [
        "promoted to jobs/few: 2 findings",
        "  warning: job.yaml:11: 'ticks' is rows that are generated, not a real "
        "source [sample-source]",
        "  warning: job.yaml:13: the rows of this SELECT are printed, and go nowhere "
        "[no-sink]",
        "run it: arroyo-nb run jobs/few/job.yaml",
    ]
    assert "<script>" not in shown["text/html"]
    spec = load_spec(Path("jobs/few/job.yaml")).spec
    assert [table.name for table in spec.tables] == ["ticks"]
    assert spec.origin is None


def test_links_lead_to_pages_that_are_there(line):
    shown = line("%arroyo promote few -o 'a job'")
    links = re.findall(r'href="([^"]*)"', shown["text/html"])
    assert links == [
        "a%20job/job.yaml",
        "a%20job/lint.md#sample-source",
        "a%20job/lint.md#no-sink",
    ]
    pages = Path("a job/lint.md").read_text("utf-8")
    assert "\n## sample-source\n" in pages
    assert "\n## no-sink\n" in pages
    assert Path("a job/plan.txt").read_text("utf-8").startswith("Statements")
    assert Path("a job/.gitignore").read_text("utf-8") == "/state/\n"


def test_what_is_denied_is_not_written(line):
    assert line("%arroyo promote few --deny no-sink,time-zone") == {}
    assert "[no-sink]" in str(line.error)
    assert "sample-source" not in str(line.error)
    assert not Path("jobs").exists()


def test_a_run_that_is_not_there_is_told(line):
    line("%arroyo promote fwe")
    assert "there is no run 'fwe'" in str(line.error)


def test_the_notebook_is_noted_where_the_front_end_tells_it(line, monkeypatch):
    Path("flights.ipynb").touch()
    monkeypatch.setenv("JPY_SESSION_NAME", str(Path("flights.ipynb").absolute()))
    line("%arroyo promote few")
    spec = load_spec(Path("jobs/few/job.yaml")).spec
    assert spec.origin == Origin("../../flights.ipynb", "few")


def test_a_job_that_is_promoted_again_keeps_its_tags(line):
    line("%arroyo promote few")
    path = Path("jobs/few/job.yaml")
    path.write_text(path.read_text("utf-8") + "tags:\n  team: air\n", "utf-8")
    line("%arroyo promote few")
    assert load_spec(path).spec.tags == {"team": "air"}


def test_a_folder_with_something_else_is_left_alone(line):
    path = Path("jobs/few/job.yaml")
    path.parent.mkdir(parents=True)
    path.write_text("steps: []\n", "utf-8")
    line("%arroyo promote few")
    assert "unknown key 'steps'" in str(line.error)
    assert path.read_text("utf-8") == "steps: []\n"


def test_jobs_are_listed_where_they_are(line):
    assert line("%arroyo jobs") == {
        "text/plain": "no job yet: %arroyo promote makes one"
    }
    line("%arroyo promote few")
    line("%arroyo promote few -o elsewhere/other")
    broken = Path("jobs/broken/job.yaml")
    broken.parent.mkdir()
    broken.write_text("{")
    shown = line("%arroyo jobs")["text/plain"].splitlines()
    assert shown[0].split() == [
        "job",
        "state",
        "process",
        "running",
        "for",
        "restarts",
        "health",
        "folder",
    ]
    assert [(row.split()[0], row.split()[-1]) for row in shown[1:]] == [
        ("few", "jobs/few"),
        ("few", "elsewhere/other"),
        ("broken", "jobs/broken"),
    ]
    assert all("not run yet" in row for row in shown[1:3])
    assert "unreadable" in shown[3]


def test_a_job_that_cannot_be_attached_is_told_and_listed(line):
    line("%arroyo attach jobs/few/job.yaml")
    assert "cannot read 'jobs/few/job.yaml'" in str(line.error)


def test_the_state_of_a_run_goes_along(line, monkeypatch):
    given = []
    monkeypatch.setattr(Session, "promote", promoted_with(given, Session.promote))
    shown = line("%arroyo promote few --with-state")
    assert given == [True]
    assert "the run has stopped; its job goes on from" in shown["text/plain"]


def promoted_with(given, promote):
    """Takes note of the option, and promotes without."""

    def act(session, *arguments, with_state=False, **options):
        given.append(with_state)
        return promote(session, *arguments, **options)

    return act


def test_what_is_ignored_already_stays_ignored(line):
    Path("jobs/few").mkdir(parents=True)
    Path("jobs/few/.gitignore").write_text("*.key")
    for _ in range(2):
        line("%arroyo promote few")
    assert Path("jobs/few/.gitignore").read_text() == "*.key\n/state/\n"


def test_a_plan_of_something_else_is_left_alone(line):
    Path("jobs/few").mkdir(parents=True)
    Path("jobs/few/plan.txt").write_text("lunch")
    line("%arroyo promote few")
    assert "plan.txt' is not a job's: there is no job.yaml beside it" in str(line.error)
    assert Path("jobs/few/plan.txt").read_text() == "lunch"


def test_state_is_not_handed_to_where_it_is_not_looked_for(line):
    line("%arroyo promote few --with-state --target spark-submit")
    assert "where a job on 'spark-submit' does not look for it" in str(line.error)
    assert not Path("jobs/few").exists()


def test_a_job_without_state_is_not_attached(line):
    line("%arroyo promote few")
    line("%arroyo attach jobs/few/job.yaml")
    assert "'few' has no state in" in str(line.error)
