"""Which conditions of a join can be computed from a pair of rows.

What reads one side only is computed below the join, whatever it is. What reads both is
computed by the join itself, in Arrow: only what is the same there as in Arroyo.
"""

from __future__ import annotations

from sqlglot import exp

from arroyo_nb.errors import Unsupported
from arroyo_nb.plan.expressions.months import may_have_months
from arroyo_nb.plan.expressions.operators import COMPARISONS
from arroyo_nb.plan.expressions.typing import place_of, type_of
from arroyo_nb.schema import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.sql.syntax_tree import all_in

_NUMBERS = (INT, BIGINT, FLOAT, DOUBLE)
_WIDER = {(INT, BIGINT), (INT, DOUBLE), (BIGINT, DOUBLE), (FLOAT, DOUBLE)}


def check_pairs(condition: exp.Expr, left: Schema, right: Schema) -> None:
    """Check that a bound condition on pairs can be computed.

    Raises
    ------
    Unsupported
        At the first operator over both sides that cannot.
    """
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if not is_one_sided(part, left) and not is_one_sided(part, right):
            waiting.extend(reversed(operands(part)))


def is_one_sided(expression: exp.Expr, side: Schema) -> bool:
    """Whether an expression reads no columns but those of that side."""
    return all(found.name in side for found in all_in(expression, exp.Column))


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands that have values, of an operator over both sides.

    Raises
    ------
    Unsupported
        When it is not computed between the sides, with its place.
    """
    match node:
        case exp.And() | exp.Or():
            return [node.this, node.expression]
        case exp.Not() | exp.Is():
            return [node.this]
        case exp.Between():
            found = [node.this, node.args["low"], node.args["high"]]
        case exp.In():
            found = [node.this, *node.expressions]
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            found = [node.this, node.expression]
        case _ if isinstance(node, COMPARISONS):
            found = [node.this, node.expression]
        case exp.Add() | exp.Sub() | exp.Mul() if _adds(node):
            return [node.this, node.expression]
        case exp.Neg() if type_of(node) in _NUMBERS:
            return [node.this]
        case exp.Cast() if (type_of(node.this), type_of(node)) in _WIDER:
            return [node.this]
        case exp.Cast() if place_of(node) == place_of(node.this):
            # Nobody wrote it: it brings two operands to one type.
            operands(node.this)
            source, target = type_of(node.this), type_of(node)
            raise Unsupported(
                f"{source} computed from both sides of an outer join is not compared "
                f"or combined with another type, here as {target}",
                span=place_of(node),
                hint=f"cast the other operand to {source}, or compute each side's part "
                "in a query of its own",
            )
        case _:
            raise _refused(node, "")
    for operand in found:
        if isinstance(type_of(operand), ListOf | StructOf):
            raise _refused(node, f" of {type_of(operand)}")
        if may_have_months(operand):
            raise _refused(node, " of intervals with months")
    return found


def _adds(node: exp.Binary) -> bool:
    """Whether Arrow computes the arithmetic as Spark does."""
    types = (type_of(node.this), type_of(node.expression))
    if all(type_ in _NUMBERS for type_ in types):
        return types[0] == types[1]
    return not isinstance(node, exp.Mul) and all(map(_is_instant_or_length, types))


def _is_instant_or_length(type_: Type) -> bool:
    return isinstance(type_, Timestamp) or type_ == INTERVAL


def _refused(node: exp.Expr, what: str) -> Unsupported:
    words = node.name if isinstance(node, exp.Anonymous) else node.key.upper()
    return Unsupported(
        f"{words}{what} over both sides of an outer join is not supported",
        span=place_of(node),
        hint="compare columns, or compute each side's part in a query of its own",
    )
