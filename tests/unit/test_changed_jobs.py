"""``arroyo-nb run`` and ``attach`` of a job that has state: judged without a JVM."""

from dataclasses import replace

import pytest

from arroyo_nb.cli import main
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.resume import judged, spec_of_plan
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_changes import JobVersion
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.state.compatibility import Outcome
from arroyo_nb.state.folder import StateFolder
from arroyo_nb.state.header import StateSpec
from arroyo_nb.state.identity import plan_identity

SPEC = JobSpec(
    "busy",
    "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);\n"
    "SELECT counter, count(*) AS n FROM t GROUP BY counter;\n",
)
ROWS = replace(SPEC, sql=SPEC.sql.replace("GROUP", "WHERE counter > 1 GROUP"))
OTHER = replace(SPEC, sql=SPEC.sql.replace("counter", "subtask_index"))


class Started(Exception):
    """A session would be."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """That of busy with state."""

    def started(*_, **__):
        raise Started

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", started)
    plan = read(ScriptText(SPEC.text)).plan()
    state = tmp_path / "state" / "busy"
    StateFolder(
        state,
        identity=plan_identity(plan),
        name="busy",
        spec=StateSpec(spec_of_plan(plan, RunOptions())),
    ).release()
    return tmp_path


def run(folder, spec, *arguments):
    path = folder / "job.yaml"
    path.write_text(spec.text)
    return main(["run", str(path), *arguments])


def states(folder):
    return sorted(path.name.removeprefix("busy") for path in folder.glob("*/*"))


def test_what_was_not_changed_is_started(folder):
    for arguments in ((), ("--fork",)):
        with pytest.raises(Started):
            run(folder, SPEC, *arguments)
    assert states(folder) == [""]


def test_what_needs_a_fork_is_refused_with_the_command_and_then_started(folder, capsys):
    assert run(folder, ROWS) == 3
    told = capsys.readouterr().err
    assert "needs fork: how rows are computed" in told
    assert f"arroyo-nb run {folder}/job.yaml --fork" in told
    assert states(folder) == [""]
    with pytest.raises(Started):
        run(folder, ROWS, "--fork")
    assert "goes on from a copy of its state" in capsys.readouterr().err
    assert states(folder) == ["", ".aside-1", ".events.jsonl"]


def test_what_begins_anew_says_so_and_keeps_the_state(folder, capsys):
    assert run(folder, OTHER, "--fork") == 3
    assert f"arroyo-nb run {folder}/job.yaml --fresh" in capsys.readouterr().err
    with pytest.raises(Started):
        run(folder, OTHER, "--fresh")
    assert "starts from nothing; its old state is in" in capsys.readouterr().err
    assert states(folder) == [".aside-1", ".events.jsonl"]


def test_rows_that_were_kept_are_set_aside_with_the_state(folder):
    rows = folder / "state" / "busy" / "outputs" / "0" / "rows"
    rows.mkdir(parents=True)
    (rows / "0.arrow").write_bytes(b"rows of before")
    for spec in (SPEC, OTHER):  # whether it was changed or not
        with pytest.raises(Started):
            run(folder, spec, "--fresh")
    assert not [*folder.glob("state/busy/**/*.arrow")]
    (found,) = folder.glob("state/busy.aside-1/**/*.arrow")
    assert found.read_bytes() == b"rows of before"


class Refusing:
    """A session that refuses to run anything."""

    def __init__(self, *_, **__):
        self.runs = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run_with(self, *_, **__):
        raise RunProblem(
            "the folder of 'made' cannot be written", span=Span(60, 66)
        ).at(ScriptText(ROWS.script, "<cell>"))


@pytest.mark.parametrize(("spec", "option"), [(ROWS, "--fork"), (OTHER, "--fresh")])
def test_a_start_that_is_refused_leaves_the_state_where_it_was(
    folder, monkeypatch, capsys, spec, option
):
    monkeypatch.setattr("arroyo_nb.cli.headless.Session", Refusing)
    (folder / "state" / "busy" / "progress.json").write_text(
        '{"counts": {"rows_in": 4903}}'
    )
    assert run(folder, spec, option) == 1
    told = capsys.readouterr().err
    counted = {"--fork": "4,903", "--fresh": "0"}[option]  # a new job has none
    assert f"ended: failed; {counted} rows in" in told
    assert "went on from its checkpoint" not in told
    assert "<cell>" not in told
    assert f"{folder}/job.yaml:" in told
    assert states(folder) == ["", ".events.jsonl"]
    plan = read(ScriptText(SPEC.text)).plan()
    verdict = judged(folder / "state" / "busy", JobVersion(SPEC, plan))
    assert verdict.outcome is Outcome.COMPATIBLE


def test_only_jobs_are_forked(tmp_path, capsys):
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1")
    assert main(["run", str(script), "--fresh"]) == 2
    assert "--fresh needs a job.yaml" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", str(script), "--fresh", "--fork"])


@pytest.mark.parametrize(
    "options",
    [("--port", "0"), ("--log", "json"), ("--stop-mode", "graceful"), ("--submitted",)],
    ids=lambda options: options[0],
)
def test_a_script_is_told_what_only_jobs_take(options, tmp_path, capsys):
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1")
    assert main(["run", str(script), *options]) == 2
    told = capsys.readouterr().err
    assert f"{options[0]} needs a job.yaml" in told
    assert "hint: write a job.yaml with three keys: version: 1, name: NAME" in told


def test_attach_of_a_job_that_rests_says_where_its_state_is(folder, capsys):
    path = folder / "job.yaml"
    path.write_text(SPEC.text)
    assert main(["attach", str(path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [
        f"'busy' was not running; its state is in {folder}/state/busy",
        f"in a notebook: %arroyo attach {path}",
        f"as a job again: arroyo-nb run {path}",
    ]
    path.write_text(ROWS.text)
    assert main(["attach", str(path)]) == 3
    assert "--fork" in capsys.readouterr().err
