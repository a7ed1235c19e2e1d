"""What stands in a text more than once is computed once where that matters, and what
looks alike is one only where it is."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Project, WindowAggregate
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.expressions import spark_sql

TABLE = (
    "CREATE TABLE t (s TEXT, d DOUBLE, m DECIMAL(10, 2), u BIGINT UNSIGNED, "
    "at TIMESTAMP(6), WATERMARK FOR at) WITH (connector = 'single_file', path = '/x', "
    "format = 'json', type = 'source'); "
)


def written(item, *, strict=False):
    plan = plan_script(f"{TABLE}SELECT {item} AS y FROM t", Catalog(), strict=strict)
    (project,) = (n for n in walk(plan.sinks[0]) if isinstance(n, Project))
    return spark_sql(project.items[0].expression, row_time="`row_time`")


@pytest.mark.parametrize(
    "item",
    [
        "floor(random() * 10.0)",
        "ceil(random())",
        "round(random())",
        "trunc(random(), 2)",
        "nullif(random(), d)",
        "1.0 / random()",
        "random() BETWEEN 0.0 AND d",
        "random() IN (0.0, d)",
        "CAST(random() * 10.0 AS BIGINT)",
        "CAST(random() AS DECIMAL(30, 10))",
    ],
)
def test_a_random_number_is_drawn_once(item):
    assert written(item).count("rand()") == 1


@pytest.mark.parametrize(
    "call",
    [
        "date_trunc('day', s)",
        "to_timestamp(s)",
        "date_part('hour', s)",
        "to_unixtime(s)",
        "to_date(s)",
        "arrow_cast(s, 'Date32')",
    ],
)
def test_a_text_is_read_as_a_time_where_case_looks_at_it(call):
    text = written(f"CASE WHEN s LIKE '20%' THEN {call} END")
    assert "`((CASE WHEN (`s` LIKE '20%') THEN `s` END))" in text


def test_a_day_and_hours_are_two_intervals():
    plan = plan_script(
        f"{TABLE}SELECT max(CAST(at AS DATE) + INTERVAL '1 day -12 hours') AS a, "
        "max(CAST(at AS DATE) + INTERVAL '12 hours') AS b FROM t "
        "GROUP BY tumble(INTERVAL '1 day')",
        Catalog(),
    )
    (node,) = (n for n in walk(plan.sinks[0]) if isinstance(n, WindowAggregate))
    assert len(node.measures) == 2


def test_row_time_is_compared_in_its_own_unit():
    assert "div" not in written("row_time() > from_unixtime(1700000000)")
