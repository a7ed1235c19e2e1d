"""Tests of a notebook's file: checked, exported, carried by a job; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arroyo_nb.cli import main

CLICKS = """%%arroyo
CREATE TABLE clicks (
    at TIMESTAMP NOT NULL, user TEXT, n INT,
    WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (connector = 'kafka', bootstrap_servers = 'localhost:9', topic = 'clicks',
        type = 'source', format = 'json');
CREATE VIEW big AS SELECT * FROM clicks WHERE n > 1;
CREATE TABLE sums (user TEXT, s BIGINT) WITH (connector = 'filesystem', path = 'sums',
    type = 'sink', format = 'json');
"""
RUN = "%%arroyo sums_of <<\nINSERT INTO sums SELECT user, twice(n) AS s FROM big"
TWICE = (
    "from arroyo_nb import udf\n\n\n@udf\ndef twice(n: int) -> int:\n    return n * 2"
)
BIG = """%%arroyo_test big ones
GIVEN clicks
at    | n
10:00 | 1
10:01 | 2

WHEN
SELECT n FROM big WHERE n < :most

EXPECT TABLE
n
2
""".replace("big ones", "big")
SUMS = """%%arroyo_test sums
GIVEN clicks FROM rows.csv --event-time at
WHEN RUN sums_of
EXPECT TABLE WITHIN 0.5
s
4

EXPECT WATERMARK 09:59
"""
ERROR = "%%arroyo_test fails\nWHEN\nSELECT m FROM big\nEXPECT ERROR 'm' LINE 1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("at,n\n10:00,2\n")
    return tmp_path


def notebook(folder: Path, *cells: str) -> str:
    made: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    made["cells"] = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": cell,
         "outputs": [], "execution_count": None}
        for n, cell in enumerate(cells)
    ]  # fmt: skip
    path = folder / "clicks.ipynb"
    path.write_text(json.dumps(made))
    return str(path)


ALL = (CLICKS, "most = 9", TWICE, RUN, BIG, SUMS, ERROR)


def test_a_notebook_with_tests_is_checked(folder, capsys):
    assert main(["check", notebook(folder, *ALL)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (BIG.replace("GIVEN", "GIVE"), "cell 5:2:1: a test begins with GIVEN"),
        (
            BIG.replace("10:01 | 2", "10:01 | x"),
            "cell 5:5:9: 'x' is not a value",
        ),
        (BIG.replace("| n", "| m"), "cell 5:3:9: the table has no column 'm'"),
        (BIG.replace("at    |", "user |"), "the column 'at' is missing"),
        (BIG.replace("SELECT n", "SELECT m"), "cell 5:8:8: "),
        (
            BIG.replace(":most", ":least"),
            "cell 5:8:29: parameter ':least'",
        ),
        (BIG.replace("GIVEN clicks", "GIVEN other"), "reads 'clicks' (kafka)"),
        (SUMS.replace("sums_of", "sumsof"), "cell 5:3:10: there is no run"),
        (
            ERROR.replace("EXPECT ERROR", "EXPECT EROR"),
            "cell 5:4:8: EXPECT needs",
        ),
        (BIG.replace("big", "big --time 3", 1), "unknown option '--time'"),
    ],
)
def test_what_is_wrong_with_a_test_is_told(folder, capsys, cell, said):
    path = notebook(folder, CLICKS, "most = 9", TWICE, RUN, cell)
    assert main(["check", path]) == 1
    assert said in capsys.readouterr().out


def test_rows_of_a_variable_are_not_known_to_a_check(folder, capsys):
    cell = SUMS.replace("rows.csv", "frame")
    path = notebook(folder, CLICKS, TWICE, RUN, cell)
    assert main(["check", path]) == 0
    assert main(["export-tests", path]) == 3
    captured = capsys.readouterr()
    assert "those of the variable 'frame'" in captured.out
    assert "has no test that can be exported" in captured.err


def test_tests_are_exported(folder, capsys):
    path = notebook(folder, *ALL)
    assert main(["export-tests", path]) == 0
    there = folder / "tests"
    files = {str(f.relative_to(there)) for f in there.rglob("*") if f.is_file()}
    assert files == {
        "test_clicks.py",
        *("clicks_cells/big.test", "clicks_cells/sums.test", "clicks_cells/fails.test"),
        *("clicks_cells/sums_clicks.csv", "clicks_cells/functions/twice.py"),
    }
    module = (there / "test_clicks.py").read_text()
    compile(module, "test_clicks.py", "exec")
    assert [f"def test_{n}(session)" in module for n in ("big", "sums", "fails")]
    big = (there / "clicks_cells/big.test").read_text()
    assert "WHERE n < 9" in big
    assert big.index("CREATE TABLE clicks") < big.index("CREATE VIEW big")
    assert "sums" not in big
    sums = (there / "clicks_cells/sums.test").read_text()
    assert sums.startswith("GIVEN clicks FROM sums_clicks.csv --event-time at\n")
    assert "EXPECT TABLE WITHIN 0.5\ns\n4\n" in sums
    assert "INSERT INTO sums SELECT" in sums
    assert "wrote 3 tests to" in capsys.readouterr().out


def test_an_export_writes_over_nothing_of_somebody_else(folder, capsys):
    path = notebook(folder, *ALL)
    mine = folder / "tests" / "test_clicks.py"
    mine.parent.mkdir()
    mine.write_text("# mine\n")
    assert main(["export-tests", path]) == 3
    assert "was not made by an export" in capsys.readouterr().err
    assert [*mine.parent.iterdir()] == [mine]
    assert main(["export-tests", path, "-o", str(folder / "other")]) == 0
    # Again, with a test less: the file of the other is told, and stays.
    path = notebook(folder, *ALL[:-1])  # the one that is there to fail
    capsys.readouterr()
    assert main(["export-tests", path, "-o", str(folder / "other")]) == 0
    assert "fails.test' is of no test any more" in capsys.readouterr().out


def test_secrets_are_not_exported(folder, capsys):
    cell = BIG.replace("SELECT n ", "SELECT n -- password = 'hunter22'\n")
    path = notebook(folder, CLICKS, "most = 9", TWICE, RUN, cell, SUMS)
    assert main(["export-tests", path]) == 1
    assert "'big' stays in the notebook: there is a secret" in capsys.readouterr().out
    files = [f for f in (folder / "tests").rglob("*") if f.is_file()]
    assert not [f for f in files if "hunter22" in f.read_text()]
    assert "sums.test" in {f.name for f in files}


def test_a_job_carries_the_tests_of_its_notebook(folder, capsys):
    path = notebook(folder, *ALL)
    assert main(["promote", path, "--name", "sums_of"]) == 0
    job = folder / "jobs" / "sums_of"
    sums = (job / "cells" / "sums.test").read_text()
    assert "WHEN JOB ../job.yaml" in sums
    assert (job / "cells" / "functions" / "twice.py").exists() is False
    assert "CREATE VIEW big" in (job / "cells" / "big.test").read_text()
    module = (job / "test_sums_of.py").read_text()
    compile(module, "test_sums_of.py", "exec")
    assert "def test_sums(session)" in module
    assert "def test_its_plan_is_the_one_that_was_reviewed" in module
    capsys.readouterr()
    assert main(["check", str(job)]) == 0
    # A test that the job's tables do not fit any more is told.
    (job / "cells" / "sums.test").write_text(
        sums.replace("GIVEN clicks", "GIVEN klicks")
    )
    assert main(["check", str(job)]) == 1
    assert "sums.test:" in capsys.readouterr().out


ROWS = "%%arroyo_rows mine --watermark '1 minute'\nat | n\n10:00 | 1"
MINE = """%%arroyo_test mine
GIVEN mine
at | n
10:00 | 5
WHEN SELECT n FROM mine
EXPECT TABLE
n
5
"""


def test_rows_of_a_session_are_not_what_an_exported_test_reads(folder, capsys):
    reads = "%%arroyo_test reads\nWHEN SELECT n FROM mine\nEXPECT TABLE\nn\n1\n"
    assert main(["export-tests", notebook(folder, ROWS, MINE, reads)]) == 1
    told = capsys.readouterr().out
    assert "'reads' stays in the notebook: it reads the rows of 'mine'" in told
    mine = (folder / "tests" / "clicks_cells" / "mine.test").read_text()
    assert "path = 'mine.tape'" in mine
    assert "INTERVAL '60000000 microseconds'" in mine


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--watermark soon", "cell 2:2:7: the watermark 'soon' is no length of time"),
        ("--shuffle soon", "cell 2:2:7: "),
        ("--event-time n", "cell 2:2:7: the event time 'n' is BIGINT"),
        ("--watermark '5 s'", "")
    ],
)  # fmt: skip
def test_the_options_of_rows_are_checked(folder, capsys, options, said):
    cell = MINE.replace("GIVEN mine", f"GIVEN mine {options}")
    status = main(["check", notebook(folder, ROWS, cell)])
    out = capsys.readouterr().out
    assert said in out
    assert status == (1 if said else 0), out


def test_a_table_with_columns_of_its_connector(folder, capsys):
    table = "%%arroyo\nCREATE TABLE i WITH (connector = 'impulse', event_rate = '1')"
    cell = (
        "%%arroyo_test t\nGIVEN i\ncounter | subtask_index\n1 | 0\n\n"
        "WHEN SELECT counter FROM i\nEXPECT TABLE\ncounter\n1\n"
    )
    assert main(["check", notebook(folder, table, cell)]) == 0, capsys.readouterr().out


def test_what_is_left_out_of_a_declared_table_is_null(folder, capsys):
    table = "%%arroyo\nCREATE TABLE f WITH (connector = 'sample', dataset = 'flights')"
    cell = (
        "%%arroyo_test t\nGIVEN f --event-time sched_dep\nsched_dep | origin\n"
        "10:00 | EWR\n\nWHEN SELECT origin, carrier FROM f\nEXPECT TABLE\norigin\nEWR\n"
    )
    assert main(["check", notebook(folder, table, cell)]) == 0, capsys.readouterr().out
    for wrong, said in (
        (cell.replace(" --event-time sched_dep", ""), "2 columns may be the event"),
        (cell.replace("| EWR", "| "), "a value of 'origin' is missing"),
        (cell.replace("sched_dep |", "carrier |").replace("10:00", "UA"),
         "'sched_dep' is missing, which is the event time"),
    ):  # fmt: skip
        assert main(["check", notebook(folder, table, wrong)]) == 1
        assert said in capsys.readouterr().out


def test_a_table_of_changes_is_not_given_rows(folder, capsys):
    table = CLICKS.replace("'json');\nCREATE VIEW", "'debezium_json');\nCREATE VIEW")
    mark = "n INT,\n    WATERMARK FOR at AS at - INTERVAL '10 seconds'"
    assert mark in table
    table = table.replace(mark, "n INT PRIMARY KEY")
    assert main(["check", notebook(folder, table, "most = 1", BIG)]) == 1
    assert "are changes (debezium_json)" in capsys.readouterr().out


def test_a_job_without_tests_is_as_it_was(folder):
    path = notebook(folder, CLICKS, TWICE, RUN)
    assert main(["promote", path, "--name", "sums_of"]) == 0
    job = folder / "jobs" / "sums_of"
    assert not (job / "cells").exists()
    module = (job / "test_sums_of.py").read_text()
    assert "no Spark is started" in module
    assert "pytest" not in module
    compile(module, "test_sums_of.py", "exec")
