"""The views of time, of rows that went through Spark."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from arroyo_nb import load_trace
from arroyo_nb.run.observe.snapshot import WindowState
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections.arrivals.layout import late_and_other_rows
from arroyo_nb.views.sections.arrivals.picture import picture

QUERIES = {
    "tumble": "tumble(interval '10 seconds')",
    "hop": "hop(interval '5 seconds', interval '20 seconds')",
}


def lines(seed: int, batches: int = 14) -> str:
    """Rows of a few to a batch; some of them are far behind."""
    random, made = Random(seed), ["event_time | n"]
    for batch in range(batches):
        for _ in range(random.randint(1, 4)):
            back = random.choice([0, 0, 1, 2, 25])
            at = max(0.0, batch * 6 + random.random() * 6 - back)
            made.append(f"2024-01-01 00:{int(at // 60):02}:{at % 60:06.3f} | 1")
        made.append("")
    return "\n".join(made)


@pytest.fixture(scope="module", params=QUERIES)
def run(request, lasting_session):
    """A finished run with late rows."""
    lasting_session.rows("timed", lines(5), watermark="2s")
    window = QUERIES[request.param]
    sql = f"SELECT {window} AS w, sum(n) AS n FROM timed GROUP BY w"
    made = lasting_session.run(sql, name=f"timed_{request.param}")
    assert made.wait(150)
    return made


def test_each_row_is_drawn_and_the_late_ones_are_crossed_out(run):
    snapshot = run.snapshot()
    assert snapshot.late_rows > 1
    rows = sum(batch.rows for batch in snapshot.arrivals)
    assert rows == snapshot.rows_in
    parted = late_and_other_rows(snapshot, snapshot.arrivals)
    late = Counter(row.time for _, rows, _ in parted for row in rows)
    assert late.total() == snapshot.late_rows
    listed = run.late()["event_time"].to_pylist()
    assert late == Counter(time.replace(tzinfo=None) for time in listed)
    made = picture(snapshot)
    assert made is not None
    drawn = [b.rows for b in snapshot.arrivals if b.batch_id >= made.from_batch]
    assert made.rows == sum(drawn) > rows / 2


def test_the_late_rows_of_a_saved_trace_are_those_of_the_run(run, tmp_path):
    all_rows = run.late()
    loaded = load_trace(run.save_trace(tmp_path / "trace.parquet")).late()
    told = ["event_time", "window_start", "window_end", "missed_windows", "late_by"]
    assert loaded.column_names == ["n", *told, "batch"]
    order = [(name, "ascending") for name in told]
    expected = all_rows.select([*told, "batch"]).sort_by(order)
    found = loaded.select([*told, "batch"]).sort_by(order)
    assert found.cast(expected.schema).equals(expected)
    assert loaded["n"].to_pylist() == ["1"] * all_rows.num_rows


def test_a_dot_tells_the_values_of_its_row(run):
    rows = [row for batch in run.snapshot().arrivals for row in batch.sample]
    assert {tuple(row.values.items()) for row in rows} == {(("n", "1"),)}
    made = picture(run.snapshot())
    told = re.findall("<title>n 1, event time ([^,]*), micro-batch", made.svg)
    assert len(told) == made.dots


def test_the_table_of_late_rows_has_each_with_its_window(run):
    snapshot = run.snapshot()
    missed = Counter({(bar.start, bar.end): bar.late_rows for bar in snapshot.windows})
    told = Counter()
    for rows in snapshot.late:
        told[(rows.start, rows.end)] += rows.rows
        assert rows.watermark >= rows.end
    # Of a hop a row is told with the last window that it missed.
    assert told <= missed
    assert told.total() == snapshot.late_rows
    html = body(snapshot, view="late")
    assert html.count('data-do="select window') == len(snapshot.late)
    assert "No row was late" not in html


def test_windows_close_where_the_watermark_passes_their_ends(run):
    svg = body(run.snapshot(), view="arrivals")
    assert "end of input" in svg
    assert re.search(r'class="closing"', svg)
    for batch_id, _ in run.moments().times:
        at = run.moments().snapshot(run.snapshot(), batch_id, 5)
        for bar in at.windows:
            passed = at.watermark is not None and bar.end <= at.watermark
            assert (bar.state is WindowState.CLOSED) == passed
        body(at, view="all", keys=True)


@pytest.mark.parametrize("kind", ["rows", "windows", "arrivals", "watermark"])
def test_each_chart_is_drawn_of_a_run(run, kind):
    chart = run.plot(kind).to_dict()
    assert chart["datasets"]


def test_the_history_of_keys_is_drawn_of_a_run(session):
    session.rows("timed", lines(5), watermark="2s")
    sql = "SELECT CAST(n AS TEXT) AS k, count(*) AS n FROM timed GROUP BY 1"
    updating = session.run(sql, name="keys_over_time")
    assert updating.wait(150)
    chart = updating.plot("keys").to_dict()
    (points,) = chart["datasets"].values()
    values = [point["value"] for point in points]
    assert values == sorted(values)
    assert values[-1] == updating.snapshot().rows_in
