"""A run as it was after each of its micro-batches."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections import Counter
from dataclasses import fields
from datetime import datetime
from functools import cache, partial
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from arroyo_nb import load_trace
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.views.panel import body, frame

ROWS = {
    "at": pa.array([], pa.timestamp("us")),
    "key": pa.array([], pa.string()),
    "n": pa.array([], pa.int64()),
}
UPDATING = "SELECT key, count(*) AS n, sum(n) AS total FROM r GROUP BY key"
WINDOWED = "SELECT {window} AS w, key, count(*) AS n FROM r GROUP BY w, key"
WINDOWS = {
    "tumble": "tumble(interval '10 seconds')",
    "hop": "hop(interval '5 seconds', interval '20 seconds')",
    "session": "session(interval '4 seconds')",
}


def some_rows(seed: int, many: int = 40):
    """Rows out of order, a micro-batch of one to six rows each, as text."""
    random, now, lines = Random(seed), 0.0, ["event_time | key | n"]
    for _ in range(many):
        now += random.random() * 4
        back = random.choice([0, 0, 1, 3, 30])
        at = max(0.0, now - back * random.random())
        time = f"2024-01-01 00:{int(at // 60):02}:{at % 60:06.3f}"
        lines.append(f"{time} | {random.choice('abc')} | {random.randrange(9)}")
        if random.random() < 0.4:
            lines.append("")
    return "\n".join(lines)


def started(session, seed, query, many=40):
    session.rows("r", some_rows(seed, many), watermark="1s")
    run = session.run(query, name=f"moments{len(session.runs)}")
    assert run.wait(60)
    return run


def watched(session, query):
    """A run that has ended, and what it showed after each of its micro-batches."""
    shown = {}
    session.rows("r", some_rows(7), watermark="1s")
    run = session.run(query, name=f"moments{len(session.runs)}", step=True)
    run.on_progress(lambda snapshot: shown.setdefault(snapshot.batch_id, snapshot))
    run.resume()
    assert run.wait(60)
    return run, shown


@pytest.fixture(scope="module")
def shown(lasting_session):
    """Runs of one seed's rows, each made once, by its query, and what they showed."""
    return cache(partial(watched, lasting_session))


@pytest.fixture(scope="module")
def ended(shown):
    """These runs alone."""
    return lambda query: shown(query)[0]


def folded(changes: list[dict], batch_id: int) -> Counter:
    """What the changes of a changelog leave up to a batch."""
    left: Counter = Counter()
    for change in changes:
        if change["batch"] <= batch_id:
            if change["before"]:
                left[tuple(change["before"].values())] -= 1
            if change["after"]:
                left[tuple(change["after"].values())] += 1
    return +left


def rows_of(table: pa.Table) -> Counter:
    return Counter(tuple(map(_hashable, row.values())) for row in table.to_pylist())


def _hashable(value):
    return tuple(value.values()) if isinstance(value, dict) else value


def test_a_result_at_a_batch_is_its_folded_changelog(ended):
    run = ended(UPDATING)
    changes = run.changelog().to_pylist()
    moments = run.moments()
    assert moments.last > 5
    for batch_id in range(moments.first, moments.last + 1):
        assert rows_of(run.at(batch=batch_id)) == folded(changes, batch_id)
    assert run.at(batch=moments.last).equals(run.table())


@pytest.mark.parametrize("kind", WINDOWS)
def test_windows_and_rows_at_a_batch_are_those_that_were_shown_then(shown, kind):
    run, then = shown(WINDOWED.format(window=WINDOWS[kind]))
    moments, newest = run.moments(), run.snapshot()
    # Back and forth, as somebody scrubs.
    order = [*range(moments.last, -1, -1), *range(moments.last + 1)]
    compared = 0
    for batch_id in order:
        made = moments.snapshot(newest, batch_id, 20)
        live = then.get(batch_id)
        assert frame(made)
        if live is None:
            continue
        compared += 1
        for name in (
            *("windows", "late_rows", "watermark", "max_event_time", "rows_out"),
            *("rows_in", "closed_sessions", "open_sessions", "batch_id", "density"),
        ):
            assert getattr(made, name) == getattr(live, name), name
        assert sorted(map(repr, made.rows)) == sorted(map(repr, live.rows))
        assert sum(late.rows for late in made.late) == made.late_rows
    assert compared > 5
    assert newest.late_rows > 0, "rows of this seed are late in earnest"


