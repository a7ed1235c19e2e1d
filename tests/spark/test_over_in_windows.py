"""OVER within windows of random tapes, against DuckDB on the rows that the watermark
admits.

All queries of an example run in one stream, so that it costs one; a column says which
is which. Rows are late, doubled, out of order and in empty batches.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from functools import reduce
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import micros, reader, run_to_end, write_chunks
from pyspark.errors import StreamingQueryException
from seeds import of_the_day
from test_windows_property import (
    DELAY,
    GAP,
    HOP_WIDTH,
    MS,
    SLIDE,
    WIDTH,
    S,
    admitted,
    batches,
    examples,
    sessions,
    within_the_delay,
)

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible

SCHEMA = pa.schema(
    {"k": pa.string(), "v": pa.int64(), "at": pa.timestamp("us", tz="UTC")}
)
TABLE = f"""CREATE TABLE t (k TEXT, v BIGINT, at TIMESTAMP NOT NULL,
    WATERMARK FOR at AS at - INTERVAL '{DELAY} microseconds') WITH (
    connector = 'single_file', path = '/t', type = 'source', format = 'json');"""
CALLS = {
    "tumble": f"tumble(INTERVAL '{WIDTH} microseconds')",
    "hop": f"hop(INTERVAL '{SLIDE} microseconds', INTERVAL '{HOP_WIDTH} microseconds')",
    "session": f"session(INTERVAL '{GAP} microseconds')",
}

# Peers are in the order of all their columns: {ties} says so to DuckDB.
TOP = """(SELECT *, row_number() OVER (PARTITION BY "window" ORDER BY n DESC {ties})
    AS place FROM g) AS top WHERE place <= 2"""
NONE = "NULL AS b, NULL AS c, NULL AS d, NULL AS e, NULL AS f"
QUERIES = {
    "top 2": f'SELECT "window", k, place AS a, {NONE} FROM {TOP}',
    "aggregated": f"""SELECT "window", NULL AS k, sum(place) AS a, count(*) AS b,
        max(n) AS c, NULL AS d, NULL AS e, NULL AS f FROM {TOP} GROUP BY "window" """,
}
# Joined with what is true of its window, and numbered once more.
JOINED = f"""SELECT "window", k, place AS a, total AS b,
    row_number() OVER (PARTITION BY "window" ORDER BY place DESC) AS c,
    lag(total) OVER (PARTITION BY "window" ORDER BY place) AS d, NULL AS e, NULL AS f
    FROM (SELECT ranked."window", k, place, total FROM (SELECT * FROM {TOP}) AS ranked
    JOIN (SELECT "window", sum(n) AS total FROM g GROUP BY "window") AS totals
    ON ranked."window" = totals."window") AS pairs"""
FUNCTIONS = """SELECT "window", k, 100 * rank() OVER w + dense_rank() OVER w AS a,
    round(1e6 * (percent_rank() OVER w + 10 * cume_dist() OVER w)) AS b,
    1000 * lag(n, 1, 0) OVER u + 100 * lead(s IGNORE NULLS) OVER u + first_value(n)
    OVER u AS c, {frames} FROM g"""
OVER = {
    " OVER w": """ OVER (PARTITION BY "window" ORDER BY n DESC)""",
    " OVER u": """ OVER (PARTITION BY "window" ORDER BY s, k NULLS FIRST)""",
}


def queries_at_random(seed):
    """Those above, and one with aggregates over random frames."""
    frames = ", ".join(some_frames(Random(seed)))
    return QUERIES | {"functions": FUNCTIONS.replace("{frames}", frames)}


def sql(query, ties=""):
    for name, over in OVER.items():
        query = query.replace(name, over)
    values = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in "abcdef")
    query = query.replace("{ties}", ties)
    return f'SELECT "window", CAST(k AS TEXT) AS k, {values} FROM ({query}) AS q'


def some_frames(random):
    """An aggregate over a random frame, by each unit."""
    for name, unit in zip("def", ("ROWS", "RANGE", "GROUPS"), strict=True):
        order = "n DESC, k NULLS FIRST" if unit == "ROWS" else "n DESC"
        starts = ["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING"]
        ends = ["1 PRECEDING", "CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING"]
        start = random.randrange(4)
        end = random.randrange(max(start - 1, 0), 4)
        exclude = random.choice(["", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP"])
        call = random.choice(
            ["sum(n)", "min(s)", "max(s)", "count(*)", "count(DISTINCT s)", "sum(s)"]
        )
        test = random.choice(["", " FILTER (WHERE n > 1)"])
        yield (
            f'{call}{test} OVER (PARTITION BY "window" ORDER BY {order} {unit} '
            f"BETWEEN {starts[start]} AND {ends[end]} {exclude}) AS {name}"
        )


def planned(kind, query):
    view = f"""{TABLE} CREATE VIEW g AS SELECT {CALLS[kind]} AS window, k,
        count(*) AS n, sum(v) AS s FROM t GROUP BY window, k;"""
    return plan_script(f"{view} {sql(query)}", Catalog()).sinks[0]


def streamed(engine, tape, kind, queries):
    """What Spark gives for all queries over the groups of one kind of window."""
    plans = {name: planned(kind, query) for name, query in queries.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "tape")
        folder.mkdir()
        rows = [[(k, v, t, t) for k, v, t in batch] for batch in tape]
        write_chunks(folder, SCHEMA, rows)

        def run():
            read = reader(engine.session, folder)
            frames = [
                visible(lower(plan, read), plan).selectExpr(f"'{name}' AS q", "*")
                for name, plan in plans.items()
            ]
            union = reduce(lambda one, other: one.unionByName(other), frames)
            return run_to_end(union, Path(name, "state"))

        outcome = engine.worker.call(run)
    return Counter(
        (r.pop("q"), *map(micros, r.pop("window").values()), *r.values())
        for _, r in outcome.rows
    )


def oracle(tape, kind, queries):
    """DuckDB's answers."""
    if kind == "session":
        rows = list(sessions(tape, lambda k: k).elements())
    else:
        slide, width = (WIDTH, WIDTH) if kind == "tumble" else (SLIDE, HOP_WIDTH)
        rows = admitted(tape, slide, width)
    names = ("a", "b", "k", "n", "s") if kind == "session" else ("a", "b", "k", "v")
    types = {"k": pa.string()}
    table = pa.table(
        {
            name: pa.array([row[i] for row in rows], types.get(name, pa.int64()))
            for i, name in enumerate(names)
        }
    )
    grouped = (
        "SELECT {'start': a, 'end': b} AS \"window\", k, "
        + ("n, s" if kind == "session" else "count(*) AS n, sum(v)::BIGINT AS s")
        + " FROM rows"
        + (" GROUP BY a, b, k" if kind != "session" else "")
    )
    found = Counter()
    with duckdb.connect() as db:
        db.execute("SET default_null_order = 'postgres'")
        db.register("rows", table)
        db.execute(f"CREATE TABLE g AS {grouped}")
        for name, query in queries.items():
            for window, *values in db.execute(sql(query, ", k, n, s")).fetchall():
                found[(name, window["start"], window["end"], *values)] += 1
    return found


