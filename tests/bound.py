"""Bound expressions and nodes, built by hand: what the planner would have made."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.plan import nodes
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    NULL,
    TEXT,
    Field,
    Schema,
    Type,
)


def typed(expression: exp.Expr, type_: Type, nullable: bool = True) -> exp.Expr:
    expression.meta["arroyo_type"] = type_
    expression.meta["nullable"] = nullable
    return expression


def col(name: str, type_: Type) -> exp.Expr:
    return typed(exp.Column(this=exp.Identifier(this=name, quoted=True)), type_)


def lit(value: object) -> exp.Expr:
    match value:
        case None:
            return typed(exp.Null(), NULL)
        case bool():
            return typed(exp.Boolean(this=value), BOOLEAN, False)
        case int():
            return typed(exp.Literal.number(value), BIGINT, False)
        case float():
            return typed(exp.Literal.number(repr(value)), DOUBLE, False)
        case timedelta():
            made = typed(exp.Interval(), INTERVAL, False)
            made.meta["interval"] = value
            return made
        case _:
            return typed(exp.Literal.string(value), TEXT, False)


def cast(expression: exp.Expr, type_: Type, *, tries: bool = False) -> exp.Expr:
    kind = exp.TryCast if tries else exp.Cast
    return typed(kind(this=expression, to=exp.DataType.build("text")), type_)


def op(
    kind: type[exp.Binary], left: exp.Expr, right: exp.Expr, type_: Type
) -> exp.Expr:
    return typed(kind(this=left, expression=right), type_)


def call(name: str, *arguments: exp.Expr, type_: Type = BIGINT) -> exp.Expr:
    return typed(exp.Anonymous(this=name, expressions=list(arguments)), type_)


def named(name: str, expression: exp.Expr) -> nodes.Named:
    return nodes.Named(name, expression, expression.meta["arroyo_type"])


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
