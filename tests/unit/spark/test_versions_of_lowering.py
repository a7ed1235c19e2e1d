"""A state is resumed by the version of the lowering that it was begun by."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.lowering import EXTREMES_OF_PARTS
from arroyo_nb.plan.nodes import WindowAggregate
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.aggregates import is_native

TABLE = """CREATE TABLE t (v BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at)
    WITH (connector = 'single_file', path = '/x', format = 'json', type = 'source');"""


@pytest.mark.parametrize(
    ("call", "now", "before"),
    [
        ("max(named_struct('v', v))", False, True),
        ("min(make_array(v))", False, True),
        ("max(v)", True, True),
        ("median(v)", False, False),
    ],
)
def test_extremes_of_structs_were_spark_s_own(call, now, before):
    query = f"SELECT {call} AS x FROM t GROUP BY tumble(INTERVAL '1 hour')"
    (sink,) = plan_script(TABLE + query, Catalog()).sinks
    (node,) = (n for n in walk(sink) if isinstance(n, WindowAggregate))
    (measure,) = node.measures
    assert is_native(measure) is now
    assert is_native(measure, lowering=EXTREMES_OF_PARTS - 1) is before
