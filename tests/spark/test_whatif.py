"""Other delays on real streams: every row is kept or late, as the run itself says."""

import json
from datetime import timedelta

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run.observe.lateness import lateness

FLIGHTS = """CREATE TABLE flights (
    WATERMARK FOR sched_dep AS sched_dep - INTERVAL '{minutes} minutes'
) WITH (connector = 'sample', dataset = 'flights');
"""
BY_HOUR = """SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS n,
avg(dep_delay) AS d FROM flights GROUP BY w, origin;"""

MINUTE = timedelta(minutes=1)


PACED = {"speed": 540_000, "trigger": "20ms"}
"""Three hours of the stream are a micro-batch."""


def by_hour(session, minutes, name="by_hour", **options):
    script = FLIGHTS.format(minutes=minutes) + BY_HOUR
    return session.run(script, name=name, wait=True, **(PACED | options))


@pytest.mark.long("moments")
def test_three_delays_keep_and_lose_what_runs_with_them_do(session):
    run = by_hour(session, 30)
    told = []
    found = session.whatif("by_hour", ["1m", "30m", "4h"], tell=told.append)
    rows = {row["delay"]: row for row in found.table().to_pylist()}
    assert list(rows) == [MINUTE, 30 * MINUTE, 240 * MINUTE]
    for row in rows.values():
        assert row["kept"] + row["late"] == row["rows"] == 6546
    lost = [row["late"] for row in rows.values()]
    assert lost[0] > lost[1] > lost[2]
    # The run itself, row by row.
    own = rows[30 * MINUTE]
    assert own["as_run"]
    assert own["late"] == run.late().num_rows == run.snapshot(0).late_rows
    assert own["result_rows"] == run.table().num_rows
    # Whoever really runs it with another delay, over the same chunks.
    other = by_hour(session, 1, name="hasty")
    assert rows[MINUTE]["late"] == other.late().num_rows
    assert rows[MINUTE]["result_rows"] == other.table().num_rows
    # What is not lost is in the result; a longer delay waits longer.
    assert rows[240 * MINUTE]["same_result"]
    assert not rows[MINUTE]["same_result"]
    assert rows[MINUTE]["latency_p50"] < rows[240 * MINUTE]["latency_p50"]
    assert rows[240 * MINUTE]["latency_p50"] >= 240 * MINUTE
    assert found.notes == ()
    assert any("batch" in line for line in told)
    assert set(session.runs) == {"by_hour", "hasty"}


@pytest.mark.long("moments")
def test_a_run_without_speed_is_asked_about_its_own_batches_or_about_smaller(session):
    run = by_hour(session, 30, speed="max")
    own = session.whatif(run, ["30m"])
    assert own.outcomes[0].late_rows == run.late().num_rows
    assert "--every 1m" in own.notes[0]
    smaller = session.whatif(run, ["30m"], every="3h")
    assert smaller.outcomes[0].late_rows > own.outcomes[0].late_rows
    paced = by_hour(session, 30, name="paced")
    assert smaller.outcomes[0].late_rows == paced.late().num_rows
    assert smaller.outcomes[0].rows == 6546


@pytest.mark.long("moments")
def test_the_trace_alone_foretells_what_other_delays_lose(session):
    run = by_hour(session, 30, speed=1_080_000)
    (trace,) = run.outputs[0].observation.traces
    seen = lateness(trace.batches, trace.window, 30 * MINUTE)
    assert seen.late_rows == run.late().num_rows
    # A millisecond less is too little.
    less = seen.keep_all - timedelta(milliseconds=1)
    found = session.whatif(run, [seen.keep_99, less, seen.keep_all])
    late = [outcome.late_rows for outcome in found.outcomes]
    assert late[-1] == 0
    assert late[1] > 0
    assert 0 < late[0] <= seen.rows / 100


def test_a_run_that_goes_on_is_asked_about_its_whole_tape(session):
    script = FLIGHTS.format(minutes=30) + BY_HOUR
    run = session.run(script, name="slow", speed=600)
    found = session.whatif("slow", ["30m"], every="1d")
    assert found.outcomes[0].rows == 6546
    assert not run.state.ended
    assert found.outcomes[0].as_run


