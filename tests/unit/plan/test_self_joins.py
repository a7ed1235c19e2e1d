"""Joins of a window's rows with an aggregate of themselves: which are one with OVER."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.explain.node_lines import described
from arroyo_nb.plan.expressions.predicates import conjuncts
from arroyo_nb.plan.lowering import NO_SELF_JOINS
from arroyo_nb.plan.nodes import Filter, WindowAggregate, WindowJoin, WindowOver
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.self_joins import without_self_joins
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.verify import verify

TABLE = """
CREATE TABLE bids (auction BIGINT, price BIGINT, city TEXT, at TIMESTAMP NOT NULL,
                   WATERMARK FOR at AS at)
WITH (connector = 'single_file', path = '/-', type = 'source', format = 'json');
"""
WINDOW = "hop(INTERVAL '2 seconds', INTERVAL '10 seconds')"
COUNTS = f"(SELECT {WINDOW} AS w, auction, count(*) AS n FROM bids GROUP BY w, auction)"
CITIES = (
    "(SELECT tumble(INTERVAL '1 minute') AS w, city, auction, sum(price) AS total "
    "FROM bids GROUP BY w, city, auction)"
)
MOST = f"(SELECT w, max(n) AS most FROM {COUNTS} GROUP BY w)"

ONCE = {
    "at least": f"SELECT a.* FROM {COUNTS} a JOIN {MOST} b ON a.w = b.w AND n >= most",
    "equal": f"SELECT a.* FROM {COUNTS} a JOIN {MOST} b ON a.w = b.w AND n = most",
    "the other way round": f"SELECT n, most FROM {MOST} b JOIN {COUNTS} a "
    "ON b.w = a.w AND b.most = a.n",
    "a view": f"WITH c AS {COUNTS} SELECT c.auction FROM c JOIN (SELECT w, avg(n) AS m,"
    " count(*) AS k FROM c GROUP BY w) b ON c.w = b.w WHERE c.n > 2 * m AND k > 3",
    "by a key": f"SELECT a.total, b.of_city FROM {CITIES} a JOIN (SELECT w, city, "
    f"sum(total) AS of_city FROM {CITIES} GROUP BY w, city) b "
    "ON a.w = b.w AND a.city = b.city",
    "of computed columns": f"SELECT a.m FROM (SELECT w, n + 1 AS m FROM {COUNTS}) a "
    f"JOIN (SELECT w, max(m) AS most FROM (SELECT w, n * 2 AS m FROM {COUNTS}) "
    "GROUP BY w) b ON a.w = b.w AND a.m = b.most",
    "a filter above": f"SELECT a.n FROM (SELECT * FROM {COUNTS} WHERE auction > 7) a "
    f"JOIN {MOST} b ON a.w = b.w WHERE most > 9",
}
TWICE = {
    "groups of fewer rows": f"SELECT a.n FROM {COUNTS} a JOIN (SELECT w, max(n) AS most"
    f" FROM {COUNTS} WHERE auction > 7 GROUP BY w) b ON a.w = b.w",
    "groups of other rows": f"SELECT a.n FROM {COUNTS} a JOIN (SELECT w, max(n) AS most"
    f" FROM (SELECT {WINDOW} AS w, city, count(*) AS n FROM bids GROUP BY w, city)"
    " GROUP BY w) b ON a.w = b.w",
    "all rows are kept": f"SELECT a.n FROM {COUNTS} a LEFT JOIN {MOST} b ON a.w = b.w "
    "AND n = most",
    "a key that is not joined": f"SELECT a.total FROM {CITIES} a JOIN (SELECT w, city, "
    f"sum(total) AS of_city FROM {CITIES} GROUP BY w, city) b ON a.w = b.w",
    "a key joined with another": f"SELECT a.total FROM {CITIES} a JOIN (SELECT w, "
    f"auction, sum(total) AS s FROM {CITIES} GROUP BY w, auction) b "
    "ON a.w = b.w AND a.total = b.auction",
    "distinct": f"SELECT a.n FROM {COUNTS} a JOIN (SELECT w, count(DISTINCT n) AS most "
    f"FROM {COUNTS} GROUP BY w) b ON a.w = b.w AND n = most",
    "random numbers": f"SELECT a.r FROM (SELECT w, r FROM (SELECT w, random() AS r "
    f"FROM {COUNTS}) WHERE r < 0.5) a JOIN {MOST} b ON a.w = b.w",
    "of random rows": "SELECT a.n FROM (SELECT w, n FROM (SELECT w, n + random() AS n "
    f"FROM {COUNTS})) a JOIN (SELECT w, max(n) AS most FROM (SELECT w, n + random() "
    f"AS n FROM {COUNTS}) GROUP BY w) b ON a.w = b.w AND a.n = b.most",
    "no aggregate": f"SELECT a.n FROM {COUNTS} a JOIN {COUNTS} b ON a.w = b.w "
    "AND a.auction = b.auction",
}


def planned(query):
    (sink,) = plan_script(TABLE + query, Catalog()).sinks
    return sink


def kinds(root):
    return [type(node) for node in walk(root)]


@pytest.mark.parametrize("name", ONCE)
def test_rows_are_read_once(name):
    sink = planned(ONCE[name])
    assert WindowJoin in kinds(sink)
    lowered = without_self_joins(sink, NodeMap())
    assert WindowJoin not in kinds(lowered)
    assert (WindowOver, WindowAggregate) == (
        *(k for k in kinds(lowered)[::-1] if k in (WindowOver, WindowAggregate)),
    )
    verify(lowered)
    assert lowered.schema == sink.schema
    assert lowered.input.window_columns == sink.input.window_columns


@pytest.mark.parametrize("name", TWICE)
def test_other_joins_stay_joins(name):
    sink = planned(TWICE[name])
    assert WindowJoin in kinds(sink)
    assert without_self_joins(sink, NodeMap()) is sink


@pytest.mark.parametrize("name", ONCE)
def test_a_state_of_before_has_the_join(name):
    sink = planned(ONCE[name])
    earlier = NO_SELF_JOINS - 1
    assert without_self_joins(sink, NodeMap(), lowering=earlier) is sink


def test_a_condition_that_guards_another_stays_before_it():
    numbers = f"(SELECT * FROM {CITIES} WHERE city ~ '^[0-9]+$')"
    sink = planned(
        f"SELECT a.total FROM (SELECT * FROM {numbers} WHERE CAST(city AS BIGINT) > 5) "
        f"a JOIN (SELECT w, sum(total) AS s FROM {CITIES} GROUP BY w) b ON a.w = b.w"
    )
    lowered = without_self_joins(sink, NodeMap())
    (found,) = (node for node in walk(lowered) if isinstance(node, Filter))
    first, second = conjuncts(found.predicate)
    assert "5" in second.sql()
    assert "5" not in first.sql()


def test_null_keys_match_nothing():
    lowered = without_self_joins(planned(ONCE["by a key"]), NodeMap())
    assert "Filter city = city" in map(described, walk(lowered))
