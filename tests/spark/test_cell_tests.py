"""Tests of queries on Spark: what is as expected passes, and nothing else does."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from arroyo_nb.cell_tests import TestFailure
from arroyo_nb.errors import ArroyoError, CatalogProblem, DataProblem, RunProblem
from arroyo_nb.source import ScriptText

CLICKS = """GIVEN clicks --watermark '10 seconds'
arrives  | at       | user | n
10:00:00 | 10:00:00 | ann  | 1
10:00:01 | 10:00:04 | bob  | 2
10:00:20 | 10:00:15 | ann  | 1
10:00:21 | 09:59:30 | bob  | 7
10:00:22 | 10:00:12 | bob  | 5

"""
COUNTS = """WHEN
SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n, avg(n) AS mean
FROM clicks GROUP BY w

"""
BY_USER = "WHEN\nSELECT user, count(*) AS n FROM clicks GROUP BY user\n\n"
LIVE = """CREATE TABLE clicks (
    at TIMESTAMP NOT NULL, user TEXT, n INT,
    double INT GENERATED ALWAYS AS (n * 2) STORED,
    WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (connector = 'kafka', bootstrap_servers = 'localhost:9', topic = 'clicks',
        type = 'source', format = 'json')"""


def failed(result):
    assert not result.passed
    return str(result)


def test_a_table_late_rows_and_the_watermark(session):
    expected = """EXPECT TABLE
w.start  | n | mean
10:00:10 | 2 | 3
10:00:00 | 2 | 1.5

EXPECT TABLE ORDERED
w                   | n
10:00:00 – 10:00:10 | 2
10:00:10 – 10:00:20 | 2

EXPECT LATE
at       | user | late_by
09:59:30 | bob  | 35 s

EXPECT WATERMARK 10:00:05
EXPECT WATERMARK
watermark
09:59:50
09:59:54
10:00:05
EXPECT CHANGELOG
op | w.start  | n
c  | 10:00:00 | 2
c  | 10:00:10 | 2
"""
    result = session.test(CLICKS + COUNTS + expected, name="windows")
    assert result.passed, str(result)
    assert str(result).startswith("✓ windows: passed, 6 expectations")


WRONG = {
    "TABLE\nw.start | n\n10:00:00 | 2\n10:00:10 | 3": "~ 2026-01-01 10:00:10 | 3",
    "TABLE\nw.start\n10:00:00": "+ 2026-01-01 10:00:10",
    "TABLE\nn\n2\n2\n2": "− 2",
    "TABLE EMPTY": "2 rows unexpected",
    "TABLE ORDERED\nw.start\n10:00:10\n10:00:00": "in another order",
    "TABLE\nmean\n1.4\n3": "1.4",
    "LATE\nat | late_by\n09:59:30 | 34 s": "00:00:34 → 00:00:35",
    "LATE EMPTY": "1 row unexpected",
    "WATERMARK 10:00:06": "2026-01-01 10:00:06 → 2026-01-01 10:00:05",
    "WATERMARK\nwatermark\n09:59:50\n10:00:05": "+ 2026-01-01 09:59:54",
    "CHANGELOG\nop | n\nd | 2\nc | 2": "d → c",
}


def only(result, number):
    """What is said of one expectation of a test."""
    return failed(replace(result, checks=(result.checks[number],)))


@pytest.fixture(scope="module")
def wrongly_expected(lasting_session):
    """The result of a test that expects all that is wrong."""
    expected = "\n\n".join(f"EXPECT {text}" for text in WRONG)
    return lasting_session.test(f"{CLICKS}{COUNTS}{expected}\n")


@pytest.mark.parametrize("expected", WRONG)
def test_a_wrong_expectation_fails(wrongly_expected, expected):
    number = [*WRONG].index(expected)
    assert WRONG[expected] in only(wrongly_expected, number)
    with pytest.raises(TestFailure):
        wrongly_expected.raise_failure()


def test_an_error_that_does_not_come_fails(session):
    result = session.test(f"{CLICKS}{COUNTS}EXPECT ERROR\n")
    assert "the query ran, and had no error" in failed(result)
    with pytest.raises(TestFailure):
        result.raise_failure()


def test_changes_of_an_updating_query(session):
    changes = """EXPECT CHANGELOG ORDERED
op | user | n | before.n | batch
+  | ann  | 1 |          | 0
+  | bob  | 1 |          | 1
~  | ann  | 2 | 1        | 2
~  | bob  | 2 | 1        | 3
~  | bob  | 3 | 2        | 4

EXPECT TABLE
user | n
ann  | 2
bob  | 3

EXPECT WATERMARK
batch | watermark
0     | NULL
3     | 10:00:05
"""
    mistakes = (
        ("~  | ann  | 2 | 1", "~  | ann  | 2 | 0", "0 → 1"),
        ("3     | 10:00:05", "3     | 10:00:06", "10:00:06 →"),
        ("3     | 10:00:05", "30    | 10:00:05", "− 30"),
        ("bob  | 3\n", "bob  | 4\n", "4 → 3"),
    )
    assert all(changes.count(right) == 1 for right, _, _ in mistakes)
    texts = [changes, *(changes.replace(right, wrong) for right, wrong, _ in mistakes)]
    result = session.test(CLICKS + BY_USER + "\n".join(texts))
    number = changes.count("EXPECT")
    assert replace(result, checks=result.checks[:number]).passed
    for start, (_, _, said) in enumerate(mistakes, 1):
        checks = result.checks[start * number : (start + 1) * number]
        assert said in failed(replace(result, checks=checks))
        assert sum(check.difference is not None for check in checks) == 1


def test_micro_batches_are_those_of_the_blank_lines(session):
    rows = "GIVEN t\nat | n\n10:00 | 1\n10:01 | 2\n\n10:02 | 3\n\n"
    text = f"{rows}WHEN SELECT n FROM t\nEXPECT CHANGELOG\nbatch | n\n0|1\n0|2\n1|3\n"
    assert session.test(text).passed
    assert not session.test(text.replace("10:01 | 2\n\n", "10:01 | 2\n")).passed


def test_values_of_many_types(session):
    text = """GIVEN t
at | d DECIMAL(9, 2) | j JSON | s | b BOOLEAN
10:00 | 12.50 | {"a": [1, 2]} | "" | true
10:01 | NULL  | NULL          | x  |

WHEN
SELECT d, at, s, b, d * 2 AS dd, array_agg(s) AS l, encode(s, 'hex') AS h
FROM t GROUP BY d, at, s, b

EXPECT TABLE
d    | at    | s  | b    | dd | l
12.5 | 10:00 | "" | TRUE | 25 | [""]
NULL | 10:01 | x  |      |    | ["x"]
"""
    result = session.test(text)
    assert result.passed, str(result)
    wrong = text.replace("| 25 |", "| 25.01 |").replace('["x"]', '["y"]')
    assert "25.01 → 25.00" in failed(session.test(wrong))


def test_a_declared_table_keeps_its_types_and_its_watermark(session, eventually):
    session.run(LIVE)
    session.run("CREATE VIEW big AS SELECT * FROM clicks WHERE double > 2")
    catalog = session.catalog
    text = """GIVEN clicks
at       | n
10:00:00 | 1
10:00:15 | 2
09:59:30 | 3

WHEN
SELECT tumble(INTERVAL '10 seconds') AS w, sum(double) AS s, max(user) AS u FROM big
GROUP BY w

EXPECT TABLE
w.start  | s | u
10:00:10 | 4 | NULL

EXPECT LATE
at       | double
09:59:30 | 6
"""
    result = session.test(text)
    assert result.passed, str(result)
    assert session.catalog is catalog
    assert not session.runs
    work = session._runs.work_folder()
    eventually(lambda: not [*work.iterdir()])  # no rows and no state are left


def test_the_sample_flights(session):
    session.run("CREATE TABLE f WITH (connector = 'sample', dataset = 'flights')")
    text = (
        "GIVEN f --event-time sched_dep\nsched_dep | origin\n10:00 | EWR\n10:30 | EWR\n"
        "\nWHEN SELECT origin, tumble(INTERVAL '1 hour') AS w, count(*) AS n, "
        "max(carrier) AS c FROM f GROUP BY origin, w\n"
        "EXPECT TABLE\norigin | w.end | n | c\nEWR | 11:00 | 2 | NULL\n"
    )
    result = session.test(text)
    assert result.passed, str(result)
    rows = [{"sched_dep": datetime(2026, 1, 1, 10), "origin": "EWR"}]
    given = {"f": {"rows": rows, "event_time": "sched_dep"}}
    expected = {"table": [{"origin": "EWR", "carrier": None}]}
    query = "SELECT origin, carrier FROM f"
    assert session.test(given=given, when=query, expect=expected).passed


def test_the_script_of_a_run_and_a_view(session):
    session.rows("clicks", "at | n\n10:00 | 1\n")
    run = session.run("SELECT n + 1 AS m FROM clicks", name="more", wait=True)
    given = "GIVEN clicks\nat | n\n10:00 | 41\n"
    assert session.test(f"{given}WHEN RUN more\nEXPECT TABLE\nm\n42").passed
    assert not session.test(f"{given}WHEN RUN more\nEXPECT TABLE\nm\n2").passed
    # A script that declares its own table is tested on what was given all the same.
    script = LIVE + "; SELECT double FROM clicks"
    plan = session.plan(script)
    assert plan.sinks
    text = f"{given}WHEN\n{script}\nEXPECT TABLE\ndouble\n82"
    assert session.test(text).passed
    session.run("CREATE VIEW v AS SELECT n * 3 AS t FROM clicks")
    assert session.test(f"{given}WHEN RUN v\nEXPECT TABLE\nt\n123").passed
    assert [*session.runs] == ["more"]
    assert session.get("more") is run
    with pytest.raises(RunProblem, match="there is no run and no view 'mor'"):
        session.test(f"{given}WHEN RUN mor\nEXPECT TABLE EMPTY")


def test_outputs_by_their_names(session):
    text = (
        "GIVEN t\nn\n1\n\nWHEN CREATE TABLE o (n BIGINT) WITH (connector = "
        "'blackhole'); INSERT INTO o SELECT n + 1 FROM t; SELECT n FROM t\n"
        "EXPECT TABLE OF o\nn\n2\n\nEXPECT TABLE OF preview\nn\n1\n"
    )
    assert session.test(text).passed
    with pytest.raises(RunProblem, match="the query has 2 outputs: o, preview"):
        session.test(text.replace(" OF o", ""))
    with pytest.raises(RunProblem, match="no output 'p'"):
        session.test(text.replace(" OF o", " OF p"))


def test_errors(session):
    unknown = "WHEN\nSELECT n\nFROM nowhere\n\nEXPECT ERROR "
    assert session.test(unknown + "'not found' LINE 2").passed
    assert "(line 2 of the query)" in failed(session.test(unknown + "'gone'"))
    told = failed(session.test(unknown + "'not found' LINE 1"))
    assert "at another place: Table nowhere not found (line 2 of the query)" in told
    # One that comes while it runs.
    text = "GIVEN t\ns\na\n\nWHEN SELECT CAST(s AS INT) AS n FROM t\nEXPECT ERROR"
    result = session.test(text)
    with pytest.raises(ArroyoError) as raised:
        session.test(text.replace("EXPECT ERROR", "EXPECT TABLE EMPTY"))
    assert result.passed
    assert raised.value is not None
    assert "(it has no line in the query)" in failed(session.test(f"{text} LINE 1"))
    # Rows that are wrong are never what is expected.
    with pytest.raises(CatalogProblem, match="<cell>:3:1: 'x' is not a value of 'n'"):
        session.test("GIVEN t\nn INT\nx\nWHEN SELECT n FROM t\nEXPECT ERROR")


def test_what_is_not_the_same_each_time_is_refused(session):
    session.run(LIVE)
    text = "WHEN\nSELECT n\nFROM clicks\nEXPECT TABLE EMPTY"
    with pytest.raises(RunProblem, match=r"reads 'clicks' \(kafka\)") as raised:
        session.test(text)
    assert "<cell>:3:6" in str(raised.value)
    text = (
        "WHEN CREATE TABLE i WITH (connector = 'impulse', event_rate = '10');"
        "SELECT counter FROM i\nEXPECT TABLE EMPTY"
    )
    with pytest.raises(RunProblem, match=r"reads 'i' \(impulse\)"):
        session.test(text)


def test_lookup_tables(session):
    names = pd.DataFrame({"user": ["ann"], "name": ["Ann"]})
    session.lookup("names", names, key="user")
    text = """GIVEN t
user
ann
bob

WHEN SELECT t.user, names.name FROM t LEFT JOIN names ON t.user = names.user
EXPECT TABLE
user | name
ann  | Ann
bob  | NULL
"""
    assert session.test(text).passed
    given = "GIVEN names\nuser | name\nbob | Bob\n"
    other = text.replace("Ann", "NULL").replace("bob  | NULL", "bob | Bob")
    assert session.test(given + other).passed
    assert not session.test(given + text).passed


def test_rows_from_a_file_a_variable_and_a_recording(session, tmp_path):
    (tmp_path / "clicks.csv").write_text("at,n\n10:00,1\n10:01,2\n")
    text = "GIVEN clicks FROM {}\nWHEN SELECT n FROM clicks\nEXPECT TABLE\nn\n1\n2\n"
    (tmp_path / "sum.test").write_text(text.format("clicks.csv"))
    assert session.test(tmp_path / "sum.test").passed
    frame = pd.DataFrame({"n": [2, 1]})
    assert session.test(text.format("frame"), variables={"frame": frame}).passed
    tape = tmp_path / "c.tape"
    session.rows("recorded", "at | n\n10:00 | 1\n10:01 | 2\n", path=tape)
    with pytest.raises(RunProblem, match="'clicks' is not declared"):
        session.test(text.format(tape))
    session.run(LIVE)
    assert session.test(text.format(tape)).passed
    assert not session.test(text.format(tape).replace("n\n1", "n\n3")).passed


def test_values_of_python(session):
    rows = [{"at": datetime(2026, 1, 1, 10), "user": "ann", "n": 1}]
    query = "SELECT user, sum(n) AS s FROM clicks GROUP BY user"
    given = {"clicks": {"rows": rows, "watermark": "1 minute"}}
    expected = {"table": [{"user": "ann", "s": 1}], "watermark": "09:59:00"}
    assert session.test(given=given, when=query, expect=expected).passed
    wrong = expected | {"table": [{"user": "ann", "s": 2}]}
    assert not session.test(given=given, when=query, expect=wrong).passed
    session.run(LIVE)
    assert session.test(given=given, when=query, expect=expected).passed
    error = {"error": "not found"}
    assert session.test(when="SELECT n FROM nowhere", expect=error).passed


def test_a_query_that_does_not_end_in_time_fails(session):
    rows = "\n".join(f"10:{n // 60:02}:{n % 60:02} | {n}" for n in range(600))
    text = f"GIVEN t\nat | n\n{rows}\n\n" + (
        "WHEN SELECT tumble(INTERVAL '1 second') AS w, count(*) AS c FROM t "
        "GROUP BY w\n"
        "EXPECT ERROR"
    )
    with pytest.raises(RunProblem, match="has not ended within 1 s"):
        session.test(text, timeout="1s")
    with pytest.raises(ArroyoError, match="not a duration"):
        session.test(text, timeout="soon")


def test_bad_data_of_a_recording_is_an_error(session, tmp_path):
    tape = tmp_path / "c.tape"
    session.rows("recorded", "at | n TEXT\n10:00 | x\n", path=tape)
    session.run(LIVE)
    text = f"GIVEN clicks FROM {tape}\nWHEN SELECT n FROM clicks\nEXPECT ERROR\n"
    assert session.test(text).passed
    with pytest.raises(DataProblem):
        session.test(text.replace("ERROR", "TABLE EMPTY"))


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-a-query.md"
BLOCKS = re.compile(r"^```\n%%arroyo_test (\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_cells_of_the_page(session):
    page = PAGE.read_text()
    cells = BLOCKS.findall(page)
    assert [name for name, _ in cells] == ["clicks_per_window", "clicks_per_user"]
    for name, cell in cells:
        result = session.test(cell, name=name)
        assert result.passed, str(result)
    name, cell = cells[0]
    wrong = cell.replace("10:00:10 | 2 ", "10:00:10 | 3 ")
    in_cell = ScriptText(wrong, lines_above=1)
    lines = failed(session.test(in_cell, name=name)).splitlines()
    assert lines[0].startswith("✗ clicks_per_window: 1 of 3 expectations failed")
    shown = "\n".join(lines[1:])
    assert shown in page


def test_two_given_tables(session):
    text = """GIVEN a
at       | k | x
10:00:00 | 1 | 1
10:00:01 | 2 | 2
10:00:20 | 3 | 3

GIVEN b
at       | k | y
10:00:02 | 1 | 5
10:00:03 | 2 | 6
10:00:21 | 9 | 7

WHEN
SELECT a.k, x + y AS s FROM a JOIN b ON a.k = b.k

EXPECT TABLE
k | s
1 | 6
2 | 8
"""
    for _ in range(3):
        assert session.test(text).passed
    assert "9 → 8" in failed(session.test(text.replace("2 | 8", "2 | 9")))


def test_a_job_is_tested_in_its_folder(session, tmp_path):
    write = (
        "CREATE TABLE o (n INT) WITH (connector = 'filesystem', path = 'o', "
        "type = 'sink', format = 'json'); INSERT INTO o SELECT n * 2 FROM clicks"
    )
    session.rows("clicks", "at | n INT\n10:00 | 1\n", path=tmp_path / "clicks.tape")
    session.run(write, name="doubles", sinks=False, wait=True)
    given = "GIVEN clicks\nat | n\n10:00 | 4\n"
    text = f"{given}WHEN RUN doubles\nEXPECT TABLE\nn\n8\n"
    assert session.test(text, name="of_job").passed
    frame = pd.DataFrame({"at": [pd.Timestamp("2026-01-01")], "n": [1]})
    session.test("GIVEN clicks FROM f\nWHEN SELECT n FROM clicks\nEXPECT TABLE\nn\n1",
                 name="of_frame", variables={"f": frame})  # fmt: skip
    made = session.promote("doubles", tmp_path / "doubles")
    assert any("of_frame" in note and "variable 'f'" in note for note in made.notes)
    test = tmp_path / "doubles" / "cells" / "of_job.test"
    assert "WHEN JOB ../job.yaml" in test.read_text()
    assert session.test(test).passed
    spec = tmp_path / "doubles" / "job.yaml"
    spec.write_text(spec.read_text().replace("n * 2", "n * 2 + 1"))
    assert "+ 9" in failed(session.test(test))
