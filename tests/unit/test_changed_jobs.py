"""``arroyo-nb run`` and ``attach`` of a job that has state: judged without a JVM."""

from dataclasses import replace

import pytest

from arroyo_nb.cli import main
from arroyo_nb.promote.going_on import kept
from arroyo_nb.promote.jobfile import read
from arroyo_nb.promote.jobspec import JobSpec
from arroyo_nb.run.folder import RunFolder
from arroyo_nb.run.options import RunOptions
from arroyo_nb.source import Source

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

    monkeypatch.setattr("arroyo_nb.headless.Session", started)
    plan = read(Source(SPEC.text)).plan()
    state = tmp_path / "state" / "busy"
    RunFolder(
        state, plan_text=plan.identity, name="busy", spec=kept(plan, RunOptions())
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
    assert "needs fork: how rows are made" in told
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
    assert "begins anew; the state of before is in" in capsys.readouterr().err
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
    assert f"{options[0]} needs a job.yaml" in capsys.readouterr().err


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
