"""A source of changes: which of its rows each of them is of (arroyo-semantics a.5)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from arroyo_nb.catalog import WatermarkClause
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.plan.tables.columns import Declared, definitions
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.sql.dialect import span_of


def changes_problems(
    create: exp.Expr, declared: Declared, watermark: WatermarkClause, options: Options
) -> Iterator[ArroyoError]:
    """What is wrong: a change says which row it is of, and nothing else of its columns
    is computed.

    Parameters
    ----------
    create
        The statement.
    declared
        The columns of the table's rows.
    watermark
        Its watermark, declared or not.
    options
        As they are written, for places.
    """
    columns = definitions(create)
    if declared.generated:
        column = declared.generated[0].column.name
        yield CatalogProblem(
            "can't use virtual fields with debezium format",
            span=span_of(columns[column]),
            hint=f"compute '{column}' in a query over the table",
        )
    if not declared.primary_key:
        yield CatalogProblem(
            "Debezium source must have at least one PRIMARY KEY field",
            span=options.span("format"),
            hint="write PRIMARY KEY after the type of the column that tells its rows "
            "apart",
        )
    if watermark.column is not None:
        clauses = map(span_of, create.find_all(exp.WatermarkColumnConstraint))
        yield CatalogProblem(
            "can't use event_time_field with update mode.",
            span=next(clauses, None) or options.span("event_time_field"),
            hint="remove it: the event time of a change is when it arrives",
        )
