"""Views on views on views: each is planned once, in the time of its own nodes."""

from __future__ import annotations

import sys
import time

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import Plan
from arroyo_nb.planner import plan_script

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
}


def chain(views: int, body: str) -> str:
    made = (f"CREATE VIEW v{n + 1} AS {body.format(f'v{n}')};" for n in range(views))
    return f"{TABLE}{''.join(made)}SELECT * FROM v{views}"


def cpu_seconds(views: int, body: str) -> float:
    before = time.process_time()
    plan_script(chain(views, body), Catalog())
    return time.process_time() - before


def planned(views: int) -> Plan:
    return plan_script(chain(views, BODIES["select list"]), Catalog())


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_four_times_the_views_take_four_times_as_long(body: str) -> None:
    cpu_seconds(30, body)
    few = min(cpu_seconds(60, body) for _ in range(2))
    # Before plans were shared it was 15 times as long.
    assert cpu_seconds(240, body) < 7 * few + 0.2


def test_two_thousand_views_are_planned_in_seconds() -> None:
    # 2 s on an idle machine; in quadratic time it would be five minutes.
    assert cpu_seconds(2_000, BODIES["select list"]) < 12


def test_a_deep_lineage_is_explained_within_the_usual_stack() -> None:
    plan = planned(600)
    assert len(plan.sinks) == 1
    assert sys.getrecursionlimit() <= 1_000
    assert plan.explain().count("CREATE VIEW") == 600
    assert plan.identity.count("Filter") == 600


def test_a_view_of_an_earlier_cell_is_as_quick() -> None:
    views = chain(600, BODIES["select list"]).rpartition(";")[0]
    catalog = plan_script(views, Catalog()).catalog
    (sink,) = plan_script("SELECT * FROM v600", catalog).sinks
    assert sink.schema.names == ("id", "a")
