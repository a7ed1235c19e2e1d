"""FLOAT and DOUBLE as Spark SQL text, where Spark does not do as IEEE 754 has it.

DataFusion compares by the total order, in which -0.0 is less than 0.0, and divides by
zero. Spark takes both zeros for one and refuses to divide by them. ``power(x, -1)`` of
a zero is an infinity with its sign, and is computed where something is zero only.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.functions.let_binding import once, repeated


def equal(operator: str, left: str, right: str) -> str:
    """``=`` or ``<=>`` of two operands, each of which may be -0.0."""
    return repeated(
        f"(({{0}} {operator} {{1}}) AND ({{0}} IS NULL OR {{0}} <> 0 "
        "OR power({0}, -1D) = power({1}, -1D)))"
        if operator == "<=>"
        else "({0} = {1} AND ({0} <> 0 OR power({0}, -1D) = power({1}, -1D)))",
        left,
        right,
    )


def less(left: str, right: str) -> str:
    """``left < right``, where the left operand may be -0.0."""
    return repeated(
        "({0} < {1} OR ({0} = 0 AND {1} = 0 AND power({0}, -1D) < power({1}, -1D)))",
        left,
        right,
    )


def less_or_equal(left: str, right: str) -> str:
    """``left <= right``, where the right operand may be -0.0."""
    return repeated(
        "({0} <= {1} AND ({0} <> 0 OR {1} <> 0 OR power({0}, -1D) <= power({1}, -1D)))",
        left,
        right,
    )


def quotient(dividend: str, divisor: str) -> str:
    """A quotient as a DOUBLE: by zero it is an infinity, or NaN."""
    return repeated(_QUOTIENT, dividend, divisor)


def extreme(function: str, operands: Sequence[str]) -> str:
    """``greatest`` or ``least``, which must choose between two zeros."""
    sign, zero = (">", "0.0D") if function == "greatest" else ("<", "-0.0D")

    def write(texts: Sequence[str]) -> str:
        found = f"{function}({', '.join(texts)})"
        is_zero = (f"({text} = 0 AND power({text}, -1D) {sign} 0)" for text in texts)
        return f"IF({found} = 0 AND ({' OR '.join(is_zero)}), {zero}, {found})"

    return once(write, operands)


def floor(value: str) -> str:
    """The nearest whole number not above, as a DOUBLE; -0.0 stays."""
    return repeated(_FLOOR, value)


def ceil(value: str) -> str:
    """The nearest whole number not below, as a DOUBLE; of -0.5 it is -0.0."""
    above = "IF(rint({0}) = -1, -0.0D, rint({0}) + 1)"
    return repeated(f"IF(rint({{0}}) < {{0}}, {above}, rint({{0}}))", value)


def truncated(value: str) -> str:
    """The nearest whole number towards zero, as a DOUBLE; of -0.5 it is -0.0."""
    return repeated(f"IF({{0}} = 0, 0.0D, {_TRUNCATED})", value)


def rounded(value: str) -> str:
    """The nearest whole number, half away from zero, as a DOUBLE with the sign."""
    return repeated(_ROUNDED, value)


def rounded_to(value: str, count: str) -> str:
    """Rounded to a number of decimals; NaN where they are too many or too few."""
    whole = _ROUNDED.format(_SCALED)
    return repeated(_QUOTIENT.format(whole, _POWER), value, count)


def truncated_to(value: str, count: str, type_: str) -> str:
    """Cut off behind a number of decimals, towards zero.

    A value that has no more decimals stays: scaled by a power of ten it may be less
    than the whole number that it stands for.

    Parameters
    ----------
    type_
        The type of the value as Spark has it, in which it is compared.
    """
    scaled = f"(CAST({{0}} AS double) * {_POWER})"
    nearest = f"CAST({_QUOTIENT.format(f'rint({scaled})', _POWER)} AS {type_})"
    cut = f"CAST({_QUOTIENT.format(_TRUNCATED.format(scaled), _POWER)} AS {type_})"
    return repeated(f"IF({nearest} = {{0}}, {{0}}, {cut})", value, count)


_QUOTIENT = "(CASE WHEN {1} = 0 THEN {0} * power({1}, -1D) ELSE ({0} / {1}) END)"
_FLOOR = "IF(rint({0}) > {0}, rint({0}) - 1, rint({0}))"
_TRUNCATED = f"(signum({{0}}) * {_FLOOR.format('abs({0})')})"
# The difference to the nearest whole number is exact.
_ROUNDED = "IF(abs({0} - rint({0})) = 0.5D, {0} + IF({0} < 0, -0.5D, 0.5D), rint({0}))"
_POWER = "power(10D, {1})"
_SCALED = f"({{0}} * {_POWER})"
