"""Intervals with months: they have no length, so Spark holds none.

DataFusion evaluates an operation with one, such as ``t + INTERVAL '1 month'``, and the
interval is a part of that call. So it may stand anywhere but where it would become a
column: in the select list, among keys, in an aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from arroyo_nb.errors import Unsupported
from arroyo_nb.plan.expressions.typing import place_of, type_of
from arroyo_nb.schema import INTERVAL


def may_have_months(node: exp.Expr) -> bool:
    """Whether a bound expression is an INTERVAL that may have months in some row: its
    literals have, or it is read from a text."""
    if type_of(node) != INTERVAL:
        return False
    if isinstance(node, exp.Interval):
        return "interval" not in node.meta
    if isinstance(node, exp.Cast) and type_of(node.this) != INTERVAL:
        return True
    return any(map(may_have_months, _values(node)))


def has_months(node: exp.Expr) -> bool:
    """Whether an operand of a bound expression is made of an interval with months."""
    return any(_with_months(operand) is not None for operand in _values(node))


def casts_in(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a bound expression that are casts, which nobody may have
    written."""
    return [operand for operand in _values(node) if isinstance(operand, exp.Cast)]


def check_column(expression: exp.Expr) -> None:
    """Check that a bound expression can be a column.

    Raises
    ------
    Unsupported
        When it is an INTERVAL that is made of one with months.
    """
    literal = _with_months(expression)
    if literal is not None:
        raise Unsupported(
            "an interval with months is not supported as a value of its own: it has no "
            "exact duration",
            span=place_of(literal),
            hint="add it to a time, as in at + INTERVAL '1 month', or keep its text "
            "and cast that where it is added: at + CAST(s AS INTERVAL)",
        )


def check_operands(node: exp.Expr) -> None:
    """Check the operands of what Spark evaluates.

    Raises
    ------
    Unsupported
        At one that is made of an interval with months.
    """
    for operand in _values(node):
        check_column(operand)


def _with_months(node: exp.Expr) -> exp.Expr | None:
    if type_of(node) != INTERVAL:
        return None
    if isinstance(node, exp.Interval):
        return node if may_have_months(node) else None
    return next(filter(None, map(_with_months, _values(node))), None)


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a bound expression."""
    for part in node.iter_expressions():
        if "arroyo_type" in part.meta:
            yield part
        elif isinstance(part, exp.If):
            yield from _values(part)
