"""Which relations are updating, and what follows from it (arroyo-semantics f)."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.nodes import (
    Node,
    Sink,
    Source,
    Stateful,
    Union,
    UpdatingAggregate,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.rewrites.updating import timed_changes
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.verify import BrokenPlan, verify
from arroyo_nb.state.identity import plan_identity

TABLES = Path(__file__).parents[2] / "golden" / "tables.sql"
ORDERS = (
    "CREATE TABLE orders (id BIGINT PRIMARY KEY, city TEXT, line INT NOT NULL PRIMARY "
    "KEY, fee DECIMAL(10, 2)) WITH (connector = 'single_file', path = '/o', "
    "type = 'source', format = 'debezium_json');"
)


@cache
def tables() -> Catalog:
    return plan_script(TABLES.read_text(encoding="utf-8") + ORDERS, Catalog()).catalog


def planned(query: str) -> Sink:
    return plan_script(query, tables()).sinks[-1]


UPDATING = {
    "keys": "SELECT id, count(*) AS n FROM clicks GROUP BY id",
    "no keys": "SELECT max(id) AS top FROM clicks",
    "having alone": "SELECT 1 AS one FROM clicks HAVING count(*) > 1",
    "distinct": "SELECT DISTINCT id FROM clicks",
    "distinct of windowed rows": "SELECT DISTINCT name FROM hourly",
    "union": "SELECT id FROM clicks UNION SELECT id FROM trips",
    "a set too": "SELECT id FROM clicks UNION ALL SELECT DISTINCT id FROM trips",
    "changes": "SELECT city FROM orders WHERE fee > 1",
    "of changes": "SELECT city, sum(fee) AS fees FROM orders GROUP BY city",
    "outer join": "SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id",
    "join of changes": "SELECT c.id, fee FROM clicks AS c JOIN orders AS o "
    "ON c.id = o.id",
    "over a window": "SELECT name, sum(n) AS n FROM hourly GROUP BY name",
}
APPENDED = {
    "rows": "SELECT id FROM clicks WHERE id > 1",
    "window": "SELECT name, count(*) AS n FROM trips GROUP BY name, tumble('1 h')",
    "distinct by its window": "SELECT DISTINCT n, window FROM hourly",
    "union of windows": "SELECT name, window FROM hourly UNION SELECT '', window FROM "
    "hourly",
    "inner join": "SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id = t.id",
    "all": "SELECT id FROM clicks UNION ALL SELECT id FROM trips",
}
ON_TOP = st.lists(
    st.sampled_from(
        [
            "SELECT * FROM ({}) AS q",
            "SELECT * FROM ({}) AS q WHERE 1 < 2",
            "SELECT * FROM ({0}) AS q UNION ALL SELECT * FROM ({0}) AS q",
            "WITH q AS ({}) SELECT * FROM q",
        ]
    ),
    max_size=3,
)


@given(st.sampled_from([*UPDATING.values(), *APPENDED.values()]), ON_TOP)
def test_projections_filters_and_unions_pass_changes_on(
    query: str, above: list[str]
) -> None:
    expected = query in UPDATING.values()
    for template in above:
        query = template.format(query)
    sink = planned(query)
    assert is_updating(sink) == expected
    assert not any(name.startswith("_") for name in sink.schema.names)


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_changes_are_only_written_where_they_can_be_told(query: str) -> None:
    target = (
        "CREATE TABLE out WITH (connector = 'stdout', format = '{}'); INSERT INTO out "
    )
    (sink,) = plan_script(target.format("debezium_json") + query, tables()).sinks
    assert is_updating(sink)
    script = target.format("json") + query
    with pytest.raises(PlanProblem) as caught:
        plan_script(script, tables())
    message = (
        "input is updating, but sink is not configured as an updating sink (hint: use "
        "`format = 'debezium_json'`)"
    )
    assert caught.value.message == message
    assert caught.value.span is not None


def test_of_several_inserts_into_a_file_the_updating_one_is_told() -> None:
    script = (
        "INSERT INTO totals SELECT name, fare, id FROM trips;"
        "INSERT INTO totals SELECT name, sum(fare), count(*) FROM trips GROUP BY name"
    )
    with pytest.raises(PlanProblem) as caught:
        plan_script(script, tables())
    span = caught.value.span
    assert span is not None
    assert script[span.start : span.end].startswith("name, sum(fare)")


@pytest.mark.parametrize("query", UPDATING.values(), ids=UPDATING)
def test_below_a_window_changes_have_the_time_of_their_rows(query: str) -> None:
    script = "SELECT count(*) AS n FROM ({}) GROUP BY {}('1 minute')"
    (sink,) = plan_script(script.format(query, "tumble"), tables()).sinks
    assert not is_updating(sink)
    stateful = [n for n in walk(sink) if isinstance(n, Stateful) and is_updating(n)]
    assert stateful
    assert all(node.timed for node in stateful)
    assert timed_changes(sink, NodeMap()) is sink
    with pytest.raises(Unsupported, match="over an updating input"):
        plan_script(script.format(query, "session"), tables())


def test_a_set_is_made_of_all_branches_up_to_the_last_union() -> None:
    one = "SELECT id FROM clicks"
    root = planned(f"{one} UNION {one} UNION ALL {one} UNION {one} UNION ALL {one}")
    kinds = [type(node) for node in walk(root)]
    assert kinds.count(UpdatingAggregate) == 1
    unions = [len(n.branches) for n in walk(root) if isinstance(n, Union)]
    assert unions == [4, 2]
    assert planned(f"{one} UNION {one}") == planned(f"({one} UNION {one})")


def test_a_distinct_row_keeps_the_order_of_its_columns() -> None:
    sink = planned("SELECT DISTINCT n, window, n + 1 AS m FROM hourly")
    assert sink.schema.names == ("n", "window", "m")
    assert sink.window_columns == {"window"}
    assert isinstance(sink.input.inputs[0], WindowAggregate)


def test_updating_rows_have_no_window() -> None:
    root = planned("SELECT name, max(n) AS top FROM hourly GROUP BY name")
    (aggregate,) = (n for n in walk(root) if isinstance(n, UpdatingAggregate))
    assert aggregate.input.window is not None
    assert (aggregate.window, aggregate.window_columns) == (None, frozenset())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (UPDATING["over a window"], "must have window in aggregate"),
        (UPDATING["distinct of windowed rows"], "must have window in aggregate"),
        (UPDATING["a set too"], "can't union updating with append-only"),
        (f"INSERT INTO hole {UPDATING['keys']}", "input is updating, but sink"),
    ],
)
def test_what_arroyo_refuses_runs_but_for_strict(query: str, message: str) -> None:
    (note,) = plan_script(query, tables()).notes
    assert note.startswith("Arroyo would refuse this: " + message)
    with pytest.raises(PlanProblem, match=message):
        plan_script(query, tables(), strict=True)


def test_strict_takes_the_updating_queries_of_arroyo() -> None:
    for name in ("keys", "no keys", "distinct", "union", "changes", "of changes"):
        plan = plan_script(UPDATING[name], tables(), strict=True)
        assert not plan.notes


def test_rows_and_changes_are_inserted_into_one_file_of_changes() -> None:
    file = "connector = 'single_file', path = '/out', type = 'sink'"
    insert = f"INSERT INTO out {UPDATING['keys']};"
    script = (
        f"CREATE TABLE out (id BIGINT, n BIGINT) WITH ({file}, format = "
        f"'debezium_json'); {insert} {insert} "
        "INSERT INTO out SELECT id, seats FROM trips"
    )
    (sink,) = plan_script(script, tables(), strict=True).sinks
    assert [is_updating(branch) for branch in sink.input.inputs] == [True, True, False]


def test_a_debezium_source_knows_its_rows() -> None:
    (source,) = (n for n in walk(planned("SELECT * FROM orders")) if not n.inputs)
    assert isinstance(source, Source)
    assert source.schema.names == ("id", "city", "line", "fee")
    assert source.table.spec.primary_key == ("id", "line")
    assert (source.table.format, source.table.updating) == ("debezium_json", True)
    options = source.table.spec.options
    assert options["json.timestamp_format"] == "unix_millis"
    # What a text of a DECIMAL is, the records of a source say.
    assert "json.decimal_encoding" not in options


def test_a_key_makes_nothing_else_updating() -> None:
    file = "connector = 'single_file', path = '/k', type = 'source', format = 'json'"
    script = f"CREATE TABLE k (id BIGINT PRIMARY KEY) WITH ({file})"
    table = plan_script(script, Catalog()).catalog.get("k")
    assert isinstance(table, ConnectorTable)
    assert (table.spec.primary_key, table.updating) == (("id",), False)


def test_the_key_is_part_of_what_runs() -> None:
    query = ORDERS + "SELECT * FROM orders"
    fewer = query.replace("NOT NULL PRIMARY KEY", "NOT NULL")
    identities = {plan_identity(plan_script(q, Catalog())) for q in (query, fewer)}
    assert len(identities) == 2


def test_verify_sees_an_updating_aggregate_by_a_window() -> None:
    root: Node = planned("SELECT window, count(*) AS n FROM hourly GROUP BY window")
    aggregates = [n for n in walk(root) if isinstance(n, WindowAggregate)]
    below = aggregates[-1].input
    key = next(
        item
        for n in walk(root)
        for item in getattr(n, "items", ())
        if item.name == "window"
    )
    with pytest.raises(BrokenPlan, match="by a window"):
        verify(UpdatingAggregate(below, (key,), ()))


def test_the_plan_says_how_long_keys_are_kept() -> None:
    plan = plan_script("SET updating_ttl = '90 s';" + UPDATING["keys"], tables())
    assert plan.updating_ttl == timedelta(seconds=90)
    assert "idle for 90s" in plan.explain()
    longer = plan.with_updating_ttl(timedelta(minutes=3))
    assert longer.updating_ttl == timedelta(minutes=3)
    assert (plan.updating_ttl, plan_identity(longer)) == (
        timedelta(seconds=90),
        plan_identity(plan),
    )
