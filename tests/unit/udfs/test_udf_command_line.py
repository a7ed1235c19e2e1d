"""``--udf FILE``: the functions of a file for a script; ``check`` runs none of it."""

from __future__ import annotations

import pytest

from arroyo_nb.cli import main
from arroyo_nb.cli.exit_codes import FAILED, FINISHED, PLAN, USAGE

SCRIPT = """CREATE TABLE i WITH (connector = 'impulse', event_rate = '1');
SELECT twice(counter) AS y FROM i;
"""
PYTHON = """import sys
from arroyo_udf import udf
open({there!r}, "w")
@udf
def twice(x: int) -> int:
    return 2 * x
"""
RUST = "use arroyo_udf_plugin::udf;\n#[udf]\nfn twice(x: i64) -> i64 { 2 * x }\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "q.sql").write_text(SCRIPT)
    text = PYTHON.format(there=str(tmp_path / "there"))
    (tmp_path / "f.py").write_text(text)
    (tmp_path / "f.rs").write_text(RUST)
    return tmp_path


@pytest.mark.parametrize("file", ["f.py", "f.rs"])
def test_a_script_is_checked_by_signatures_alone(files, file, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    script, functions = str(files / "q.sql"), str(files / file)
    assert main(["check", script]) == FAILED
    assert "Invalid function 'twice'" in capsys.readouterr().out
    assert main(["check", script, "--udf", functions]) == FINISHED
    assert main(["explain", script, "--udf", functions]) == FINISHED
    assert "twice(x BIGINT) -> BIGINT" in capsys.readouterr().out
    assert not (files / "there").exists()


@pytest.mark.parametrize(
    ("names", "status", "said"),
    [
        (["f.py", "f.rs"], PLAN, "defines twice, as a file before it does"),
        (["f.sql"], PLAN, "is no file of functions: its name ends in"),
        (["missing.py"], USAGE, "cannot read"),
    ],
)
def test_files_that_are_wrong(files, names, status, said, capsys):
    given = [word for name in names for word in ("--udf", str(files / name))]
    assert main(["explain", str(files / "q.sql"), *given]) == status
    assert said in capsys.readouterr().err


def test_a_mistake_has_its_place_in_the_file(files, capsys):
    bad = files / "bad.py"
    bad.write_text("from arroyo_udf import udf\n@udf\ndef twice(x) -> int: ...\n")
    assert main(["check", str(files / "q.sql"), "--udf", str(bad)]) == FAILED
    assert f"{bad}:3:11: Could not get name of type" in capsys.readouterr().out


def test_a_job_has_its_own(files, capsys):
    (files / "job.yaml").write_text("version: 1\nname: j\nsql: SELECT 1\n")
    given = [str(files / "job.yaml"), "--udf", str(files / "f.py")]
    for command in ("check", "explain", "run"):
        assert main([command, *given]) == USAGE
        assert "--udf needs a script" in capsys.readouterr().err
