"""What views draw of a result, from runs on Spark: histories, the plan, outputs."""

import json

import pytest

from arroyo_nb.run.results.preview import Preview
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.selection import after, selected

ROWS = [(f"k{n % 5}", n, f"2024-03-01T08:{n // 4:02d}:00") for n in range(200)]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr("arroyo_nb.connectors._files._chunk_bytes", lambda number: 1500)
    path = tmp_path / "t.json"
    path.write_text(
        "".join(json.dumps({"k": k, "v": v, "t": t}) + "\n" for k, v, t in ROWS)
    )
    return f"""CREATE TABLE rides (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
        WATERMARK FOR t AS t - INTERVAL '1 minute') WITH (connector = 'single_file',
        path = '{path}', type = 'source', format = 'json');
    """


def test_histories_are_those_of_the_changelog(session, table):
    query = "SELECT k, count(*) AS n FROM rides GROUP BY k"
    run = session.run(table + query, name="histories")
    run.wait(timeout=120)
    snapshot = run.snapshot()
    told = run.changelog().to_pylist()
    assert len({change["batch"] for change in told}) > 3
    histories = {h.key: h for h in snapshot.histories}
    assert len(histories) == len(snapshot.rows) == 5
    for row, key in zip(snapshot.rows, snapshot.row_keys, strict=True):
        own = [c for c in told if c["after"]["k"] == row[0]]
        history = histories[key]
        assert history.numbers == tuple(float(c["after"]["n"]) for c in own)
        assert (history.changes, history.is_created) == (len(own), True)
        assert history.before == tuple(own[-1]["before"].values())
        assert history.batch_id == own[-1]["batch"]
    assert {change.key for change in snapshot.changes} <= set(histories)
    key = snapshot.row_keys[0]
    chosen = selected(run.snapshot(2_000), after(f"select key {key}", None))
    assert {change.key for change in chosen.changes} == {key}
    assert len(chosen.changes) == histories[key].changes
    # Also of an earlier batch, as it was then.
    batches = sorted({change["batch"] for change in told})
    earlier = run.moments().snapshot(snapshot, batches[1], 20)
    of_row = {h.key: h for h in earlier.histories}[key]
    assert of_row.numbers == histories[key].numbers[: of_row.changes]
    assert of_row.changes < histories[key].changes


def test_the_plan_has_rows_and_state_on_its_operators(session, table):
    side = "(SELECT tumble(INTERVAL '5 minutes') AS w, k, count(*) AS {0} FROM rides"
    query = f"""
    SELECT a.w, a.k, a.n, b.m FROM {side.format("n")} GROUP BY 1, 2) AS a
    JOIN {side.format("m")} WHERE v > 10 GROUP BY 1, 2) AS b
    ON a.w = b.w AND a.k = b.k"""
    run = session.run(table + query, name="joined")
    run.wait(timeout=120)
    steps = run.snapshot().plan
    kinds = [step.kind for step in steps]
    assert kinds.count("source") == 1
    assert steps[-1].kind == "sink"
    assert steps[-1].rows == run.table().num_rows > 0
    (source,) = (step for step in steps if step.kind == "source")
    assert source.rows == len(ROWS)
    join, *others = (step for step in steps if step.kind == "join")
    assert not others
    grouped = [step for step in steps if step.kind == "aggregate"]
    assert len(grouped) == 2
    # Spark tells three operators, and it is certain which is which.
    assert all(step.state_rows is not None for step in (join, *grouped))
    assert all(step.state_bytes for step in (join, *grouped))
    assert steps[-1].state_rows is None
    drawn = body(run.snapshot(), view="plan", keys=True)
    assert "200 rows read" in drawn
    assert "INNER JOIN" in drawn


def test_state_that_is_counted_in_pieces_has_no_rows(session, table):
    query = "SELECT k, count(*) AS n FROM rides GROUP BY k"
    run = session.run(table + query, name="pieces")
    run.wait(timeout=120)
    (grouped,) = (s for s in run.snapshot().plan if s.kind == "aggregate")
    assert grouped.state_rows is None
    assert grouped.state_bytes > 0
    assert grouped.badge == "micro-batch"
    assert "GROUP BY k" in grouped.sql


def test_each_output_has_its_picture(session, table):
    script = f"""{table}
    SELECT k, count(*) AS n FROM rides GROUP BY k;
    CREATE TABLE large (k TEXT, v BIGINT) WITH (connector = 'blackhole');
    INSERT INTO large SELECT k, v FROM rides WHERE v >= 190;
    """
    run = session.run(script, name="outputs", sinks=False)
    run.wait(timeout=120)
    first, second = (run.snapshot(20, output=k) for k in (0, 1))
    assert first.outputs == second.outputs == ("result", "large")
    assert (first.output, second.output) == (0, 1)
    assert (first.updating, second.updating) == (True, False)
    assert sorted(second.rows) == [
        tuple(row.values()) for row in sorted(run.table(1).to_pylist(), key=repr)
    ]
    assert second.output_rows == 10
    assert first.rows_out == second.rows_out == first.output_rows + 10
    assert isinstance(run.outputs[1].preview, Preview)
    made = static_html.bundle(first, others=(second,))["text/html"]
    assert "large: 10 rows out" in made
    assert "more output" not in made
