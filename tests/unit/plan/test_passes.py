from __future__ import annotations

from datetime import timedelta

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PlanProblem
from arroyo_nb.plan.nodes import (
    Node,
    Project,
    Source,
    Tumble,
    Watermark,
    WindowAggregate,
)
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.rewrites import PASSES
from arroyo_nb.plan.tree import walk

FILE = "WITH (connector = 'single_file', path = '/f', type = 'source', format = 'json')"
CLICKS = f"CREATE TABLE clicks (id BIGINT, at TIMESTAMP, WATERMARK FOR at) {FILE};"


def planned(script: str) -> Node:
    return plan_script(script, Catalog()).sinks[-1].input


def test_passes_have_names_reasons_and_examples() -> None:
    assert len({step.name for step in PASSES}) == len(PASSES)
    for step in PASSES:
        assert step.reason
        assert step.rewrite.__doc__


def test_a_generated_event_time_is_evaluated_below_its_column() -> None:
    script = (
        "CREATE TABLE t (epoch BIGINT NOT NULL, at TIMESTAMP GENERATED ALWAYS AS "
        f"(CAST(epoch AS TIMESTAMP)), WATERMARK FOR at) {FILE}; SELECT at FROM t"
    )
    source, watermark, generated, _ = walk(planned(script))
    assert isinstance(source, Source)
    assert source.schema.names == ("epoch",)
    assert isinstance(watermark, Watermark)
    assert isinstance(generated, Project)
    assert generated.schema.names == ("epoch", "at")
    assert watermark.event_time == generated.items[1].expression
    assert watermark.delay == timedelta()


def test_without_a_declaration_the_watermark_is_a_second_behind() -> None:
    nodes = walk(planned(f"CREATE TABLE t (a INT) {FILE}; SELECT a FROM t"))
    (watermark,) = (node for node in nodes if isinstance(node, Watermark))
    assert (watermark.event_time, watermark.delay) == (None, timedelta(seconds=1))


def test_one_watermark_for_all_readers_of_a_table() -> None:
    script = CLICKS + "SELECT id FROM clicks UNION ALL SELECT id + 1 FROM clicks"
    assert [type(n) for n in walk(planned(script))].count(Watermark) == 1


def test_a_view_keeps_its_table_when_the_name_is_given_to_another() -> None:
    view = "CREATE VIEW v AS SELECT id FROM clicks;"
    before = plan_script(CLICKS + view, Catalog()).catalog
    other = f"CREATE TABLE clicks (id BIGINT, more TEXT) {FILE};"
    query = "SELECT id FROM v UNION ALL SELECT id FROM clicks"
    (sink,) = plan_script(other + query, before).sinks
    sources = [node for node in walk(sink) if isinstance(node, Source)]
    assert [s.schema.names for s in sources] == [("id", "at"), ("id", "more")]


OVER_WINDOWED = {
    "the column": "SELECT w, max(n) AS n FROM v GROUP BY w",
    "the column of an alias": "SELECT x.w, max(n) AS n FROM v AS x GROUP BY x.w",
    "an alias of the column": "SELECT w AS w2, max(n) AS n FROM v GROUP BY w2",
    "the call": "SELECT tumble('1 minute') AS u, max(n) AS n FROM v GROUP BY u",
    "a hop that tumbles": "SELECT max(n) AS n FROM v GROUP BY hop('60 s', '1 minute')",
}


@pytest.mark.parametrize("query", OVER_WINDOWED.values(), ids=OVER_WINDOWED)
def test_a_windowed_input_keeps_its_window(query: str) -> None:
    view = (
        "CREATE VIEW v AS SELECT tumble('1 minute') AS w, id, count(*) AS n "
        "FROM clicks GROUP BY w, id;"
    )
    root = planned(CLICKS + view + query)
    inner, outer = (n for n in walk(root) if isinstance(n, WindowAggregate))
    assert inner.assign == Tumble(timedelta(minutes=1))
    assert outer.assign is None
    assert root.window == inner.assign


@pytest.mark.parametrize("other", ["tumble('2 minutes')", "session('1 minute')"])
def test_another_window_than_the_inputs_is_refused(other: str) -> None:
    view = "CREATE VIEW v AS SELECT id FROM clicks GROUP BY tumble('1 minute'), id;"
    with pytest.raises(PlanProblem, match="does not match input window"):
        planned(f"{CLICKS}{view} SELECT count(*) AS n FROM v GROUP BY {other}")
