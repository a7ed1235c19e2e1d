"""Literals as bound expressions: numbers by their size, intervals by their parts."""

from __future__ import annotations

from decimal import Context
from math import isnan

from sqlglot import exp

from arroyo_nb.functions.casts import rounded_decimal
from arroyo_nb.functions.literals import read_decimal
from arroyo_nb.plan.expressions.intervals import Interval, parse_interval
from arroyo_nb.plan.expressions.typing import interval_literal, type_of, typed
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, DOUBLE, TEXT, Decimal, Type

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


_NANOSECONDS = 9
_EXACT = Context(prec=100)


def time_units(value: exp.Expr, digits: int) -> int | None:
    """How many units of ``10 ** -digits`` s a constant counts that is cast to a
    TIMESTAMP; None where it is no constant that counts seconds.

    DataFusion reads a constant DECIMAL as seconds, and a DOUBLE where the TIMESTAMP has
    nanoseconds; columns count the units of the TIMESTAMP.
    """
    type_ = type_of(value)
    inner = value.this if isinstance(value, exp.Cast) else value
    if not isinstance(inner, exp.Literal) or isinstance(value, exp.TryCast):
        return None
    if type_ == DOUBLE and digits == _NANOSECONDS:
        nanoseconds = float(inner.name) * 1e9
        # As Rust counts: what is too large is the largest, and NaN is 0.
        inside = min(max(nanoseconds, -(2.0**63)), 2.0**63)
        return 0 if isnan(inside) else min(int(inside), _BIGINT_MAX)
    if not isinstance(type_, Decimal):
        return None
    if type_of(inner) == DOUBLE:
        seconds = rounded_decimal(float(inner.name), type_)
    else:
        seconds = read_decimal(inner.name, type_)
    if seconds is None:
        return None
    units = int(seconds.scaleb(digits, _EXACT))
    return units if abs(units) <= _BIGINT_MAX else None


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
