"""A run's picture, without an engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import RunProblem
from arroyo_nb.jobs.runner.counts import Counts
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.progress import LoggedBatch, TriggerProgress
from arroyo_nb.run.observe.snapshot import SourceProgress
from arroyo_nb.run.observe.trace import TracedBatch
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import RunFolder, prepare
from arroyo_nb.run.run import Run
from arroyo_nb.run.sources.reader import SourcePosition
from arroyo_nb.schema import EPOCH
from arroyo_nb.tape import BadRow, RecordCounts
from arroyo_nb.tape.fit import Fit, FittedRecorder
from arroyo_nb.views.truncation_notes import trace_left_out

TWO_OUTPUTS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);
SELECT count(*) AS n, tumble(INTERVAL '1 hour') AS w FROM ticks GROUP BY w;
SELECT counter FROM ticks;
"""


def test_a_picture_tells_what_was_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.trace.TRACE_BATCHES", 1)
    plan = plan_script(TWO_OUTPUTS, Catalog())
    engine = SimpleNamespace(status="starting")
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    before = run.snapshot()
    assert (before.rows_cut, before.windows_cut) == (0, 0)
    assert (before.recorded_to, before.exact) == (None, True)

    windowed, plain = run.outputs
    windowed.preview._limit_rows = 2
    window = pa.struct([("start", pa.timestamp("us")), ("end", pa.timestamp("us"))])
    rows = pa.table({"n": [1, 2, 3], "w": pa.nulls(3, window)})
    windowed.preview.put(rows, 0)
    plain.preview.put(pa.table({"counter": [7]}), 0)
    assert run.snapshot().rows_out == 0  # before the progress of their batch is known
    for output in run.outputs:
        output.observation.write(0, None)
        output.observation._take(TriggerProgress(0, 1.0, None))
    first = TracedBatch(0, 0.0, None, EPOCH, {}, None)
    windowed.observation.traces[0].add(replace(first, batch_id=1, exact=False))
    picture = run.snapshot()
    assert picture.more_outputs == 1
    assert (picture.rows_kept, picture.rows_cut, picture.rows_out) == (2, 1, 4)
    assert (picture.recorded_to, picture.exact) == (0, False)


