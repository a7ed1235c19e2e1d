"""How plans of ranks and of updating joins are computed."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.explain.node_lines import described
from arroyo_nb.plan.lowered import became, lowered
from arroyo_nb.plan.lowering import NO_UNREAD_COLUMNS
from arroyo_nb.plan.nodes import Filter, UpdatingJoin, UpdatingRank
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.verify import verify

TABLES = """
CREATE TABLE auctions (id BIGINT, name TEXT, extra TEXT, opened TIMESTAMP,
                       closes TIMESTAMP)
WITH (connector = 'single_file', path = '/-', type = 'source', format = 'json');
CREATE TABLE bids (auction BIGINT, price BIGINT, url TEXT, at TIMESTAMP)
WITH (connector = 'single_file', path = '/-', type = 'source', format = 'json');
"""
JOINED = "FROM auctions a {how} JOIN bids b ON a.id = b.auction"
INNER = JOINED.format(how="")
BEST = (
    "SELECT id, price FROM (SELECT a.id, b.price, row_number() OVER "
    f"(PARTITION BY a.id ORDER BY b.price DESC) AS place {INNER} WHERE {{where}}) "
    "WHERE place = 1"
)


def planned(query):
    (sink,) = plan_script(TABLES + query, Catalog()).sinks
    return sink


def computed(query, *, forgets=False):
    sink = planned(query)
    made = NodeMap()
    plan = lowered(sink, made, forgets=forgets)
    verify(plan)
    assert plan.schema == sink.schema
    assert became(sink, made) is plan
    return plan


def only(kind, plan):
    (found,) = (node for node in walk(plan) if isinstance(node, kind))
    return found


def test_a_rank_and_its_join_have_what_is_read():
    plan = computed(BEST.format(where="b.at BETWEEN a.opened AND a.closes"))
    join = only(UpdatingJoin, plan)
    assert join.left.schema.names == ("id", "opened", "closes")
    assert join.right.schema.names == ("auction", "price", "at")
    assert "at BETWEEN opened AND closes" in described(join)
    assert not [node for node in walk(plan) if isinstance(node, Filter)][1:]


def test_a_rank_without_a_join_has_what_is_read():
    plan = computed(
        "SELECT price FROM (SELECT *, row_number() OVER (PARTITION BY auction "
        "ORDER BY at) AS n FROM bids) WHERE n = 1"
    )
    assert only(UpdatingRank, plan).input.schema.names == ("auction", "price", "at")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM ({})",
        "SELECT count(*) FROM ({})",
        "SELECT count(*) FROM (SELECT n AS m, url AS u FROM ({}))",
    ],
)
def test_rows_are_counted_by_one_column(query):
    numbered = "SELECT *, row_number() OVER () AS n FROM bids"
    plan = computed(query.format(numbered))
    assert len(only(UpdatingRank, plan).input.schema.names) == 1


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize(
    ("where", "own", "above"),
    [
        ("b.price > a.id", "price > id", None),
        ("b.price > a.id OR a.closes IS NULL", "price > id OR closes IS NULL", None),
        ("b.at < a.closes AND b.url LIKE a.name", "at < closes", "url LIKE name"),
        ("b.price + 1 > a.id", None, "price + 1 > id"),
        ("CAST(a.id AS DOUBLE) < CAST(b.price AS DOUBLE)", None, "CAST(id AS"),
        ("random() * a.id > b.price", None, "random() * "),
    ],
)
def test_columns_are_compared_by_the_join(where, own, above, forgets):
    plan = computed(BEST.format(where=where), forgets=forgets)
    join = only(UpdatingJoin, plan)
    filters = [n for n in walk(plan) if isinstance(n, Filter) and n.input is join]
    assert (join.condition is None) == (own is None)
    assert own is None or own in described(join)
    assert len(filters) == (above is not None)
    assert above is None or above in described(filters[0])


def test_an_outer_join_keeps_its_filter():
    outer = JOINED.format(how="FULL")
    plan = computed(f"SELECT id, count(*) {outer} WHERE a.id < b.price OR a.id IS NULL "
                    "GROUP BY id")  # fmt: skip
    assert only(UpdatingJoin, plan).condition is None


def test_a_join_of_sparks_own_keeps_its_filter():
    plan = computed(f"SELECT id, price {INNER} WHERE b.at BETWEEN opened AND closes")
    assert only(UpdatingJoin, plan).condition is None


def test_a_state_of_before_has_all_columns():
    sink = planned(BEST.format(where="b.at > a.opened"))
    earlier = NO_UNREAD_COLUMNS - 1
    assert lowered(sink, NodeMap(), forgets=False, lowering=earlier) is sink


def test_readers_of_a_view_get_the_same_row_of_equal_ones():
    plan = computed(
        "CREATE VIEW firsts AS SELECT auction, price, url FROM (SELECT *, row_number() "
        "OVER (PARTITION BY auction ORDER BY at) AS n FROM bids) WHERE n = 1;"
        "SELECT a.price, b.url FROM firsts a JOIN firsts b ON a.auction = b.auction"
    )
    read = {"auction", "price", "url", "at"}
    ranks = [node for node in walk(plan) if isinstance(node, UpdatingRank)]
    assert ranks
    assert all({*rank.input.schema.names} == read for rank in ranks)


def test_a_long_chain_of_views_is_lowered_as_soon_as_it_is_long():
    top = (
        "SELECT *, row_number() OVER (PARTITION BY auction ORDER BY at) AS n FROM bids"
    )
    chain = f"CREATE VIEW v0 AS {top};" + "".join(
        f"CREATE VIEW v{i + 1} AS SELECT auction, n + 1 AS n FROM v{i};"
        for i in range(1500)
    )
    plan = plan_script(TABLES + chain + "SELECT auction FROM v1500", Catalog())
    assert "UpdatingRank" in plan.explain()
    (sink,) = plan.sinks
    narrow = lowered(sink, NodeMap(), forgets=False)
    assert only(UpdatingRank, narrow).input.schema.names == ("auction", "at")
