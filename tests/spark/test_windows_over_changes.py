"""Windows over rows that may be taken back: what is there when a window closes."""

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from random import Random

import duckdb
import pyarrow as pa
import pytest
from microbatches import reader, run_to_end, sampled, write_chunks

from arroyo_nb.catalog import Catalog
from arroyo_nb.engine.pane_counts import NO_STREAM
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.run.observe.query_observation import window_assigners
from arroyo_nb.schema import EPOCH
from arroyo_nb.spark import observe
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.observe import WindowInputs, read_observed
from arroyo_nb.spark.state_config import StateConfig

INSTANT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema({"k": pa.string(), "v": pa.int64(), "at": INSTANT})
DELAY_S = 4
WIDTH_S = 10
TABLES = "".join(
    f"""CREATE TABLE {name} (k TEXT, v BIGINT, at TIMESTAMP NOT NULL,
        WATERMARK FOR at AS at - INTERVAL '{DELAY_S} s') WITH (
        connector = 'single_file', path = '/{name}', type = 'source', format = 'json');
    """
    for name in ("t", "s")
)
ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
END = 10**9


def at(second):
    return ORIGIN + timedelta(seconds=second)


def timed(rows):
    """(k, v, second) as the rows of a chunk."""
    micros = int(ORIGIN.timestamp()) * 1_000_000
    moments = [micros + second * 1_000_000 for *_, second in rows]
    return [(k, v, at, at) for (k, v, _), at in zip(rows, moments, strict=True)]


@pytest.fixture
def sent(engine, tmp_path):
    """Runs a query over batches of its tables; gives the rows of each batch."""

    def run(query, **batches):
        for name, chunks in batches.items():
            (tmp_path / name).mkdir()
            write_chunks(tmp_path / name, SCHEMA, [timed(rows) for rows in chunks])
        (plan,) = plan_script(TABLES + query, Catalog()).sinks

        def work():
            spark = engine.session

            def read(source):
                return reader(spark, tmp_path / source.table.name)(source)

            with query_settings(spark, IN_ROCKSDB):
                keeping = StateConfig(buckets=2)
                frame = lower(plan, read, inputs=WindowInputs(), keeping=keeping)
                return run_to_end(visible(frame, plan), tmp_path / "state")

        return engine.worker.call(work)

    return run


def batches_at_random(random):
    """Rows that are mostly in order; some are late for a window, most are not."""
    return [
        [
            (random.choice([*"abcdef", None]), random.randint(0, 9), second)
            for second in (
                10 * number + random.randint(-8, 9) for _ in range(random.randint(2, 5))
            )
            if second >= 0
        ]
        or [("a", 1, 10 * number)]
        for number in range(6)
    ]


def windows_of_counts(batches, slide_s):
    """How many keys had each count when a window closed, by the batch that told it.

    By Spark's rule: a change is late by the watermark of the batch before, and a window
    closes by the watermark of the batch.
    """
    counts, windows, told = {}, defaultdict(Counter), []
    newest, late, watermark = 0, 0, 0
    for rows in [*batches, [(None, None, END)], []]:
        changes = []
        before = dict(counts)
        for k, _, second in rows:
            if second < END:
                n, last = counts.get(k, (0, -END))
                counts[k] = (n + 1, max(last, second))
        for k in counts:
            if counts[k] != before.get(k):
                changes.append((counts[k], 1))
                changes += [(before[k], -1)] if k in before else []
        for (n, second), weight in changes:
            first = second // slide_s * slide_s
            for start in range(first, second - WIDTH_S, -slide_s):
                if start + WIDTH_S > late:
                    windows[start][n] += weight
        over = sorted(s for s in windows if s + WIDTH_S <= watermark)
        told.append([(s, n, c) for s in over for n, c in windows.pop(s).items() if c])
        newest = max([newest, *(second for *_, second in rows)])
        late, watermark = watermark, max(0, newest - DELAY_S)
    return told


