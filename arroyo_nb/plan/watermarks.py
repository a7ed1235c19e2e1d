"""WATERMARK FOR -> event time and watermark of a table (arroyo-semantics a.4, d.2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from sqlglot import exp

from arroyo_nb.catalog import Generated, WatermarkClause
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.options import Kind, Option
from arroyo_nb.plan.binding import bind
from arroyo_nb.plan.intervals import bounded
from arroyo_nb.plan.options import Options
from arroyo_nb.plan.scope import Scope
from arroyo_nb.plan.typing import column, is_nullable, type_of
from arroyo_nb.schema import Field, Schema, Timestamp
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.tape import LONGEST_WAIT

_EVENT_TIME = Option("event_time_field", Kind.FIELD, "column of the event time")
_WATERMARK = Option("watermark_field", Kind.FIELD, "column of the watermark")
EVENT_TIME_OPTIONS = (_EVENT_TIME, _WATERMARK)
"""What WATERMARK FOR replaces; still read."""


class Columns(Protocol):
    """The columns of a table, as far as they are read."""

    @property
    def physical(self) -> Schema:
        """Columns that the connector delivers."""

    @property
    def generated(self) -> tuple[Generated, ...]:
        """Columns that are computed from them."""


def watermark_clause(
    entries: list[exp.Expr], columns: Columns, options: Options
) -> WatermarkClause:
    """The event time and the watermark that a CREATE TABLE asks for.

    Raises
    ------
    CatalogProblem
        When the column or the expression will not do.
    """
    event_time, marks = options.take(_EVENT_TIME), options.take(_WATERMARK)
    clauses = [e for e in entries if isinstance(e, exp.WatermarkColumnConstraint)]
    if len(clauses) > 1:
        raise CatalogProblem(
            "Only one WATERMARK FOR constraint is allowed per table",
            span=span_of(clauses[1]),
        )
    if clauses:
        return _declared(clauses[0], columns)
    return _from_options(event_time, marks, columns, options)


def _declared(clause: exp.Expr, columns: Columns) -> WatermarkClause:
    if not isinstance(clause.this, exp.Column):
        raise CatalogProblem("WATERMARK FOR takes a column", span=span_of(clause))
    name = clause.this.name
    field = _find(columns, name) or _find(columns, name.lower())
    if field is None:
        raise CatalogProblem(
            f"WATERMARK FOR field `{name}` does not exist in table",
            span=span_of(clause.this),
        )
    if not isinstance(field.type, Timestamp):
        raise CatalogProblem(
            f"WATERMARK FOR field `{field.name}` has type {field.type}, but expected "
            "TIMESTAMP",
            span=span_of(clause.this),
        )
    expression = clause.args.get("expression")
    if expression is None:
        return WatermarkClause(field.name, timedelta())
    return _with_expression(field, expression, columns)


def _with_expression(
    field: Field, expression: exp.Expr, columns: Columns
) -> WatermarkClause:
    try:
        bound = bind(expression, Scope.of(columns.physical))
        delay = fixed_delay(bound, field.name)
    except ArroyoError as error:
        error.message = f"could not plan watermark expression: {error.message}"
        error.span = error.span or span_of(expression)
        raise
    if not isinstance(type_of(bound), Timestamp):
        raise CatalogProblem(
            "the type of the WATERMARK FOR expression must be TIMESTAMP, but was "
            f"{type_of(bound)}",
            span=span_of(expression),
        )
    if is_nullable(bound):
        raise CatalogProblem(
            "the type of the WATERMARK FOR expression must be NOT NULL",
            span=span_of(expression),
            hint="declare the columns that it uses NOT NULL",
        )
    if delay is not None and delay > LONGEST_WAIT:
        raise CatalogProblem(
            "the delay of the watermark is longer than a century",
            span=span_of(expression),
        )
    if delay is not None:
        return WatermarkClause(field.name, delay)
    return WatermarkClause(field.name, timedelta(), bound)


def fixed_delay(bound: exp.Expr, name: str) -> timedelta | None:
    """How far ``name - constant`` lies behind ``name``; None for anything else."""
    delay = timedelta()
    while isinstance(bound, exp.Sub | exp.Add):
        left, right = bound.this, bound.expression
        if isinstance(bound, exp.Add) and isinstance(left, exp.Interval):
            left, right = right, left
        if not isinstance(right, exp.Interval):
            return None
        size: timedelta = right.meta["interval"]
        delay = bounded(delay + (size if isinstance(bound, exp.Sub) else -size))
        bound = left
    is_column = isinstance(bound, exp.Column) and bound.name == name
    # Ahead of the newest row is no delay to Spark: it is followed as any expression.
    return delay if is_column and delay >= timedelta() else None


def _from_options(
    event_time: object, marks: object, columns: Columns, options: Options
) -> WatermarkClause:
    if event_time is not None:
        field = _find(columns, str(event_time))
        if field is None or not isinstance(field.type, Timestamp):
            raise CatalogProblem(
                f"field {event_time} not found or not a timestamp",
                span=options.span("event_time_field"),
            )
    name = None if event_time is None else str(event_time)
    if marks is None:
        return WatermarkClause(name)
    return WatermarkClause(name, timedelta(), _marks(str(marks), columns, options))


def _marks(name: str, columns: Columns, options: Options) -> exp.Expr:
    """The watermark column; a generated one is what it is computed from."""
    field = _find(columns, name)
    if field is None or not isinstance(field.type, Timestamp):
        raise CatalogProblem(
            f"field {name} not found or not a timestamp",
            span=options.span("watermark_field"),
        )
    for generated in columns.generated:
        if generated.column.name == name:
            return generated.expression
    return column(field)


def _find(columns: Columns, name: str) -> Field | None:
    made = {g.column.name: g.column for g in columns.generated}
    return made.get(name) or columns.physical.get(name)