INTO_OUT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1000);
CREATE TABLE out (n BIGINT) WITH (connector = 'blackhole');
INSERT INTO out SELECT counter FROM ticks;
SELECT counter FROM ticks;
"""


@pytest.mark.parametrize(("sinks", "unwritten"), [(False, ("out",)), (True, ())])
def test_an_insert_that_is_only_previewed_is_told(tmp_path, sinks, unwritten):
    plan = plan_script(INTO_OUT, Catalog())
    options = RunOptions(sinks=sinks, keep=True)
    run = Run(
        prepare("r", plan, options),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path),
    )
    assert run.snapshot().unwritten == unwritten


def test_what_any_output_dropped_is_told(tmp_path):
    engine = SimpleNamespace(status="starting")
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    run.sources.sources = lambda _: (
        SourceProgress("ticks", 9, None, timedelta(), bounded=True, dropped_rows=1),
    )
    first, second = run.outputs
    first.observation.dropped_rows["ticks"] = 2
    second.observation.dropped_rows["ticks"] = 4
    assert [s.dropped_rows for s in run.snapshot().sources] == [5]


def test_records_with_unknown_fields_are_counted_once_for_all_outputs(tmp_path):
    engine = SimpleNamespace(status="starting")
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    ticks = SourceProgress("ticks", 9, None, timedelta(), bounded=True)
    run.sources.sources = lambda _: (ticks,)
    assert [s.unknown_records for s in run.snapshot().sources] == [0]
    first, second = (output.observation for output in run.outputs)

    def take(seen, batch, rows, unknown):
        values = {"rows": rows, "seen": 1 if rows else None, "unknown": unknown}
        observed = {"fit:0:ticks": values}
        seen._take(TriggerProgress(batch, 1.0, None, observed=observed))
        (source,) = run.snapshot().sources
        return source

    # A batch of bad records alone, then one of rows; the other output is behind.
    assert take(first, 0, 0, 2).unknown_records == 2
    assert take(first, 1, 5, 4).unknown_records == 6
    told = take(second, 0, 0, 2)
    assert told.unknown_records == 6
    assert Counts.of(run.snapshot()).unknown_records == 6
    # What a tape has counted before Spark reads it comes to that.
    feed = run.sources._feeds[0]
    feed.recorder = FittedRecorder(feed.recorder, feed.table.physical)
    feed.recorder.fit = Fit(3, 1, RecordCounts(10))
    (told,) = run.snapshot().sources
    assert told.unknown_records == 16


def test_a_table_that_is_looked_up_is_told_where_records_were_left_out(tmp_path):
    engine = SimpleNamespace(status="starting")
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    users = SourceProgress("users", 0, None, timedelta(), bounded=True, looked_up=True)
    run.sources.sources = lambda _: (users,)
    assert run.snapshot().sources == ()
    bad_rows = [BadRow(name, "x", "why") for name in "ab"]
    for output, bad in zip(run.outputs, bad_rows, strict=True):
        observed = {"dropped:0:users": {"rows": 2, "bad": [bad.to_json()]}}
        output.observation._take(TriggerProgress(0, 1.0, None, observed=observed))
        output.observation._take(TriggerProgress(1, 1.0, None, observed=observed))
    (told,) = run.snapshot().sources
    assert told == replace(users, dropped_rows=8, bad=("a: why: x", "b: why: x"))


def test_a_sample_of_dropped_records_says_how_many_there_were(tmp_path):
    engine = SimpleNamespace(status="starting")
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    assert run.bad(1).num_rows == 0
    bad = BadRow("t[2] offset 7", "{", "invalid JSON", "t", 2, 7).to_json()
    observed = {"dropped:0:ticks": {"rows": 4, "bad": [bad]}}
    run.outputs[1].observation._take(TriggerProgress(0, 1.0, None, observed=observed))
    with pytest.warns(UserWarning, match="^1 of 4 dropped records"):
        (row,) = run.bad(1).to_pylist()
    assert list(row.values()) == ["ticks", "t", 2, 7, None, "{", "invalid JSON"]
    assert run.bad(0).num_rows == 0


def test_a_run_that_is_resumed_stands_where_its_checkpoint_does(tmp_path):
    """Before its first batch, which an idle topic never brings."""
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(
        prepare("r", plan, RunOptions()),
        SimpleNamespace(status="starting"),
        RunFolder(tmp_path),
    )
    asked = []
    run.sources.sources = lambda reaches: asked.append(reaches) or ()
    assert (run.snapshot().batch_id, run.snapshot().watermark) == (None, None)
    at = datetime(2013, 2, 8, 11, 12, tzinfo=UTC)
    run.outputs[0].observation.resumed_after = LoggedBatch(
        4, at, {"topic orders": {0: 20000}}
    )
    picture = run.snapshot()
    assert (picture.batch_id, picture.watermark) == (4, at.replace(tzinfo=None))
    assert asked[-1]["topic orders"] == SourcePosition({0: 20000})
    now = {"topic orders": {0: 20001}}
    run.outputs[0].observation._take(
        TriggerProgress(5, 1.0, None, places=now, first_places=now)
    )
    assert (run.snapshot().batch_id, run.snapshot().watermark) == (5, None)
    assert asked[-1]["topic orders"].place == {0: 20001}


def test_a_run_is_silent_from_its_first_row_in_to_its_first_row_out(tmp_path):
    engine = SimpleNamespace(status="starting")
    plan = plan_script(TWO_OUTPUTS, Catalog())
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    seen = run.outputs[0].observation
    seen._take(TriggerProgress(0, 1.0, None))
    assert seen.silent_s(seen.ended_s + 99) == 0.0
    seen._take(TriggerProgress(1, 1.0, None, source_rows={"ticks": 3}))
    first_s = seen.ended_s
    seen._take(TriggerProgress(2, 1.0, None, source_rows={"ticks": 3}))
    assert seen.silent_s(first_s + 7) == pytest.approx(7.0)
    assert run.snapshot().silent_s > 0
    window = pa.struct([("start", pa.timestamp("us")), ("end", pa.timestamp("us"))])
    run.outputs[0].preview.put(pa.table({"n": [1], "w": pa.nulls(1, window)}), 3)
    seen.write(3, None)
    seen._take(TriggerProgress(3, 1.0, None))
    assert seen.silent_s(first_s + 99) == 0.0
    picture = run.snapshot()
    assert picture.silent_s == 0.0
    assert [o.rows_out for o in picture.output_counts] == [1, 0]


def test_only_a_run_of_a_session_can_be_examined(tmp_path):
    plan = plan_script(TWO_OUTPUTS, Catalog())
    prepared = prepare("r", plan, RunOptions(keep=True))
    run = Run(prepared, SimpleNamespace(status="starting"), RunFolder(tmp_path))
    with pytest.raises(RunProblem, match="only a run of a session"):
        run.doctor()


def test_a_run_without_windows_says_where_its_recording_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.batch_log.TRACE_BATCHES", 2)
    plan = plan_script(TWO_OUTPUTS, Catalog())
    engine = SimpleNamespace(status="starting")
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    seen = run.outputs[1].observation
    for number, recorded_to in enumerate((None, None, 1, 1)):
        seen._take(TriggerProgress(number, 1.0, None))
        assert run.snapshot(output=1).recorded_to == recorded_to
    assert run.snapshot(output=1).moment.last == 1
    assert "batches after 1 are counted but not recorded: no view goes back" in (
        trace_left_out(run.snapshot(output=1))
    )


JOIN = """
CREATE TABLE a WITH (connector = 'impulse', event_rate = 1000);
CREATE TABLE b WITH (connector = 'impulse', event_rate = 1000);
SELECT x.w, x.n, y.n AS m
FROM (SELECT tumble('1 hour') AS w, count(*) AS n FROM a GROUP BY w) x
JOIN (SELECT tumble('1 hour') AS w, count(*) AS n FROM b GROUP BY w) y ON x.w = y.w
"""


def test_of_a_join_it_is_said_whose_windows_are_drawn(tmp_path):
    plan = plan_script(JOIN, Catalog())
    engine = SimpleNamespace(status="starting")
    run = Run(prepare("r", plan, RunOptions(keep=True)), engine, RunFolder(tmp_path))
    assert run.snapshot().window_text == (
        f"tumble 1 h of 'a', {run.handle}.windows() has 'b' too"
    )
