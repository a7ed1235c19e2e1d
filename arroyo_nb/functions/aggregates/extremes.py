"""``min``, ``max`` and ``bit_*``: what one value, or each bit, decides.

Exact under retraction: all values are kept where rows can be taken back.
"""

from __future__ import annotations

from functools import partial

from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall, Kernel
from arroyo_nb.changelog.multisets import Bags, Extreme, extremes, values_at_places
from arroyo_nb.functions.aggregates.row import AggregateFunction
from arroyo_nb.functions.types import is_integer
from arroyo_nb.lazy_imports import np, pa, pt
from arroyo_nb.schema import ListOf, StructOf, Type


def _is_flat(type_: Type) -> bool:
    # In Spark a NULL inside a list or a struct is less than any value.
    return not isinstance(type_, ListOf | StructOf)


def _of_bits(type_: Type) -> Type | None:
    return type_ if is_integer(type_) else None


def _extreme(bags: Bags, call: AggregateCall, *, which: Extreme) -> pa.Array:
    places = extremes(bags.slot, bags.column(), which)
    return values_at_places(bags, bags.slot[places], places).cast(call.type)


def _bit_and(bags: Bags, call: AggregateCall) -> pa.Array:
    return _bits(bags, call, np.bitwise_and, neutral=-1)


def _bit_or(bags: Bags, call: AggregateCall) -> pa.Array:
    return _bits(bags, call, np.bitwise_or, neutral=0)


def _bit_xor(bags: Bags, call: AggregateCall) -> pa.Array:
    return _bits(bags, call, np.bitwise_xor, neutral=0, cancels=True)


def _bits(
    bags: Bags,
    call: AggregateCall,
    ufunc: np.ufunc,
    *,
    neutral: int,
    cancels: bool = False,
) -> pa.Array:
    values = _integers(bags.column())
    result = np.full(bags.slots, neutral)
    # A value that is there an even number of times cancels itself out.
    counted = bags.weight % 2 == 1 if cancels else slice(None)
    ufunc.at(result, bags.slot[counted], values[counted])
    if pt.is_decimal(call.type):
        made = pa.array(result.view(np.uint64), mask=bags.occupied == 0)
        return made.cast(call.type)
    narrow = result.astype(call.type.to_pandas_dtype())
    return pa.array(narrow, call.type, mask=bags.occupied == 0)


def _integers(column: pa.Array) -> Ints:
    """Whole numbers as int64s of the same bits; Spark has DECIMALs for BIGINT
    UNSIGNED."""
    if pt.is_decimal(column.type):
        column = column.cast(pa.uint64())
    return np.asarray(column.to_numpy().astype(np.int64), np.int64)


AGGREGATES = (
    AggregateFunction(
        name="bit_and",
        doc="the bits that all have",
        example="bit_and(seats) -> 1",
        result=_of_bits,
        wants="a BIGINT",
        kernel=Kernel(multiset=_bit_and),
        spark=lambda spark: spark.of_bits("bit_and"),
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="bit_or",
        doc="the bits that one has",
        example="bit_or(seats) -> 7",
        result=_of_bits,
        wants="a BIGINT",
        kernel=Kernel(multiset=_bit_or),
        spark=lambda spark: spark.of_bits("bit_or"),
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="bit_xor",
        doc="the bits that an odd number of them have",
        example="bit_xor(seats) -> 3",
        result=_of_bits,
        wants="a BIGINT",
        slides=True,
        kernel=Kernel(multiset=_bit_xor),
        deterministic=True,
    ),
    AggregateFunction(
        name="max",
        doc="the greatest value",
        example="max(fare) -> 12.0",
        result=lambda type_: type_,
        slides=True,
        spark_reads=_is_flat,
        kernel=Kernel(multiset=partial(_extreme, which="max"), extreme="max"),
        spark="max",
        spark_distinct=True,
        deterministic=True,
    ),
    AggregateFunction(
        name="min",
        doc="the least value",
        example="min(name) -> 'ann'",
        result=lambda type_: type_,
        slides=True,
        spark_reads=_is_flat,
        kernel=Kernel(multiset=partial(_extreme, which="min"), extreme="min"),
        spark="min",
        spark_distinct=True,
        deterministic=True,
    ),
)
