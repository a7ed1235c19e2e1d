"""What is wrong with cells of each kind, at its place."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor import diagnostics
from arroyo_nb.editor.answers import Diagnostic, EditorContext, Severity
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.plan.planner import plan_script

FILE = "connector = 'single_file', path = '/data/x', format = 'json', type = 'source'"
TABLES = f"""
CREATE TABLE trips (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, name TEXT, fare DOUBLE,
  WATERMARK FOR at AS at - INTERVAL '5 seconds') WITH ({FILE});
CREATE TABLE users (id BIGINT, at TIMESTAMP) WITH ({FILE});
CREATE VIEW odd AS SELECT id, name = NULL AS never FROM trips;
CREATE TABLE out WITH (connector = 'blackhole')
"""
CATALOG = plan_script(TABLES, Catalog()).catalog


def told(text: str, *, strict: bool = False, **variables: Any) -> list[Diagnostic]:
    cell = read_cell(text)
    assert cell is not None
    return list(diagnose(cell, EditorContext(CATALOG, strict, variables)))


def underlined(text: str, **variables: Any) -> list[str]:
    return [text[d.start : d.end] for d in told(text, **variables)]


def test_a_cell_without_a_problem_has_none() -> None:
    assert told("%%arroyo\nSELECT id, name FROM trips WHERE fare > 3") == []
    assert told("%%arroyo q << --rows 5\nSELECT id FROM trips") == []


@pytest.mark.parametrize(
    "text",
    ["%%arroyo", "%%arroyo\n", "%%arroyo --wait\n\n  \n", "%%arroyo_rows clicks\n",
     "%%arroyo_test late\n", "%%arroyo_udf\n", "%%arroyo --help\nnothing"],
)  # fmt: skip
def test_an_empty_body_is_no_error(text: str) -> None:
    assert told(text) == []


def test_every_problem_of_a_script_is_told_with_its_hint() -> None:
    text = "%%arroyo\nSELECT nme, fair FROM trips;\nSELECT id FROM tripps"
    found = told(text)
    assert [text[d.start : d.end] for d in found] == ["nme", "fair", "tripps"]
    assert [d.severity for d in found] == [Severity.ERROR] * 3
    assert [d.hint for d in found] == [
        "did you mean 'name'?",
        "did you mean 'fare'?",
        "did you mean 'trips'?",
    ]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("SELECT ", "SELECT"),
        ("SELECT id FROM", "FROM"),
        ("SELECT id FROM trips WHERE", "WHERE"),
        ("SELECT 'a", "'"),
        ("SELECT count(", "("),
        ("CREATE TABLE t (id", "id"),
    ],
)
def test_what_is_half_typed_is_underlined_at_its_end(body: str, place: str) -> None:
    (found,) = told(f"%%arroyo\n{body}")
    text = f"%%arroyo\n{body}"
    assert text[found.start : found.end] == place
    assert found.end <= len(text)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (" --stict", "--stict"),
        (" q << --wait --rows 5000", "5000"),
        (" --for 'a b' --rows 5", "--for 'a b'"),
        (" SELECT 1", "SELECT"),
        (" --rows", "--rows"),
        (" --wait 'a", "'a"),
        ("\t--until  never", "--until  never"),
    ],
)
def test_options_of_the_first_line_have_their_places(line: str, place: str) -> None:
    text = f"%%arroyo{line}\nSELECT nme FROM trips"
    assert underlined(text) == [place, "nme"]


def test_parameters_keep_the_places_of_what_was_typed() -> None:
    text = "%%arroyo\nSELECT :n, nme, :missing FROM trips WHERE fare > :n AND x = 1"
    assert underlined(text, n=123456789) == ["nme", ":missing", "x"]
    text = "%%arroyo\nSELECT CAST(:word AS INT) AS n, done FROM trips"
    # The literal is longer than the parameter; it is wrong where the parameter stands.
    assert underlined(text, word="a long text of the notebook") == [":word", "done"]


def test_what_stands_for_a_missing_parameter_is_wrong_once() -> None:
    text = "%%arroyo\nSELECT tumble(:width) AS w, count(*) FROM trips GROUP BY w"
    assert underlined(text) == [":width"]
    assert underlined(text, width=timedelta(minutes=1)) == []


def test_a_parameter_of_no_literal_is_told() -> None:
    text = "%%arroyo\nSELECT :data FROM trips"
    (found,) = told(text, data=[1])
    assert found.message == "parameter ':data' is a list, which has no SQL literal"


def test_environment_references_are_left_alone() -> None:
    table = FILE.replace("/data/x", "{{ FOLDER }}/x")
    text = f"%%arroyo\nCREATE TABLE t (id INT) WITH ({table}); SELECT idd FROM t"
    assert underlined(text) == ["idd"]


def test_a_likely_mistake_is_a_warning_at_its_place() -> None:
    text = "%%arroyo\nSELECT id FROM trips WHERE name = NULL"
    (found,) = told(text)
    assert found.severity is Severity.WARNING
    assert "name IS NULL" in found.message


def test_a_source_without_a_watermark_under_a_window_is_a_warning() -> None:
    text = (
        "%%arroyo\nSELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM users "
        "GROUP BY w"
    )
    (found,) = told(text)
    assert (found.severity, text[found.start : found.end]) == (
        Severity.WARNING,
        "users",
    )


def test_what_lint_says_of_a_query_is_a_warning_with_its_code() -> None:
    found = told("%%arroyo\nINSERT INTO out SELECT random() AS r, id FROM trips")
    assert [d.severity for d in found] == [Severity.WARNING]
    assert found[0].message.endswith("[non-deterministic]")


def test_what_strict_mode_refuses_is_a_hint_and_then_an_error() -> None:
    body = (
        "SELECT hop(INTERVAL '3 minutes', INTERVAL '10 minutes') AS w, count(*) AS n "
        "FROM trips GROUP BY w"
    )
    (found,) = told(f"%%arroyo\n{body}")
    assert found.severity is Severity.HINT
    assert found.message.startswith("Arroyo would refuse this: ")
    for strictly in (told(f"%%arroyo --strict\n{body}"),
                     told(f"%%arroyo\n{body}", strict=True)):  # fmt: skip
        assert [d.severity for d in strictly] == [Severity.ERROR]


def test_warnings_of_views_of_earlier_cells_are_not_told_again() -> None:
    # The view compares with NULL, at a place that this cell has too.
    assert told("%%arroyo\nSELECT id, never FROM odd") == []
    own = "%%arroyo\nSELECT id FROM odd WHERE never = NULL"
    assert [d.severity for d in told(own)] == [Severity.WARNING]


def test_rows_have_their_places() -> None:
    text = "%%arroyo_rows clicks\nat TIMESTAMP | n INT\n10:00:00 | x\n10:00:01 | 2.5\n"
    assert underlined(text) == ["x", "2.5"]
    assert underlined(
        "%%arroyo_rows clicks --watermark foo\nat | n\n10:00:00 | 1\n"
    ) == ["--watermark foo"]
    assert underlined("%%arroyo_rows\nat | n\n10:00:00 | 1\n") == ["%%arroyo_rows"]
    assert told("%%arroyo_rows clicks\nat | n\n10:00:00 | 1\n") == []


TEST = """%%arroyo_test late
GIVEN trips
id | at       | name
1  | 10:00:00 | ann