@pytest.mark.parametrize(
    "slide_s", [5, pytest.param(WIDTH_S, marks=pytest.mark.long("windows"))]
)
def test_a_row_that_is_taken_back_leaves_its_windows(sent, slide_s):
    batches = batches_at_random(Random(slide_s))
    outcome = sent(
        f"SELECT hop('{slide_s} s', '{WIDTH_S} s') AS w, n, count(*) AS keys FROM "
        "(SELECT k, count(*) AS n FROM t GROUP BY k) AS counts GROUP BY w, n",
        t=batches,
    )
    expected = windows_of_counts(batches, slide_s)
    assert [sorted(rows) for rows in rows_of(outcome, len(expected))] == [
        sorted(rows) for rows in expected
    ]
    assert sum(map(len, expected[:-2])) > 3  # not all of them at the end


def rows_of(outcome, batches):
    """The rows of each batch, windows as the second that they begin with."""
    found = [[] for _ in range(batches)]
    for batch, row in outcome.rows:
        window, *others = row.values()
        start = (window["start"] - at(0)) // timedelta(seconds=1)
        found[batch].append((start, *others))
    return found


JOINS = {
    "inner": "SELECT tumble('10 s') AS w, count(*) AS n, sum(t.v * s.v) AS x FROM t "
    "JOIN s ON t.k = s.k GROUP BY w",
    "left": "SELECT tumble('10 s') AS w, count(*) AS n, sum(s.v) AS x FROM t "
    "LEFT JOIN s ON t.k = s.k AND t.v < s.v GROUP BY w",
    "full": "SELECT tumble('10 s') AS w, count(t.v) AS n, count(s.v) AS x FROM t "
    "FULL JOIN s ON t.k = s.k GROUP BY w",
    "of counts": "SELECT tumble('10 s') AS w, count(*) AS n, max(s.n) AS x FROM t "
    "JOIN (SELECT k, count(*) AS n FROM s GROUP BY k) AS s ON t.k = s.k GROUP BY w",
    "ranked": "SELECT tumble('10 s') AS w, count(*) AS n, min(v) AS x FROM (SELECT * "
    "FROM (SELECT v, row_number() OVER (PARTITION BY k ORDER BY v, k) AS place FROM t) "
    "AS r WHERE place < 3) AS q GROUP BY w",
    "union": "SELECT tumble('10 s') AS w, count(*) AS n, sum(v) AS x FROM (SELECT k, v "
    "FROM t UNION ALL SELECT k, max(v) AS v FROM s GROUP BY k) AS u GROUP BY w",
}
ANSWERS = {
    "inner": "SELECT greatest(t.ts, s.ts) // 10 * 10, count(*), sum(t.v * s.v) FROM t "
    "JOIN s ON t.k = s.k GROUP BY 1",
    "left": "SELECT greatest(t.ts, s.ts) // 10 * 10, count(*), sum(s.v) FROM t "
    "LEFT JOIN s ON t.k = s.k AND t.v < s.v GROUP BY 1",
    "full": "SELECT greatest(t.ts, s.ts) // 10 * 10, count(t.v), count(s.v) FROM t "
    "FULL JOIN s ON t.k = s.k GROUP BY 1",
    "of counts": "SELECT greatest(t.ts, s.ts) // 10 * 10, count(*), max(s.n) FROM t "
    "JOIN (SELECT k, count(*) AS n, max(ts) AS ts FROM s GROUP BY k) AS s ON t.k = s.k "
    "GROUP BY 1",
    "ranked": "SELECT ts // 10 * 10, count(*), min(v) FROM (SELECT *, row_number() "
    "OVER (PARTITION BY k ORDER BY v) AS place FROM t) WHERE place < 3 GROUP BY 1",
    "union": "SELECT ts // 10 * 10, count(*), sum(v) FROM (SELECT k, v, ts FROM t "
    "UNION ALL SELECT k, max(v), max(ts) FROM s GROUP BY k) GROUP BY 1",
}


OFTEN = ("inner", "left")


