"""Why a run gives no rows, found on Spark in the rows that it read."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from IPython.utils.capture import capture_output
from shells import new_shell

from arroyo_nb.extension import load, unload
from arroyo_nb.session import Session

CLICKS = """at       | user | n
10:00:00 | ann  | 1
10:00:04 | bob  | 2
10:00:15 | ann  | 1
"""
BUYS = """at       | who | m
10:00:01 | Ann | 5
10:00:02 | Bob | 6
"""
W = "tumble(INTERVAL '10 seconds')"


@pytest.fixture
def tables(session):
    session.rows("clicks", CLICKS, watermark="10 seconds")
    session.rows("buys", BUYS, watermark="10 seconds")
    session.lookup("people", pd.DataFrame({"id": ["x"], "age": [7]}), key="id")
    return session


def whole(run):
    """What the doctor says in the end: on a busy machine it is asked again."""
    for _ in range(10):
        found = run.doctor()
        if "ask again" not in str(found):
            break
    return found


def counts(table, where):
    return f"SELECT {W} AS w, count(*) AS n FROM {table} {where} GROUP BY w"


@pytest.mark.parametrize(
    ("sql", "code", "message", "hint"),
    [
        (
            "SELECT n FROM clicks\nWHERE n > 0 AND user = 'Bob'",
            "filtered",
            "the condition user = 'Bob' (line 2) in WHERE kept none of the 3 rows that "
            "came to it: user is 'ann', 'bob'",
            "did you mean 'bob'?",
        ),
        (
            "SELECT n FROM clicks WHERE n = 1 AND user = 'bob'",
            "filtered",
            "none meets all of n = 1 AND user = 'bob' at once; each alone is true of "
            "some (n = 1: 2; user = 'bob': 1)",
            "take one of the conditions out",
        ),
        (
            counts("clicks", "WHERE n > 9"),
            "filtered",
            "n > 9 (line 1) in WHERE kept none of the 3 rows that came to it: n is 1,",
            "change the condition",
        ),
        (
            f"{counts('clicks', '')} HAVING count(*) > 50",
            "having",
            "count(*) > 50 (line 1) in HAVING kept none of the 2 rows",
            "change the condition",
        ),
        (
            "SELECT user, sum(n) AS s FROM clicks GROUP BY user HAVING sum(n) > 50",
            "having",
            "in HAVING kept none of the 2 rows that came to it: sum(clicks.n) is",
            "change the condition",
        ),
        (
            f"SELECT n FROM ({counts('clicks', '')}) WHERE w.start > '2027-01-01'",
            "filtered",
            "w.start > '2027-01-01' (line 1) in WHERE kept none of the 2 rows that "
            "came to it: w is 2026-01-01 10:00:00 – 10:00:10, 2026-01-01 10:00:10 – "
            "10:00:20",
            "change the condition",
        ),
        (
            f"SELECT n FROM (SELECT {W} AS w, array_agg(user) AS u, count(*) AS n FROM "
            "clicks GROUP BY w) WHERE array_length(u) > 5",
            "filtered",
            "array_length(u) > 5 (line 1) in WHERE kept none of the 2 rows that came "
            "to it: u is ['ann'], ['ann', 'bob']",
            "change the condition",
        ),
        (
            "SELECT n FROM clicks WHERE user = NULL OR n IN (100, 200)",
            "filtered",
            "user = NULL OR n IN (100, 200) (line 1) in WHERE kept none of the 3 rows "
            "that came to it: it is NULL in all of them, as a comparison with NULL",
            "write clicks.user IS NULL",
        ),
        (
            "SELECT c.n FROM clicks c JOIN buys b ON c.user = lower(b.who)\n"
            "AND c.n > 5",
            "filtered",
            "the condition c.n > 5 (line 2) in ON kept none of the 3 rows",
            "change the condition",
        ),
        (
            "SELECT n FROM clicks WHERE n = NULL",
            "never-true",
            "the condition n = NULL (line 1) is true of no row",
            "write clicks.n IS NULL",
        ),
        (
            "SELECT n FROM clicks LIMIT 0",
            "limit",
            "the query ends with LIMIT 0",
            "remove the LIMIT",
        ),
        (
            "SELECT c.n, b.m FROM clicks c JOIN buys b ON c.user = b.who",
            "keys-never-meet",
            "the keys of the JOIN ON c.user = b.who (line 1) never meet: 'clicks' has "
            "'ann', 'bob', 'buys' has 'Ann', 'Bob'",
            "make the keys equal",
        ),
        (
            f"SELECT x.w, x.n FROM (SELECT {W} AS w, user, count(*) AS n FROM clicks "
            f"GROUP BY w, user) x JOIN (SELECT {W} AS w, who, count(*) AS m FROM buys "
            "GROUP BY w, who) y ON x.w = y.w AND x.user = y.who",
            "keys-never-meet",
            "'clicks' has 'ann', 'bob', 'buys' has 'Ann', 'Bob'",
            "make the keys equal",
        ),
        (
            "SELECT c.n, b.m FROM clicks c JOIN buys b ON c.user = lower(b.who)\n"
            "AND b.at > c.at + INTERVAL '1 hour'",
            "join-condition",
            "keys of both sides meet in 3 pairs, and none of them meets "
            "b.at > c.at + INTERVAL '1 hour' (line 2)",
            "widen the condition",
        ),
        (
            "SELECT n, age FROM clicks JOIN people ON clicks.user = people.id",
            "lookup",
            "none of 3 rows found its key in the lookup table 'people', such as 'ann'",
            "%arroyo head people",
        ),
        (
            "SELECT unnest(make_array()) AS x FROM clicks",
            "unnest",
            "has no element in any of the 3 rows",
            "unnest a list that has elements",
        ),
    ],
)
def test_the_cause_is_found_in_the_rows(tables, sql, code, message, hint):
    run = tables.run(sql, wait=True)
    found = whole(run)
    assert found.answer is not None
    assert found.answer.code == code, str(found)
    assert message in found.answer.message
    assert hint in found.answer.hint


def test_rows_that_are_there_are_not_read_again(tables, monkeypatch):
    run = tables.run("SELECT n FROM clicks WHERE n > 0", wait=True)
    monkeypatch.setattr(run.sources, "read_again", None)
    found = run.doctor()
    assert found.findings == ()
    assert (found.rows_in, found.rows_out) == (3, 3)


def test_a_left_lookup_that_finds_nothing_is_told_beside_its_rows(tables):
    run = tables.run(
        "SELECT n, age FROM clicks LEFT JOIN people ON clicks.user = people.id",
        wait=True,
    )
    assert run.table().num_rows == 3
    assert [finding.code for finding in run.doctor().findings] == ["lookup"]


def test_both_sides_have_the_same_keys_in_other_windows(session):
    session.rows("a", "at|k\n10:00:00|x\n", watermark="1 second")
    session.rows("b", "at|k\n11:00:00|x\n", watermark="1 second")
    side = f"SELECT {W} AS w, k, count(*) AS n FROM"
    sql = (
        f"SELECT l.n FROM ({side} a GROUP BY w, k) l JOIN ({side} b GROUP BY w, k) r "
        "ON l.w = r.w AND l.k = r.k"
    )
    found = whole(session.run(sql, wait=True))
    assert found.answer.code == "windows-never-meet", str(found)


def test_on_asks_for_another_window(tables):
    side = f"(SELECT {W} AS w, count(*) AS n FROM clicks GROUP BY w)"
    sql = f"SELECT a.n FROM {side} a JOIN {side} b ON a.w.start = b.w.end"
    found = whole(tables.run(sql, wait=True))
    assert [finding.code for finding in found.findings] == ["windows-never-meet"]
    assert "ON a.w.start = b.w.end (line 1) compares two diff" in found.answer.message


def test_a_side_that_its_condition_empties_is_told_once(tables):
    sql = "SELECT c.n FROM clicks c JOIN buys b ON c.user = lower(b.who) AND c.n > 5"
    found = whole(tables.run(sql, wait=True))
    assert [finding.code for finding in found.findings] == ["filtered"]


def test_only_a_late_row_meets_having(session):
    rows = f"{CLICKS}\n10:00:40 | bob | 3\n\n10:00:05 | ann | 7\n"
    session.rows("clicks", rows, watermark="10 seconds")
    sql = f"SELECT {W} AS w, user, sum(n) AS s FROM clicks GROUP BY w, user"
    found = whole(session.run(f"{sql} HAVING sum(n) > 6", wait=True))
    (finding,) = found.findings
    assert finding.message == (
        "1 row meets the condition sum(n) > 6 (line 1) in HAVING where late rows are "
        "counted, and none without them: 1 row came after its window had closed"
    )
    assert "a longer delay" in finding.hint


def test_a_row_of_the_future_makes_all_others_late(session):
    rows = "at|n\n2099-01-01 12:00:00|0\n\n" + "\n\n".join(
        f"2026-01-01 10:00:0{n}|1" for n in range(5)
    )
    session.rows("clicks", rows, watermark="1 second")
    found = whole(session.run(counts("clicks", "WHERE n = 1"), wait=True))
    assert found.answer.code == "future", str(found)
    assert "has the event time 2099-01-01 12:00:00" in found.answer.message
    assert "5 rows that came after it were late" in found.answer.message


def test_the_watermark_is_short_of_the_first_window(session, eventually):
    session.rows("clicks", CLICKS, watermark="1 minute")
    run = session.run(counts("clicks", ""), step=True)
    # A row, the watermark behind it, and so on: the end of the tape is not read.
    for _ in range(5):
        run.step()
    eventually(lambda: run.snapshot().rows_in == 3)
    found = run.doctor()
    # It is paused, and that is why nothing moves; behind it stands what else is true.
    assert [finding.code for finding in found.findings][:1] == ["paused"]
    assert "started with --step" in found.answer.message
    short = next(f for f in found.findings if f.code in ("delay", "watermark-short"))
    assert "2026-01-01 10:00:10" in short.message
    run.stop().wait(60)
    ended = run.doctor()
    assert ended.answer.code == "open-windows", str(ended)
    assert "was stopped with 2 windows open" in ended.answer.message


def test_a_slow_source_holds_the_watermark(session, eventually):
    # Its next row comes in weeks; the rows of the tape are of a later year.
    session.rows("clicks", "at|n\n2099-01-01 10:00:00|1\n", watermark="1 second")
    sql = """CREATE TABLE slow WITH (connector = 'impulse', event_rate = 0.000001);
    SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM
    (SELECT n FROM clicks UNION ALL SELECT counter AS n FROM slow) GROUP BY w"""
    run = session.run(sql)
    eventually(lambda: run.snapshot().rows_in == 2)

    def first_code():
        answer = run.doctor().answer
        return answer and answer.code

    eventually(lambda: run.snapshot().watermark is not None)
    eventually(lambda: first_code() == "held-back", every_s=0.5)
    answer = run.doctor().answer
    assert "is held back by 'slow'" in answer.message
    assert "behind the others" in answer.message


TABLE = """CREATE TABLE events (ts TIMESTAMP NOT NULL, status TEXT, {name} BIGINT,
  WATERMARK FOR ts AS ts - INTERVAL '1 second'
) WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'source',
  bad_data = 'drop');
