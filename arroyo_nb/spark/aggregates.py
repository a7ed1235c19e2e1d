"""Aggregate functions as Spark SQL text.

DISTINCT cannot be a two-level plan in a windowed stream, where one row per window and
key must come out of one operator: distinct values are collected as a set.

A sum of whole numbers wraps around, as an updating one does (arroyo-semantics i.3),
while Spark's sum is an error: the session is ANSI.
"""

from __future__ import annotations

from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.aggregates import WINDOWED
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.plan.typing import type_of
from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED, Decimal, Type, spark_type
from arroyo_nb.spark.expressions import decimal_quotient, spark_sql

_SUM_OF_SET = (
    # Begins with NULL: the sum of no value is NULL, not 0.
    "aggregate({set}, CAST(NULL AS {type}), (total, value) -> "
    # A sum of decimals is wider than they are, and the total stays what it begins as.
    "CAST(coalesce(total + CAST(value AS {type}), CAST(value AS {type})) AS {type}))"
)
_WIDEST = Decimal(38, 0)
_LOW_HALF = f"{2**32 - 1}L"
_OF_SPARK = {
    **{name: name for name in WINDOWED},
    "stddev": "stddev_samp",
    "var": "var_samp",
}
"""The functions that a measure may name, as Spark calls them."""


def measure_sql(measure: Measure, *, row_time: str) -> str:
    """The Spark SQL text of a measure, of the measure's type.

    Parameters
    ----------
    measure
        Bound over the aggregate's input.
    row_time
        What ``row_time()`` is on that input.
    """
    arguments = [spark_sql(a, row_time=row_time) for a in measure.arguments]
    argument = arguments[0] if arguments else "1"
    where = ""
    if measure.where is not None:
        where = f" FILTER (WHERE {spark_sql(measure.where, row_time=row_time)})"
    type_ = measure.type

    def call(function: str) -> str:
        return f"{function}({argument}){where}"

    # The others are the same of distinct values; the set holds no NULL, as it should.
    if measure.distinct and measure.function in ("avg", "count", "sum"):
        count, total = _of_set(call("collect_set"), type_)
    else:
        count, total = call("count"), call("sum")
    match measure.function:
        case "count":
            text = count
        case "sum" if measure.distinct and is_integer(type_):
            text = _wrapped(total, type_)
        case "sum" if type_ == BIGINT_UNSIGNED:
            text = _wrapped(total, type_)
        case "sum" if measure.arguments and type_of(measure.arguments[0]) == BIGINT:
            text = _wrapping_sum(argument, where)
        case "sum":
            text = total
        case "avg" if isinstance(type_, Decimal):
            text = decimal_quotient(total, f"nullif({count}, 0)", type_)
        case "avg" if measure.distinct:
            text = f"({total} / nullif({count}, 0))"
        case name:
            text = call(_OF_SPARK[name])
    return f"CAST({text} AS {spark_type(type_)})"


def _wrapping_sum(argument: str, where: str) -> str:
    """The sum of BIGINTs modulo 2^64, without a decimal.

    The halves of the numbers are summed apart, which takes two billion rows to leave a
    BIGINT; shifts and masks drop what is beyond 64 bits. (Narrower numbers take as many
    rows by themselves.)
    """
    high = f"sum(shiftright({argument}, 32)){where}"
    low = f"sum({argument} & {_LOW_HALF}){where}"
    return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW_HALF}))"


def _wrapped(total: str, type_: Type) -> str:
    """A total that is wider than its type, modulo 2^64."""
    total = f"CAST({total} AS {spark_type(_WIDEST)})"
    if type_ == BIGINT_UNSIGNED:
        return f"pmod({total}, {2**64}BD)"
    return f"(pmod({total} + {2**63}BD, {2**64}BD) - {2**63}BD)"


def _of_set(values: str, type_: Type) -> tuple[str, str]:
    """How many values a set has, and their sum, of the type or wider."""
    if is_integer(type_):
        type_ = _WIDEST
    if isinstance(type_, Decimal):
        # A mean has fewer digits before the point than the sum that it is made of.
        type_ = Decimal(38, type_.scale)
    total = _SUM_OF_SET.format(set=values, type=spark_type(type_))
    return f"size({values})", total