@pytest.mark.parametrize(
    "kind", sampled({kind: kind for kind in JOINS}, OFTEN, "windows")
)
def test_windows_over_all_that_changes(sent, kind):
    batches = {name: distinct_values(Random(name)) for name in "ts"}
    # Nothing closes before the end: every row is in its window then.
    outcome = sent(JOINS[kind], **batches)
    found = [row for rows in rows_of(outcome, 5) for row in rows]
    with duckdb.connect() as db:
        for name, chunks in batches.items():
            db.execute(f"CREATE TABLE {name} (k TEXT, v BIGINT, ts BIGINT)")
            rows = [row for chunk in chunks for row in chunk]
            db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        assert Counter(found) == Counter(db.execute(ANSWERS[kind]).fetchall())


def distinct_values(random):
    """Three batches within 13 seconds, fewer than a window and its delay; no two rows
    of a table have one value, so that ranks have no ties."""
    values = random.sample(range(100), 18)
    return [
        [
            (random.choice(["a", "b", None]), values.pop(), random.randint(0, 13))
            for _ in range(6)
        ]
        for _ in range(3)
    ]


def test_a_table_of_a_database_in_windows(session, tmp_path):
    def change(op, before, after):
        rows = (
            row and dict(zip(("id", "city"), row, strict=True))
            for row in (before, after)
        )
        return json.dumps(
            dict(zip(("op", "before", "after"), (op, *rows), strict=True))
        )

    lines = [
        change("c", None, (1, "a")),
        change("c", None, (2, "a")),
        change("c", None, (3, "b")),
        change("u", (1, "a"), (1, "b")),
        change("d", (2, "a"), None),
        change("c", None, (4, "c")),
    ]
    (tmp_path / "orders").write_text("".join(line + "\n" for line in lines))
    run = session.run(
        f"""CREATE TABLE orders (id BIGINT PRIMARY KEY, city TEXT) WITH (
            connector = 'single_file', path = '{tmp_path / "orders"}',
            type = 'source', format = 'debezium_json');
        SELECT city, count(*) AS n FROM orders GROUP BY tumble('1 day'), city""",
        wait=True,
    )
    # The day may change while the test runs: then they are of two windows.
    found = Counter()
    for row in run.table().to_pylist():
        found[row["city"]] += row["n"]
    assert found == {"b": 2, "c": 1}
    with pytest.raises(RunProblem, match="cannot be listed"):
        run.late()


@pytest.mark.parametrize("ours", [True, False], ids=["our_count", "spark_histogram"])
def test_only_what_is_appended_is_counted_among_the_rows_of_a_window(
    engine, monkeypatch, ours
):
    monkeypatch.setattr(observe, "has_pane_counts", lambda _spark: ours)
    script = """CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 1);
    SELECT sum(n) FROM (SELECT counter % 2 AS k, count(*) AS n FROM ticks GROUP BY k)
    GROUP BY tumble(INTERVAL '1 minute')"""
    (sink,) = plan_script(script, Catalog()).sinks
    (node,) = window_assigners(sink)
    changes = [(10, 1), (10, -1), (20, 1), (70, 1), (70, -1), (90, -1)]

    def panes():
        frame = engine.session.createDataFrame(changes, "s long, _weight long")
        times = frame.selectExpr(
            "timestamp_seconds(s) AS _timestamp", "_weight", "0 AS k", "1 AS n"
        )
        inputs = WindowInputs()
        seen = inputs.observed(times, node, 0)
        seen.collect()
        if ours:
            return read_observed(inputs.taken(NO_STREAM), 0)
        told = seen._jdf.queryExecution().observedMetrics().apply("window:0").json()
        return read_observed({"window:0": json.loads(told)}, 0)

    observed = engine.worker.call(panes)
    minute = timedelta(minutes=1)
    assert observed.pane_rows == {EPOCH: 2, EPOCH + minute: 1}
    assert observed.max_event_time == EPOCH + timedelta(seconds=70)
