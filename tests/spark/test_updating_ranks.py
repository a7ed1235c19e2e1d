"""Ranks and top-N in a stream: after every batch the folded changes are the answer.

All queries run in one stream, so that they cost one; a column says which is which.
"""

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest
from microbatches import reader, run_to_end, write_chunks

from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog import WEIGHT
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import StateConfig

TABLE = """CREATE TABLE t (k TEXT, v BIGINT, s TEXT) WITH (
    connector = 'single_file', path = '{}', type = 'source', format = 'json');"""
SCHEMA = pa.schema({"k": pa.string(), "v": pa.int64(), "s": pa.string()})

# Where rows compare equal, all their columns decide: {ties} says so to DuckDB.
TOP = """(SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC {ties}) AS n
    FROM t) AS top WHERE n <= 2"""
QUERIES = {
    "top 2": f"SELECT k, v, s, n FROM {TOP}",
    "rows of the top 2": f"SELECT k, v, s, 0 AS n FROM {TOP}",
    "first": """SELECT k, v, s, 0 AS n FROM (SELECT *, row_number() OVER (
        PARTITION BY k ORDER BY v NULLS FIRST {ties}) AS n FROM t) AS r WHERE n = 1""",
    "ranks": """SELECT k, v, s, 100 * rank() OVER (ORDER BY v DESC NULLS LAST)
        + dense_rank() OVER (ORDER BY v DESC NULLS LAST) AS n FROM t WHERE v > -3""",
    "of counts": """SELECT k, v, s, n FROM (SELECT k, count(*) AS v, max(s) AS s,
        row_number() OVER (ORDER BY count(*) DESC, k) AS n FROM t GROUP BY k) AS r
        WHERE n BETWEEN 2 AND 3""",
    "aggregated": f"""SELECT k, sum(v) AS v, max(s) AS s, count(*) AS n FROM {TOP}
        GROUP BY k""",
}
# What names a row: its place in a key, the key alone, or all that is to be seen of it.
NAMES = {
    "top 2": lambda k, v, s, n: (k, n),
    "first": lambda k, v, s, n: k,
    "of counts": lambda k, v, s, n: n,
    "rows of the top 2": lambda k, v, s, n: (k, v, s),
    "ranks": lambda k, v, s, n: (k, v, s),
}


def union(ties):
    selects = (
        f"SELECT '{name}' AS q, k, v, s, CAST(n AS BIGINT) AS n FROM "
        f"({query.replace('{ties}', ties)}) AS q"
        for name, query in QUERIES.items()
    )
    return " UNION ALL ".join(selects)


def rows_at_random(random, number):
    def some(values):
        return random.choice([None, *values])

    return [
        (some("ab"), some([-5, 0, 1, 2]), some("xyz"), moment)
        for moment in range(number)
    ]


def answer(rows):
    with duckdb.connect() as db:
        db.execute("SET default_null_order = 'postgres'")
        db.execute("CREATE TABLE t (k TEXT, v BIGINT, s TEXT)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [row[:3] for row in rows])
        return Counter(db.execute(union(", k, v, s")).fetchall())


@pytest.fixture
def changes(engine, tmp_path):
    """Runs a query over batches; gives the changes of each."""

    def run(query, batches):
        folder = tmp_path / "tape"
        folder.mkdir()
        write_chunks(folder, SCHEMA, batches)
        for end in sorted(folder.iterdir())[len(batches) :]:
            end.unlink()  # nothing waits for a watermark
        (plan,) = plan_script(TABLE.format(folder) + query, Catalog()).sinks

        def work():
            with query_settings(engine.session, IN_ROCKSDB):
                frame = lower(
                    plan, reader(engine.session, folder), keeping=StateConfig(buckets=2)
                )
                return run_to_end(visible(frame, plan), tmp_path / "state")

        outcome = engine.worker.call(work)
        return [[r for at, r in outcome.rows if at == i] for i in range(len(batches))]

    return run


def test_the_folded_changes_are_the_answer_after_every_batch(changes):
    random = Random(4)
    batches = [rows_at_random(random, number) for number in (6, 9, 5)]
    folded, seen = Counter(), []
    for rows, sent in zip(batches, changes(union(""), batches), strict=True):
        seen += rows
        for change in sent:
            weight = change.pop(WEIGHT)
            folded[tuple(change.values())] += weight
        # A retract has the id that its row came with.
        assert all(weight >= 0 for weight in folded.values())
        found = Counter()
        for row, weight in folded.items():
            found[row[:-1]] += weight
        assert +found == answer(seen)
    assert {row[0] for row in +folded} == set(QUERIES)
    for query, name in NAMES.items():
        ids = {(name(*row), id_) for q, *row, id_ in folded if q == query}
        assert len(ids) == len({id_ for _, id_ in ids}) == len({n for n, _ in ids}) > 1
