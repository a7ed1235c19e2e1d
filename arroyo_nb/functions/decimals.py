"""DECIMAL as Spark SQL text, where Spark's own operator loses digits."""

from __future__ import annotations

from arroyo_nb.functions.let_binding import once
from arroyo_nb.schema import Decimal, spark_type

_KEPT = 34
"""Digits that Spark's sign and absolute value keep: they round to Scala's own."""


def negated(value: str, type_: Decimal) -> str:
    """A value with the other sign."""
    if type_.precision <= _KEPT:
        return f"(- {value})"
    return f"CAST(0BD - {value} AS {spark_type(type_)})"


def absolute(value: str, type_: Decimal) -> str:
    """A value without its sign."""
    if type_.precision <= _KEPT:
        return f"abs({value})"
    return once(lambda texts: _absolute(texts[0], type_), [value])


def _absolute(value: str, type_: Decimal) -> str:
    return f"IF({value} < 0, {negated(value, type_)}, {value})"


def has_all_digits(type_: Decimal, dividend: Decimal, divisor: Decimal) -> bool:
    """Whether Spark's quotient of two has the digits of a type.

    >>> has_all_digits(Decimal(16, 6), Decimal(10, 2), Decimal(10, 2))
    True
    >>> has_all_digits(Decimal(38, 14), Decimal(38, 10), Decimal(3, 0))
    False
    """
    whole = min(38, dividend.precision - dividend.scale + divisor.scale)
    places = min(38, max(6, dividend.scale + divisor.precision + 1))
    # Spark takes half of the digits that are too many from the places.
    if (excess := whole + places - 38) > 0:
        places -= excess // 2 + 1
        whole = 38 - places
    return places >= type_.scale and whole >= type_.precision - type_.scale
