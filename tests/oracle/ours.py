"""What we give: each expression is planned by itself, and many are columns of a query
over one row. Where a query fails, it is halved until the expression that does is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.nodes import Project
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.arrow_schema import spark_arrow_type
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.user_functions import register_datafusion
from oracle.cases import Case, Column, Outcome
from oracle.results import plain, plain_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arroyo_nb.engine import Engine

PER_QUERY = 100


@dataclass(frozen=True)
class _Planned:
    """An expression that is bound to the columns of its case."""

    number: int
    expression: exp.Expr
    columns: tuple[Column, ...]


def plan(case: Case) -> exp.Expr:
    """The expression, bound.

    Raises
    ------
    ArroyoError
        It is refused.
    """
    # A table has a column at least.
    listed = [f"{c.name} {c.type}" for c in case.columns] or ["_ BIGINT"]
    script = (
        f"CREATE TABLE data ({', '.join(listed)}) WITH (connector = 'single_file', "
        "path = '/x', format = 'json', type = 'source'); "
        f"SELECT {case.expression} AS value FROM data"
    )
    planned = plan_script(script, Catalog())
    (project,) = (n for n in walk(planned.sinks[0]) if isinstance(n, Project))
    (item,) = project.items
    return item.expression


def evaluate(
    engine: Engine, cases: Sequence[Case], *, alone: Iterable[int] = ()
) -> list[Outcome]:
    """The value of each expression.

    Parameters
    ----------
    alone
        The numbers of those that are likely to fail on the row: each is a query of its
        own.
    """
    outcomes: list[Outcome] = [Outcome()] * len(cases)
    planned: list[_Planned] = []
    for number, case in enumerate(cases):
        try:
            expression = plan(case)
        except ArroyoError as error:
            outcomes[number] = Outcome(refusal=error.message)
        except Exception as error:  # it is no message for a user: a defect of ours
            outcomes[number] = Outcome(refusal=f"{type(error).__name__}: {error}")
        else:
            planned.append(_Planned(number, expression, case.columns))
    single = set(alone)
    groups = [[p] for p in planned if p.number in single]
    rest = [p for p in planned if p.number not in single]
    groups += [rest[n : n + PER_QUERY] for n in range(0, len(rest), PER_QUERY)]
    for group in groups:
        found = engine.worker.call(lambda group=group: _run(engine.session, group))
        for number, outcome in found:
            outcomes[number] = outcome
    return outcomes


def _run(session: SparkSession, group: Sequence[_Planned]) -> list[tuple[int, Outcome]]:
    try:
        return _values(session, group)
    except Exception as error:
        if len(group) == 1:
            return [(group[0].number, Outcome(failure=failure(error)))]
        half = len(group) // 2
        return _run(session, group[:half]) + _run(session, group[half:])


def failure(error: Exception) -> str:
    """What a query failed with."""
    return f"{type(error).__name__}: {str(error).strip()}"


def _values(
    session: SparkSession, group: Sequence[_Planned]
) -> list[tuple[int, Outcome]]:
    # Each case has a struct of its own columns: names need not be made unlike.
    fields = [
        pa.field(
            f"r{p.number}",
            pa.struct([pa.field(c.name, spark_arrow_type(c.type)) for c in p.columns]),
        )
        for p in group
        if p.columns
    ]
    rows = {
        f"r{p.number}": [{c.name: c.value for c in p.columns}]
        for p in group
        if p.columns
    }
    table = pa.table(
        {"_": [0], **rows}, schema=pa.schema([pa.field("_", pa.int64()), *fields])
    )
    register_datafusion(session, [p.expression for p in group])
    texts = []
    for p in group:
        sql = spark_sql(p.expression, row_time="NULL")
        for column in p.columns:
            sql = sql.replace(f"`{column.name}`", f"`r{p.number}`.`{column.name}`")
        texts.append(f"{sql} AS v{p.number}")
    found = session.createDataFrame(table).selectExpr(*texts).toArrow()
    outcomes = []
    for p in group:
        type_ = type_of(p.expression)
        value = plain_here(plain(found[f"v{p.number}"].chunk(0)[0]), type_)
        outcomes.append((p.number, Outcome(type=str(type_), value=value)))
    return outcomes
