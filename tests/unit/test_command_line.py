"""The words of the command line, and where it writes to; nothing needs a JVM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arroyo_nb.cli.command import EXAMPLES, MEANT, main
from arroyo_nb.jobs.registry import listed

SPEC = """version: 1
name: per_min
sql: |
  CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);
  SELECT counter FROM t;
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARROYO_NB_CACHE", str(tmp_path / "cache"))
    for name in ("per_min", "twice", "thrice"):
        Path("jobs", name).mkdir(parents=True)
        named = "per_min" if name == "per_min" else "same"
        Path("jobs", name, "job.yaml").write_text(SPEC.replace("per_min", named))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("jobs",),
        ("status", "jobs/per_min/job.yaml"),
        ("check", "jobs/per_min/job.yaml"),
        ("status", "missing.yaml"),  # its error has nobody to read it either
    ],
)
def test_a_pipe_that_nobody_reads_ends_it_quietly(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "arroyo_nb.cli", *arguments]
    errors = writing if "missing.yaml" in arguments else subprocess.PIPE
    try:
        done = subprocess.run(
            command, stdout=writing, stderr=errors, text=True, check=False, timeout=120
        )
    finally:
        os.close(writing)
    assert not done.stderr
    # argparse drops what it cannot print.
    is_help = arguments == ("--help",)
    assert done.returncode in (128 + signal.SIGPIPE, 0 if is_help else None)


def test_standard_error_on_a_full_disk_leaves_the_exit_status():
    command = [sys.executable, "-m", "arroyo_nb.cli", "status", "missing.yaml"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stderr=full, check=False, timeout=120)
    assert done.returncode == 3


@pytest.mark.parametrize("command", ["run", "explain", "status", "stop", "diff"])
def test_a_notebook_is_no_script(command, capsys):
    files = ["topic.ipynb"] * (2 if command == "diff" else 1)
    Path("topic.ipynb").write_text('{"cells": [{"source": "it\'s"}]}')
    assert main([command, *files]) == 2
    said = capsys.readouterr().err
    assert said.startswith("'topic.ipynb' is a notebook: this command takes a job.yaml")
    assert "arroyo-nb promote topic.ipynb --name NAME" in said


def test_a_job_is_found_by_the_name_that_jobs_lists(capsys):
    for name in ("per_min", "jobs/per_min", "jobs/per_min/job.yaml"):
        assert main(["status", name]) == 0
        assert capsys.readouterr().out == "not run yet\n"
    assert main(["status", "per_minn"]) == 2
    said = capsys.readouterr().err
    assert "there is no job 'per_minn', and no such file" in said
    assert "did you mean 'per_min'? arroyo-nb jobs lists" in said
    assert main(["stop", "same"]) == 2
    assert "'same' names 2 jobs: " in capsys.readouterr().err
    assert main(["status", "missing/job.yaml"]) != 0
    assert "missing/job.yaml" in capsys.readouterr().err


def test_a_job_that_runs_is_found_by_its_name_from_anywhere(
    tmp_path, monkeypatch, capsys
):
    state = tmp_path / "elsewhere" / "per_min"
    (tmp_path / "away").mkdir()
    with listed(Path("jobs/per_min/job.yaml"), state, "per_min"):
        monkeypatch.chdir(tmp_path / "away")
        assert main(["logs", "per_min"]) == 1
    assert str(state) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "command"),
    [("start", "run"), ("kill", "stop"), ("resume", "run"), ("stauts", "status")],
)
def test_a_command_that_people_try_is_answered(word, command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([word, "job.yaml"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"there is no command '{word}': did you mean '{command}'? known: run" in said
    assert set(MEANT.values()) <= set(EXAMPLES)


PRINTS = """
import sys
from types import SimpleNamespace
from arroyo_nb.cli import headless
from arroyo_nb.cli import main
from arroyo_nb.connectors._line_writers import TextStreamWriter
from arroyo_nb.schema import Schema

def run_script(*_, **__):
    writer = TextStreamWriter(Schema(()), {})
    writer._lines = SimpleNamespace(pieces=lambda rows: [b"{}" + bytes([10])])
    writer.take(None, 0)

headless.run_script = run_script
sys.exit(main(["run", "a.sql"]))
"""


def test_rows_that_nobody_reads_any_more_end_a_script_quietly():
    Path("a.sql").write_text("SELECT 1")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PRINTS],
            stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def exit_code(*arguments):
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "a.sql", "--port", "99999"), "'99999' is not a port: 0 to 65535"),
        (("run", "a.sql", "--root", "/none"), "names '/none', which is not a folder"),
        (("jobs", "/none"), "'/none' is not a folder"),
        (("run", "a.sql", "--prot", "1"), "did you mean '--port'?"),
        (("stop", "job.yaml", "--mod=graceful", "x"), "unrecognized arguments: x"),
        (("status", "job.yaml", "--redy"), "did you mean '--ready'?"),
    ],
)
def test_wrong_usage_is_told_by_its_exit_code(arguments, said, capsys):
    Path("a.sql").write_text("SELECT 1")
    assert exit_code(*arguments) == 2
    assert said in capsys.readouterr().err


def test_the_folder_of_a_job_stands_for_its_spec(capsys):
    assert main(["explain", "jobs/per_min"]) == 0
    by_folder = capsys.readouterr().out
    assert main(["explain", "jobs/per_min/job.yaml"]) == 0
    assert capsys.readouterr().out == by_folder


def test_the_help_of_a_command_names_where_the_exit_codes_are(capsys):
    assert exit_code("run", "--help") == 0
    told = capsys.readouterr().out
    assert told.endswith("exit codes: arroyo-nb --help\n")


def test_the_versions_and_the_jars_are_told(capsys):
    assert main(["version", "--jars"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^pyspark \d", out, re.MULTILINE)
    assert re.search(r"^java \d", out, re.MULTILINE)
    assert "Spark's Kafka connector 4" in out
    assert "not downloaded yet" in out
    assert re.search(r"^  spark-token-provider-kafka\S+-4\S+\.jar$", out, re.MULTILINE)
    assert main(["version"]) == 0
    assert "token-provider" not in capsys.readouterr().out
