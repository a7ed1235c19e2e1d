"""WATERMARK FOR -> event time and watermark of a table (arroyo-semantics a.4, d.2)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

from sqlglot import exp

from arroyo_nb.catalog import Generated, WatermarkClause
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.binding import bind
from arroyo_nb.plan.expressions.intervals import bounded, exact
from arroyo_nb.plan.expressions.scope import Scope
from arroyo_nb.plan.expressions.typing import column, is_nullable, replaced, type_of
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.registry import did_you_mean
from arroyo_nb.repairs import AddNotNull, quoted_name
from arroyo_nb.schema import TEXT, Field, Schema, Timestamp
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import all_in
from arroyo_nb.tape import LONGEST_WAIT
from arroyo_nb.with_options import Option, OptionKind

_EVENT_TIME = Option("event_time_field", OptionKind.FIELD, "column of the event time")
_WATERMARK = Option("watermark_field", OptionKind.FIELD, "column of the watermark")
EVENT_TIME_OPTIONS = (_EVENT_TIME, _WATERMARK)
"""What WATERMARK FOR replaces; still read."""


class TableColumns(Protocol):
    """The columns of a table, as far as they are read."""

    @property
    def physical(self) -> Schema:
        """Columns that the connector delivers."""

    @property
    def generated(self) -> tuple[Generated, ...]:
        """Columns that are computed from them."""


def watermark_clause(
    entries: list[exp.Expr], columns: TableColumns, options: Options
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


def _declared(clause: exp.Expr, columns: TableColumns) -> WatermarkClause:
    if clause.this is None:
        raise CatalogProblem(
            "WATERMARK FOR takes a column",
            span=span_of(clause),
            hint="write WATERMARK FOR event_time AS event_time - INTERVAL '5 seconds'",
        )
    if not isinstance(clause.this, exp.Column):
        raise CatalogProblem(
            "WATERMARK FOR takes a column",
            span=span_of(clause),
            hint="compute it in a column: event_time TIMESTAMP GENERATED ALWAYS AS ("
            f"{clause.this.sql(dialect='postgres').lower()}), WATERMARK FOR event_time",
        )
    name = clause.this.name
    field = _find(columns, name) or _find(columns, name.lower())
    if field is None:
        raise CatalogProblem(
            f"WATERMARK FOR field `{name}` does not exist in table",
            span=span_of(clause.this),
            hint=did_you_mean(name, _times(columns)),
        )
    if not isinstance(field.type, Timestamp):
        raise CatalogProblem(
            f"WATERMARK FOR field `{field.name}` has type {field.type}, but expected "
            "TIMESTAMP",
            span=span_of(clause.this),
            hint=_generated_hint(field),
        )
    expression = clause.args.get("expression")
    if expression is None:
        return WatermarkClause(field.name, timedelta())
    return _with_expression(field, expression, columns)


def _with_expression(
    field: Field, expression: exp.Expr, columns: TableColumns
) -> WatermarkClause:
    try:
        made = {g.column.name: g.expression for g in columns.generated}
        known = (*columns.physical, *(g.column for g in columns.generated))
        bound = bind(expression, Scope.of(Schema(known)))
        for interval in all_in(bound, exp.Interval):
            exact(interval.meta["calendar"])
        delay = fixed_delay(bound, field.name, made.get(field.name))
    except ArroyoError as error:
        error.message = f"could not plan watermark expression: {error.message}"
        error.span = error.span or span_of(expression)
        error.hint = error.hint or _delay_hint(field)
        raise
    if not isinstance(type_of(bound), Timestamp):
        raise CatalogProblem(
            "the type of the WATERMARK FOR expression must be TIMESTAMP, but was "
            f"{type_of(bound)}",
            span=span_of(expression),
            hint=_delay_hint(field),
        )
    if is_nullable(bound):
        raise CatalogProblem(
            "the type of the WATERMARK FOR expression must be NOT NULL",
            span=span_of(expression),
            hint=_not_null_hint(_nullable(bound, columns)),
            repairs=[AddNotNull(tuple(f.name for f in _nullable(bound, columns)))],
        )
    # The watermark follows what the connector delivers.
    bound = replaced(
        bound, lambda e: made.get(e.name) if isinstance(e, exp.Column) else None
    )
    if delay is not None and delay > LONGEST_WAIT:
        raise CatalogProblem(
            "the delay of the watermark is longer than a century",
            span=span_of(expression),
        )
    if delay is not None:
        return WatermarkClause(field.name, delay)
    return WatermarkClause(field.name, timedelta(), bound)


def _generated_hint(field: Field) -> str | None:
    """The column to declare beside one that counts seconds or milliseconds."""
    if is_integer(field.type):
        function = "to_timestamp_millis"
    elif field.type == TEXT:
        function = "to_timestamp"
    else:
        return None
    name = field.name
    seconds = "; to_timestamp counts seconds" if is_integer(field.type) else ""
    return (
        f"write {name} {field.type} NOT NULL, event_time TIMESTAMP NOT NULL GENERATED "
        f"ALWAYS AS ({function}({name})) STORED, WATERMARK FOR event_time AS "
        f"event_time - INTERVAL '5 seconds'{seconds}"
    )


def _nullable(bound: exp.Expr, columns: TableColumns) -> list[Field]:
    """The columns that an expression is NULL for: a generated column cannot be NULL
    where what it is computed from cannot."""
    made = {g.column.name: g for g in columns.generated}
    found: dict[str, Field] = {}
    for used in all_in(bound, exp.Column):
        of = made[used.name].expression if used.name in made else used
        for below in all_in(of, exp.Column):
            field = columns.physical[below.name]
            if field.nullable:
                found[field.name] = field
    return [*found.values()]


def _not_null_hint(nullable: Iterable[Field]) -> str:
    """The lines of CREATE TABLE to write anew."""
    lines = [f"{field.name} {field.type} NOT NULL" for field in nullable]
    if not lines:
        return "use an expression that is never NULL"
    return f"write {', '.join(lines)}"


def _times(columns: TableColumns) -> list[str]:
    made = [g.column for g in columns.generated]
    return [f.name for f in (*columns.physical, *made) if isinstance(f.type, Timestamp)]


def _delay_hint(field: Field) -> str:
    return f"write {quoted_name(field.name)} - INTERVAL '5 seconds'"


def fixed_delay(
    bound: exp.Expr, name: str, generated: exp.Expr | None = None
) -> timedelta | None:
    """How far ``name - constant`` lies behind ``name``; None for anything else.

    A ``generated`` column may be written as what it is computed from.
    """
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
    is_time = is_column or (generated is not None and bound in _same(generated))
    # Ahead of the newest row is no delay to Spark: it is followed as any expression.
    return delay if is_time and delay >= timedelta() else None


def _same(generated: exp.Expr) -> tuple[exp.Expr, ...]:
    """A generated time, and as it was written: its column may widen the type."""
    inner = generated.this if isinstance(generated, exp.Cast) else generated
    is_time = isinstance(type_of(inner), Timestamp)
    return (generated, inner) if is_time else (generated,)


def _from_options(
    event_time: object, marks: object, columns: TableColumns, options: Options
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


def _marks(name: str, columns: TableColumns, options: Options) -> exp.Expr:
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


def _find(columns: TableColumns, name: str) -> Field | None:
    made = {g.column.name: g.column for g in columns.generated}
    return made.get(name) or columns.physical.get(name)
