"""Joins without windows: after every batch the folded changelog is DataFusion's
answer."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from datetime import timedelta
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pytest
from datafusion import SessionContext
from microbatches import reader, run_to_end, sampled, write_chunks

from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.plan.nodes import is_updating
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import KEPT, StateConfig

TABLES = {"l": "k TEXT, g BIGINT, v DOUBLE", "r": "k TEXT, h INT, w DOUBLE"}
SCHEMAS = {
    "l": pa.schema({"k": pa.string(), "g": pa.int64(), "v": pa.float64()}),
    "r": pa.schema({"k": pa.string(), "h": pa.int32(), "w": pa.float64()}),
}
NAN = math.nan
BATCHES = {
    "l": [
        [("a", 1, 1.0), ("b", None, 2.0), (None, 3, 3.0), ("a", 1, 1.0)],
        [("c", 3, None), ("a", 2, 5.0), ("e", 1, 0.0)],
        [("d", 4, -0.0), ("b", 5, NAN), (None, None, None), ("a", 1, 1.0)],
    ],
    "r": [
        [],
        [("a", 1, 4.0), (None, 3, 1.0), ("d", 4, 0.0)],
        [
            *[("a", 2, 0.5), ("b", 9, None), ("b", 5, NAN), ("a", 1, 4.0)],
            *[("f", None, 7.0), ("c", 3, 1.0), ("e", 2, -1.0)],
        ],
    ],
}
QUERIES = {
    "inner": "SELECT l.k, v, w FROM l JOIN r ON l.k = r.k AND v < w AND v > 0 "
    "AND h < 9",
    "of appending joins": "SELECT x.k, x.v, n FROM l AS x JOIN l AS y ON x.v = y.v "
    "AND x.g + 1 = y.g + 1 JOIN (SELECT r.k, q.h AS n FROM r JOIN r AS q ON r.h = q.h) "
    "AS z ON z.k = x.k AND z.n <= x.g",
    "left, two keys and more": "SELECT l.k, g, h, v, w FROM l LEFT OUTER JOIN r "
    "ON r.h + 1 = l.g + 1 AND r.k = l.k AND v < w AND g > 0 AND h < 9",
    "right": "SELECT l.k, v, r.k AS rk, w FROM l RIGHT JOIN r ON l.k = r.k",
    "full": "SELECT v, w, g, h FROM l FULL JOIN r ON v = w",
    "full and more": "SELECT l.k, v, h, w FROM l FULL JOIN r ON l.k = r.k AND (v <= w "
    "OR g IS NULL AND w IS NULL OR g - h > 0) AND NOT (v = w) IS TRUE AND h < 9",
    "of a join in brackets": "SELECT l.k, y.h, z.v FROM l LEFT JOIN (r AS y FULL JOIN "
    "l AS z ON y.k = z.k AND y.w < z.v) ON l.g = z.g",
    "with names of columns": "SELECT l.k, q.a, q.f FROM l RIGHT JOIN (r AS y JOIN l AS "
    "z ON y.k = z.k) AS q (a, b, c, d, e, f) ON l.k = q.d AND l.g < q.e",
    "self, filtered": "SELECT one.v AS v, other.v AS w FROM l AS one LEFT JOIN l AS "
    "other ON one.g = other.g AND one.v < other.v WHERE one.v < 4 OR other.v IS NULL",
    "of an updating aggregate": "SELECT l.k, g, n, most FROM l LEFT JOIN (SELECT k, "
    "count(*) AS n, max(w) AS most FROM r GROUP BY k) AS q ON l.k = q.k",
    "of two updating aggregates": "SELECT a.k, n, m FROM (SELECT k, count(*) AS n "
    "FROM l GROUP BY k) AS a FULL JOIN (SELECT k, count(*) AS m FROM r GROUP BY k) "
    "AS b ON a.k = b.k AND n > m",
    "of a union with changes": "SELECT l.k, q.n FROM l JOIN (SELECT k, 1 AS n "
    "FROM r UNION ALL SELECT k, count(*) AS n FROM r GROUP BY k) AS q ON l.k = q.k",
    "a chain": "SELECT a.k, a.v, r.w, b.g FROM l AS a LEFT JOIN r ON a.k = r.k "
    "JOIN l AS b ON b.g = r.h",
    "an aggregate": "SELECT h, count(*) AS n, max(v) AS v FROM l LEFT JOIN r "
    "ON l.k = r.k GROUP BY h",
}
OFTEN = (
    "of appending joins",
    "left, two keys and more",
    "full and more",
    "an aggregate",
)
APPENDING = ("inner", "of appending joins")
FORGETTING = StateConfig(ttl=timedelta(days=1))


@cache
def tables():
    script = "".join(
        f"CREATE TABLE {name} ({columns}) WITH (connector = 'single_file', "
        f"path = '/{name}', type = 'source', format = 'json');"
        for name, columns in TABLES.items()
    )
    return plan_script(script, Catalog()).catalog


def recorded(folder, batches):
    for name, rows in batches.items():
        (folder / name).mkdir()
        timed = [
            [(*row, 1_000_000 * (number + 1)) for row in batch]
            for number, batch in enumerate(rows)
        ]
        write_chunks(folder / name, SCHEMAS[name], timed)


@pytest.fixture
def changes(engine, tmp_path):
    """Runs a query; gives its changes of each batch, as (row, weight, id)."""

    def run(query, batches, keeping=KEPT):
        recorded(tmp_path, batches)
        (plan,) = plan_script(query, tables()).sinks

        def work():
            spark = engine.session

            def read(source):
                return reader(spark, tmp_path / source.table.name)(source)

            frame = visible(lower(plan, read, keeping=keeping), plan)
            with query_settings(spark, IN_ROCKSDB):
                return run_to_end(frame, tmp_path / "state")

        outcome = engine.worker.call(work)
        found = [[] for _ in batches["l"]]
        for batch, row in outcome.rows:
            assert (WEIGHT in row) == is_updating(plan)
            weight, row_id = row.pop(WEIGHT, 1), row.pop(ROW_ID, None)
            found[batch].append((comparable(row.values()), weight, row_id))
        return found

    return run


def comparable(row):
    return tuple("NaN" if value != value else value for value in row)


# Both zeros are one to equal columns of a join, which is a published difference.
KEYS = re.compile(r"ON (\S*)v = (v|w|y\.v)")

# DataFusion gives the columns of a join no names by a list.
NAMELESS = "(r AS y JOIN l AS z ON y.k = z.k) AS q (a, b, c, d, e, f)"
NAMED = (
    "(SELECT y.k AS a, y.h AS b, y.w AS c, z.k AS d, z.g AS e, z.v AS f "
    "FROM r AS y JOIN l AS z ON y.k = z.k) AS q"
)


def answers(query, batches):
    """DataFusion's answer over the rows so far, after each batch."""
    context = SessionContext()
    query = KEYS.sub(r"ON \1v + 0.0 = \2 + 0.0", query).replace(NAMELESS, NAMED)
    for number in range(1, len(batches["l"]) + 1):
        for name, schema in SCHEMAS.items():
            rows = [row for batch in batches[name][:number] for row in batch]
            columns = [*zip(*rows, strict=True)] or [()] * len(schema)
            table = pa.record_batch([*map(pa.array, columns, schema.types)], schema)
            context.register_record_batches(name, [[table]])
        found = [r for part in context.sql(query).collect() for r in part.to_pylist()]
        for name in SCHEMAS:
            context.deregister_table(name)
        yield Counter(comparable(row.values()) for row in found)