def test_each_row_of_a_small_tape_is_in_the_sample(session):
    run = started(session, 3, WINDOWED.format(window=WINDOWS["tumble"]))
    arrivals = run.snapshot().arrivals
    sampled = sorted(time for arrived in arrivals for time in arrived.times)
    assert len(sampled) == sum(arrived.rows for arrived in arrivals) == 40
    assert sampled == sorted(session.head("r", 100)["event_time"].to_pylist())
    moments, newest = run.moments(), run.snapshot()
    late = taken = 0
    for batch_id, _ in moments.times:
        came = moments.arrivals(batch_id)
        for row in range(1, 1 + len(came.times) if came else 1):
            made = moments.within(newest, batch_id, row, 20)
            arrival, taken = made.moment.arrival, taken + 1
            assert (arrival.time, arrival.drawn) == (came.times[row - 1], came.rows)
            late += arrival.late
            assert made.late_rows == sum(each.rows for each in made.late) == late
            assert sum(batch.rows for batch in made.arrivals) == taken
            assert 'class="arrived"' in body(made, view="arrivals", keys=True)
            is_last = row == came.rows
            of = batch_id if is_last else batch_id - 1
            if of >= moments.first:
                then = moments.snapshot(newest, of, 20)
                for name in ("rows", "windows", "watermark", "rows_in", "batch_id"):
                    assert getattr(made, name) == getattr(then, name), name
            else:
                assert (made.rows, made.windows, made.watermark) == ((), (), None)
    assert (taken, late) == (40, newest.late_rows)
    assert late > 0, "rows of this seed are late in earnest"


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT key FROM r WHERE n > 100", ["r"]),
        ("SELECT a.key, b.n FROM r a JOIN r b ON a.n = b.n", ["r"]),
        ("SELECT key FROM r UNION ALL SELECT key FROM q WHERE n > 3", ["r", "q"]),
    ],
)
def test_each_row_of_a_query_without_a_window_is_in_the_sample(session, query, tables):
    session.rows("q", some_rows(4, 20), watermark="1s")
    run = started(session, 3, query, many=30)
    arrivals = run.snapshot().arrivals
    for table in tables:
        sampled = [
            time
            for batch in arrivals
            for place, time in enumerate(batch.times)
            if batch.source_of(place) == table
        ]
        known = session.head(table, 100)["event_time"].to_pylist()
        assert sorted(sampled) == sorted(known), "also those that a filter leaves out"
    rows = sum(source.rows for batch in arrivals for source in batch.sources)
    assert rows == sum(batch.rows for batch in arrivals) == run.rows_in
    behind = [t for batch in arrivals for t in batch.times if batch.is_behind(t)]
    assert behind, "rows of this seed are behind the watermark in earnest"
    drawn = body(run.snapshot(), view="arrivals")
    assert f"the {len(behind):,} that came behind the watermark" in drawn
    dots = [
        row for d in run.plot("arrivals").to_dict()["datasets"].values() for row in d
    ]
    told = [row["row"] for row in dots if "row" in row]
    assert told.count("behind the watermark") == len(behind)


def test_a_result_at_a_watermark_is_that_of_the_first_batch_that_had_reached_it(ended):
    run = ended(WINDOWED.format(window=WINDOWS["tumble"]))
    found = run.moments().find(watermark="2024-01-01 00:00:10")
    at = run.at(watermark="2024-01-01T00:00:10Z")
    assert at.equals(run.at(batch=found.batch_id))
    assert pc.max(pc.struct_field(at["w"], "end")).as_py() <= found.watermark
    with pytest.raises(RunProblem, match="not a time"):
        run.at(watermark="noon")
    with pytest.raises(RunProblem, match="batch 999 is not recorded"):
        run.at(batch=999)
    with pytest.raises(RunProblem, match="name a micro-batch or a watermark"):
        run.at()


