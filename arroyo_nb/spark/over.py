"""OVER within a window on Spark: the rows of closed windows, and no state.

::

    rows --groupBy(bucket).applyInArrow: sort, compute--> rows with the functions

Spark's own window functions are refused on a stream. They need not be: all rows of a
window come in one micro-batch, so each batch holds whole partitions. A bucket is a
share of them by the hash of their keys. Its rows are handed to the kernel
(:mod:`arroyo_nb.over`) as one table, however many partitions that is: a call for each
partition would cost more than its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from arroyo_nb.changelog.measures import Order
from arroyo_nb.functions.over import OverFunction, over_function
from arroyo_nb.functions.over.row import NUMBER
from arroyo_nb.lazy_imports import pa
from arroyo_nb.over.aggregates import aggregate_over, ordered_by_position
from arroyo_nb.over.kernel import CallLimit, OrderedCalls, OverKernel
from arroyo_nb.over.rows import OverCall
from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.typing import column
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import quoted, spark_type
from arroyo_nb.spark.stateful import (
    OperatorColumns,
    aggregate_call,
    hashed,
    measure_value,
)
from arroyo_nb.spark.windows import WINDOW, marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKET = "_bucket"
_BUCKETS = 64
"""Into how many shares a batch is cut: the rows of one are in memory at once."""


def nodes_of_one_shuffle(node: nodes.WindowOver) -> list[nodes.WindowOver]:
    """The node and those right below it that have the same keys, the lowest first: they
    are of one SELECT, and differ in their order."""
    found, below = [node], node.input
    while isinstance(below, nodes.WindowOver) and below.keys == node.keys:
        found.insert(0, below)
        below = below.input
    if any(lower.limit is not None for lower in found[:-1]):
        return [node]
    parts = (part for n in found for _, e in expressions(n) for part in e.walk())
    read = {part.name for part in parts if isinstance(part, exp.Column)}
    # None reads what another gives: there is a select list between two SELECTs.
    return found if read <= {*below.schema.names} else [node]


def with_over(
    frame: DataFrame, over: Sequence[nodes.WindowOver], row_time: str
) -> DataFrame:
    """The rows of a windowed relation with what the functions give, and `_window`.

    Parameters
    ----------
    frame
        The lowered input.
    over
        Nodes with the same keys, one above the other, the lowest first.
    row_time
        The event time of an input row, as Spark SQL text.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    input_schema = over[0].input.schema
    columns = OperatorColumns(input_schema.names, row_time)
    values = {field.name: columns.add(column(field)) for field in input_schema}
    keys = tuple(dict.fromkeys(columns.add(key) for key in over[0].keys))
    groups = tuple(_group(f"f_{n}", node, columns) for n, node in enumerate(over))
    read = columns.read(frame, retracts=False, also={WINDOW: quoted(WINDOW)})
    ties = tuple(dict.fromkeys(values.values()))
    limit = _limit(over[-1], groups[-1])
    kernel = OverKernel(read.schema, keys, ties, (*ties, WINDOW), groups, limit)
    bucket = f"pmod({hashed(keys)}, {_BUCKETS}) AS {_BUCKET}"
    made = (
        read.rows.selectExpr("*", bucket)
        .groupBy(_BUCKET)
        .applyInArrow(_computed(kernel), from_arrow_schema(kernel.output))
    )
    named = [f"{name} AS {quoted(visible)}" for visible, name in values.items()]
    for group, node in zip(groups, over, strict=True):
        named += map(_named, group.calls, node.columns)
    visible = map(quoted, over[-1].schema.names)
    # A column that was built anew bears no watermark unless it is marked.
    return made.selectExpr(*named, WINDOW).select(*visible, marked(WINDOW, WINDOW))


def _limit(node: nodes.WindowOver, group: OrderedCalls) -> CallLimit | None:
    if node.limit is None:
        return None
    pairs = zip(group.calls, node.columns, strict=True)
    function = node.limit.function
    name = next(c.name for c, one in pairs if one.measure.function == function)
    # A number that is greater than any row's is no BIGINT.
    return CallLimit(name, min(node.limit.last, 2**63 - 1))


def _named(call: OverCall, one: nodes.OverColumn) -> str:
    measure, value = one.measure, call.name
    if call.aggregate is not None:
        value = measure_value(call.name, measure)
    return f"CAST({value} AS {spark_type(measure.type)}) AS {quoted(measure.name)}"


def _computed(kernel: OverKernel) -> Callable[[pa.Table], pa.Table]:
    """What a worker calls with the rows of one bucket."""

    # A function: Spark counts the arguments of an object's call with its self.
    def compute(rows: pa.Table) -> pa.Table:
        return kernel(rows.select(kernel.input.names))

    return compute


def _group(name: str, node: nodes.WindowOver, columns: OperatorColumns) -> OrderedCalls:
    order = (
        Order(columns.add(o.expression), o.descending, o.nulls_first)
        for o in node.order
    )
    calls = (_call(f"{name}_{n}", one, columns) for n, one in enumerate(node.columns))
    return OrderedCalls(tuple(order), tuple(calls))


def _call(name: str, one: nodes.OverColumn, columns: OperatorColumns) -> OverCall:
    measure = one.measure
    function = over_function(measure.function)
    if function is None:
        call = aggregate_call(name, measure, columns)
        if measure.row.ordered and not call.order:
            call = call if call.distinct else ordered_by_position(call)
        return OverCall(
            name, call.type, aggregate_over, frame=one.frame, aggregate=call
        )
    parameter = measure.parameter
    assert parameter is None or isinstance(parameter, int)
    return OverCall(
        name,
        _kernel_type(function, measure),
        function.compute,
        tuple(columns.add(argument) for argument in measure.arguments),
        parameter,
        one.frame,
        one.ignores_nulls,
    )


def _kernel_type(function: OverFunction, measure: nodes.Measure) -> pa.DataType:
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    # Numbers of rows are small, and DECIMALs to Spark: they are cast by it.
    ddl = "bigint" if function.result == NUMBER else spark_type(measure.type)
    return to_arrow_type(DataType.fromDDL(ddl), timezone="UTC")
