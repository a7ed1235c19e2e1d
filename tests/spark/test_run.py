"""Runs from SQL to rows: what a caller of the session meets."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from machine import allowed

from arroyo_nb.connectors.sample import FOLDER
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.run.observe import late_table
from arroyo_nb.run.observe.snapshot import RunState, WindowState
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.output import Output
from arroyo_nb.run.prepare import prepare
from arroyo_nb.run.run import Run
from arroyo_nb.tape import conductor
from arroyo_nb.tape.format import Tape, chunk_numbers, chunk_path
from arroyo_nb.tape.read_chunks import found_numbers
from arroyo_nb.views.panel import frame

FLIGHTS = "CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');"
PATIENT = """
CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '{delay}')
WITH (connector = 'sample', dataset = 'flights');
"""
BY_HOUR = """
SELECT tumble(INTERVAL '1 hour') AS window, origin, count(*) AS n
FROM flights GROUP BY window, origin;
"""
FEW = """
CREATE TABLE few WITH (connector = 'impulse', event_rate = '1000', message_count = 10);
SELECT tumble(INTERVAL '1 second') AS w, count(*) AS n FROM few GROUP BY w
"""
ENDLESS = """
CREATE TABLE endless WITH (connector = 'impulse', event_rate = '10');
SELECT counter FROM endless
"""
ALL_FLIGHTS = Tape.open(FOLDER / "flights").table()
CHUNK_BY_CHUNK = {"speed": 1e9, "trigger": "1ms"}
"""Without a speed small chunks are merged, and of the sample no row is late."""
CHUNK_ROWS = pq.read_metadata(chunk_path(FOLDER / "flights", 1)).num_rows


@pytest.fixture(scope="module")
def with_late_rows(lasting_session):
    """A run that has ended, of which many micro-batches have late rows."""
    script = PATIENT.format(delay="1 second") + BY_HOUR.replace("1 hour", "1 minute")
    run = lasting_session.run(script, name="late", **CHUNK_BY_CHUNK)
    assert run.wait(120)
    return run


def test_every_row_is_counted_once_in_its_window_or_as_late(with_late_rows):
    run = with_late_rows
    assert run.state is RunState.FINISHED
    counted = pc.sum(run.table()["n"]).as_py()
    late = run.late()
    assert late.num_rows > 10, "the sample is late in earnest"
    assert counted + late.num_rows == ALL_FLIGHTS.num_rows == run.snapshot().rows_in
    windows = run.windows()
    assert pc.sum(windows["rows"]).as_py() == counted
    assert pc.sum(windows["late_rows"]).as_py() == late.num_rows
    assert run.snapshot().late_rows == late.num_rows
    assert set(windows["state"].to_pylist()) == {"closed"}
    for row in late.to_pylist():
        assert row["event_time"] + row["late_by"] >= row["window_end"]


def late_text():
    """Eight micro-batches of ten minutes; all but the first have two late rows."""
    lines = ["at | origin"]
    for start in range(20, 100, 10):
        minutes = (*range(start, start + 4), start - 15, start - 15)
        for minute, origin in zip(minutes, "abcaba", strict=True):
            at = f"{minute // 60:02}:{minute % 60:02}:00"
            lines.append(f"2024-01-01 {at} | {origin}")
        lines.append("")
    return "\n".join(lines)


BY_MINUTE = """SELECT tumble(INTERVAL '1 minute') AS window, origin, count(*) AS n
FROM often GROUP BY window, origin"""


def test_rows_that_are_joined_with_their_own_aggregate_are_read_once(session):
    session.rows("often", late_text(), watermark="1 second")
    run = session.run(
        f"SELECT a.n, b.most FROM ({BY_MINUTE}) a "
        f"JOIN (SELECT window, max(n) AS most FROM ({BY_MINUTE}) GROUP BY window) b "
        "ON a.window = b.window AND a.n = b.most",
        wait=True,
    )
    picture, windows, late = run.snapshot(), run.windows(), run.late()
    assert picture.rows_in == 8 * 6
    assert picture.late_rows == late.num_rows == 7 * 2
    assert pc.sum(windows["rows"]).as_py() + late.num_rows == picture.rows_in
    assert run.table()["n"].equals(run.table()["most"])


def test_columns_of_a_table_may_be_called_as_those_of_late_rows(session, tmp_path):
    times = ["00:00:00", "00:01:00", "00:00:02", "00:02:00", "00:00:03"]
    path = tmp_path / "rows.json"
    path.write_text(
        "".join(
            json.dumps({"event_time": f"2024-01-01T{at}Z", "late_by": n}) + "\n"
            for n, at in enumerate(times)
        )
    )
    run = session.run(
        f"""CREATE TABLE rows (event_time TIMESTAMP NOT NULL, late_by BIGINT,
            WATERMARK FOR event_time AS event_time) WITH (connector = 'single_file',
            path = '{path}', type = 'source', format = 'json');
        SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM rows
        GROUP BY w""",
        wait=True,
    )
    assert run.late().column_names == [
        *("event_time", "late_by", "event_time_1"),
        *("window_start", "window_end", "missed_windows", "late_by_1", "batch"),
    ]


def test_the_rows_of_every_branch_and_partition_are_counted(session):
    again = PATIENT.format(delay="1 day").replace("TABLE flights", "TABLE again")
    run = session.run(
        PATIENT.format(delay="1 day")
        + again
        + """SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS n FROM
             (SELECT flight FROM flights UNION ALL SELECT flight FROM again)
             GROUP BY window""",
        wait=True,
    )
    rows = {r["window"]["start"]: r["n"] for r in run.table().to_pylist()}
    assert sum(rows.values()) == 2 * ALL_FLIGHTS.num_rows
    assert {w["start"]: w["rows"] for w in run.windows().to_pylist()} == rows
    assert run.snapshot().exact


def test_sessions_are_told_as_far_as_they_are_known(session, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.late_table.UNION_BATCHES", 1)
    run = session.run(
        PATIENT.format(delay="30 minutes")
        + """SELECT session(INTERVAL '40 minutes') AS window, count(*) AS n
             FROM flights GROUP BY window""",
        wait=True,
        **CHUNK_BY_CHUNK,
    )
    picture, sessions = run.snapshot(), run.table().to_pylist()
    counted = sum(r["n"] for r in sessions)
    # One task for each group of batches: other runs are looked at in between.
    worker, calls = session.engine.worker, []
    call = worker.call
    monkeypatch.setattr(
        worker, "call", lambda *a, **k: calls.append(a) or call(*a, **k)
    )
    late = run.late().num_rows
    assert len(calls) == len(run.outputs[0].observation.traces[0].late_batches) > 1
    assert counted + late == ALL_FLIGHTS.num_rows
    assert 0 < late <= picture.late_rows
    assert picture.late_exact == (late == picture.late_rows)
    windows = [w for w in run.windows().to_pylist() if w["rows"]]
    # Without a key each session is a window of its own.
    assert [(w["start"], w["end"]) for w in windows] == [
        (s["window"]["start"], s["window"]["end"]) for s in sessions
    ]
    assert picture.exact
    near = picture.late_rows - late
    told = sum(w["rows"] for w in windows)
    assert 0 <= counted - told <= near


def test_rows_that_a_sink_throws_away_can_be_kept(session):
    run = session.run(
        FLIGHTS
        + "CREATE TABLE nowhere WITH (connector = 'blackhole');"
        + "INSERT INTO nowhere SELECT flight FROM flights;",
        keep=True,
        wait=True,
    )
    assert run.table()["flight"].to_pylist() == ALL_FLIGHTS["flight"].to_pylist()


def test_two_runs_do_not_write_one_file(session, tmp_path):
    script = f"""
    CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 100);
    CREATE TABLE o (n BIGINT) WITH (connector = 'single_file', type = 'sink',
        format = 'json', path = '{tmp_path / "o.json"}');
    INSERT INTO o SELECT counter FROM ticks;
    """
    first = session.run(script, name="a")
    insert = "INSERT INTO o SELECT counter FROM ticks WHERE counter >= 0;"
    second = session.run(insert, name="b")
    with pytest.raises(RunProblem, match=r"o\.json' is being written by run 'a' of"):
        second.wait(60)
    assert not first.state.ended
    # One of the same name lets go before it is replaced.
    replacing = session.run(insert, name="a", stop_after="500ms")
    assert replacing.wait(60)
    assert first.state.ended


def test_a_patient_watermark_loses_nothing(session):
    run = session.run(PATIENT.format(delay="1 day") + BY_HOUR, wait=True)
    assert run.late().num_rows == 0
    assert pc.sum(run.table()["n"]).as_py() == ALL_FLIGHTS.num_rows


def test_a_stateless_query_keeps_rows_in_arrival_order(session):
    run = session.run(
        PATIENT.format(delay="30 minutes")
        + "SELECT flight, upper(dest) AS dest FROM flights WHERE dep_delay > 300",
        wait=True,
        **CHUNK_BY_CHUNK,
    )
    expected = ALL_FLIGHTS.filter(pc.greater(ALL_FLIGHTS["dep_delay"], 300))
    assert run.table()["flight"].to_pylist() == expected["flight"].to_pylist()
    # What the filter takes out was read all the same, and moved the watermark.
    assert run.rows_in == ALL_FLIGHTS.num_rows
    newest = pc.max(ALL_FLIGHTS["sched_dep"]).as_py()
    assert run.snapshot().max_event_time == newest.replace(tzinfo=None)
    history = run.snapshot().history
    assert len(history) > 10
    assert history[-1].max_event_time == newest.replace(tzinfo=None)
    marks = [point.watermark for point in history if point.watermark]
    assert marks == sorted(marks)
    assert marks[0] < newest.replace(tzinfo=None)
    assert "No event time seen" not in frame(run.snapshot())
    assert run.table().column_names == ["flight", "dest"]
    assert run.changelog()["op"].unique().to_pylist() == ["c"]
    with pytest.raises(RunProblem, match="no rows into windows"):
        run.late()


def test_declarations_stay_and_a_bad_script_changes_nothing(session):
    assert session.run(FLIGHTS) is None
    weather = "CREATE TABLE b WITH (connector = 'sample', dataset = 'weather');"
    with pytest.raises(ArroyoError):
        session.run(weather + "SELECT nope FROM flights")
    with pytest.raises(ArroyoError, match="b"):
        session.plan("SELECT * FROM b")
    assert session.plan("SELECT flight FROM flights").sinks


def test_stepping_releases_one_chunk_at_a_time(session, eventually):
    run = session.run(FLIGHTS + BY_HOUR, step=True)
    eventually(lambda: run.state is RunState.RUNNING)
    for chunk in (1, 2):
        run.step()
        eventually(lambda rows=CHUNK_ROWS * chunk: run.rows_in == rows)
    eventually(lambda: run.snapshot().paused)  # the last step is over
    states = {bar.state for bar in run.snapshot().windows}
    assert WindowState.OPEN in states
    run.resume()
    assert run.wait(120)
    assert run.rows_in == ALL_FLIGHTS.num_rows


def test_a_stopped_run_keeps_what_it_has(session, eventually):
    run = session.run(FLIGHTS + BY_HOUR, step=True)
    eventually(lambda: run.state is RunState.RUNNING)
    run.step()
    eventually(lambda: run.rows_in == CHUNK_ROWS)
    assert run.stop().wait(10)
    assert run.state is RunState.STOPPED
    assert run.rows_in == CHUNK_ROWS
    assert "open" in run.windows()["state"].to_pylist()


def test_a_run_of_the_same_name_is_replaced(session):
    first = session.run(FLIGHTS + BY_HOUR, name="same", step=True)
    second = session.run(BY_HOUR, name="same", step=True)
    assert first.wait(20)
    assert first.state is RunState.STOPPED
    assert session.get("same") is second
    with pytest.raises(RunProblem, match="did you mean 'same'"):
        session.get("sane")


def test_limits_stop_a_run(session):
    run = session.run(FLIGHTS + BY_HOUR, until="2013-03-05", wait=True)
    assert run.state is RunState.STOPPED
    assert "2013-03-05" in run.snapshot().note
    slow = session.run(BY_HOUR, speed=60, stop_after="500ms", wait=True)
    assert slow.state is RunState.STOPPED


def test_a_run_whose_batches_are_far_apart_ends_with_its_last_one(session):
    run = session.run(FEW, trigger="4s", wait=True)
    assert run.state is RunState.FINISHED
    assert run.running_s - run.snapshot().history[-1].elapsed_s < allowed(2)


def test_the_end_of_the_stream_is_no_time_to_stop_at(session):
    run = session.run(FEW, until="2099-01-01", wait=True)
    assert (run.state, run.note) == (RunState.FINISHED, "the sources have ended")


def test_a_query_whose_progress_cannot_be_read_is_ended_too(session, monkeypatch):
    def broken(output):
        raise ValueError("no such progress")

    with monkeypatch.context() as patch:
        patch.setattr(Output, "poll", broken)
        run = session.run(ENDLESS)
        with pytest.raises(ArroyoError, match="no such progress"):
            run.wait(60)
    active = session.engine.worker.call(lambda: session.engine.session.streams.active)
    assert not active


def test_windows_that_were_not_counted_are_refused(session):
    run = session.run(FLIGHTS + BY_HOUR, traced=False, wait=True)
    for asked in (run.late, run.windows):
        with pytest.raises(RunProblem, match="were not counted"):
            asked()


def test_spark_carries_no_notes_on_where_hadoops_settings_came_from(session):
    def sources(name):
        context = session.engine.session.sparkContext
        return context._jsc.hadoopConfiguration().getPropertySources(name)

    for name in ("io.file.buffer.size", "mapreduce.job.maps", "yarn.acl.enable"):
        assert session.engine.worker.call(sources, name) is None


def test_a_failing_run_tells_why_once_and_keeps_its_rows(session):
    run = session.run(
        FLIGHTS + "SELECT flight, 1 / (flight - flight) AS broken FROM flights",
    )
    with pytest.raises(RunProblem, match="divi"):
        run.wait(60)
    assert run.state is RunState.FAILED
    assert run.table().num_rows == 0


def test_rows_are_handed_on_as_they_come(session, eventually):
    run = session.run(FLIGHTS + "SELECT flight FROM flights", step=True)
    came = []
    run.on_rows(lambda rows, batch: came.append((batch, rows["flight"].to_pylist())))
    for chunk in (1, 2):
        run.step()
        eventually(lambda chunk=chunk: len(came) == chunk, 60)
    run.stop().wait(10)
    assert [batch for batch, _ in came] == [0, 1]
    flights = [flight for _, some in came for flight in some]
    assert flights == run.table()["flight"].to_pylist()


def test_what_a_callback_raises_fails_the_run(session):
    run = session.run(FLIGHTS + "SELECT flight FROM flights", step=True)
    run.on_rows(lambda rows, batch: rows["no such column"])
    run.step()
    with pytest.raises(RunProblem, match="no such column"):
        run.wait(60)


def test_two_sinks_share_one_source(session, tmp_path):
    target = tmp_path / "late.json"
    run = session.run(
        FLIGHTS
        + f"""
        CREATE TABLE out (flight BIGINT, delay INT) WITH (
            connector = 'single_file', path = '{target}', type = 'sink',
            format = 'json');
        INSERT INTO out SELECT flight, dep_delay FROM flights WHERE dep_delay > 120;
        SELECT origin, flight FROM flights;
        """,
        wait=True,
    )
    written = [json.loads(line) for line in target.read_text().splitlines()]
    delayed = ALL_FLIGHTS.filter(pc.greater(ALL_FLIGHTS["dep_delay"], 120))
    assert [row["delay"] for row in written] == delayed["dep_delay"].to_pylist()
    assert run.table(1).num_rows == ALL_FLIGHTS.num_rows
    with pytest.raises(RunProblem, match="went to its table"):
        run.table(0)


def test_without_sinks_an_insert_is_previewed(session, tmp_path):
    target = tmp_path / "out.json"
    script = (
        FLIGHTS
        + f"""
        CREATE TABLE out WITH (
            connector = 'single_file', path = '{target}', type = 'sink',
            format = 'json');
        INSERT INTO out SELECT flight FROM flights;
        """
    )
    run = session.run(script, sinks=False, wait=True)
    assert run.table().num_rows == ALL_FLIGHTS.num_rows
    assert not target.exists()


def test_state_is_locked_bound_to_its_query_and_resumed(session, tmp_path, eventually):
    target = tmp_path / "out.json"
    script = (
        FLIGHTS
        + f"""
        CREATE TABLE out WITH (
            connector = 'single_file', path = '{target}', type = 'sink',
            format = 'json');
        INSERT INTO out SELECT tumble(INTERVAL '3 hours') AS w, count(*) AS n
        FROM flights GROUP BY w;
        """
    )
    undisturbed = session.run(script, state_dir=tmp_path / "one", wait=True)
    expected = target.read_text()
    assert expected.count("\n") == undisturbed.windows().num_rows

    state = tmp_path / "two"
    run = session.run(script, name="job", state_dir=state)
    eventually(lambda: run.rows_in > 1000)
    run.pause()
    rival = Run(
        prepare("rival", run.plan, RunOptions()), session.engine, run.place
    ).start()
    with pytest.raises(RunProblem, match="is in use by run 'job'"):
        rival.wait(30)
    run.stop().wait(20)
    again = session.run(script, name="job", state_dir=state, wait=True)
    assert again.rows_in < ALL_FLIGHTS.num_rows
    assert target.read_text() == expected
    changed = session.run(
        script.replace("3 hours", "2 hours"), name="job", state_dir=state
    )
    with pytest.raises(RunProblem, match="state of another query") as refusal:
        changed.wait(30)
    assert "fresh: the state of WindowAggregate" in str(refusal.value)


def test_a_view_keeps_the_table_that_its_name_meant(session):
    session.run(FLIGHTS + "CREATE VIEW seen AS SELECT origin FROM flights;")
    session.run(FLIGHTS.replace("dataset = 'flights'", "dataset = 'weather'"))
    run = session.run(
        "SELECT origin FROM seen UNION ALL SELECT origin FROM flights", wait=True
    )
    weather = Tape.open(FOLDER / "weather").table()
    assert run.table().num_rows == ALL_FLIGHTS.num_rows + weather.num_rows
    assert run.rows_in == run.table().num_rows


def test_an_uneven_hop_counts_each_row_in_each_of_its_windows(session):
    run = session.run(
        PATIENT.format(delay="1 day")
        + """SELECT hop(INTERVAL '4 hours', INTERVAL '6 hours') AS w, count(*) AS n
             FROM flights GROUP BY w""",
        wait=True,
    )
    bars = {bar["start"]: bar["rows"] for bar in run.windows().to_pylist()}
    rows = {row["w"]["start"]: row["n"] for row in run.table().to_pylist()}
    assert bars == rows


def test_two_inserts_into_one_file_are_one_query(session, tmp_path):
    target = tmp_path / "out.json"
    table = f"""(flight BIGINT) WITH (
        connector = 'single_file', path = '{target}', type = 'sink',
        format = 'json');"""
    script = (
        FLIGHTS
        + f"""
        CREATE TABLE out {table}
        INSERT INTO out SELECT flight FROM flights WHERE origin = 'JFK';
        INSERT INTO out SELECT flight FROM flights WHERE origin <> 'JFK';
        """
    )
    run = session.run(script, wait=True)
    assert len(run.outputs) == 1
    written = [json.loads(line)["flight"] for line in target.read_text().splitlines()]
    assert sorted(written) == sorted(ALL_FLIGHTS["flight"].to_pylist())
    other = f"CREATE TABLE other {table} INSERT INTO other SELECT 1 FROM flights;"
    with pytest.raises(ArroyoError, match="'out' and 'other' write one file"):
        session.plan(script + other)


def written_to(path, sql="SELECT flight FROM flights WHERE dep_delay > 300"):
    return f"""{FLIGHTS} CREATE TABLE o WITH (connector = 'single_file',
        path = '{path}', type = 'sink', format = 'json'); INSERT INTO o {sql}"""


def test_a_finished_run_that_is_started_again_has_nothing_left_to_do(session, tmp_path):
    script = written_to(tmp_path / "o.json")
    first = session.run(script, name="again", state_dir=tmp_path, wait=True)
    lines = (tmp_path / "o.json").read_text()
    second = session.run(script, name="again", state_dir=tmp_path)
    assert second.wait(60)
    assert (first.state, second.state) == (RunState.FINISHED, RunState.FINISHED)
    assert (tmp_path / "o.json").read_text() == lines


def test_a_preview_s_state_is_not_the_sink_s(session, tmp_path):
    script = written_to(tmp_path / "o.json")
    session.run(script, name="r", state_dir=tmp_path, sinks=False, wait=True)
    with pytest.raises(RunProblem, match="the state of another query"):
        session.run(script, name="r", state_dir=tmp_path, wait=True)


def test_a_limit_of_time_counts_from_the_first_moment_of_running(session):
    endless = "CREATE TABLE i WITH (connector = 'impulse', event_rate = '100');"
    run = session.run(endless + "SELECT counter FROM i", stop_after="1s", wait=True)
    assert run.note == "stopped after 1 s"
    assert run.rows_in > 0


def test_chunks_that_spark_no_longer_lists_are_read_again_as_the_others(
    session, monkeypatch
):
    monkeypatch.setattr(conductor, "LISTED_CHUNKS", 2)
    session.rows("often", late_text(), watermark="1 second")
    run = session.run(BY_MINUTE, name="often", wait=True)
    (tape,) = (run.folder / "sources").iterdir()
    assert len(chunk_numbers(tape)) == 2
    assert len(found_numbers(tape)) > 4
    late, rows = run.late(), run.table()
    assert late.num_rows == run.snapshot().late_rows == 7 * 2
    again = session.resume("often")
    assert again.wait(120)
    assert again.table().equals(rows)
    assert again.late().num_rows == late.num_rows
    (outcome,) = session.whatif("often", ["1s"]).outcomes
    assert outcome.as_run
    assert outcome.late_rows == late.num_rows


def test_late_rows_whose_chunks_are_gone_are_told(with_late_rows):
    run = with_late_rows
    late = run.late().num_rows
    batch = run.outputs[0].observation.traces[0].late_batches[0]
    ((first, _),) = batch.stretches.values()
    chunk = next(run.folder.rglob(f"chunk-{first + 1:08d}.parquet"))
    elsewhere = chunk.rename(run.folder / "elsewhere")
    gone = "rows of 1 batches with late rows are gone"
    try:
        with pytest.warns(UserWarning, match=gone):
            assert 0 < run.late().num_rows < late
    finally:
        elsewhere.rename(chunk)


def test_a_finished_run_that_is_resumed_says_what_it_said(session):
    run = session.run(FEW, name="few", wait=True)
    before = run.snapshot()
    again = session.resume("few")
    rows = {again.rows_in}
    while not again.wait(0.01):
        rows.add(again.rows_in)
    after = again.snapshot()
    assert {*rows, before.rows_in, after.rows_in} == {10}
    assert after.elapsed_s > before.elapsed_s
    assert after.rows_per_s < before.rows_per_s


def test_rows_that_no_filter_lets_through_have_been_read(session, tmp_path):
    """Not a page of them is left out, nor the end of the stream, which is no row."""
    path = tmp_path / "rows.json"
    path.write_text("".join(f'{{"v": {n}}}\n' for n in range(1000)))
    for where in ("TRUE", "v > 990"):
        run = session.run(
            f"""CREATE TABLE rows (v BIGINT) WITH (connector = 'single_file',
                path = '{path}', type = 'source', format = 'json');
            CREATE TABLE out WITH (connector = 'single_file', type = 'sink',
                path = '{tmp_path}/{where}.json', format = 'json');
            INSERT INTO out SELECT v FROM rows WHERE {where}""",
            wait=True,
            traced=False,
        )
        assert run.rows_in == 1000


NO_LATE_ROWS = """CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep -
    INTERVAL '30 days') WITH (connector = 'sample', dataset = 'flights');