"""


def written(tmp_path, records, name="n"):
    path = tmp_path / "events.json"
    path.write_text("\n".join(records))
    return TABLE.format(name=name, path=path)


def record(number, **more):
    ts = f"2026-01-01T10:00:{number % 60:02}Z"
    return json.dumps({"ts": ts, "status": "ok", "n": number} | more)


def test_all_records_are_bad_data(session, tmp_path):
    records = [record(n, n="many") for n in range(3)]
    sql = written(tmp_path, records) + "SELECT n FROM events"
    found = whole(session.run(sql, wait=True))
    assert found.answer.code == "bad-data", str(found)
    assert "3 records could not be read and none could" in found.answer.message
    assert "events.json" in found.answer.message


@pytest.mark.parametrize("column", ["at", "made"])
def test_no_record_has_an_event_time(session, tmp_path, column):
    path = tmp_path / "events.json"
    path.write_text('{"ms": null, "at": null}\n' * 3)
    table = f"""CREATE TABLE events (ms BIGINT, at TIMESTAMP,
      made TIMESTAMP GENERATED ALWAYS AS (to_timestamp_millis(ms)) STORED,
      WATERMARK FOR {column}
    ) WITH (connector = 'single_file', path = '{path}', format = 'json',
      type = 'source', bad_data = 'drop');
    """
    found = whole(session.run(f"{table}{counts('events', '')}", wait=True))
    assert found.answer.code == "event-time", str(found)
    assert "the event time of all 3 rows of 'events' cannot be used" in str(found)
    assert "name a column in WATERMARK FOR" in found.answer.hint


def test_a_misspelt_column_is_null_in_all_rows(session, tmp_path):
    records = [record(n, amount=n) for n in range(12)]
    table = written(tmp_path, records, name="amout")
    found = session.run(
        f"{table}SELECT status FROM events WHERE amout > 3", wait=True
    ).doctor()
    assert found.answer.code == "column", str(found)
    assert "no record of 12 had 'amout'; did you mean 'amount'?" in found.answer.message
    filtered = found.findings[1]
    assert filtered.code == "filtered"
    assert "it is NULL in all of them" in filtered.message


def test_an_empty_file_and_a_dead_run(session, tmp_path):
    empty = session.run(written(tmp_path, []) + "SELECT n FROM events", wait=True)
    assert empty.doctor().answer.code == "no-input", str(empty.doctor())
    failing = written(tmp_path, [record(1, n="x")]).replace("'drop'", "'fail'")
    run = session.run(f"{failing}SELECT n FROM events")
    run.wait_quietly(60)
    assert run.doctor().answer.code == "failed"
    assert "'n' is BIGINT, found" in run.doctor().answer.message


def test_another_output_has_the_rows(tables):
    run = tables.run(
        "SELECT n FROM clicks WHERE n > 9; SELECT n FROM clicks", wait=True
    )
    codes = [finding.code for finding in run.doctor().findings]
    assert codes[0] == "filtered"
    assert "other-outputs" in codes


def test_rows_that_are_gone_are_left_out(tables, monkeypatch):
    run = tables.run("SELECT n FROM clicks WHERE n > 9", wait=True)
    monkeypatch.setattr(run.sources, "has", lambda ranges: False)
    found = run.doctor()
    assert found.answer.code == "filtered"
    assert found.looked_at == ""


def test_a_probe_is_bounded_in_time(tables):
    from arroyo_nb.doctor import probe

    run = tables.run("SELECT n FROM clicks WHERE n > 9", wait=True)
    late = iter((0.0, *[probe.MOST_S + 1] * 2, *[0.0] * 9))
    look = probe.Probe(
        *(tables.engine, run.outputs[0], run.sources, run.plan.source),
        clock=lambda: next(late),
    )
    found = look()
    assert found.filters == ()
    told = "2 parts of the query could not be checked in 10 seconds; ask again to go on"
    assert told in found.looked_at
    # Who asks again goes on.
    found = look()
    assert [(f.rows_in, f.rows_out) for f in found.filters] == [(3, 0)]
    assert found.times
    assert "ask again" not in found.looked_at


def test_the_doctor_goes_on_where_it_ran_out_of_time(tables, monkeypatch):
    from arroyo_nb.doctor import probe

    run = tables.run("SELECT n FROM clicks WHERE user = 'Ann'", wait=True)
    monkeypatch.setattr(probe, "MOST_S", 0.0)
    first = run.doctor()
    assert "ask again to go on" in str(first)
    monkeypatch.setattr(probe, "MOST_S", 30.0)
    assert "did you mean 'ann'?" in str(run.doctor())


def test_what_cannot_be_counted_hides_no_other_cause(tables, monkeypatch):
    from arroyo_nb.doctor.probe import Probe

    monkeypatch.setattr(Probe, "_count_times", lambda probe, node: 1 // 0)
    found = whole(tables.run("SELECT n FROM clicks WHERE n > 9", wait=True))
    assert found.answer.code == "filtered"
    assert "n > 9" in found.answer.message
    assert "1 part of the query could not be checked." in found.looked_at


def test_a_cell_nobody_looks_at_asks_the_doctor(engine):
    with new_shell() as shell:
        session = Session(engine=engine)
        load(shell, session)
        session.rows("clicks", CLICKS)

        def shown(cell):
            with capture_output() as captured:
                shell.run_cell(cell).raise_error()
            return captured.outputs[-1].data

        left = shown("%%arroyo -n few\nSELECT n FROM clicks WHERE user = 'Ann'")
        # Unasked it says what is known without a look at the rows.
        assert "a WHERE kept none of them" in left["text/plain"]
        assert "%arroyo doctor few counts the rows" in left["text/plain"]
        found = shown("%arroyo doctor")
        assert found["text/plain"].splitlines()[:3] == [
            "few: 3 rows in, 0 rows out",
            "1. the condition user = 'Ann' (line 2) in WHERE kept none of the 3 rows "
            "that came to it: user is 'ann', 'bob'",
            "   hint: did you mean 'ann'?",
        ]
        assert "<li>the condition user = &#x27;Ann&#x27;" in found["text/html"]
        assert found == shown("%arroyo doctor few")
        unload(shell)


def test_rows_that_went_to_a_table_are_not_kept(tables):
    sql = """CREATE TABLE out (n BIGINT) WITH (connector = 'blackhole');
    INSERT INTO out SELECT n FROM clicks"""
    found = whole(tables.run(sql, wait=True))
    assert found.answer.code == "not-kept", str(found)
    assert "3 rows went to 'out', and none are kept" in found.answer.message
    previewed = tables.run("INSERT INTO out SELECT n FROM clicks", sinks=False)
    previewed.wait(60)
    assert [f.code for f in previewed.doctor().findings] == ["not-written"]
