"""Names of output columns that have no alias, as DataFusion makes them.

``count(*)``, ``sum(t.x)``, ``t.a + Int64(1)``. Casts do not show in a name.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from decimal import Decimal
from typing import Any

from sqlglot import exp

from arroyo_nb.plan.expressions.operators import SYMBOLS
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.queries.aggregate_calls import parts
from arroyo_nb.schema import BIGINT_UNSIGNED, DOUBLE

BINDING = {
    "OR": 5,
    "AND": 10,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "~", "~*"), 20),
    **dict.fromkeys(("+", "-"), 30),
    **dict.fromkeys(("*", "/", "%"), 40),
}
"""DataFusion's precedences; an operand that binds less tightly is parenthesised."""


def free(name: str, taken: Container[str]) -> str:
    """The name, made longer where it is taken."""
    while name in taken:
        name += "_"
    return name


def output_name(bound: exp.Expr) -> str:
    """The name of a select item without alias; a bare column keeps its own."""
    if isinstance(bound, exp.Column):
        return str(bound.meta.get("written", bound.name))
    return shown(bound)


def shown(bound: exp.Expr) -> str:
    """A bound expression as DataFusion writes it."""
    writer = _WRITERS.get(type(bound))
    if writer is not None:
        return writer(bound)
    left, right = _operand(bound.this, bound), _operand(bound.expression, bound)
    return f"{left} {SYMBOLS[type(bound)]} {right}"


def _operand(operand: exp.Expr, parent: exp.Expr) -> str:
    while isinstance(operand, exp.Cast):
        operand = operand.this
    own = BINDING.get(SYMBOLS.get(type(operand), ""), 100)
    text = shown(operand)
    return f"({text})" if own < BINDING.get(SYMBOLS[type(parent)], 0) else text


def _column(node: exp.Column) -> str:
    return node.meta.get("qualified") or node.name


def _literal(node: exp.Literal) -> str:
    if node.is_string:
        return _text(node.this)
    type_ = type_of(node)
    if type_ == DOUBLE:
        # All digits that tell it from another, and never an exponent, as Rust has it.
        digits = f"{Decimal(repr(float(node.this))):f}"
        return f"Float64({digits.removesuffix('.0')})"
    return f"{'UInt64' if type_ == BIGINT_UNSIGNED else 'Int64'}({node.this})"


def _text(value: str) -> str:
    return f'Utf8("{value}")'


def _interval(node: exp.Interval) -> str:
    if "text" in node.meta:
        return _text(node.meta["text"])
    # DataFusion writes its own type here, which is no name to show anybody.
    return f"INTERVAL '{node.this.name}'"


def _call(node: exp.Anonymous) -> str:
    if node.meta.get("aggregate") or node.meta.get("over"):
        return _aggregate(node)
    return f"{node.name}({','.join(map(shown, node.expressions))})"


def _aggregate(node: exp.Anonymous) -> str:
    arguments, order, distinct = parts(node)
    word = "DISTINCT " if distinct else ""
    text = f"{node.name}({word}{','.join(map(shown, arguments)) or '*'})"
    return f"{text} ORDER BY [{', '.join(map(_ordered, order))}]" if order else text


def _ordered(node: exp.Ordered) -> str:
    way = "DESC" if node.args["desc"] else "ASC"
    nulls = "FIRST" if node.args["nulls_first"] else "LAST"
    return f"{shown(node.this)} {way} NULLS {nulls}"


def _over(node: exp.Window) -> str:
    keys, order = node.args["partition_by"], node.args["order"].expressions
    parts = [shown(node.this)]
    if keys:
        parts.append(f"PARTITION BY [{', '.join(map(shown, keys))}]")
    if order:
        parts.append(f"ORDER BY [{', '.join(map(_ordered, order))}]")
    return f"{' '.join(parts)} {node.meta['frame']}"


def _case(node: exp.Case) -> str:
    arms = (
        f"WHEN {shown(arm.this)} THEN {shown(arm.args['true'])}"
        for arm in node.args["ifs"]
    )
    default = node.args.get("default")
    tail = [f"ELSE {shown(default)}"] if default is not None else []
    return " ".join(["CASE", *arms, *tail, "END"])


def _is(node: exp.Is) -> str:
    word = "NULL" if isinstance(node.expression, exp.Null) else str(node.expression)
    return f"{shown(node.this)} IS {word.upper()}"


def _between(node: exp.Between) -> str:
    low, high = shown(node.args["low"]), shown(node.args["high"])
    return f"{shown(node.this)} BETWEEN {low} AND {high}"


def _in(node: exp.In) -> str:
    return f"{shown(node.this)} IN ([{', '.join(map(shown, node.expressions))}])"


_WRITERS: dict[type[exp.Expr], Callable[[Any], str]] = {
    exp.Column: _column,
    exp.Dot: lambda node: f"{shown(node.this)}[{node.expression.name}]",
    exp.Bracket: lambda node: f"{shown(node.this)}[{shown(node.expressions[0])}]",
    exp.Literal: _literal,
    exp.Boolean: lambda node: f"Boolean({str(node.this).lower()})",
    exp.Null: lambda _: "NULL",
    exp.Interval: _interval,
    exp.Anonymous: _call,
    exp.IgnoreNulls: lambda node: f"{shown(node.this)} IGNORE NULLS",
    exp.Filter: lambda n: f"{shown(n.this)} FILTER (WHERE {shown(n.expression)})",
    exp.Cast: lambda node: shown(node.this),
    exp.TryCast: lambda node: shown(node.this),
    exp.Not: lambda node: f"NOT {shown(node.this)}",
    exp.Neg: lambda node: f"(- {shown(node.this)})",
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    exp.Window: _over,
}
