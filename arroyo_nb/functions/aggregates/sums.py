"""Counts, sums and what follows from them: ``count``, ``sum``, ``avg``, ``bool_*``.

They subtract: a row that is taken back is added with a weight of -1.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.changelog.measures import AggregateCall, Kernel, Linear, Totals
from arroyo_nb.changelog.multisets import count_values
from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.aggregates.row import AggregateFunction, always
from arroyo_nb.functions.types import is_integer, is_number, is_unsigned
from arroyo_nb.lazy_imports import np, pa
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    Decimal,
    Type,
)


def sum_type(argument: Type) -> Type | None:
    """The type of a sum; None where there is none."""
    if isinstance(argument, Decimal):
        return Decimal(min(38, argument.precision + 10), argument.scale)
    if argument in (FLOAT, DOUBLE):
        return DOUBLE
    if is_integer(argument):
        return BIGINT_UNSIGNED if is_unsigned(argument) else BIGINT
    return None


def mean_type(argument: Type) -> Type | None:
    """The type of a mean; None where there is none."""
    if isinstance(argument, Decimal):
        scale = min(38, argument.scale + 4)
        return Decimal(min(38, argument.precision + 4), scale)
    return DOUBLE if is_number(argument) else None


def _averaged(type_: Type) -> Type:
    # A DECIMAL to Spark, whose mean would have no more than four digits of a DOUBLE's.
    return DOUBLE if type_ == BIGINT_UNSIGNED else type_


def _logical(type_: Type) -> Type | None:
    return BOOLEAN if type_ == BOOLEAN else None


def _count(totals: Totals, call: AggregateCall) -> pa.Array:
    return pa.array(totals["count"]).cast(call.type)


def _integer_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    wrapped = totals["sum"].astype(call.type.to_pandas_dtype())
    return pa.array(wrapped, call.type, mask=totals["count"] == 0)


def _integer_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    whole = totals["high"].astype(np.float64) * 2.0**32 + totals["low"]
    return pa.array(whole / np.maximum(count, 1), call.type, mask=count == 0)


def _float_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    empty = totals["count"] == 0
    return pa.array(totals["a"][0], mask=empty).cast(call.type, safe=False)


def _float_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    average = totals["a"][0] / np.maximum(count, 1)
    return pa.array(average, mask=count == 0).cast(call.type, safe=False)


def _decimal_sum(totals: Totals, call: AggregateCall) -> pa.Array:
    pairs = zip(totals["units"], totals["count"].tolist(), strict=True)
    units = [total if n else None for total, n in pairs]
    return _decimals(units, call.type, "a sum")


def _decimal_avg(totals: Totals, call: AggregateCall) -> pa.Array:
    """Scale 4 more than the argument's, as its type says; truncated toward zero."""
    pairs = zip(totals["units"], totals["count"].tolist(), strict=True)
    units = [_quotient(total * 10**4, n) for total, n in pairs]
    return _decimals(units, call.type, "an average, with four digits more,")


def _quotient(dividend: int, divisor: int) -> int | None:
    if divisor == 0:
        return None
    magnitude = abs(dividend) // divisor
    return magnitude if dividend >= 0 else -magnitude


def _decimals(units: Sequence[int | None], type_: pa.DataType, what: str) -> pa.Array:
    """Unscaled integers as decimals.

    Raises
    ------
    RunProblem
        When one has more digits than the type.
    """
    limit = 10**type_.precision
    if any(abs(u) >= limit for u in units if u is not None):
        raise RunProblem(
            f"{what} has more than the {type_.precision} digits of its type",
            hint="cast what it is of to DOUBLE, or to a DECIMAL of fewer digits",
        )
    words = b"".join((u or 0).to_bytes(16, "little", signed=True) for u in units)
    mask = pa.array(np.array([u is not None for u in units], np.bool_))
    buffers = [mask.buffers()[1], pa.py_buffer(words)]
    return pa.Array.from_buffers(type_, len(units), buffers)


def _bool_and(totals: Totals, call: AggregateCall) -> pa.Array:
    count = totals["count"]
    return pa.array(totals["true"] == count, call.type, mask=count == 0)


def _bool_or(totals: Totals, call: AggregateCall) -> pa.Array:
    return pa.array(totals["true"] > 0, call.type, mask=totals["count"] == 0)


AGGREGATES = (
    AggregateFunction(
        name="avg",
        aliases=("mean",),
        doc="the mean",
        example="avg(fare) -> 8.0",
        result=mean_type,
        slides=True,
        reads=_averaged,
        kernel=Kernel(
            {
                "integer": Linear(("count", "low", "high"), _integer_avg),
                "float": Linear(("count", "a"), _float_avg),
                "decimal": Linear(("count", "units"), _decimal_avg),
            }
        ),
        spark=lambda spark: spark.mean,
        spark_distinct=True,
        deterministic=True,
        rounds=True,
    ),
    AggregateFunction(
        name="bool_and",
        doc="whether all are true",
        example="bool_and(done) -> false",
        result=_logical,
        wants="a BOOLEAN",
        reads=always(BOOLEAN),
        kernel=Kernel({"any": Linear(("count", "true"), _bool_and)}),
        spark="bool_and",
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="bool_or",
        doc="whether one is true",
        example="bool_or(done) -> true",
        result=_logical,
        wants="a BOOLEAN",
        reads=always(BOOLEAN),
        kernel=Kernel({"any": Linear(("count", "true"), _bool_or)}),
        spark="bool_or",
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="count",
        doc="how many rows there are, or values that are not NULL",
        example="count(*) -> 5",
        result=lambda _: BIGINT,
        slides=True,
        wants="a value",
        of_rows=True,
        kernel=Kernel(
            {
                "rows": Linear(("count",), _count),
                "any": Linear(("count",), _count),
            },
            count_values,
        ),
        spark=lambda spark: spark.count,
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="sum",
        doc="the sum; one of whole numbers wraps around",
        example="sum(seats) -> 15",
        result=sum_type,
        slides=True,
        kernel=Kernel(
            {
                "integer": Linear(("count", "sum"), _integer_sum),
                "float": Linear(("count", "a"), _float_sum),
                "decimal": Linear(("count", "units"), _decimal_sum),
            }
        ),
        spark=lambda spark: spark.total,
        spark_distinct=True,
        deterministic=True,
        rounds=True,
        wraps=True,
    ),
)