@pytest.mark.parametrize("query", ["updating", *WINDOWS])
def test_a_saved_trace_shows_the_same_moments(ended, tmp_path, query):
    sql = UPDATING
    if query in WINDOWS:
        sql = WINDOWED.format(window=WINDOWS[query])
    run = ended(sql)
    path = run.save_trace(tmp_path / "run.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["run.parquet"]
    trace = load_trace(path)
    assert trace.table().equals(run.table())
    assert trace.changelog().equals(run.changelog())
    assert trace.sql == run.plan.source.text
    newest, live, saved = run.snapshot(), run.moments(), trace.moments()
    assert saved.times == live.times
    assert (newest.lateness is not None) == (query in WINDOWS)
    if query in WINDOWS:
        assert trace.windows().equals(run.windows())
        drawn, live_drawn = (r.plot("windows").to_dict() for r in (trace, run))
        assert drawn["datasets"] == live_drawn["datasets"]
    for batch_id, _ in live.times:
        made = saved.snapshot(trace.snapshot(), batch_id, 20)
        then = live.snapshot(newest, batch_id, 20)
        for name in (f.name for f in fields(Snapshot) if f.name not in UNSAVED):
            assert getattr(made, name) == getattr(then, name), name
        assert trace.at(batch=batch_id).equals(run.at(batch=batch_id))
    end = trace.snapshot()
    for name in (
        "state",
        "note",
        "rows",
        "windows",
        "late",
        "lateness",
        "late_rows",
        "rows_in",
        "rows_out",
    ):
        assert getattr(end, name) == getattr(newest, name), name
    assert newest.name in repr(trace)
    assert "<table" in trace._repr_html_()


def test_a_run_of_several_outputs_is_saved_as_it_was(session, tmp_path):
    windowed = WINDOWED.format(window=WINDOWS["tumble"])
    odd = "SELECT key, NULL AS nothing, n AS batch, at AS result_0 FROM r"
    odd = odd.replace("at AS", "event_time AS")
    run = started(session, 3, "; ".join((odd, windowed, UPDATING)), many=30)
    trace = load_trace(run.save_trace(tmp_path / "run.parquet"))
    for output in range(3):
        # Each output has batches in which nothing came out.
        assert trace.table(output).equals(run.table(output))
        assert trace.snapshot(0, output).columns == run.snapshot(0, output).columns
        for batch_id, _ in run.moments(output).times:
            then = run.at(batch=batch_id, output=output)
            assert trace.at(batch=batch_id, output=output).equals(then)
    newest = run.snapshot(0, 1)
    assert newest.lateness is not None
    assert newest.lateness.rows == 30
    assert newest.lateness.late_rows == sum(late.rows for late in newest.late)
    assert newest.lateness == trace.snapshot(0, 1).lateness


UNSAVED = ("hints", "plan", "batch_ms", "handle", "facts", "stepping")
"""What is not of a moment, or is told by the run alone."""


def test_a_trace_is_plain_parquet(ended, tmp_path):
    run = ended(WINDOWED.format(window=WINDOWS["tumble"]))
    path = run.save_trace(tmp_path / "run.parquet")
    rows = pq.read_table(path)
    assert rows["batch"].to_pylist() == [batch for batch, _ in run.moments().times]
    assert sum(map(len, rows["event_times"].to_pylist())) == 40
    assert sum(map(len, rows["result_0"].to_pylist())) == run.table().num_rows


@pytest.mark.parametrize("content", [b"", b"PAR1", b"nothing", None])
def test_what_is_no_trace_is_refused(tmp_path, content):
    path = tmp_path / "other.parquet"
    if content is None:
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.write_bytes(content)
    with pytest.raises(ArroyoError, match="is no trace of a run"):
        load_trace(path)
    with pytest.raises(ArroyoError, match="there is no file"):
        load_trace(tmp_path / "none.parquet")


def test_a_page_has_every_moment(ended, tmp_path):
    run = ended(WINDOWED.format(window=WINDOWS["tumble"]))
    made = run.save_html(tmp_path / "run.html").read_text()
    packed = re.search(r'id="frames">([^<]*)<', made)[1]
    frames = json.loads(zlib.decompress(b64decode(packed)))
    moments = run.moments()
    ends = [batch for batch, *_, is_end in frames if is_end]
    assert ends == [batch for batch, _ in moments.times]
    drawn = {b: len(came.times) for b in ends if (came := moments.arrivals(b))}
    assert [(batch, row) for batch, _, _, row, _ in frames if row] == [
        (batch, row) for batch, last in drawn.items() for row in range(1, last + 1)
    ]
    assert sum(drawn.values()) == 40
    assert len({views["overview"] for _, _, views, *_ in frames}) == len(frames)
    assert {name for _, _, views, *_ in frames for name in views} == {
        *("overview", "windows", "arrivals", "watermark", "delays", "late", "table"),
    }
    assert "http" not in re.sub('http://www.w3.org/[^"]*', "", made)
    for batch, _, views, *_ in frames[:-1]:
        for html in views.values():
            assert f'value="{batch}"' in html
            assert 'data-do="stop"' not in html


def stepped(session, **chosen):
    """A run that has made the steps, and waits."""
    session.rows("r", some_rows(7), watermark="1s")
    run = session.run(WINDOWED.format(window=WINDOWS["tumble"]), step=True)
    run.step(**chosen)
    return run


def test_a_run_is_stepped_until_something_happens(session, eventually):
    run = stepped(session, until="late")
    seen = run.outputs[0].observation
    eventually(lambda: seen.late_rows > 0)
    *before, last = (t.late_rows for t in seen.totals.since(0))
    assert not any(before), "no later batch is read"
    assert last
    closed = len(run.table())
    run.step(until="window")
    eventually(lambda: len(run.table()) > closed)
    run.step(until="2024-01-01 00:01:00")
    eventually(lambda: run.snapshot().watermark >= datetime(2024, 1, 1, 0, 1))
    batch = run.snapshot().batch_id
    assert seen.totals.first_with(datetime(2024, 1, 1, 0, 1)).batch_id == batch
    # As the last line of a cell: what is shown has the step.
    run.step(2)._repr_mimebundle_()
    assert run.snapshot().batch_id >= batch + 2
    assert run.snapshot().paused
    with pytest.raises(RunProblem, match="cannot be stepped to 'lat'") as problem:
        run.step(until="lat")
    assert "did you mean 'late'" in problem.value.hint
    run.stop()
    assert run.wait(30)
