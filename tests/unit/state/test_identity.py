"""What the identity of a plan says, and what it does not depend on."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from saved_states import saved_states
from sqlglot import exp

from arroyo_nb import functions
from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.frames import lookup_table
from arroyo_nb.over.frame import OverFrame
from arroyo_nb.plan import nodes
from arroyo_nb.plan.explain import node_lines as described
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.state.canonical import Canonical, canonical_value
from arroyo_nb.state.identity import plan_identity
from arroyo_nb.with_options import Option, OptionKind

TABLE = """
CREATE TABLE trips (id BIGINT, city TEXT, fare DOUBLE, at TIMESTAMP NOT NULL,
                    WATERMARK FOR at AS at - INTERVAL '5 seconds')
WITH (connector = 'kafka', bootstrap_servers = 'localhost:9092', topic = 'trips',
      type = 'source', format = 'json'{more});
"""
QUERY = (
    "SELECT tumble(INTERVAL '1 minute') AS w, upper(city) AS city, sum(fare) AS total "
    "FROM trips WHERE fare > 1.5 AND city LIKE 'a%' GROUP BY w, upper(city)"
)


def identity(query=QUERY, more="", table=TABLE):
    return plan_identity(plan_script(table.format(more=more) + query, Catalog()))


@pytest.mark.parametrize("saved", saved_states(), ids=lambda saved: saved.name)
def test_the_identities_of_saved_states_stay(saved):
    """If this fails, what users have on their disks is refused: VERSION goes up, and
    states of the version before are still resumed from."""
    assert plan_identity(plan_script(saved.script, Catalog())) == saved.identity


def test_explain_may_be_worded_anew(monkeypatch):
    before = identity()
    monkeypatch.setattr(described, "_described", lambda node: "other words")
    assert identity() == before


def test_the_classes_of_nodes_may_be_renamed():
    plan = plan_script(TABLE.format(more="") + QUERY, Catalog())
    before = plan_identity(plan)
    kinds = (nodes.Source, nodes.Filter, nodes.WindowAggregate, nodes.Tumble)
    names = [kind.__name__ for kind in kinds]
    try:
        for kind in kinds:
            kind.__name__ = "Renamed"
        assert plan_identity(plan) == before
    finally:
        for kind, name in zip(kinds, names, strict=True):
            kind.__name__ = name


def test_sqlglot_may_print_otherwise(monkeypatch):
    plan = plan_script(TABLE.format(more="") + QUERY, Catalog())
    before = plan_identity(plan)
    monkeypatch.setattr(exp.Expression, "sql", lambda *_, **__: "other SQL")
    assert plan_identity(plan) == before


def test_an_option_may_be_added_with_a_default(monkeypatch):
    before = identity()
    connector = CONNECTORS.get("kafka")
    added = Option("source.prefetch", OptionKind.UINT, "records", default=500)
    info = replace(connector.info, options=(*connector.info.options, added))
    monkeypatch.setattr(connector, "info", info)
    assert identity() == before
    assert identity(more=", 'source.prefetch' = 7") != before


def test_the_template_of_a_function_may_be_mended(monkeypatch):
    before = identity()
    mended = replace(functions.scalar("upper"), template="ucase(concat({0}, ''))")
    table = {**functions._by_name(), "upper": mended}
    monkeypatch.setattr(functions, "_by_name", lambda: table)
    assert identity() == before


@pytest.mark.parametrize(
    "more",
    [
        ", 'auth.type' = 'none'",
        ", bad_data = 'fail'",
        ", 'schema_registry.endpoint' = 'http://localhost:8081'",
    ],
)
def test_who_reads_and_what_is_the_default_are_no_part(more):
    assert identity(more=more) == identity()


@pytest.mark.parametrize(
    "query",
    [
        QUERY.replace("1 minute", "60 seconds"),
        QUERY.replace("AS total", "AS total").lower().replace("'a%'", "'a%'"),
        QUERY.replace("fare > 1.5", "(fare > 1.50)"),
        "WITH f AS (SELECT fare AS f, city AS c FROM trips WHERE fare > 1.5 AND city "
        "LIKE 'a%') SELECT tumble(INTERVAL '1 minute') AS w, upper(c) AS city, "
        "sum(f) AS total FROM f GROUP BY w, upper(c)",
    ],
)
def test_how_a_query_is_written_is_no_part(query):
    if "WITH f" in query:
        # One more select list is another plan; names alone are none.
        inner = query.replace("fare AS f", "fare").replace("sum(f)", "sum(fare)")
        assert identity(query) == identity(inner)
    else:
        assert identity(query) == identity()


@pytest.mark.parametrize(
    "query",
    [
        QUERY.replace("1 minute", "61 seconds"),
        QUERY.replace("tumble(", "hop(INTERVAL '30 seconds', "),
        QUERY.replace("1.5", "1.25"),
        QUERY.replace("> 1.5", ">= 1.5"),
        QUERY.replace("LIKE", "ILIKE"),
        QUERY.replace("upper", "lower"),
        QUERY.replace("sum(fare)", "avg(fare)"),
        QUERY.replace("sum(fare)", "sum(DISTINCT fare)"),
        QUERY.replace("sum(fare)", "sum(fare) FILTER (WHERE id = 1)"),
        QUERY.replace("sum(fare)", "CAST(sum(fare) AS FLOAT)"),
        QUERY.replace("AS total", "AS sum_of_fares"),
        QUERY.replace("AND", "OR"),
    ],
)
def test_what_is_computed_is_the_identity(query):
    assert identity(query) != identity()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'trips',", "'others',"),
        ("9092", "9093"),
        ("fare DOUBLE", "fare FLOAT"),
        ("id BIGINT", "id BIGINT NOT NULL"),
        ("5 seconds", "6 seconds"),
        ("'json'", "'json', bad_data = 'drop'"),
        ("'json'", "'json', 'source.read_mode' = 'read_committed'"),
    ],
)
def test_what_is_read_is_the_identity(old, new):
    assert identity(table=TABLE.replace(old, new)) != identity()


def test_rows_that_were_only_looked_at_are_told_apart():
    plan = plan_script(TABLE.format(more="") + QUERY, Catalog())
    assert plan_identity(plan, previewed=True) != plan_identity(plan)


def test_a_deep_chain_of_operators_has_an_identity():
    sum_ = " + ".join(f"id * {n}" for n in range(240))
    assert identity(f"SELECT {sum_} AS s FROM trips").count('"add"') == 239


def test_an_unknown_expression_is_a_bug():
    with pytest.raises(TypeError, match="no canonical form for Paren"):
        Canonical([]).expression(exp.Paren(this=exp.Null()))
    with pytest.raises(TypeError, match="no canonical form for SimpleNamespace"):
        canonical_value(SimpleNamespace())


def test_a_dataframe_is_a_table_of_its_columns():
    query = TABLE.format(more="") + (
        "SELECT t.id FROM trips AS t JOIN riders AS r ON t.id = r.id"
    )
    texts = set()
    for column in ("name", "driver"):
        rows = pa.table({"id": [1], column: ["x"]})
        catalog = Catalog().define(lookup_table("riders", rows, ["id"]))
        texts.add(plan_identity(plan_script(query, catalog)))
    assert len(texts) == 2


def over(frame, function="sum(total)"):
    return (
        f"SELECT city, {function} OVER (PARTITION BY w ORDER BY city {frame}) AS s "
        f"FROM ({QUERY})"
    )


def test_a_frame_is_what_it_means_and_not_how_it_is_written(monkeypatch):
    two = identity(over("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"))
    assert identity(over("ROWS 2 PRECEDING")) == two
    assert identity(over("rows between 2 preceding and 0 following")) == two
    monkeypatch.setattr(OverFrame, "__str__", lambda _: "other words")
    assert identity(over("ROWS 2 PRECEDING")) == two
    usual = identity(over(""))
    assert identity(over("RANGE UNBOUNDED PRECEDING")) == usual
    others = [
        over("ROWS 3 PRECEDING"),
        over("GROUPS 2 PRECEDING"),
        over("ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"),
        over("ROWS 2 PRECEDING EXCLUDE TIES"),
        over("ROWS 2 PRECEDING", "min(total)"),
        over("ROWS 2 PRECEDING", "first_value(total)"),
        over("ROWS 2 PRECEDING", "first_value(total) IGNORE NULLS"),
        over("ROWS 2 PRECEDING", "nth_value(total, 1)"),
    ]
    assert len({two, usual, *map(identity, others)}) == 2 + len(others)
    # It sees all of its partition, whatever the frame.
    lag = "lag(total, 2)"
    assert identity(over("ROWS 2 PRECEDING", lag)) == identity(over("", lag))
