"""Aggregate functions as Spark SQL text.

DISTINCT cannot be a two-level plan in a windowed stream, where one row per window and
key must come out of one operator: distinct values are collected as a set.
"""

from __future__ import annotations

from arroyo_nb.functions.casts import in_range
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.schema import BIGINT_UNSIGNED, spark_type
from arroyo_nb.spark.expressions import OVERFLOW, spark_sql

_SUM_OF_SET = (
    # Begins with NULL: the sum of no value is NULL, not 0.
    "aggregate({set}, CAST(NULL AS {type}), (total, value) -> "
    "coalesce(total + CAST(value AS {type}), CAST(value AS {type})))"
)
_DISTINCT = {
    "count": "size({set})",
    "sum": _SUM_OF_SET,
    "avg": "({sum} / nullif(size({set}), 0))",
}
AGGREGATES = frozenset(("count", "sum", "min", "max", "avg"))
"""The functions that a measure may name."""


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
    type_ = spark_type(measure.type)
    # min and max are the same of distinct values; the set holds no NULL, as it should.
    if measure.distinct and measure.function in _DISTINCT:
        text = _distinct(measure.function, f"collect_set({argument}){where}", type_)
    else:
        assert measure.function in AGGREGATES  # Spark has many more
        text = f"{measure.function}({argument}){where}"
    if measure.function == "sum" and measure.type == BIGINT_UNSIGNED:
        text = in_range(text, measure.type, otherwise=OVERFLOW)
    return f"CAST({text} AS {type_})"


def _distinct(function: str, values: str, type_: str) -> str:
    total = _SUM_OF_SET.format(set=values, type=type_)
    return _DISTINCT[function].format(set=values, type=type_, sum=total)