@pytest.mark.parametrize("query", sampled(QUERIES, OFTEN, "queries"))
def test_the_folded_changelog_is_the_answer_after_every_batch(changes, query):
    check_folded(query, changes(query, BATCHES))


@pytest.mark.parametrize("name", APPENDING)
def test_rows_that_only_come_are_joined_with_a_time_to_live_too(changes, name):
    # Without one, Spark's own join gives the pairs.
    query = QUERIES[name]
    check_folded(query, changes(query, BATCHES, FORGETTING))


def check_folded(query, changes):
    """After each batch, what the changes leave is DataFusion's answer."""
    folded, updated = Counter(), False
    for batch, answer in zip(changes, answers(query, BATCHES), strict=True):
        rows_of = defaultdict(set)
        for row, weight, row_id in batch:
            folded[row] += weight
            assert folded[row] >= 0, "retracts come before appends, of what is there"
            rows_of[row_id].add(row)
        assert +folded == answer
        updated |= any(len(rows) > 1 for row_id, rows in rows_of.items() if row_id)
    # A row keeps its id when it changes; other rows have others.
    assert updated == ("GROUP BY" in query)


def test_rows_of_any_type_are_joined_in_a_preview(session, tmp_path):
    rows = [
        {"id": 1, "place": {"city": "Wien", "n": None}, "tags": ["a"], "price": "1.50"},
        {"id": 2, "place": {"city": "Wien", "n": None}, "tags": [], "price": "2.00"},
        {"id": 3, "place": {"city": None, "n": 1}, "tags": None, "price": "1.00"},
        {"id": 4, "place": None, "tags": [None], "price": None},
    ]
    path = tmp_path / "t.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = f"""CREATE TABLE t (id INT, place STRUCT<city TEXT, n INT>, tags TEXT[],
        price DECIMAL(10, 2)) WITH (connector = 'single_file', path = '{path}',
        type = 'source', format = 'json');"""
    query = """SELECT a.id, a.place, b.id AS other, b.tags, b.price FROM t AS a
        {} JOIN t AS b ON a.place = b.place AND a.price < b.price"""
    matched = {(1, "Wien", 2, 0, Decimal("2.00"))}
    alone = {(2, "Wien", None, None, None), (3, None, None, None, None)}
    alone |= {(4, None, None, None, None)}
    for how, expected in (("INNER", matched), ("LEFT", matched | alone)):
        run = session.run(table + query.format(how), wait=True)
        found = [told(**row) for row in run.table().to_pylist()]
        assert Counter(found) == Counter(expected)


def told(id, place, other, tags, price):  # noqa: A002
    city = None if place is None else place["city"]
    return id, city, other, None if tags is None else len(tags), price