def test_a_stopped_stream_without_end_is_asked_about_what_it_read(session, eventually):
    script = """CREATE TABLE clicks WITH (connector = 'impulse', event_rate = '2000');
    SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM clicks GROUP BY w"""
    run = session.run(script, name="endless")
    eventually(lambda: run.table().num_rows >= 2)
    with pytest.raises(RunProblem, match="'clicks' has no end") as problem:
        session.whatif("endless", ["1s"])
    assert "%arroyo record" in problem.value.hint
    run.stop().wait()
    found = session.whatif("endless", ["0s", "1s"])
    assert all(o.rows >= run.snapshot(0).rows_in > 0 for o in found.outcomes)
    assert found.outcomes[0].late_rows == found.outcomes[1].late_rows == 0


def test_arrivals_tell_how_long_after_its_end_a_window_came(session):
    rows = """arrives  | at       | user
10:00:05 | 10:00:00 | ann
10:00:25 | 10:00:20 | bob
10:00:35 | 10:00:31 | ann
10:00:45 | 10:00:42 | ann
"""
    session.rows("clicks", rows, watermark="1 second")
    session.run(
        "SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM clicks "
        "GROUP BY w",
        name="counts",
        wait=True,
    )
    found = session.whatif("counts", ["1s"])
    first = found.windows().to_pylist()[0]
    # A silence follows each row, in which its watermark closes the window.
    assert first["latency"] == timedelta(seconds=10)
    assert first["arrival_latency"] == timedelta(seconds=15)
    assert found.table().to_pylist()[0]["closed_at_end"] == 1


@pytest.mark.long("moments")
def test_two_sources_meet_each_other_chunk_by_chunk_each_time(session):
    script = """CREATE TABLE flights (
        WATERMARK FOR sched_dep AS sched_dep - INTERVAL '10 minutes'
    ) WITH (connector = 'sample', dataset = 'flights');
    CREATE TABLE weather (
        WATERMARK FOR observed AS observed - INTERVAL '1 hour'
    ) WITH (connector = 'sample', dataset = 'weather');
    SELECT a.w, a.n, b.t FROM
      (SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM flights GROUP BY w) a
    JOIN
      (SELECT tumble(INTERVAL '1 hour') AS w, max(temp) AS t FROM weather GROUP BY w) b
    ON a.w = b.w"""
    run = session.run(script, name="both", wait=True)
    found = session.whatif(run, ["10m", "2h"])
    again = session.whatif(run, ["10m", "2h"])
    assert found.table().equals(again.table())
    assert [outcome.as_run for outcome in found.outcomes] == [False, False]
    assert "several delays" in found.notes[0]
    for outcome in found.outcomes:
        assert outcome.rows == 6546 + session.head("weather", 1000).num_rows


def test_written_tables_stay_as_they_are(session, tmp_path):
    sink = tmp_path / "out.json"
    script = (
        FLIGHTS.format(minutes=30)
        + f"""CREATE TABLE out (n BIGINT) WITH (
        connector = 'single_file', path = '{sink}', format = 'json', type = 'sink');
        INSERT INTO out SELECT count(*) FROM flights
        GROUP BY tumble(INTERVAL '1 day');"""
    )
    session.run(script, name="written", wait=True)
    before = sink.read_text()
    assert sum(json.loads(line)["n"] for line in before.splitlines()) > 6000
    found = session.whatif("written", ["0s", "1d"])
    assert found.outcomes[1].late_rows == 0
    assert sink.read_text() == before


def test_what_cannot_be_asked_is_refused(session):
    by_hour(session, 30, speed="max")
    with pytest.raises(RunProblem, match="there is no run 'by_our'") as problem:
        session.whatif("by_our", ["1s"])
    assert "by_hour" in problem.value.hint
    session.run("SELECT origin FROM flights LIMIT 3", name="plain", wait=True)
    with pytest.raises(RunProblem, match="puts no rows into windows"):
        session.whatif("plain", ["1s"])
    with pytest.raises(RunProblem, match="no output 3"):
        session.whatif("by_hour", ["1s"], output=3)


def test_an_interrupt_leaves_no_query_behind(session):
    by_hour(session, 30, speed="max")

    def interrupted(text):
        if "batch" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.whatif("by_hour", ["1s", "1h"], tell=interrupted)
    active = session.engine.worker.call(
        lambda: len(session.engine.session.streams.active)
    )
    assert active == 0
