"""Changelog operators on Spark: state in buckets, Arrow in and out.

::

    rows --mapInArrow: partial, split by bucket--> (bucket, Arrow IPC bytes)
         --groupBy(bucket).transformWithState: step--> Arrow IPC bytes
         --mapInArrow: decode--> typed columns and the weight

One state access per bucket and batch, whatever the number of keys: Spark's own keyed
Python operators take several socket round trips per key. The state is Spark's: kept in
RocksDB, checkpointed, restored and distributed by it. timeMode None, so operators
follow each other in one query, and Spark runs no empty batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.aggregate import UpdatingAggregate
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.plan import nodes
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    TIMESTAMP,
    quoted,
    quoted_text,
    spark_type,
)
from arroyo_nb.spark.bucket_numbers import placed
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.keeping import Keeping
from arroyo_nb.spark.processors import Step
from arroyo_nb.spark.steps import (
    BUCKET,
    NOW,
    PARTS,
    OneInput,
    Partials,
    Stepping,
    decoded,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from sqlglot import exp

ROW_TIME = "row_time"
"""The event time as a part of a row that may be taken back, where it is one."""

_ANY_TIME = "timestamp_micros(0)"

_WIDEST = "decimal(38,0)"


def aggregated(
    frame: DataFrame, node: nodes.UpdatingAggregate, row_time: str, keeping: Keeping
) -> DataFrame:
    """The changes of one row per key: its columns, ``_timestamp``, weight and id.

    Parameters
    ----------
    frame
        The lowered input.
    node
        What to aggregate.
    row_time
        The event time of an input row, as Spark SQL text.
    keeping
        How the state is kept.
    """
    retracts = nodes.is_updating(node.input)
    columns = Columns(row_time)
    keys = tuple(columns.add(key.expression) for key in node.keys)
    calls = tuple(call_of(measure, columns) for measure in node.measures)
    rows, schema = columns.read(frame, retracts, timed(node, row_time))
    # Two columns of a DISTINCT may be one expression.
    distinct = tuple(dict.fromkeys(keys))
    time = ROW_TIME if node.timed else None
    operator = UpdatingAggregate(schema, distinct, calls, retracts, time)
    changes = updated(rows, operator, keeping)
    named = (
        f"{name} AS {quoted(key.name)}"
        for name, key in zip(keys, node.keys, strict=True)
    )
    return changes.selectExpr(
        *named,
        *map(measured, node.measures),
        time_of(node),
        WEIGHT,
        row_id(keys, operator.layout.operator),
    )


class Columns:
    """What an operator reads: each expression once, under a name made of its text and
    a prefix.

    A saved state is compared by these names.
    """

    def __init__(self, row_time: str, prefix: str = "c_") -> None:
        self._row_time = row_time
        self._prefix = prefix
        self._names: dict[str, str] = {}

    @property
    def items(self) -> list[str]:
        """The select list."""
        return [f"{text} AS {name}" for text, name in self._names.items()]

    def add(self, expression: exp.Expr) -> str:
        """The column that has the expression's value."""
        text = spark_sql(expression, row_time=self._row_time)
        return self._names.setdefault(text, word(text, self._prefix))

    def read(
        self, frame: DataFrame, retracts: bool, also: Sequence[str] = ()
    ) -> tuple[DataFrame, pa.Schema]:
        """The columns of a frame, ``also`` others as Spark SQL text, with the weight
        where it ``retracts``; and their schema, in which the weight is not told."""
        # count(*) reads none, but a table without columns has no rows.
        items = [*self.items, *also] or ["TRUE AS c_row"]
        rows = frame.selectExpr(*items)
        schema = arrow_schema(rows)
        return (frame.selectExpr(*items, WEIGHT) if retracts else rows), schema


def word(text: str, prefix: str = "c_") -> str:
    """A plain name for a text: Spark looks into what it hands to Python by name, and
    stumbles over dots and backticks."""
    return prefix + hashlib.sha256(text.encode()).hexdigest()[:16]


def timed(node: nodes.Stateful, row_time: str) -> list[str]:
    """The event time as a part of what an operator reads, as Spark SQL text: of a row
    that may be taken back nobody asks it, unless the operator is timed."""
    return [f"{row_time} AS {ROW_TIME}"] if node.timed else []


