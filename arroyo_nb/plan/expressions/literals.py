"""Literals as bound expressions: numbers by their size, intervals by their parts."""

from __future__ import annotations

from sqlglot import exp

from arroyo_nb.plan.expressions.intervals import Interval, parse_interval
from arroyo_nb.plan.expressions.typing import interval_literal, typed
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, DOUBLE, TEXT, Type

_BIGINT_MAX, _UNSIGNED_MAX = 2**63 - 1, 2**64 - 1


def text(value: str) -> exp.Expr:
    """A quoted text."""
    return typed(exp.Literal.string(value), TEXT, nullable=False)


def number(digits: str) -> exp.Expr:
    """A number as it is written, its sign with it.

    >>> from arroyo_nb.plan.expressions.typing import type_of
    >>> for digits in ("-9223372036854775808", "9223372036854775808", "1.0"):
    ...     print(type_of(number(digits)))
    BIGINT
    BIGINT UNSIGNED
    DOUBLE
    """
    made = exp.Literal(this=digits, is_string=False)
    return typed(made, _number_type(digits), nullable=False)


def _number_type(text: str) -> Type:
    whole = text.removeprefix("-")
    digits = whole.lstrip("0") or "0"
    # Python reads a whole number of some thousand digits at most.
    if not whole.isdigit() or len(digits) > len(str(_UNSIGNED_MAX)):
        return DOUBLE
    value, is_negative = int(digits), text != whole
    if value <= _BIGINT_MAX + is_negative:
        return BIGINT
    fits = value <= _UNSIGNED_MAX and not is_negative
    return BIGINT_UNSIGNED if fits else DOUBLE


def interval(node: exp.Interval) -> exp.Interval:
    """An interval.

    Raises
    ------
    CatalogProblem
        When its text is no interval.
    """
    return interval_literal(written_interval(node))


def written_interval(node: exp.Interval) -> Interval:
    """What the text of an interval literal says.

    Raises
    ------
    CatalogProblem
        When it is no interval.
    """
    unit = node.args.get("unit")
    return parse_interval(node.this.name, unit.name if unit else None)