WHEN
SELECT {columns} FROM trips WHERE fare > :least

EXPECT {what}
id
1
"""


def test_the_sections_and_the_query_of_a_test_have_their_places() -> None:
    good = TEST.format(columns="id", what="TABLE")
    assert told(good, least=1000.25) == []
    bad = TEST.format(columns="id, nme", what="TABLE")
    assert underlined(bad, least=1000.25) == ["nme"]
    assert underlined(bad) == [":least"]
    assert underlined(TEST.format(columns="id", what="TABEL"), least=1) == ["TABEL"]
    rows = good.replace("1  | 10", "x  | 10")
    assert underlined(rows, least=1.0) == ["x"]


def test_an_error_that_a_test_expects_is_none() -> None:
    text = (
        "%%arroyo_test wrong\nWHEN\nSELECT nme FROM trips\n\nEXPECT ERROR 'not found'\n"
    )
    assert told(text) == []


def test_a_test_of_a_run_is_left_to_the_session() -> None:
    text = "%%arroyo_test t\nWHEN RUN by_hour\n\nEXPECT TABLE EMPTY\n"
    assert told(text) == []


def test_functions_are_read_and_not_run() -> None:
    text = (
        "%%arroyo_udf\nfrom arroyo_nb import udf\nraise SystemExit\n\n@udf\n"
        "def double(x) -> int:\n    return 2 * x\n"
    )
    assert underlined(text) == ["x"]
    assert told(text.replace("(x)", "(x: int)")) == []
    wrong = text.replace("(x)", "(x: int")
    (found,) = told(wrong)
    assert wrong.count("\n", 0, found.start) == 5
    assert underlined("%%arroyo_udf pyton\n@udf\n")[0] == "%%arroyo_udf pyton"


def test_half_of_a_character_is_an_error_and_no_crash() -> None:
    assert told("%%arroyo\nSELECT '\ud800' FROM trips, nowhere") != []


def test_a_bug_is_logged_and_no_problem_of_the_cell(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(diagnostics, "_problems", broken)
    with caplog.at_level(logging.ERROR):
        assert told("%%arroyo\nSELECT 1") == []
    assert "could not be checked" in caplog.text


def test_a_constant_is_no_type() -> None:
    (found,) = told("%%arroyo_udf\n@udf\ndef f(x: 3, y: '', z: int) -> int:\n    pass")
    assert found.message == "Unsupported Python type: 3"


def test_expected_rows_are_checked_against_the_columns_of_the_query() -> None:
    given = "%%arroyo_test t\nGIVEN hits\nat | user\n10:00:00 | ann\n\n"
    query = "WHEN\nSELECT user, count(*) AS n FROM hits GROUP BY user\n\n"
    rows = (
        "EXPECT TABLE\nuser | n\nann | 1\n\nEXPECT CHANGELOG\nop | batch | n\n+ | 0 | 1"
    )
    assert told(given + query + rows) == []
    (problem,) = told(given + query + rows.replace("user | n", "usr | n"))
    assert problem.message == "the result has no column 'usr'"
    assert problem.hint == "did you mean 'user'?"
    found = (
        given + query + rows.replace("ann | 1", "ann | one").replace("0 | 1", "0 | x")
    )
    assert underlined(found) == ["one", "x"]


def test_a_run_or_a_job_that_is_not_there_is_told() -> None:
    expected = "\n\nEXPECT TABLE\nn\n1\n"
    assert underlined(f"%%arroyo_test t\nWHEN JOB none/job.yaml{expected}") == [
        "none/job.yaml"
    ]
    cell = read_cell(f"%%arroyo_test t\nWHEN RUN by_hour{expected}")
    assert cell is not None
    (problem,) = diagnose(cell, EditorContext(CATALOG, runs={}))
    assert problem.message == "there is no run and no view 'by_hour'"
    plan = plan_script("SELECT id FROM trips", CATALOG)
    (problem,) = diagnose(cell, EditorContext(CATALOG, runs={"by_hour": plan}))
    assert problem.message == "the result has no column 'n'"