def time_of(node: nodes.Stateful, time: str = ROW_TIME) -> str:
    """The event time of an operator's output, as Spark SQL text; any, if untimed."""
    return f"{time if node.timed else _ANY_TIME} AS {TIMESTAMP}"


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """What Python is given of the columns."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(rows.schema, timezone="UTC")


def row_id(values: Sequence[str], maker: str) -> str:
    """The column that names a row of changes, as Spark SQL text.

    Parameters
    ----------
    values
        What names the row among those of its maker.
    maker
        The operator or the table: rows of two that are put together are not the same
        for equal values.
    """
    return f"{hashed([*values, quoted_text(maker)])} AS {ROW_ID}"


def hashed(values: Sequence[str]) -> str:
    """A number for the values, as Spark SQL text: Spark's hash passes over NULLs, so
    they are told."""
    told = (f"{value} IS NULL, {value}" for value in values)
    return f"xxhash64({', '.join(told)})"


def call_of(measure: nodes.Measure, columns: Columns) -> AggregateCall:
    """The aggregate that an operator computes, over columns that it reads."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    order = (
        Order(columns.add(o.expression), o.descending, o.nulls_first)
        for o in measure.order
    )
    ddl = _WIDEST if _is_unsigned_sum(measure) else spark_type(measure.type)
    return AggregateCall(
        measure.name,
        measure.function,
        to_arrow_type(DataType.fromDDL(ddl), timezone="UTC"),
        tuple(columns.add(argument) for argument in measure.arguments),
        columns.add(measure.where) if measure.where is not None else None,
        measure.distinct,
        tuple(order),
        measure.parameter,
    )


def measured(measure: nodes.Measure) -> str:
    """A measure of an operator's output, as Spark SQL text.

    A sum of unsigned numbers wraps around as one of signed ones does. It is a DECIMAL
    to the operator, which therefore gives all of it.
    """
    name = quoted(measure.name)
    if not _is_unsigned_sum(measure):
        return name
    type_ = spark_type(measure.type)
    return f"CAST(pmod({name}, CAST({2**64} AS {type_})) AS {type_}) AS {name}"


def _is_unsigned_sum(measure: nodes.Measure) -> bool:
    return measure.function == "sum" and measure.type == BIGINT_UNSIGNED


def updated(frame: DataFrame, operator: OneInput, keeping: Keeping) -> DataFrame:
    """The changes of an operator's output.

    Parameters
    ----------
    frame
        The operator's input columns, and what it reads beside them, like ``_weight``.
    operator
        What to keep up to date.
    keeping
        How the state is kept.
    """
    parts = frame.mapInArrow(Partials(operator, keeping.buckets), PARTS)
    return stepped(parts, operator, keeping)


def stepped(parts: DataFrame, operator: Stepping, keeping: Keeping) -> DataFrame:
    """The changes of an operator's output, from the partial states of its input.

    Parameters
    ----------
    parts
        Of the columns :data:`PARTS`.
    operator
        What to keep up to date.
    keeping
        How the state is kept.
    """
    if keeping.beats is not None:
        every = f"explode(sequence(0, {keeping.buckets - 1})) AS {BUCKET}"
        nothing = "CAST(NULL AS BINARY) AS part"
        parts = parts.union(keeping.beats().selectExpr(every, nothing))
    # Spark logs the time of a batch, and a batch that it runs again has it again: what
    # a batch forgets must not depend on when it is run.
    now = f"unix_micros(current_timestamp()) AS {NOW}"
    parts = parts.selectExpr(placed(keeping.buckets), "part", now)
    steps = parts.groupBy(BUCKET).transformWithState(
        Step(operator, keeping.ttl_us), "changes binary", "Append", "None"
    )
    changes = operator.output.append(pa.field(WEIGHT, pa.int64()))
    return told(steps, changes)


def told(steps: DataFrame, schema: pa.Schema) -> DataFrame:
    """The rows that steps have told as Arrow IPC bytes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return steps.mapInArrow(decoded, from_arrow_schema(schema))
