"""Views on views on views: each is planned once, in the time of its own nodes."""

from __future__ import annotations

import sys
import time
from types import FrameType

import pytest
from machine import allowed

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import Plan
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.state.identity import plan_identity

TABLE = (
    "CREATE TABLE v0 (id BIGINT NOT NULL, a BIGINT, at TIMESTAMP NOT NULL, "
    "WATERMARK FOR at) WITH (connector = 'single_file', path = '/d/t.json', "
    "type = 'source', format = 'json');"
)
BODIES = {
    "select list": "SELECT id, a + 1 AS a FROM {} WHERE a < 10",
    "star": "SELECT * FROM {} WHERE a < 10",
    "aggregate": "SELECT id, sum(a) AS a FROM {} WHERE a < 10 GROUP BY id",
    "union": "SELECT id, a FROM {} UNION ALL SELECT id, a FROM v0",
    "number": "SELECT id, a FROM (SELECT id, a, row_number() OVER (PARTITION BY id "
    "ORDER BY a) AS n FROM {}) WHERE n < 5",
    "join": "SELECT one.id, one.a FROM {} AS one JOIN v0 ON one.id = v0.id",
    "join with WHERE": "SELECT one.id, one.a FROM {} AS one JOIN v0 ON one.id = v0.id "
    "WHERE one.a < 10",
}
FEW = 16


def chain(views: int, body: str) -> str:
    made = (f"CREATE VIEW v{n + 1} AS {body.format(f'v{n}')};" for n in range(views))
    return f"{TABLE}{''.join(made)}SELECT * FROM v{views}"


def work(views: int, body: str) -> int:
    """How many Python functions are called to plan a chain: the same number on any
    machine, whatever else it does."""
    calls = 0

    def count(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal calls
        calls += event == "call"

    text = chain(views, body)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        plan_script(text, Catalog())
    finally:
        sys.setprofile(before)
    return calls


def planned(views: int) -> Plan:
    return plan_script(chain(views, BODIES["select list"]), Catalog())


@pytest.mark.parametrize("name", BODIES)
def test_four_times_the_views_are_four_times_the_work(name: str) -> None:
    body = BODIES[name]
    work(2, body)  # what is done once
    few, many = work(FEW, body), work(4 * FEW, body)
    # In quadratic time it is ten times and more. Conditions go down as far as they ever
    # do, MOST_JOINS, in the longer chain alone.
    assert many < 6 * few


def test_two_thousand_views_are_planned_in_seconds() -> None:
    before = time.monotonic()
    plan_script(chain(2_000, BODIES["select list"]), Catalog())
    # 2 s on an idle machine; in quadratic time it would be five minutes.
    assert time.monotonic() - before < allowed(30)


def test_a_deep_lineage_is_explained_within_the_usual_stack() -> None:
    plan = planned(600)
    assert len(plan.sinks) == 1
    assert sys.getrecursionlimit() <= 1_000
    assert plan.explain().count("CREATE VIEW") == 600
    assert plan_identity(plan).count('"filter"') == 600


def test_a_view_of_an_earlier_cell_is_as_quick() -> None:
    views = chain(600, BODIES["select list"]).rpartition(";")[0]
    catalog = plan_script(views, Catalog()).catalog
    (sink,) = plan_script("SELECT * FROM v600", catalog).sinks
    assert sink.schema.names == ("id", "a")
