"""``arroyo-nb run job.yaml``: beside its spec it keeps state, and goes on from it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from arroyo_nb.cli import main
from arroyo_nb.jobs.spec import JobSpec, TableDefinition, Udf
from arroyo_nb.run.options import RunOptions
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights')"
VIEW = (
    "CREATE VIEW far AS\nSELECT flight, dest FROM flights\nWHERE dest = 'HNL' -- only"
)
SINK = (
    "CREATE TABLE answers WITH (connector = 'single_file', path = '{{ ANSWERS }}', "
    "type = 'sink', format = 'json');\n"
)
SPEC = JobSpec(
    "honolulu",
    SINK + "INSERT INTO answers SELECT flight, dest FROM far;\n",
    (TableDefinition("flights", FLIGHTS), TableDefinition("far", VIEW)),
    options=RunOptions(parallelism=1, trigger=timedelta(milliseconds=100)),
    packages={"pyspark": "1.0", "not-there-at-all": "2"},
)


@pytest.fixture
def job(tmp_path):
    """Writes a job's spec; gives its path."""

    def write(spec):
        path = tmp_path / "jobs" / "job.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(spec.text)
        return str(path)

    return write


@pytest.fixture
def run_here(monkeypatch, engine, capsys):
    """Runs a job in this process, on the engine of all tests; gives what it says."""
    monkeypatch.setattr(
        "arroyo_nb.cli.headless.Session", partial(Session, engine=engine)
    )
    monkeypatch.setenv("ARROYO_NB_CORES", "2")  # a job sets it for its own engine

    def run(path, answers, *arguments):
        monkeypatch.setenv("ANSWERS", str(answers))
        return main(["run", path, *arguments]), capsys.readouterr().err

    return run


def at(path, text):
    """Where a text stands in a file, as an error says it."""
    source = ScriptText(Path(path).read_text(), path)
    line, column = source.line_and_column(source.text.index(text))
    return f"{path}:{line}:{column}"


def test_a_job_runs_by_itself_and_goes_on_from_its_checkpoint(job, tmp_path, run_here):
    answers = tmp_path / "answers.json"
    done = subprocess.run(
        [sys.executable, "-m", "arroyo_nb.cli", "run", job(SPEC)],
        env=os.environ | {"ANSWERS": str(answers)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = answers.read_text()
    assert {json.loads(line)["dest"] for line in rows.splitlines()} == {"HNL"}
    assert "note: the job was made with pyspark 1.0, it runs with " in done.stderr
    assert "made with not-there-at-all 2, which is not here" in done.stderr
    assert (tmp_path / "jobs" / "state" / "honolulu" / "run.json").is_file()
    # Also when what is no part of its plan has changed.
    layout = replace(SPEC, sql="-- far away\n" + SPEC.sql, options=RunOptions())
    status, told = run_here(job(layout), answers)
    assert status == 0, told
    state = tmp_path / "jobs" / "state" / "honolulu"
    assert f"'honolulu' went on from its checkpoint in {state}" in told
    assert answers.read_text() == rows


def test_an_error_of_a_running_job_has_its_place_in_the_spec(job, tmp_path, run_here):
    broken = "SELECT flight,\n  1 / (flight - flight) AS broken FROM far;\n"
    path = job(replace(SPEC, sql=broken))
    status, told = run_here(path, "", "--state-dir", str(tmp_path / "elsewhere"))
    assert status == 4
    assert "divi" in told
    assert "Traceback" not in told
    assert (tmp_path / "elsewhere" / "honolulu").is_dir()


def test_a_variable_that_is_not_set_is_told_with_its_place(job, monkeypatch, capsys):
    monkeypatch.delenv("ANSWERS", raising=False)
    monkeypatch.setenv("ARROYO_NB_CORES", "2")
    path = job(SPEC)
    assert main(["run", path]) == 1
    place = at(path, "INSERT")
    told = capsys.readouterr().err
    assert f"{place}: the environment variable 'ANSWERS' is not set" in told


def test_what_cannot_run_is_told_before_there_is_a_jvm(job, monkeypatch, capsys):
    def started(*arguments, **options):
        raise AssertionError("no session is needed")

    monkeypatch.setattr("arroyo_nb.cli.headless.Session", started)
    path = job(replace(SPEC, sql="SELECT nope FROM far;\n"))
    assert main(["run", path]) == 3
    place = at(path, "nope")
    assert f"{place}: column 'nope' not found" in capsys.readouterr().err
    path = job(replace(SPEC, udfs=(Udf("f", "python", "x = 1\n"),)))
    assert main(["run", path]) == 3
    told = capsys.readouterr().err
    assert "The supplied code does not contain a UDF" in told
    assert f"{at(path, 'x = 1')}: " in told
