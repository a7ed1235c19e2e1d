"""Inner joins of rows that only come: Spark's own join, against the one in buckets.

What the state has must not depend on what is above the join, nor on who looks.
"""

from __future__ import annotations

import shutil
from datetime import timedelta

import pyarrow as pa
import pytest
from microbatches import reader, run_to_end, write_chunks

from arroyo_nb.catalog import Catalog
from arroyo_nb.engine.query_settings import query_settings
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.observe import WindowInputs
from arroyo_nb.spark.state_config import KEPT, StateConfig

IN_BUCKETS = StateConfig(ttl=timedelta(days=1))
TABLE = """CREATE TABLE {0} (k TEXT, {1} DOUBLE, s STRUCT<one INT, two INT>,
    t TIMESTAMP NOT NULL, WATERMARK FOR t AS t - INTERVAL '1 second')
WITH (connector = 'single_file', path = '/{0}', type = 'source', format = 'json');"""
PAIR = pa.struct({"one": pa.int32(), "two": pa.int32()})
SCHEMAS = {
    name: pa.schema(
        {"k": pa.string(), value: pa.float64(), "s": PAIR, "t": pa.timestamp("us")}
    )
    for name, value in (("a", "v"), ("b", "w"))
}
# Rows of the third batches are far behind the watermark of the second ones.
BATCHES = {
    "a": [
        [("x", 1.0, 100), ("y", 2.0, 101), (None, 9.0, 102)],
        [("x", 3.0, 200)],
        [("x", 5.0, 10), ("y", 6.0, 11)],
        [("y", 7.0, 300), (None, 8.0, 301)],
    ],
    "b": [
        [("x", 10.0, 100)],
        [("y", 20.0, 200), (None, 21.0, 201)],
        [("x", 30.0, 12)],
        [("x", 40.0, 300)],
    ],
}
TIMED = "(SELECT k, v, row_time() AS at FROM a) AS x JOIN b ON x.k = b.k"
QUERIES = {
    "a time of a side": f"SELECT x.k, x.at, x.v, b.w FROM {TIMED}",
    "two of them, below a join": "SELECT p.k, p.one, p.other, a.v FROM (SELECT x.k, "
    "x.one, y.other FROM (SELECT k, row_time() AS one FROM a) AS x JOIN (SELECT k, "
    "row_time() AS other FROM b) AS y ON x.k = y.k) AS p JOIN a ON a.k = p.k",
    "below a window": "SELECT tumble(INTERVAL '50 seconds') AS win, count(*) AS n, "
    f"sum(w) AS total FROM (SELECT x.k, x.at, x.v, b.w FROM {TIMED}) GROUP BY win, k",
    "below an aggregate": "SELECT k, count(*) AS n FROM (SELECT a.k, v, w FROM a JOIN "
    "b ON a.k = b.k AND v < w) GROUP BY k",
}
JOIN = "(SELECT a.v + 1 AS q, b.w, a.s, b.k FROM a JOIN b ON a.k = b.k)"
EDITS = {
    "none": (
        f"SELECT q, w FROM {JOIN} WHERE q < w",
        f"SELECT q, w FROM {JOIN} WHERE q < w",
    ),
    "fewer rows": (
        f"SELECT q, w FROM {JOIN}",
        f"SELECT q, w FROM {JOIN} WHERE q > 5.5",
    ),
    "more rows": (f"SELECT q, w FROM {JOIN} WHERE q > 5.5", f"SELECT q, w FROM {JOIN}"),
    "another field": (
        f"SELECT q, s['one'] AS f FROM {JOIN}",
        f"SELECT q, s['two'] AS f FROM {JOIN}",
    ),
    "the key": (
        "SELECT a.v FROM a JOIN b ON a.k = b.k",
        "SELECT a.v, b.k FROM a JOIN b ON a.k = b.k",
    ),
}


def planned(query):
    tables = "".join(map(TABLE.format, "ab", "vw"))
    return plan_script(tables + query, Catalog()).sinks[0]


@pytest.fixture
def rows_of(engine, tmp_path):
    """Runs plans one after the other over one checkpoint, each over so many batches;
    gives their rows."""

    def run(name, keeping, *parts):
        folder = tmp_path / name
        for table, batches in BATCHES.items():
            written = [
                [
                    (k, x, {"one": s, "two": -s}, s * 10**6, s * 10**6)
                    for k, x, s in rows
                ]
                for rows in batches
            ]
            for place in ("all", "live"):
                (folder / place / table).mkdir(parents=True)
            write_chunks(folder / "all" / table, SCHEMAS[table], written)

        def work(plan, observed):
            spark = engine.session

            def read(source):
                return reader(spark, folder / "live" / source.table.name)(source)

            with query_settings(spark, keeping.settings(plan)):
                inputs = WindowInputs() if observed else None
                lowered = lower(plan.input, read, inputs=inputs, keeping=keeping)
                return run_to_end(visible(lowered, plan.input), folder / "state").rows

        found = []
        for query, observed, batches in parts:
            for table in BATCHES:
                files = sorted((folder / "all" / table).iterdir())
                for file in files[:batches]:
                    shutil.copy2(file, folder / "live" / table)
            rows = engine.worker.call(work, planned(query), observed)
            found.append(sorted(repr(list(row.values())) for _, row in rows))
        return found

    return run


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_behind_the_watermark_are_joined_whoever_looks(rows_of, query):
    (expected,) = rows_of("buckets", IN_BUCKETS, (query, True, None))
    assert expected
    for observed in (True, False):
        assert rows_of(f"spark {observed}", KEPT, (query, observed, None)) == [expected]


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("observed", [(True, False), (False, True)])
def test_a_state_is_gone_on_with_after_an_edit_above_it(rows_of, edit, observed):
    before, after = edit
    parts = (before, observed[0], 2), (after, observed[1], None)
    expected = rows_of("buckets", IN_BUCKETS, *parts)
    assert expected[1]
    assert rows_of("spark", KEPT, *parts) == expected
