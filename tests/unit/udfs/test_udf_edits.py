"""What a changed function does to the checkpoint of a job."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.jobs.promotion import promoted
from arroyo_nb.jobs.spec_changes import JobVersion, judge
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.source import ScriptText
from arroyo_nb.state.compatibility import Edit, Outcome
from arroyo_nb.udfs import registry
from arroyo_nb.udfs.languages import read_definitions

TABLES = """
CREATE TABLE r (k TEXT, x BIGINT, t TIMESTAMP NOT NULL,
    WATERMARK FOR t AS t - INTERVAL '1 second'
) WITH (connector = 'single_file', path = '/r.json', type = 'source', format = 'json');
CREATE TABLE o WITH (connector = 'single_file', path = '/o.json', type = 'sink',
    format = '{format}');
INSERT INTO o """
FUNCTIONS = """
from arroyo_nb import udaf, udf
@udf
def scaled(x: int) -> int:
    return x * {factor}
@udaf
class Total:
    def __init__(self): self.n = 0
    def accumulate(self, x: int): self.n += {factor} * x
    def retract(self, x: int): self.n -= {factor} * x
    def merge(self, other): self.n += other.n
    def finish(self) -> int: return self.n
"""


def version(sql, factor, changes):
    text = TABLES.format(format="debezium_json" if changes else "json") + sql
    found = read_definitions(ScriptText(FUNCTIONS.format(factor=factor)), "python")
    rows = registry.rows({udf.name: udf for udf in found})
    plan = plan_script(text, Catalog().with_functions(rows))
    return JobVersion(promoted(plan, "job").spec, plan)


@pytest.mark.parametrize(
    ("sql", "outcome", "edits"),
    [
        ("SELECT k, x FROM r", Outcome.COMPATIBLE, set()),
        ("SELECT scaled(x) AS y FROM r", Outcome.FORK, {Edit.ROWS, Edit.UDF}),
        ("SELECT k, sum(scaled(x)) AS y FROM r GROUP BY k", Outcome.FORK, {Edit.UDF}),
        (
            "SELECT k, sum(scaled(x)) AS y, tumble(INTERVAL '1 hour') AS w FROM r "
            "GROUP BY k, w",
            Outcome.FORK,
            {Edit.UDF},
        ),
        (
            "SELECT k, total(x) AS y FROM r GROUP BY k",
            Outcome.FRESH,
            {Edit.AGGREGATE_UDF},
        ),
        (
            "SELECT y, count(*) AS n FROM (SELECT k, scaled(count(*)) AS y FROM r "
            "GROUP BY k) GROUP BY y",
            Outcome.FRESH,
            {Edit.TAKEN_BACK},
        ),
    ],
)
def test_a_changed_function(sql, outcome, edits):
    changes = "GROUP BY" in sql and "tumble" not in sql
    old, same, new = (version(sql, factor, changes) for factor in (2, 2, 3))
    assert judge(old, same).outcome is Outcome.COMPATIBLE
    verdict = judge(old, new)
    assert verdict.outcome is outcome, [str(d) for d in verdict.differences]
    assert {difference.edit for difference in verdict.differences} == edits
    assert (old.identity == new.identity) is (outcome is Outcome.COMPATIBLE)
