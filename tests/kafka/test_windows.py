"""Windows over a topic: the batch answer, late rows listed, and a run that goes on."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

HOUR = 3_600_000
FIRST = 1_700_000_000_000 // HOUR * HOUR
END = FIRST + 100 * HOUR
COLUMNS = "id INT, kind TEXT, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '1h'"
COLUMNS = COLUMNS.replace("TIMESTAMP(3),", "TIMESTAMP(3) NOT NULL,")
COUNTS = """SELECT tumble(INTERVAL '1 hour') AS w, kind, count(*) AS n, sum(id) AS ids
FROM t GROUP BY w, kind"""
ANSWER = """SELECT t.at // 3600000 AS w, kind, count(*) AS n, sum(id) AS ids
FROM rows AS t GROUP BY ALL"""


def made_up(count, seed, *, spread_ms):
    """Rows whose times go on, none later than the newest by more than the spread."""
    rng = random.Random(seed)
    return [
        {
            "id": n,
            "kind": rng.choice("ab"),
            "at": FIRST + n * 60_000 - rng.randrange(spread_ms),
        }
        for n in range(count)
    ]


def answer(rows):
    import pandas as pd

    with duckdb.connect() as db:
        db.register("rows", pd.DataFrame(rows))
        return Counter(db.execute(ANSWER).fetchall())


def partitions(run):
    (source,) = run.snapshot().sources
    return source.partitions


def told(run):
    found = []
    for row in run.table().to_pylist():
        start = int(row["w"]["start"].timestamp() * 1000)
        found.append((start // HOUR, row["kind"], row["n"], row["ids"]))
    return Counter(found)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_windows_have_the_batch_answer(new_topic, session, eventually):
    made = new_topic(2)
    rows = made_up(600, 1, spread_ms=HOUR // 2)
    for n in range(0, len(rows), 50):
        made.send(*rows[n : n + 50], partition=n // 50 % 2)
    run = session.run(made.declared(COLUMNS) + COUNTS)
    # What moves the watermark past all windows; they close though nothing follows.
    made.send({"id": 0, "kind": "a", "at": END})
    expected = answer(rows)
    eventually(lambda: run.table().num_rows == len(expected))
    assert told(run) == expected
    assert run.snapshot().late_rows == 0


@pytest.mark.parametrize("trigger", [None, "300ms"])
def test_what_is_there_is_read_and_no_more(new_topic, session, trigger):
    made = new_topic(2)
    rows = made_up(200, 4, spread_ms=HOUR // 2)
    made.send(*rows, {"id": 0, "kind": "a", "at": END})
    options = {"until": "end", "wait": True, "trigger": trigger}
    run = session.run(made.declared(COLUMNS) + COUNTS, **options)
    assert run.state.value == "finished"
    assert (run.rows_in, told(run)) == (201, answer(rows))


def test_what_is_there_now_is_read_by_a_run_that_goes_on(new_topic, session, tmp_path):
    made = new_topic(2)
    script = made.declared("id INT") + "SELECT id FROM t"
    options = {"until": "end", "wait": True, "state_dir": tmp_path, "keep": True}
    so_far = []
    for sent in ((), (1, 2), (), (3,)):
        made.send(*({"id": number} for number in sent), partition=len(sent) % 2)
        so_far += sent
        run = session.run(script, **options)
        assert run.state.value == "finished"
        assert run.table()["id"].to_pylist() == so_far


def test_late_rows_are_counted_and_listed(new_topic, session, eventually):
    made = new_topic(2)
    run = session.run(made.declared(COLUMNS) + COUNTS)
    on_time = made_up(300, 2, spread_ms=1)
    for part in (on_time[:150], on_time[150:]):
        before = run.rows_in
        made.send(*part, partition=0)
        eventually(lambda n=before, p=part: run.rows_in == n + len(p), 60)
    # In the next batch these are late, the rows of the newest hour are not.
    made.send({"id": 300, "kind": "a", "at": on_time[-1]["at"]}, partition=1)
    eventually(lambda: run.rows_in == 301)
    late = [{**row, "id": 1000 + row["id"]} for row in on_time[:7]]
    made.send(*late, partition=1)
    eventually(lambda: run.rows_in == 308)
    eventually(lambda: run.snapshot().late_rows == 7)
    listed = run.late()
    assert sorted(listed["id"].to_pylist()) == [1000 + n for n in range(7)]
    assert set(listed.column_names) >= {"id", "event_time", "window_end", "late_by"}


def test_late_rows_are_counted_by_partition(new_topic, session, eventually):
    made, other = new_topic(2), new_topic(1)
    tables = made.declared(COLUMNS) + other.declared(COLUMNS, "u")
    both = "(SELECT id, kind FROM t UNION ALL SELECT id, kind FROM u)"
    # A job is not traced, and counts all the same.
    run = session.run(tables + COUNTS.replace("FROM t", f"FROM {both}"), traced=False)
    on_time, sent = made_up(300, 2, spread_ms=1), 0
    for topic, partition, rows in (
        (made, 0, on_time),
        (other, 0, on_time),
        (made, 0, on_time[-1:]),  # the next batch has their watermark
        (made, 1, on_time[:7]),
        (made, 0, on_time[:2]),
        (other, 0, on_time[:1]),
    ):
        topic.send(*rows, partition=partition)
        sent += len(rows)
        eventually(lambda n=sent: run.rows_in == n, 60)
    found = {
        (source.name, share.partition): (share.rows, share.late_rows)
        for source in run.snapshot().sources
        for share in source.late_shares
    }
    assert found == {
        ("t", None): (310, 9),
        ("t", 0): (303, 2),
        ("t", 1): (7, 7),
        ("u", None): (301, 1),
        ("u", 0): (301, 1),
    }
    assert run.snapshot().late_rows == 10
    told = [f.message for f in run.doctor().findings if f.code == "late-partition"]
    assert [message.partition(":")[0] for message in told] == [
        "7 of 7 rows of partition 1 of 't' were late, and 2 of 303 rows of its other "
        "partition"
    ]


def test_a_run_goes_on_from_its_checkpoint(new_topic, session, eventually, tmp_path):
    made = new_topic(2)
    rows = made_up(400, 3, spread_ms=HOUR // 2)
    script = made.declared(COLUMNS) + COUNTS
    options = {"name": "hours", "state_dir": tmp_path, "keep": True}
    made.send(*rows[:200])
    run = session.run(script, **options)
    eventually(lambda: run.rows_in == 200, 60)
    run.stop().wait_quietly(30)
    first = told(run)
    # While nobody reads; "earliest" holds for a run that begins only.
    made.send(*rows[200:], partition=1)
    run = session.run(script, **options)
    eventually(lambda: run.resumed and run.rows_in == 200, 60)
    made.send({"id": 0, "kind": "a", "at": END})
    expected = answer(rows)
    # The rows of before are its rows too, each of them once.
    eventually(lambda: len(told(run)) == len(expected))
    assert told(run) == expected
    assert first <= expected


def test_a_partition_that_is_added_is_read_from_its_beginning(
    new_topic, session, eventually
):
    made = new_topic(1)
    made.send({"id": 1})
    run = session.run(
        made.declared("id INT", source__offset="latest") + "SELECT id FROM t"
    )
    eventually(lambda: run.state.value == "running", 60)
    made.send({"id": 4})
    eventually(lambda: run.table().num_rows == 1)
    made.add_partitions(3)
    made.send({"id": 2}, partition=2)
    made.send({"id": 3}, partition=0)
    eventually(lambda: run.table().num_rows == 3)
    assert sorted(run.table()["id"].to_pylist()) == [2, 3, 4]
    eventually(lambda: [p.number for p in partitions(run)] == [0, 1, 2])
    eventually(lambda: [p.offset for p in partitions(run)] == [3, 0, 1])
