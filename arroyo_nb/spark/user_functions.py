"""UDFs in Spark: scalar ones as Arrow functions of its SQL; and calls of DataFusion.

A worker is given Arrow batches and calls the function with the rows that it is called
for: those where no argument that must not be NULL is. Aggregates are kernels of the
operators (:mod:`arroyo_nb.udfs.groups`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING

from sqlglot import exp

from arroyo_nb.errors import RunProblem
from arroyo_nb.functions.datafusion import (
    DataFusionCall,
    called_in,
    recorded_calls,
)
from arroyo_nb.lazy_imports import np, pa, pc
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.functions import USER_FUNCTION, called
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.user_functions import calls_of
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import arrow_type, spark_type
from arroyo_nb.spark.expressions import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.spark.lower import Read
    from arroyo_nb.udfs.definition import Udf


def knowing_functions(read: Read, node: nodes.Node) -> Read:
    """What reads the sources of a plan, and has Spark know the functions that it calls
    before they are named to it."""
    udfs: dict[str, Udf] = {}
    for part in walk(node):
        for call in calls_of(part):
            udf = call.meta[USER_FUNCTION].udf
            udfs[udf.spark_name] = udf
            if any(map(_guards, _ancestors(call))):
                udfs[udf.guarded_name] = udf
    parts = [e for part in walk(node) for _, e in expressions(part)]
    evaluated = datafusion_calls(parts)
    if not udfs and not evaluated:
        return read

    def reading(source: nodes.Source | nodes.LookupJoin) -> DataFrame:
        frame = read(source)
        while udfs:
            _register(frame.sparkSession, *udfs.popitem())
        while evaluated:
            _register_datafusion(frame.sparkSession, evaluated.pop())
        return frame

    return reading


def datafusion_calls(parts: Iterable[exp.Expr]) -> list[DataFusionCall]:
    """What DataFusion evaluates of bound expressions."""
    with recorded_calls() as calls:
        texts = [spark_sql(part, row_time="NULL") for part in parts]
    # One that another took into its own is not called by itself.
    names = frozenset[str]().union(*map(called_in, texts))
    return [calls[name] for name in sorted(names)]


def register_datafusion(spark: SparkSession, parts: Iterable[exp.Expr]) -> None:
    """Have Spark know what DataFusion evaluates of bound expressions, before their
    Spark SQL is named to it."""
    for call in datafusion_calls(parts):
        _register_datafusion(spark, call)


def _register_datafusion(spark: SparkSession, call: DataFusionCall) -> None:
    from pyspark.sql.pandas.functions import arrow_udf

    from arroyo_nb.spark.datafusion_batches import DataFusionBatches

    if not spark.catalog.functionExists(call.name):
        made = arrow_udf(  # type: ignore[call-overload]
            _called(DataFusionBatches(call)), spark_type(call.result)
        )
        spark.udf.register(call.name, made)


def _ancestors(part: exp.Expr) -> Iterator[exp.Expr]:
    while (part := part.parent) is not None:  # type: ignore[assignment]
        yield part


def _guards(part: exp.Expr) -> bool:
    """Whether it may call functions for some rows alone."""
    function = called(part) if isinstance(part, exp.Anonymous) else None
    is_case = isinstance(part, exp.Case)
    return is_case or (function is not None and function.only_where is not None)


def _register(spark: SparkSession, name: str, udf: Udf) -> None:
    from pyspark.sql.pandas.functions import arrow_udf

    # One whose text does not say what it is may be another thing by now.
    if spark.catalog.functionExists(name) and not udf.not_portable:
        return
    function = BatchFunction(
        udf.batch_call(),
        udf.arrow_types,
        udf.takes_nulls,
        arrow_type(udf.result),
        guarded=name == udf.guarded_name,
    )
    # Its stubs want a function type, which Spark warns of.
    made = arrow_udf(  # type: ignore[call-overload]
        _called(function), spark_type(udf.result)
    )
    # Of an async one no second call may be made for a filter.
    if udf.options.volatile or udf.is_async:
        made = made.asNondeterministic()
    try:
        spark.udf.register(name, made)
    except (PicklingError, TypeError) as error:
        raise RunProblem(
            f"the UDF '{udf.name}' cannot be sent to Spark's workers: "
            f"{error.__cause__ or error}",
            hint="make what it needs inside the function, or in a module that it "
            "imports",
        ) from None


def _called(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """What Spark calls: it goes by the annotations."""

    def call(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    return call


@dataclass(frozen=True)
class BatchFunction:
    """A function over the arrays of a batch, as Spark has them.

    Parameters
    ----------
    call
        As :meth:`arroyo_nb.udfs.definition.Udf.batch_call` gives it.
    types
        Of its arguments; a decimal keeps its digits.
    optional
        Which arguments may be NULL.
    result
        The type of its result.
    guarded
        Whether an array before its arguments says for which rows it is called.
    """

    call: Callable[..., pa.Array]
    types: Sequence[pa.DataType]
    optional: Sequence[bool]
    result: pa.DataType
    guarded: bool = False

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        rows, called = len(arrays[0]), None
        if self.guarded:
            called, *arrays = arrays  # type: ignore[assignment]
            called = pc.fill_null(called, False)
        given = [_cast(*pair) for pair in zip(arrays, self.types, strict=True)]
        called = self._called_for(given, called)
        if called is None:
            return _for_spark(self.call(*given) if rows else pa.nulls(0, self.result))
        given = [array.filter(called) for array in given]
        results = pa.nulls(0, self.result)
        if len(given[0]):
            results = self.call(*given)
        # Each result at its row: of the others the place is NULL, and so the result.
        places = np.cumsum(called.to_numpy(zero_copy_only=False)) - 1
        at = pc.if_else(called, pa.array(places), pa.scalar(None, pa.int64()))
        return _for_spark(results.take(at))

    def _called_for(
        self, arrays: Sequence[pa.Array], called: pa.Array | None
    ) -> pa.Array | None:
        """Which rows it is called for; None: for all."""
        for array, optional in zip(arrays, self.optional, strict=True):
            if not optional and array.null_count:
                valid = array.is_valid()
                called = valid if called is None else pc.and_(called, valid)
        return called


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_ or pa.types.is_decimal(type_):
        return array
    return array.cast(type_)


def _for_spark(array: pa.Array) -> pa.Array:
    """Spark's times have a zone."""
    return array.cast(_zoned(array.type))


def _zoned(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", "UTC")
    if pa.types.is_list(type_):
        return pa.list_(_zoned(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct(
            [pa.field(f.name, _zoned(f.type), f.nullable) for f in type_.fields]
        )
    return type_