def tape_at_random(random):
    """Rows of 25 s in five batches, some of them late, doubled or in no order."""
    times = [100 * S + random.randrange(100) * 250 * MS for _ in range(150)]
    times.sort(key=lambda t: t + random.randrange(8) * S)
    rows = [
        (random.choice([*"abcde", None]), random.choice([None, *range(-4, 5)]), t)
        for t in times
    ]
    rows += random.sample(rows, 10)
    return [rows[n : n + 32] for n in range(0, 160, 32)]


def check(engine, tape, kind, seed):
    queries = queries_at_random(seed)
    got, expected = streamed(engine, tape, kind, queries), oracle(tape, kind, queries)
    assert got == expected
    assert expected or not any(tape)


@pytest.mark.parametrize("kind", of_the_day(["tumble", "hop", "session"], "windows"))
def test_over_sees_the_rows_of_a_window(engine, kind):
    check(engine, tape_at_random(Random(kind)), kind, seed=18)


def test_a_top_is_joined_and_numbered_again(engine):
    tape, queries = tape_at_random(Random(4)), {"joined": JOINED}
    expected = oracle(tape, "hop", queries)
    assert streamed(engine, tape, "hop", queries) == expected
    assert len(expected) > 10


def test_a_batch_that_runs_again_gives_the_same_rows(engine, tmp_path):
    """Each batch fails after it was written and before it is committed."""
    query = queries_at_random(7)["functions"]
    plan, tape = planned("hop", query), tape_at_random(Random(7))
    write_chunks(tmp_path, SCHEMA, [[(k, v, t, t) for k, v, t in b] for b in tape])
    written = {}

    def run():
        frame = visible(lower(plan, reader(engine.session, tmp_path)), plan)

        def fail_once(batch, number):
            rows = batch.toArrow().to_pylist()
            found = Counter(
                (*map(micros, r.pop("window").values()), *r.values()) for r in rows
            )
            if number not in written:
                written[number] = found
                raise InterruptedError(number)
            assert found == written[number]

        for _ in range(20):
            started = (
                frame.writeStream.foreachBatch(fail_once)
                .option("checkpointLocation", str(tmp_path / "state"))
                .trigger(availableNow=True)
                .start()
            )
            try:
                started.awaitTermination()
            except StreamingQueryException as error:
                if "InterruptedError" not in str(error):
                    raise
            else:
                return

    engine.worker.call(run)
    assert len(written) > len(tape)
    expected = oracle(tape, "hop", {"functions": query})
    assert sum(written.values(), Counter()) == Counter(
        {row[1:]: number for row, number in expected.items()}
    )


