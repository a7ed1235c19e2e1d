"""Comparisons as Spark SQL text: -0.0 is less than 0.0, which Spark takes for one.

What cannot be zero on one side, or not -0.0 on the side that counts, is Spark's plain
operator: such are all whole numbers, and comparisons with most literals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sqlglot import exp

from arroyo_nb.functions import floats
from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.schema import DOUBLE, FLOAT, Decimal

_Write: TypeAlias = Callable[[exp.Expr], str]
_FLOATING = (FLOAT, DOUBLE)


def comparison(operator: str) -> Callable[[Any, _Write], str]:
    """What writes a comparison by an operator of Spark SQL."""

    def writer(node: exp.Binary, write: _Write) -> str:
        return _compared(
            operator, _written(node.left, write), _written(node.right, write)
        )

    return writer


def between(node: exp.Between, write: _Write) -> str:
    """Write BETWEEN, which includes both ends."""
    this, low, high = (
        _written(part, write)
        for part in (node.this, node.args["low"], node.args["high"])
    )
    if not (_compares_zeros("<=", low, this) or _compares_zeros("<=", this, high)):
        return f"({this.text} BETWEEN {low.text} AND {high.text})"

    def write_all(texts: Sequence[str]) -> str:
        one, first, last = _over((this, low, high), texts)
        return f"({_compared('<=', first, one)} AND {_compared('<=', one, last)})"

    return once(write_all, [this.text, low.text, high.text])


def among(node: exp.In, write: _Write) -> str:
    """Write IN with a list of values."""
    this, *items = (_written(part, write) for part in (node.this, *node.expressions))
    if not any(_compares_zeros("=", this, item) for item in items):
        return f"({this.text} IN ({', '.join(item.text for item in items)}))"

    def write_all(texts: Sequence[str]) -> str:
        one, *others = _over((this, *items), texts)
        return f"({' OR '.join(_compared('=', one, other) for other in others)})"

    return once(write_all, [this.text, *(item.text for item in items)])


@dataclass(frozen=True)
class _Operand:
    node: exp.Expr
    text: str


def _over(operands: Sequence[_Operand], texts: Sequence[str]) -> list[_Operand]:
    return [replace(o, text=t) for o, t in zip(operands, texts, strict=True)]


def _written(node: exp.Expr, write: _Write) -> _Operand:
    return _Operand(node, write(node))


def _compared(operator: str, left: _Operand, right: _Operand) -> str:
    # a > b is b < a: of these the left operand is the one that may be less.
    turned = operator.startswith(">")
    one, other = (right, left) if turned else (left, right)
    if not _compares_zeros(operator, one, other):
        return f"({left.text} {operator} {right.text})"
    match operator:
        case "<" | ">":
            return floats.less(one.text, other.text)
        case "<=" | ">=":
            return floats.less_or_equal(one.text, other.text)
        case "<>":
            return f"(NOT {floats.equal('=', one.text, other.text)})"
        case _:
            return floats.equal(operator, one.text, other.text)


def _compares_zeros(operator: str, one: _Operand, other: _Operand) -> bool:
    """Whether 0.0 and -0.0 may meet where Spark, to which they are one, is wrong."""
    left, right = one.node, other.node
    if type_of(left) not in _FLOATING or not (_is_zero(left) and _is_zero(right)):
        return False
    match operator:
        case "<" | ">":
            return _is_negative_zero(left)
        case "<=" | ">=":
            return _is_negative_zero(right)
        case _:
            return _is_negative_zero(left) or _is_negative_zero(right)


def _is_zero(node: exp.Expr) -> bool:
    """Whether an operand may be zero."""
    return not is_nonzero_literal(node)


def _is_negative_zero(node: exp.Expr) -> bool:
    """Whether an operand may be -0.0."""
    while isinstance(node, exp.Cast) and type_of(node) in _FLOATING:
        node = node.this
        if is_integer(type_of(node)) or isinstance(type_of(node), Decimal):
            return False
    is_literal = isinstance(node, exp.Literal) and not node.is_string
    return not is_literal or node.name.startswith("-")


def is_nonzero_literal(node: exp.Expr) -> bool:
    """Whether a FLOAT or DOUBLE is a literal number other than zero."""
    while isinstance(node, exp.Cast) and type_of(node) in _FLOATING:
        node = node.this
    # What is less is zero as a FLOAT.
    least = 1e-37
    is_literal = isinstance(node, exp.Literal) and not node.is_string
    return is_literal and abs(float(node.this)) > least
