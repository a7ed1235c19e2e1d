"""A row without event time is bad data, wherever its event time comes from."""

import json

import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.run import output as output_module
from arroyo_nb.run.observe.progress import read_progress

FILE = """
CREATE TABLE events (
    ms BIGINT, at TIMESTAMP,
    made TIMESTAMP(3) GENERATED ALWAYS AS (to_timestamp_millis(ms)) STORED,
    WATERMARK FOR {column}
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json',
        bad_data = '{bad_data}');
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w;
"""
SAMPLE = """
CREATE TABLE departed (WATERMARK FOR dep)
WITH (connector = 'sample', dataset = 'flights', bad_data = '{bad_data}');
SELECT count(*) AS n, tumble(INTERVAL '1 day') AS w FROM departed GROUP BY w;
"""

BY_HOUR = """
CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');
SELECT count(*) AS n, tumble(INTERVAL '1 hour') AS w FROM flights GROUP BY w;
"""


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.json"
    rows = [
        {"ms": 1_000, "at": "1970-01-01T00:00:01"},
        {"ms": None, "at": None},
        {"ms": 90_000, "at": "1970-01-01T00:01:30"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("column", ["at", "made"])
def test_a_missing_event_time_is_dropped_and_counted(session, events, column):
    script = FILE.format(path=events, column=column, bad_data="drop")
    run = session.run(script, wait=True)
    assert run.table()["n"].to_pylist() == [1, 1]
    (source,) = run.snapshot().sources
    assert source.dropped_rows == len(source.bad) == 1
    (bad,) = run.bad().to_pylist()
    assert (bad["source"], bad["line"]) == ("events", 2 if column == "at" else None)

    assert "event time" in bad["reason"] or "NULL" in bad["reason"]


@pytest.mark.parametrize("column", ["at", "made"])
def test_a_missing_event_time_fails_the_run(session, events, column):
    run = session.run(FILE.format(path=events, column=column, bad_data="fail"))
    with pytest.raises(RunProblem, match=r"event time .* NULL|event time .* missing"):
        run.wait(60)


def written(tmp_path, *millis):
    path = tmp_path / "events.json"
    path.write_text("".join(json.dumps({"ms": ms}) + "\n" for ms in millis))
    return path


FOREVER_MS = 253_370_764_800_000
"""9999-01-01, where the end of a stream is."""


@pytest.mark.parametrize("beyond", [FOREVER_MS, FOREVER_MS + 86_400_000])
def test_an_event_time_at_the_end_of_time_is_not_the_end(session, tmp_path, beyond):
    path = written(tmp_path, 1_000, beyond, 90_000)
    script = FILE.format(path=path, column="made", bad_data="drop")
    run = session.run(script, wait=True)
    assert run.table()["n"].to_pylist() == [1, 1]
    assert [s.dropped_rows for s in run.snapshot().sources] == [1]
    run = session.run(FILE.format(path=path, column="made", bad_data="fail"))
    with pytest.raises(RunProblem, match="after the year 9998"):
        run.wait(60)


def test_unusable_rows_of_a_table_read_twice_count_once_and_are_not_late(
    session, tmp_path
):
    path = written(tmp_path, 1_000, None, -5_000, 90_000_000, 2_000)
    script = FILE.format(path=path, column="made", bad_data="drop")
    twice = "(SELECT * FROM events UNION ALL SELECT * FROM events WHERE ms > 0)"
    run = session.run(script.replace("FROM events", f"FROM {twice} AS e"), wait=True)
    assert [s.dropped_rows for s in run.snapshot().sources] == [2]
    assert run.rows_in == 3  # bad data is none of them
    assert sum(run.table()["n"].to_pylist()) == 6
    assert run.late().num_rows == 0


def test_a_tape_is_stamped_with_the_declared_event_time(session):
    run = session.run(SAMPLE.format(bad_data="drop"), wait=True)
    assert [s.dropped_rows for s in run.snapshot().sources] == [519]
    # Departures arrive in order of departure: with no delay allowed, none is late.
    assert sum(run.table()["n"].to_pylist()) == 6546 - 519
    run = session.run(SAMPLE.format(bad_data="fail"))
    with pytest.raises(RunProblem, match="the event time 'dep' is NULL"):
        run.wait(60)


def test_spark_leaves_out_the_windows_that_late_rows_of_a_batch_missed(
    session, monkeypatch
):
    reports = []

    def read(raw):
        reports.append(raw)
        return read_progress(raw)

    monkeypatch.setattr(output_module, "read_progress", read)
    # Chunk by chunk: merged, the sample has no late row.
    run = session.run(BY_HOUR, wait=True, speed=1e9, trigger="1ms")
    (output,) = run.outputs
    (trace,) = output.observation.traces
    missed = [
        pane
        for batch in trace.late_batches
        for pane in batch.pane_rows
        if pane + trace.window.width <= batch.late_watermark
    ]
    # Spark counts after it has put a batch's rows of a window together. Of a batch it
    # may be asked twice.
    groups = {
        raw["batchId"]: sum(s["numRowsDroppedByWatermark"] for s in states)
        for raw in reports
        if (states := raw["stateOperators"])
    }
    assert 0 < sum(groups.values()) == len(missed) < output.observation.late_rows
