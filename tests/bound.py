"""Bound expressions and nodes, built by hand: what the planner would have made."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.functions import scalar
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.intervals import Interval
from arroyo_nb.plan.expressions.typing import interval_literal, type_of, typed
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    NULL,
    TEXT,
    Field,
    Schema,
    Timestamp,
    Type,
)


def col(name: str, type_: Type) -> exp.Expr:
    return typed(exp.Column(this=exp.Identifier(this=name, quoted=True)), type_)


def ts(text: str | None) -> exp.Expr:
    return cast(lit(text), Timestamp())


def lit(value: object) -> exp.Expr:
    match value:
        case None:
            return typed(exp.Null(), NULL)
        case bool():
            return typed(exp.Boolean(this=value), BOOLEAN, nullable=False)
        case int() | float():
            type_ = BIGINT if isinstance(value, int) else DOUBLE
            size = typed(exp.Literal.number(repr(abs(value))), type_, nullable=False)
            if value >= 0:
                return size
            return typed(exp.Neg(this=size), type_, nullable=False)
        case timedelta():
            return interval_literal(Interval(0, value, value.days))
        case _:
            return typed(exp.Literal.string(value), TEXT, nullable=False)


def cast(expression: exp.Expr, type_: Type, *, tries: bool = False) -> exp.Expr:
    kind = exp.TryCast if tries else exp.Cast
    return typed(kind(this=expression, to=exp.DataType.build("text")), type_)


def op(
    kind: type[exp.Binary], left: exp.Expr, right: exp.Expr, type_: Type
) -> exp.Expr:
    return typed(kind(this=left, expression=right), type_)


def call(name: str, *arguments: object) -> exp.Expr:
    bound = [a if isinstance(a, exp.Expr) else lit(a) for a in arguments]
    function = scalar(name)
    assert function is not None, name
    literals = [a.name if isinstance(a, exp.Literal) else None for a in bound]
    type_ = function.check([type_of(a) for a in bound], literals)
    return typed(exp.Anonymous(this=name, expressions=bound), type_)


def named(name: str, expression: exp.Expr) -> nodes.Named:
    return nodes.Named(name, expression, type_of(expression))


def source(*fields: Field, name: str = "events") -> nodes.Source:
    schema = Schema(fields)
    table = ConnectorTable(
        TableSpec(name, schema), "sample", Direction.SOURCE, schema.names
    )
    return nodes.Source(table)


def count(name: str = "n") -> nodes.Measure:
    return nodes.Measure(name, "count", (), BIGINT, nullable=False)


def measure(
    function: str, argument: exp.Expr, type_: Type, **more: object
) -> nodes.Measure:
    return nodes.Measure(
        more.pop("name", function), function, (argument,), type_, **more
    )
