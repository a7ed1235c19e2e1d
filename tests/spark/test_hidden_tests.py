"""Hidden tests: no answer is shown, hints come one by one, points are counted."""

from pathlib import Path

import pytest

from arroyo_nb.cell_tests import TestFailure
from arroyo_nb.errors import ArroyoError, RunProblem

QUERY = """SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n
FROM clicks GROUP BY w"""
TASK = f"""GIVEN clicks --watermark '10 seconds'
at       | user
10:00:00 | ann
10:00:04 | ann
10:00:20 | bob

WHEN
{QUERY}

EXPECT TABLE POINTS 3
w.start  | n
10:00:00 | 2
10:00:20 | 1
HINT How long is a window?
HINT Ten seconds.

EXPECT WATERMARK 10:00:10
"""
SECRETS = ("10:00:00", "10:00:20", "10:00:10", "| 2", "→")


def wrong(session, query, name="per_window"):
    result = session.test(query, name=name, hidden=True)
    assert not result.passed
    shown = f"{result} {result._repr_html_()} {result.checks!r} {TestFailure(result)}"
    assert not [secret for secret in SECRETS if secret in shown]
    return str(result)


def test_a_file_holds_the_answer_and_gives_hints_one_by_one(
    session, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    own = session.test(TASK, name="per_window", hidden=True, out="per_window.hidden")
    assert "passed, 2 expectations, 4 of 4 points" in str(own)
    file = Path("per_window.hidden").read_text()
    assert "10:00" not in file
    assert "EXPECT" not in file
    session._hidden.clear()  # as in the kernel of a student
    halved = QUERY.replace("10 seconds", "4 seconds")
    first = wrong(session, halved)
    assert "1 of 2 expectations failed, 1 of 4 points" in first
    assert "Hint 1 of 2: How long is a window?" in first
    assert "Ten seconds" not in first
    assert "Hint 2 of 2: Ten seconds." in wrong(session, f"WHEN {halved}")
    assert session.test(QUERY, name="per_window", hidden=True).passed
    assert "Ten seconds" not in wrong(session, halved), "it begins again"
    assert not session.carried_tests("per_window").files


def test_what_nobody_wrote_a_hint_for_says_how_much_differs(session):
    bare = "\n".join(line for line in TASK.split("\n") if "HINT" not in line)
    session.test(bare, name="bare", hidden=True)
    doubled = QUERY.replace("count(*)", "2 * count(*)")
    first = wrong(session, doubled, "bare")
    assert "Hint 1 of 2: 2 rows with another value" in first
    assert "Hint 2 of 2: look at n" in wrong(session, doubled, "bare")
    # The excerpt of an error of the expectations would be the answer.
    unlike = wrong(session, QUERY.replace("count(*)", "count(*) > 1"), "bare")
    assert "the result has other columns, or columns of other types" in unlike


def test_a_column_that_is_missing_is_named_before_any_hint(session):
    session.test(TASK, name="per_window", hidden=True)
    first = wrong(session, QUERY.replace("AS n", "AS clicks"))
    assert "EXPECT TABLE: the result has no column 'n'; known: clicks, w" in first
    assert "How long" not in first
    halved = wrong(session, QUERY.replace("10 seconds", "4 seconds"))
    assert "EXPECT TABLE: not as expected. Hint 1 of 2: How long is a window?" in halved
    assert "Ten seconds" not in halved, "the try before has used up none"


def test_the_task_of_the_page_is_not_passed_by_windows_of_another_length(session):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "teach-a-class.md"
    task = page.read_text().partition("late_clicks.hidden\n")[2].partition("```")[0]
    assert session.test(task, name="late_clicks", hidden=True).passed
    for length in ("5 seconds", "20 seconds", "1 minute"):
        query = QUERY.replace("10 seconds", length)
        assert not session.test(query, name="late_clicks", hidden=True).passed


def test_what_is_wrong_with_the_own_query_is_told_with_its_place(session):
    session.test(TASK, name="per_window", hidden=True)
    with pytest.raises(ArroyoError, match="usr") as caught:
        session.test("SELECT usr FROM clicks", name="per_window", hidden=True)
    assert "SELECT usr FROM clicks" in str(caught.value)
    with pytest.raises(RunProblem, match="no hidden test 'per_windw'") as near:
        session.test(QUERY, name="per_windw", hidden=True)
    assert "per_window" in (near.value.hint or "")