@pytest.mark.long("windows")
@given(batches, st.sampled_from(["tumble", "hop", "session"]), st.integers(0, 10**6))
@examples(100)
def test_over_windows_of_many_tapes(engine, tape, kind, seed):
    check(engine, tape, kind, seed)


@pytest.mark.long("windows")
@given(within_the_delay(), st.sampled_from(["tumble", "hop"]), st.integers(0, 10**6))
@examples(50)
def test_any_split_of_rows_gives_the_same(engine, tape, kind, seed):
    queries = queries_at_random(seed)
    whole = [[row for batch in tape for row in batch]]
    assert streamed(engine, tape, kind, queries) == oracle(whole, kind, queries)


TYPES = {
    "k": ("TEXT", '"{}"'),
    "u": ("BIGINT UNSIGNED", "1844674407370955161{}"),
    "f": ("DOUBLE", "{}.1"),
    "d": ("DECIMAL(10, 2)", "{}.25"),
    "b": ("BOOLEAN", "true"),
    "l": ("BIGINT[]", "[{}, null]"),
    "s": ("STRUCT<x BIGINT, y TEXT>", '{{"x": {}, "y": "z"}}'),
    "m": ("TIMESTAMP", '"2024-03-01T0{}:00:00"'),
}


def test_values_of_every_type(session, tmp_path):
    """Each row has the value of the row before it, also where that is NULL."""
    path = tmp_path / "rows.json"
    lines = [
        ", ".join(
            f'"{name}": {"null" if n == 2 else text.format(n)}'
            for name, (_, text) in TYPES.items()
        )
        for n in range(5)
    ]
    path.write_text("".join(f'{{"i": {n}, {line}}}\n' for n, line in enumerate(lines)))
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in TYPES.items())
    names = ", ".join(TYPES)
    calls = ", ".join(
        f"lag({name}) OVER w AS lag_{name}, last_value({name}) IGNORE NULLS OVER w AS "
        f"last_{name}, count(DISTINCT {name}) OVER (w ROWS 1 PRECEDING) AS n_{name}"
        for name in TYPES
    )
    run = session.run(
        f"""CREATE TABLE t (i BIGINT, {columns}) WITH (connector = 'single_file',
        path = '{path}', type = 'source', format = 'json');
        SELECT i, {names}, {calls} FROM (
            SELECT tumble(INTERVAL '36500 days') AS window, i, {names} FROM t
            GROUP BY window, i, {names}
        ) WINDOW w AS (PARTITION BY window ORDER BY i)""",
        wait=True,
    )
    rows = run.table().sort_by("i")
    for name in TYPES:
        values = rows[name].to_pylist()
        assert rows[f"lag_{name}"].to_pylist() == [None, *values[:-1]]
        assert rows[f"last_{name}"].to_pylist() == [*values[:2], values[1], *values[3:]]
        assert rows[f"n_{name}"].to_pylist() == (
            [1] * 5 if name == "b" else [1, 2, 1, 1, 2]
        )
        assert rows[f"lag_{name}"].type == rows[name].type
