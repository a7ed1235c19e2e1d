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
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.aggregate import UpdatingAggregate
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.changelog.state import Layout, State, put_stream
from arroyo_nb.changelog.zset import consolidate, weights
from arroyo_nb.plan import nodes
from arroyo_nb.schema import TIMESTAMP, quoted, quoted_text, spark_type
from arroyo_nb.spark.expressions import spark_sql
from arroyo_nb.spark.keeping import Keeping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from sqlglot import exp

BUCKET = "_bucket"
PARTS = f"{BUCKET} int, part binary"
"""Columns of partial states on their way to their buckets."""

ROW_TIME = "row_time"
"""The event time as a part of a row that may be taken back, where it is one."""

PARTIAL_ROWS = 1_000_000
"""Rows that are put together before they are sent to their buckets."""


class Stepping(Protocol):
    """What an operator of :mod:`arroyo_nb.changelog` is to its bucket."""

    @property
    def output(self) -> pa.Schema:
        """Columns of its changes, without the weight."""

    @property
    def layout(self) -> Layout:
        """The tables of its state."""

    @property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """The next state, and the changes of the output."""

    def expire(self, state: State, before_us: int) -> tuple[State, pa.Table]:
        """Forget what got no append since an instant, and retract it."""


class Keyed(Stepping, Protocol):
    """An operator of one input, whose state is cut by its keys."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that its state is cut by."""

    def partials(self, rows: pa.Table, buckets: Ints) -> Iterator[tuple[int, State]]:
        """What rows add to the state of each bucket."""


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
    rows, schema = columns.read(frame, retracts)
    # Two columns of a DISTINCT may be one expression.
    distinct = tuple(dict.fromkeys(keys))
    operator = UpdatingAggregate(schema, distinct, calls, retracts, node.timed)
    changes = updated(rows, operator, keeping)
    named = (
        f"{name} AS {quoted(key.name)}"
        for name, key in zip(keys, node.keys, strict=True)
    )
    return changes.selectExpr(
        *named,
        *(quoted(measure.name) for measure in node.measures),
        TIMESTAMP,
        WEIGHT,
        row_id(keys, operator.layout.operator),
    )


class Columns:
    """What an operator reads: each expression once, under a name made of its text and
    a prefix.

    A saved state is compared by these names. They are plain words: Spark looks into
    what it hands to Python by name, and stumbles over dots and backticks.
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
        name = self._prefix + hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._names.setdefault(text, name)

    def read(
        self, frame: DataFrame, retracts: bool, also: Sequence[str] = ()
    ) -> tuple[DataFrame, pa.Schema]:
        """The columns and ``_timestamp`` of a frame, ``also`` others as Spark SQL text,
        with the weight where it ``retracts``; and their schema, in which the weight is
        not told."""
        items = [*self.items, f"{self._row_time} AS {TIMESTAMP}", *also]
        rows = frame.selectExpr(*items)
        schema = arrow_schema(rows)
        return (frame.selectExpr(*items, WEIGHT) if retracts else rows), schema


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
    return AggregateCall(
        measure.name,
        measure.function,
        to_arrow_type(DataType.fromDDL(spark_type(measure.type)), timezone="UTC"),
        tuple(columns.add(argument) for argument in measure.arguments),
        columns.add(measure.where) if measure.where is not None else None,
        measure.distinct,
        tuple(order),
        measure.parameter,
    )


def updated(frame: DataFrame, operator: Keyed, keeping: Keeping) -> DataFrame:
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
    rows = frame.selectExpr("*", bucket_of(operator.keys, keeping.buckets))
    return stepped(rows.mapInArrow(_Partials(operator), PARTS), operator, keeping)


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
    steps = parts.groupBy(BUCKET).transformWithState(
        _Step(operator, keeping.ttl_us), "changes binary", "Append", "None"
    )
    changes = operator.output.append(pa.field(WEIGHT, pa.int64()))
    return told(steps, changes)


def told(steps: DataFrame, schema: pa.Schema) -> DataFrame:
    """The rows that steps have told as Arrow IPC bytes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return steps.mapInArrow(_decoded, from_arrow_schema(schema))


def bucket_of(keys: Sequence[str], buckets: int) -> str:
    """The bucket of a row, as Spark SQL text."""
    if not keys:
        return f"0 AS {BUCKET}"
    names = ", ".join(map(quoted, keys))
    return f"CAST(pmod(xxhash64({names}), {buckets}) AS INT) AS {BUCKET}"


class _Partials:
    """Rows as partial states, one per bucket that they touch."""

    def __init__(self, operator: Keyed) -> None:
        self._operator = operator

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in stacked(batches):
            buckets = rows[BUCKET].to_numpy()
            parts = self._operator.partials(rows.drop(BUCKET), buckets)
            yield sent(parts, self._operator.partial_layout)


def sent(parts: Iterable[tuple[int, State]], layout: Layout) -> pa.RecordBatch:
    """Partial states by bucket as rows of :data:`PARTS`."""
    written = [(bucket, layout.to_bytes(part)) for bucket, part in parts]
    columns = {
        BUCKET: pa.array([b for b, _ in written], pa.int32()),
        "part": pa.array([p for _, p in written], pa.binary()),
    }
    return pa.record_batch(columns)


class _Step(StatefulProcessor):  # type: ignore[misc]
    """A bucket's state, taken one batch further."""

    def __init__(self, operator: Stepping, ttl_us: int | None) -> None:
        self._operator = operator
        self._ttl_us = ttl_us

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "tables binary")

    def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Any:  # noqa: N802
        from pyspark.sql import Row

        operator, found = self._operator, self._state.get()
        # A beat has no part.
        blobs = [bytes(row.part) for row in rows if row.part is not None]
        if not (found or blobs):
            return
        layout = operator.layout
        state = layout.from_bytes(bytes(found[0])) if found else layout.empty()
        parts = [operator.partial_layout.from_bytes(blob) for blob in blobs]
        state, changes = self._taken_further(state, parts, time.time_ns() // 1000)
        if parts or changes.num_rows:
            self._state.update((layout.to_bytes(state),))
        if changes.num_rows:
            yield Row(changes=to_bytes(changes))

    def _taken_further(
        self, state: State, parts: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """After the batch's rows; then what is idle, and did not get any, goes."""
        if self._ttl_us is None:
            return self._operator.step(state, parts, now_us)
        changes = None
        if parts:
            state, changes = self._operator.step(state, parts, now_us)
        state, expired = self._operator.expire(state, now_us - self._ttl_us)
        if changes is None or not changes.num_rows:
            return state, expired
        if not expired.num_rows:
            return state, changes
        # A row that was appended by a retract and is idle comes and goes at once.
        both = consolidate(pa.concat_tables([changes, expired]))
        return state, both.take(pa.array(np.argsort(weights(both) > 0, kind="stable")))

    def close(self) -> None:
        """Nothing is held open."""


def _decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for changes in batch["changes"]:
            yield from pa.ipc.open_stream(changes.as_buffer())


def to_bytes(changes: pa.Table) -> bytes:
    """Rows as :func:`told` reads them."""
    sink = pa.BufferOutputStream()
    put_stream(sink, changes)
    return bytes(sink.getvalue())


def stacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches in tables of some :data:`PARTIAL_ROWS`: Arrow batches are small."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= PARTIAL_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)
