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

import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.aggregate import UpdatingAggregate
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.changelog.state import Layout, State, put_stream
from arroyo_nb.plan import nodes
from arroyo_nb.schema import TIMESTAMP, quoted, quoted_text, spark_type
from arroyo_nb.spark.expressions import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType
    from sqlglot import exp

BUCKET = "_bucket"
PARTIAL_ROWS = 1_000_000
"""Rows that are put together before they are sent to their buckets."""


class Keyed(Protocol):
    """An operator of one input, whose state is cut by its keys."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that its state is cut by."""

    @property
    def output(self) -> pa.Schema:
        """The columns of its changes, without the weight."""

    @property
    def layout(self) -> Layout:
        """The tables of its state."""

    @property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""

    def partials(self, rows: pa.Table, buckets: Ints) -> Iterator[tuple[int, State]]:
        """What rows add to the state of each bucket."""

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """The next state, and the changes of the output."""


def aggregated(
    frame: DataFrame, node: nodes.UpdatingAggregate, row_time: str, buckets: int
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
    buckets
        Into how many pieces the state is cut; the same for as long as it lives.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    retracts = nodes.is_updating(node.input)
    columns = Columns(row_time)
    keys = tuple(columns.add(key.expression) for key in node.keys)
    calls = tuple(_call(measure, columns) for measure in node.measures)
    items = [*columns.items, f"{row_time} AS {TIMESTAMP}"]
    rows = frame.selectExpr(*items)
    schema = to_arrow_schema(rows.schema, timezone="UTC")
    if retracts:
        rows = frame.selectExpr(*items, WEIGHT)
    # Two columns of a DISTINCT may be one expression.
    distinct = tuple(dict.fromkeys(keys))
    operator = UpdatingAggregate(schema, distinct, calls, retracts=retracts)
    changes = updated(rows, operator, buckets)
    named = (
        f"{name} AS {quoted(key.name)}"
        for name, key in zip(keys, node.keys, strict=True)
    )
    # Rows of two operators that are put together are not the same for equal keys.
    row_id = f"xxhash64({', '.join([*keys, quoted_text(operator.layout.operator)])})"
    return changes.selectExpr(
        *named,
        *(quoted(measure.name) for measure in node.measures),
        TIMESTAMP,
        WEIGHT,
        f"{row_id} AS {ROW_ID}",
    )


class Columns:
    """What an operator reads: each expression once, under a name made of its text.

    A saved state is compared by these names. They are plain words: Spark looks into
    what it hands to Python by name, and stumbles over dots and backticks.
    """

    def __init__(self, row_time: str) -> None:
        self._row_time = row_time
        self._names: dict[str, str] = {}

    @property
    def items(self) -> list[str]:
        """The select list."""
        return [f"{text} AS {name}" for text, name in self._names.items()]

    def add(self, expression: exp.Expr) -> str:
        """The column that has the expression's value."""
        text = spark_sql(expression, row_time=self._row_time)
        name = "c_" + hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._names.setdefault(text, name)


def _call(measure: nodes.Measure, columns: Columns) -> AggregateCall:
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


def updated(frame: DataFrame, operator: Keyed, buckets: int) -> DataFrame:
    """The changes of an operator's output.

    Parameters
    ----------
    frame
        The operator's input columns, and what it reads beside them, like ``_weight``.
    operator
        What to keep up to date.
    buckets
        Into how many pieces the state is cut; the same for as long as it lives.
    """
    keys = ", ".join(map(quoted, operator.keys))
    bucket = f"CAST(pmod(xxhash64({keys}), {buckets}) AS INT)" if keys else "0"
    rows = frame.selectExpr("*", f"{bucket} AS {BUCKET}")
    parts = rows.mapInArrow(_Partials(operator), f"{BUCKET} int, part binary")
    steps = parts.groupBy(BUCKET).transformWithState(
        _Step(operator), "changes binary", "Append", "None"
    )
    return steps.mapInArrow(_decoded, _spark_columns(operator.output))


class _Partials:
    """Rows as partial states, one per bucket that they touch."""

    def __init__(self, operator: Keyed) -> None:
        self._operator = operator

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _stacked(batches):
            by_bucket = list(self._by_bucket(rows))
            yield pa.record_batch(
                {
                    BUCKET: pa.array([b for b, _ in by_bucket], pa.int32()),
                    "part": pa.array([p for _, p in by_bucket], pa.binary()),
                }
            )

    def _by_bucket(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        buckets = rows[BUCKET].to_numpy()
        layout = self._operator.partial_layout
        for bucket, part in self._operator.partials(rows.drop(BUCKET), buckets):
            yield bucket, layout.to_bytes(part)


class _Step(StatefulProcessor):  # type: ignore[misc]
    """A bucket's state, taken one batch further."""

    def __init__(self, operator: Keyed) -> None:
        self._operator = operator

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "tables binary")

    def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Any:  # noqa: N802
        from pyspark.sql import Row

        operator = self._operator
        found = self._state.get()
        state = (
            operator.layout.from_bytes(bytes(found[0]))
            if found
            else operator.layout.empty()
        )
        parts = [operator.partial_layout.from_bytes(bytes(row.part)) for row in rows]
        state, changes = operator.step(state, parts, time.time_ns() // 1000)
        self._state.update((operator.layout.to_bytes(state),))
        if changes.num_rows:
            yield Row(changes=_to_bytes(changes))

    def close(self) -> None:
        """Nothing is held open."""


def _decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for changes in batch["changes"]:
            yield from pa.ipc.open_stream(changes.as_buffer())


def _to_bytes(changes: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    put_stream(sink, changes)
    return bytes(sink.getvalue())


def _stacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
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


def _spark_columns(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema.append(pa.field(WEIGHT, pa.int64())))
