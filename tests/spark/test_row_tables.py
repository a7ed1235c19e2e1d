"""Rows that a user has typed: the late one is late, at any speed and step by step."""

from datetime import datetime, timedelta

import pytest

from arroyo_nb.errors import ArroyoError

CLICKS = """arrives  | at       | user | n
10:00:00 | 10:00:00 | ann  | 1
10:00:01 | 10:00:04 | bob  | 2
10:00:20 | 10:00:15 | ann  | 1
10:00:21 | 09:59:30 | bob  | 7
10:00:22 | 10:00:12 | bob  | 5
"""
COUNTS = """SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n, sum(n) AS s
FROM clicks GROUP BY w"""


def at(hour, minute, second):
    return datetime(2026, 1, 1, hour, minute, second)


def counts(run):
    return [(row["w"]["start"], row["n"], row["s"]) for row in run.table().to_pylist()]


@pytest.mark.parametrize("speed", ["max", 1000])
def test_the_late_row_is_late_and_no_other(session, speed):
    session.rows("clicks", CLICKS, watermark="10 seconds")
    run = session.run(COUNTS, wait=True, speed=speed)
    # The watermark has reached 10:00:05 when the row of 09:59:30 arrives; that of
    # 10:00:12 is out of order and in time.
    assert counts(run) == [(at(10, 0, 0), 2, 3), (at(10, 0, 10), 2, 6)]
    (late,) = run.late().to_pylist()
    assert (late["at"], late["user"], late["n"]) == (at(9, 59, 30), "bob", 7)
    assert late["window_end"] == at(9, 59, 40)
    assert late["late_by"] == timedelta(seconds=35)
    assert run.snapshot().rows_in == 5


def test_a_longer_watermark_takes_the_same_row(session):
    session.rows("clicks", CLICKS, watermark="1 minute")
    run = session.run(COUNTS, wait=True)
    assert counts(run)[0] == (at(9, 59, 30), 1, 7)
    assert run.late().num_rows == 0


def test_rows_that_come_together_are_not_late(session):
    # In one micro-batch the watermark moves only behind it.
    one = "\n".join(line.partition("|")[2] for line in CLICKS.splitlines())
    session.rows("clicks", one + "\n\n10:00:16 | ann | 1\n", watermark="10 seconds")
    run = session.run(COUNTS, wait=True)
    assert run.late().num_rows == 0
    assert counts(run)[-1] == (at(10, 0, 10), 3, 7)


def test_the_rows_of_a_delayed_user_are_late(session):
    rows = "\n".join(
        f"10:00:{n:02} | {'bob' if n % 5 == 0 else 'ann'}" for n in range(40)
    )
    disorder = {"delay": "user=bob:15s"}
    session.rows("clicks", f"at|user\n{rows}", watermark="5 seconds", disorder=disorder)
    query = (
        "SELECT tumble(INTERVAL '5 seconds') AS w, count(*) AS n FROM clicks GROUP BY w"
    )
    run = session.run(query, wait=True)
    late = run.late().to_pylist()
    # The newest row is 14 seconds ahead: the watermark has passed their windows. When
    # the last two come it is that of 10:00:39, not far enough ahead of them.
    assert {row["user"] for row in late} == {"bob"}
    assert [row["at"].second for row in late] == [0, 5, 10, 15, 20, 25]
    assert sum(run.table()["n"].to_pylist()) == 40 - 6


def test_each_step_is_a_row(session, eventually):
    session.rows("clicks", CLICKS, watermark="10 seconds")
    run = session.run("SELECT user, n FROM clicks", step=True)
    for rows in range(1, 6):
        run.step()
        eventually(lambda rows=rows: run.snapshot().rows_in >= rows)
        assert run.snapshot().rows_in == rows
    run.stop().wait(60)
    assert run.table()["n"].to_pylist() == [1, 2, 1, 7, 5]


def test_rows_defined_again_are_read_by_the_next_run_alone(session):
    session.rows("clicks", "n\n1\n2\n")
    first = session.run("SELECT n FROM clicks", name="first", step=True)
    session.rows("clicks", "n\n3\n")
    second = session.run("SELECT n FROM clicks", name="second", wait=True)
    assert second.table()["n"].to_pylist() == [3]
    first.resume()
    first.wait(60)
    assert first.table()["n"].to_pylist() == [1, 2]


def test_the_tape_of_a_run_is_kept_whatever_other_table_is_written_there(
    session, tmp_path
):
    path = tmp_path / "k.tape"
    session.rows("a", "n\n1\n2\n", path=path)
    run = session.run("SELECT n FROM a", name="first", step=True)
    session.rows("a", "n\n5\n")
    with pytest.raises(ArroyoError, match="first still reads the rows at"):
        session.rows("b", "n\n3\n", path=path)
    run.resume()
    run.wait(60)
    assert run.table()["n"].to_pylist() == [1, 2]
    session.rows("b", "n\n3\n", path=path)
    second = session.run("SELECT n FROM b", wait=True)
    assert second.table()["n"].to_pylist() == [3]
