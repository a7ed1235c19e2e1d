"""Aggregate functions as Spark SQL text.

DISTINCT cannot be a two-level plan in a windowed stream, where one row per window and
key must come out of one operator: distinct values are collected as a set.

A sum of whole numbers wraps around, as an updating one does
(:mod:`arroyo_nb.engine.wrapping`).
"""

from __future__ import annotations

from arroyo_nb.engine.wrapping import ADD, SUM
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.names.typing import type_of
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.plan.queries.aggregates import WINDOWED
from arroyo_nb.schema import Decimal, Type, spark_type
from arroyo_nb.spark.expressions import bits, decimal_quotient, spark_sql, wrapped

_SUM_OF_SET = (
    # Begins with NULL: the sum of no value is NULL, not 0.
    "aggregate({set}, CAST(NULL AS {type}), (total, value) -> "
    # A sum of decimals is wider than they are, and the total stays what it begins as.
    "CAST(coalesce(total + CAST(value AS {type}), CAST(value AS {type})) AS {type}))"
)
_WIDEST = Decimal(38, 0)
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
        case "sum" if is_integer(type_):
            of = type_of(measure.arguments[0])
            if measure.distinct:
                total = _sum_of_distinct(call("collect_set"), of)
            else:
                total = f"{SUM}({bits(argument, of)}){where}"
            text = wrapped(total, type_)
        case "sum":
            text = total
        case "avg" if isinstance(type_, Decimal):
            text = decimal_quotient(total, f"nullif({count}, 0)", type_)
        case "avg" if measure.distinct:
            text = f"({total} / nullif({count}, 0))"
        case name:
            text = call(_OF_SPARK[name])
    return f"CAST({text} AS {spark_type(type_)})"


def _sum_of_distinct(values: str, type_: Type) -> str:
    """The sum of a set's whole numbers, as BIGINT."""
    value = f"CAST({bits('value', type_)} AS BIGINT)"
    return (
        f"aggregate({values}, CAST(NULL AS BIGINT), "
        f"(total, value) -> coalesce({ADD}(total, {value}), {value}))"
    )


def _of_set(values: str, type_: Type) -> tuple[str, str]:
    """How many values a set has, and their sum, of the type or wider."""
    if is_integer(type_):
        type_ = _WIDEST
    if isinstance(type_, Decimal):
        # A mean has fewer digits before the point than the sum that it is made of.
        type_ = Decimal(38, type_.scale)
    total = _SUM_OF_SET.format(set=values, type=spark_type(type_))
    return f"size({values})", total
