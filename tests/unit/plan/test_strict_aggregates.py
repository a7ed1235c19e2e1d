"""What Arroyo refuses of aggregates; here it runs unless ``strict`` asks for that."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.planner import plan_script

TABLE = """CREATE TABLE t (at TIMESTAMP NOT NULL, k TEXT, i BIGINT, l BIGINT[],
    u BIGINT UNSIGNED, WATERMARK FOR at AS at) WITH (connector = 'single_file',
    path = '/x', format = 'json', type = 'source');"""
GROUPED = "SELECT k, {} AS c FROM t GROUP BY k, tumble(INTERVAL '1 hour')"
OVER = """SELECT {} OVER (PARTITION BY w ORDER BY i {}) AS c FROM (SELECT
    tumble(INTERVAL '1 hour') AS w, i FROM t GROUP BY w, i) AS windowed"""
SLIDING = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
REFUSED = {
    GROUPED.format("stddev(DISTINCT i)"): "STDDEV_POP(DISTINCT)",
    GROUPED.format("var(DISTINCT i)"): "VAR(DISTINCT)",
    GROUPED.format("approx_median(DISTINCT i)"): "APPROX_MEDIAN(DISTINCT)",
    OVER.format("bit_and(i)", SLIDING): "sliding accumulator",
    OVER.format("median(i)", SLIDING): "sliding accumulator",
    OVER.format("array_agg(i ORDER BY i)", ""): "ORDER BY is not implemented",
    OVER.format("lag(i, 1, i)", ""): "literals as the default of lag()",
}
ACCEPTED = (
    GROUPED.format("stddev(i)"),
    GROUPED.format("sum(DISTINCT i)"),
    OVER.format("sum(i)", SLIDING),
    OVER.format("max(i)", SLIDING),
    OVER.format("median(i)", ""),
    OVER.format("lag(i, 1, -1)", ""),
    OVER.format("nth_value(i, 0)", ""),
)


def planned(query, *, strict):
    return plan_script(TABLE + query, Catalog(), strict=strict).sinks[0]


@pytest.mark.parametrize("query", REFUSED)
def test_strict_refuses_what_runs_otherwise(query):
    planned(query, strict=False)
    with pytest.raises(ArroyoError) as error:
        planned(query, strict=True)
    assert REFUSED[query] in error.value.message


@pytest.mark.parametrize("query", ACCEPTED)
def test_strict_takes_what_arroyo_takes(query):
    planned(query, strict=True)


@pytest.mark.parametrize(
    ("call", "type_"),
    [
        ("bit_xor(u)", "BIGINT UNSIGNED"),
        ("max(l)", "BIGINT[]"),
        ("string_agg(i, NULL)", "TEXT"),
        ("array_agg(i) IGNORE NULLS", "BIGINT[]"),
        ("first_value(i ORDER BY k) FILTER (WHERE i > 0) IGNORE NULLS", "BIGINT"),
        ("sum(i) RESPECT NULLS", "BIGINT"),
        (
            "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY "
            "CAST(i AS DECIMAL(9, 2)))",
            "DOUBLE",
        ),
    ],
)
def test_types_are_those_of_datafusion(call, type_):
    plan = planned(GROUPED.format(call), strict=True)
    assert str({f.name: f.type for f in plan.schema}["c"]) == type_


@pytest.mark.parametrize(
    "call",
    [
        "approx_distinct(CAST(i AS DOUBLE))",
        "string_agg(DISTINCT i, ',' ORDER BY i)",
        "bool_and(NULL)",
    ],
)
def test_what_datafusion_refuses_is_refused(call):
    with pytest.raises(ArroyoError):
        planned(GROUPED.format(call), strict=False)
