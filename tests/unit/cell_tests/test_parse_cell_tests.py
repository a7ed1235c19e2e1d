"""The text of a test: its sections, and errors with their place."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from arroyo_nb.cell_tests import Expected
from arroyo_nb.cell_tests.parse import parse_test
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText

TEST = """-- what is shown in class
GIVEN clicks --watermark '10 seconds' --delay user=bob:20s  -- two rows
at       | user
10:00:00 | ann

10:00:09 | bob

WHEN
SELECT CASE
WHEN user = 'ann' THEN 1
ELSE 2 END AS n FROM clicks

-- all of it
EXPECT TABLE ORDERED WITHIN 0.5 OF preview
n
1

EXPECT LATE EMPTY
EXPECT WATERMARK 2026-01-01 10:00:05
EXPECT CHANGELOG
op | n
+  | 1
"""


def parsed(text):
    return parse_test(ScriptText(text), "t")


def test_the_parts_of_a_test():
    case = parsed(TEST)
    (given,) = case.given
    assert (given.table, given.origin) == ("clicks", None)
    assert given.options == {"watermark": "10 seconds", "delay": "user=bob:20s"}
    assert given.rows.text.split() == (
        ["at", "|", "user", "10:00:00", "|", "ann", "10:00:09", "|", "bob"]
    )
    table, late, watermark, changes = case.expected
    assert (table.kind, table.ordered, table.output) == (
        Expected.TABLE, True, "preview",
    )  # fmt: skip
    assert table.tolerance == 0.5
    assert (late.kind, late.rows) == (Expected.LATE, None)
    assert watermark.value == datetime(2026, 1, 1, 10, 0, 5)
    assert changes.rows.text.split() == ["op", "|", "n", "+", "|", "1"]


def test_what_is_below_a_line_stays_in_its_place():
    case = parsed(TEST)
    for part in (case.given[0].rows.text, case.when.sql, case.expected[0].rows.text):
        for number, line in enumerate(part.split("\n")):
            assert not line.strip() or line == TEST.split("\n")[number]
    assert "WHEN user = 'ann' THEN 1" in case.when.sql
    assert "all of it" in case.when.sql  # a comment of the SQL
    assert "EXPECT" not in case.when.sql


def test_a_run_a_job_a_file():
    case = parsed(
        "GIVEN a FROM rows.csv --event-time at\nGIVEN b\nn\n1\nWHEN RUN by_hour\n"
        "EXPECT TABLE EMPTY"
    )
    assert [given.origin for given in case.given] == ["rows.csv", None]
    assert case.when.run == "by_hour"
    assert parsed("WHEN JOB ../job.yaml\nEXPECT LATE EMPTY").when.job == "../job.yaml"


def test_an_error_is_expected():
    case = parsed("WHEN SELECT x\nEXPECT ERROR 'not found' LINE 2")
    (expected,) = case.expected
    assert (expected.value, expected.line) == ("not found", 2)
    assert case.when.sql.strip() == "SELECT x"
    (expected,) = parsed("WHEN SELECT x\nEXPECT ERROR").expected
    assert (expected.value, expected.line) == (None, None)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the test has no WHEN"),
        ("SELECT 1", "1:1", "a test begins with GIVEN or WHEN"),
        ("given t\nn\n1", "1:1", "a test begins with GIVEN or WHEN"),
        ("GIVEN\nn\n1", "1:1", "GIVEN needs the name of a table"),
        ("GIVEN t\n\nWHEN x", "1:7", "'t' has no rows"),
        ("GIVEN t FROM\nWHEN x", "1:9", "FROM needs a file"),
        ("GIVEN t FROM a.csv\nn\n1", "1:7", "the rows of 't' are those of 'a.csv'"),
        ("GIVEN t --watermrk 1s\nn", "1:9", "'--watermrk' is not an option"),
        ("GIVEN t --watermark\nn", "1:9", "'--watermark' needs a value"),
        ("GIVEN t 'open\nn", "1:9", "a quote is not closed"),
        ("GIVEN t\nn\n1\nGIVEN T\nn\n1", "4:7", "'T' is given twice"),
        ("WHEN\n\nEXPECT LATE EMPTY", "1:1", "WHEN has no query"),
        ("WHEN RUN\nEXPECT LATE EMPTY", "1:6", "WHEN RUN takes"),
        ("WHEN RUN a\nSELECT 1", "1:6", "WHEN RUN takes"),
        ("WHEN\nSELECT 1", "1:1", "the test expects nothing"),
        ("WHEN SELECT 1\nEXPECT", "2:1", "EXPECT needs one of TABLE"),
        ("WHEN SELECT 1\nEXPECT TABEL", "2:8", "EXPECT needs one of TABLE"),
        ("WHEN SELECT 1\nEXPECT TABLE", "2:8", "EXPECT TABLE has no rows"),
        ("WHEN SELECT 1\nEXPECT LATE EMPTY\nn\n1", "2:8", "is EMPTY and has rows"),
        ("WHEN SELECT 1\nEXPECT TABLE ORDRED\nn", "2:14", "'ORDRED' has no meaning"),
        ("WHEN SELECT 1\nEXPECT LATE ORDERED\nn", "2:13", "'ORDERED' has no meaning"),
        ("WHEN SELECT 1\nEXPECT TABLE WITHIN x\nn", "2:21", "'x' is no distance"),
        ("WHEN SELECT 1\nEXPECT WATERMARK", "2:8", "EXPECT WATERMARK takes a time"),
        ("WHEN SELECT 1\nEXPECT WATERMARK 25:00", "2:18", "'25:00' is no time"),
        ("WHEN SELECT 1\nEXPECT ERROR x", "2:14", "'x' has no meaning"),
        ("WHEN SELECT 1\nEXPECT ERROR LINE 0", "2:19", "'0' is no number of a line"),
        ("WHEN SELECT 1\nEXPECT ERROR 'x'\nn\n1", "2:1", "EXPECT ERROR has no rows"),
        ("WHEN SELECT 1\nEXPECT ERROR\nEXPECT LATE EMPTY", "2:1", "stands alone"),
    ],
)
def test_what_is_wrong_has_its_place(text, place, message):
    with pytest.raises(ArroyoError) as raised:
        parsed(text)
    assert message in str(raised.value)
    assert f"<cell>:{place}: " in str(raised.value)


def test_all_sections_that_are_wrong_are_told():
    with pytest.raises(ArroyoError) as raised:
        parsed("GIVEN t\nWHEN RUN\nEXPECT NOTHING")
    assert len(raised.value.problems) == 3


def test_a_row_may_begin_with_a_word_of_a_test():
    case = parsed(
        "GIVEN t\nword | n\nWHEN | 1\nEXPECT | 2\nWHEN SELECT 1\nEXPECT LATE EMPTY"
    )
    assert case.given[0].rows.text.split() == [
        "word",
        "|",
        "n",
        "WHEN",
        "|",
        "1",
        "EXPECT",
        "|",
        "2",
    ]


LINES = st.sampled_from(
    (
        *("GIVEN t", "GIVEN", "n", "1 | 2", "", "WHEN", "WHEN RUN r", "SELECT 1"),
        *("-- c", "EXPECT TABLE", "EXPECT ERROR 'x'", "EXPECT WATERMARK 10:00"),
        *("EXPECT", "'", '"', "|", ","),
    )
)


@for_all(st.lists(st.one_of(LINES, st.text(max_size=12)), max_size=12))
def test_any_text_is_a_test_or_has_an_error_with_its_place(lines):
    text = "\n".join(lines)
    try:
        case = parsed(text)
    except ArroyoError as problem:
        spans = [each.span for each in problem.problems]
    else:
        spans = [expected.span for expected in case.expected]
    assert spans
    for span in spans:
        assert span is not None
        assert 0 <= span.start <= len(text)
