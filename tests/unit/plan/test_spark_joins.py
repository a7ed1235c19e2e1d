"""Which joins are Spark's own: those of queries in which nothing else keeps keys."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.append_joins import append_joins
from arroyo_nb.plan.lowering import JOINS_ALONE, LOWERING
from arroyo_nb.plan.nodes import UpdatingJoin
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk

TABLES = """
CREATE TABLE a (k BIGINT, v BIGINT) WITH (connector = 'single_file', path = '/-',
                                          type = 'source', format = 'json');
CREATE TABLE b (k BIGINT, w BIGINT) WITH (connector = 'single_file', path = '/-',
                                          type = 'source', format = 'json');
"""
JOIN = "SELECT a.k, v, w FROM a JOIN b ON a.k = b.k"
QUERIES = {
    "alone": (JOIN, True, True),
    "twice": (f"SELECT j.k FROM ({JOIN}) j JOIN a ON a.k = j.k", True, True),
    "below a window": (
        f"SELECT k, count(*) AS n FROM ({JOIN}) GROUP BY k, tumble(INTERVAL '1 hour')",
        True,
        True,
    ),
    "below an aggregate": (f"SELECT count(*) AS n FROM ({JOIN})", False, True),
    "beside one": (
        f"SELECT k FROM ({JOIN}) UNION ALL SELECT max(k) AS k FROM a",
        False,
        True,
    ),
    "outer": ("SELECT v, w FROM a LEFT JOIN b ON a.k = b.k", False, False),
}


@pytest.mark.parametrize("name", QUERIES)
def test_joins_of_rows_that_only_come_are_spark_s(name):
    query, alone, beside = QUERIES[name]
    (sink,) = plan_script(TABLES + query, Catalog()).sinks
    joins = {id(node) for node in walk(sink) if isinstance(node, UpdatingJoin)}
    assert joins
    for is_spark, lowering in ((alone, LOWERING), (beside, JOINS_ALONE - 1)):
        found = append_joins(sink, forgets=False, lowering=lowering)
        assert found == (joins if is_spark else set())
        assert not append_joins(sink, forgets=True, lowering=lowering)
