"""Aggregate functions as Spark SQL text.

DISTINCT cannot be a two-level plan in a windowed stream, where one row per window and
key must come out of one operator: distinct values are collected as a set.

A sum of whole numbers wraps around, as an updating one does
(:mod:`arroyo_nb.engine.wrapping_arithmetic`).
"""

from __future__ import annotations

from dataclasses import dataclass

from arroyo_nb.engine.wrapping_arithmetic import ADD, SUM
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.lowering import EXTREMES_OF_PARTS, LOWERING
from arroyo_nb.plan.nodes import Measure
from arroyo_nb.schema import BIGINT_UNSIGNED, Decimal, Type, spark_type
from arroyo_nb.spark.expressions import bits, decimal_quotient, spark_sql, wrapped

_SUM_OF_SET = (
    # Begins with NULL: the sum of no value is NULL, not 0.
    "aggregate({set}, CAST(NULL AS {type}), (total, value) -> "
    # A sum of decimals is wider than they are, and the total stays what it begins as.
    "CAST(coalesce(total + CAST(value AS {type}), CAST(value AS {type})) AS {type}))"
)
_WIDEST = Decimal(38, 0)


def is_native(measure: Measure, *, lowering: int = LOWERING) -> bool:
    """Whether functions of Spark compute a measure over a window; others are computed
    from the rows (:mod:`arroyo_nb.spark.collected`).

    Parameters
    ----------
    lowering
        The version of how the plan becomes a query of Spark's.
    """
    row = measure.row
    return (
        row.spark is not None
        and (row.spark_distinct or not measure.distinct)
        and (
            lowering < EXTREMES_OF_PARTS
            or all(row.spark_reads(type_of(a)) for a in measure.arguments)
        )
    )


def measure_sql(measure: Measure, *, row_time: str) -> str:
    """The Spark SQL text of a measure, of the measure's type.

    Parameters
    ----------
    measure
        Bound over the aggregate's input, and native.
    row_time
        What ``row_time()`` is on that input.
    """
    arguments = [spark_sql(a, row_time=row_time) for a in measure.arguments]
    where = ""
    if measure.where is not None:
        where = f" FILTER (WHERE {spark_sql(measure.where, row_time=row_time)})"
    template = measure.row.spark
    assert template is not None, "not native"
    call = WindowedCall(measure, arguments[0] if arguments else "1", where)
    text = call.call(template) if isinstance(template, str) else template(call)
    return f"CAST({text} AS {spark_type(measure.type)})"


@dataclass(frozen=True)
class WindowedCall:
    """A call over the rows of a window.

    Parameters
    ----------
    measure
        The call.
    argument
        Its first argument as Spark SQL.
    where
        Its FILTER clause, or nothing.
    """

    measure: Measure
    argument: str
    where: str

    @property
    def type(self) -> Type:
        """The type of the result."""
        return self.measure.type

    def call(self, function: str) -> str:
        """A function of Spark over the rows."""
        return f"{function}({self.argument}){self.where}"

    def of_bits(self, function: str) -> str:
        """A function of Spark over the bits of the whole numbers."""
        if self.type != BIGINT_UNSIGNED:
            return self.call(function)
        text = f"{function}({bits(self.argument, self.type)}){self.where}"
        return wrapped(text, self.type)

    @property
    def count(self) -> str:
        """How many values there are."""
        return self._of_set[0] if self.measure.distinct else self.call("count")

    @property
    def total(self) -> str:
        """Their sum; one of whole numbers wraps around."""
        if not is_integer(self.type):
            return self._sum
        of = type_of(self.measure.arguments[0])
        if self.measure.distinct:
            return wrapped(_sum_of_distinct(self.call("collect_set"), of), self.type)
        return wrapped(f"{SUM}({bits(self.argument, of)}){self.where}", self.type)

    @property
    def mean(self) -> str:
        """The mean of the values, as Spark SQL text."""
        if isinstance(self.type, Decimal):
            count = f"nullif({self.count}, 0)"
            return decimal_quotient(self._sum, count, self.type)
        if self.measure.distinct:
            return f"({self._sum} / nullif({self.count}, 0))"
        return self.call("avg")

    @property
    def _sum(self) -> str:
        return self._of_set[1] if self.measure.distinct else self.call("sum")

    @property
    def _of_set(self) -> tuple[str, str]:
        # The set holds no NULL, as it should.
        return _of_set(self.call("collect_set"), self.type)


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
