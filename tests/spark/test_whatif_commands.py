"""``%arroyo whatif`` and ``%arroyo compare`` in the cells of a shell."""

import pytest
from shells import shell_of, shown

import arroyo_nb
from arroyo_nb.errors import RunProblem

CLICKS = """at       | user
10:00:00 | ann
10:00:04 | bob
10:00:15 | ann
09:59:30 | bob
10:00:12 | bob
10:00:31 | ann
"""
COUNTS = """SELECT tumble(INTERVAL '10 seconds') AS w, user, count(*) AS n
FROM {} GROUP BY w, user"""


@pytest.fixture
def shell(session):
    with shell_of(session) as shell:
        yield shell


def text(shell, line):
    """What a line shows in the end, as text."""
    error, outputs = shown(shell, line)
    assert error is None
    return outputs[-1]["text/plain"]


def test_both_commands_show_what_they_found(shell, session):
    for name, delay in (("hasty", "1 second"), ("patient", "2 hours")):
        session.rows(f"clicks_{name}", CLICKS, watermark=delay)
        session.run(COUNTS.format(f"clicks_{name}"), name=name, wait=True)
    _, outputs = shown(shell, "%arroyo whatif hasty --delay 1s,2h -o tried")
    # The table took the place of the progress.
    lines = outputs[-1]["text/plain"].splitlines()
    assert lines[0] == "hasty with 2 delays"
    first, second = (line for line in lines if "%" in line)
    assert "1 s (as run)" in first
    assert "differ" in first
    assert "0 %" in second
    assert "<img" in outputs[-1]["text/html"]
    late = session.get("hasty").late().num_rows
    assert late == 1
    assert f"  {late}  " in first

    assert shell.user_ns["tried"].table()["late"].to_pylist() == [late, 0]

    _, outputs = shown(shell, "%arroyo compare hasty patient")
    compared = outputs[-1]["text/plain"]
    assert "late rows: 1 against 0" in compared
    assert "2026-01-01 09:59:30" in compared
    assert "<img" in outputs[-1]["text/html"]

    found = arroyo_nb.compare(session.get("hasty"), session.get("patient"))
    (only,) = found.table().to_pylist()
    assert (only["only_in"], only["user"], only["n"]) == ("patient", "bob", 1)
    (late_row,) = found.late_table().to_pylist()
    assert (late_row["only_in"], late_row["user"]) == ("hasty", "bob")
    assert found.windows()["differs"].to_pylist().count(True) == 1
    same = arroyo_nb.compare(session.get("hasty"), session.get("hasty"))
    assert same.is_same


def test_what_is_wrong_is_told(shell, session):
    session.rows("clicks", CLICKS, watermark="1 second")
    session.run(COUNTS.format("clicks"), name="counts", wait=True)
    with pytest.raises(RunProblem) as problem:
        session.whatif("count", ["1s"])
    assert "did you mean 'counts'" in problem.value.hint
    for line, words in (
        ("whatif count --delay 1s", "there is no run 'count'"),
        ("whatif counts --delay soon", "'soon' is not a duration"),
        ("whatif counts --delay", "needs its 1s,30m,2h"),
        ("whatif", "takes the name of one run"),
        ("whatif counts --output x", "is not the number of an output"),
        ("whatif counts --every x", "'x' is not a duration"),
        ("compare counts", "takes the names of two runs"),
        ("compare counts other", "there is no run 'other'"),
    ):
        error, _ = shown(shell, f"%arroyo {line}")
        assert words in str(error), line


def test_both_sides_of_a_join_count(shell, session):
    session.rows("clicks", CLICKS, watermark="1 second")
    session.rows("views", CLICKS, watermark="1 second")
    side = "SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM {} GROUP BY w"
    for name, where in (("all_rows", ""), ("some_rows", "WHERE user = 'ann'")):
        left = side.format(f"clicks {where}")
        session.run(
            f"SELECT a.w, a.n, b.n AS m FROM ({left}) a "
            f"JOIN ({side.format('views')}) b ON a.w = b.w",
            name=name,
            wait=True,
        )
    rows = arroyo_nb.compare(session.get("all_rows"), session.get("some_rows"))
    differs = {row["table"]: set() for row in rows.windows().to_pylist()}
    for row in rows.windows().to_pylist():
        differs[row["table"]].add(row["differs"])
    assert differs == {"clicks": {True, False}, "views": {False}}
    windows = session.get("all_rows").windows()
    assert set(windows["table"].to_pylist()) == {"clicks", "views"}
    assert session.get("all_rows").table().num_rows == 3

    told = text(shell, "%arroyo whatif all_rows --delay 1h --every 1m -o tried")
    found = shell.user_ns["tried"]
    # Both sides have the same windows: 09:59:30, 10:00:00, 10:00:10 and 10:00:30.
    assert found.table()["windows"].to_pylist() == [4]
    assert found.windows().num_rows == 4
    (note,) = (line for line in told.splitlines() if "--every" in line)
    assert "%%arroyo_rows" in note
    assert "'clicks'" in note
    assert "'views'" in note
    assert "what-if of" not in told


def test_sessions_of_keys_are_no_windows(shell, session):
    session.rows("clicks", CLICKS, watermark="2 hours")
    query = (
        "SELECT session(INTERVAL '10 seconds') AS w, user, count(*) AS n "
        "FROM clicks {} GROUP BY w, user"
    )
    for name, where in (("all_rows", ""), ("some_rows", "WHERE user = 'ann'")):
        session.run(query.format(where), name=name, wait=True)
    told = text(shell, "%arroyo compare all_rows some_rows")
    title = told.splitlines()[0]
    assert "stretches of sessions" in title
    assert "window" not in title
    assert "the sessions themselves are in the result" in told
    told = text(shell, "%arroyo whatif all_rows --delay 2h")
    assert "stretches of sessions" in told
    assert "window" not in told


def test_what_failed_is_not_compared(shell, session):
    session.rows("clicks", CLICKS, watermark="1 second")
    session.run(COUNTS.format("clicks"), name="counts", wait=True)
    failing = "SELECT 1 / (n - n) AS x FROM (SELECT count(*) AS n, {} FROM clicks {})"
    group = ("tumble(INTERVAL '10 seconds') AS w", "GROUP BY w")
    run = session.run(failing.format(*group), name="failed")
    with pytest.raises(arroyo_nb.ArroyoError):
        run.wait(60)
    error, _ = shown(shell, "%arroyo compare counts failed")
    assert "the run 'failed' has failed" in str(error)
    assert arroyo_nb.compare("counts", session.get("counts")).is_same