SELECT tumble(INTERVAL '1 hour') AS w, origin, count(*) AS n, array_agg(dep) AS deps
FROM flights GROUP BY w, origin"""


def test_spark_is_only_asked_for_late_rows_that_the_trace_has_counted(
    session, monkeypatch
):
    run = session.run(NO_LATE_ROWS, wait=True)
    (aggregate,) = run.outputs[0].observation.aggregates
    engine = session.engine
    of_spark, _ = engine.worker.call(
        late_table._late_table, engine, aggregate, (late_table.NOTHING,), run.sources
    )
    monkeypatch.setattr(late_table, "_late_table", lambda *_: 1 // 0)
    late = run.late()
    assert late.num_rows == 0
    assert [(f.name, f.type) for f in late.schema] == [
        (f.name, f.type) for f in of_spark.schema
    ]


def test_late_rows_say_how_far_they_are_and_end_when_they_are_interrupted(
    engine, with_late_rows
):
    run = with_late_rows
    seen = run.outputs[0].observation
    told = []
    every = len(seen.traces[0].late_batches)
    late_table.late_rows(engine, seen, run.sources, "q", told.append)
    assert told[0] == f"late rows of q: 0 of {every} micro-batches read again"

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        late_table.late_rows(engine, seen, run.sources, "q", interrupt)
    assert run.late().num_rows == run.snapshot().late_rows > 0
