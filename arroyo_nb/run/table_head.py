"""The first rows of a table, without a run: what it holds is read, decoded and shown.

Spark is asked only where a table has generated columns, for these alone.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from arroyo_nb.catalog import ConnectorTable, LookupTable, MemoryTable, View
from arroyo_nb.connectors import CONNECTORS, Direction, Streaming
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import Forgettable
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.schema import TIMESTAMP, arrow_schema, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import pyarrow as pa

    from arroyo_nb.catalog import Relation
    from arroyo_nb.engine import Engine
    from arroyo_nb.tape import Chunk

LIVE_S = 10.0
"""How long the rows of a live source are waited for: a feed may have none to give."""

_QUERIES = {View: "a view", MemoryTable: "a memory table"}


def head(engine: Engine, table: Relation, count: int) -> pa.Table:
    """The first rows that a table has, as Arrow.

    Parameters
    ----------
    engine
        Computes generated columns.
    table
        A source, or a lookup table that is read whole.
    count
        How many rows at most.

    Raises
    ------
    RunProblem
        When it is no such table, or cannot be read.
    """
    with defer_interrupts() as interrupts:
        return _head(engine, table, count, interrupts.check)


def _head(
    engine: Engine, table: Relation, count: int, check: Callable[[], None]
) -> pa.Table:
    if isinstance(table, LookupTable):
        return _lookup_rows(table, count, check)
    if not isinstance(table, ConnectorTable) or table.direction is not Direction.SOURCE:
        what = _QUERIES.get(type(table), "a sink")
        raise RunProblem(
            f"'{table.name}' is {what}: head shows the rows of sources",
            hint=f"run SELECT * FROM {table.name}" if type(table) in _QUERIES else None,
        )
    rows = _first(_chunks(table, count, check), count, check)
    if rows is None:
        return arrow_schema(table.schema).empty_table()
    if table.generated:
        rows = engine.worker.call(_computed, engine, table, rows)
    return rows.select(list(table.order))


def _lookup_rows(table: LookupTable, count: int, check: Callable[[], None]) -> pa.Table:
    if table.rows is not None:
        return table.rows.slice(0, count)
    if table.asked:
        raise RunProblem(
            f"'{table.name}' is asked by key: it has no first rows",
            hint="join it to a stream to see what it holds",
        )
    recorder = CONNECTORS.get(table.connector).recorder(table.spec.resolved())
    rows = _first(recorder.chunks(None), count, check)
    names = list(table.schema.names)
    return (
        arrow_schema(table.schema).empty_table() if rows is None else rows.select(names)
    )


def _chunks(
    table: ConnectorTable, count: int, check: Callable[[], None]
) -> Iterator[Chunk]:
    spec = table.spec.resolved()
    connector = CONNECTORS.get(table.connector)
    if isinstance(connector, Streaming):
        return connector.stream(spec).first_rows(spec, count, check)
    recorder = connector.recorder(spec)
    if isinstance(recorder, Forgettable):
        recorder.forget()
    chunks = recorder.chunks(None)
    return _for_a_while(chunks) if recorder.live else chunks


def _for_a_while(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    reading: Generator[Chunk] = chunks  # type: ignore[assignment]
    until_s = time.monotonic() + LIVE_S
    with closing(reading):
        for chunk in reading:
            yield chunk
            if time.monotonic() > until_s:
                return


def _first(
    chunks: Iterator[Chunk], count: int, check: Callable[[], None]
) -> pa.Table | None:
    """As many rows of the first chunks; None: there are none."""
    import pyarrow as pa

    found: list[pa.Table] = []
    reading: Generator[Chunk] = chunks  # type: ignore[assignment]
    with closing(reading):
        for chunk in reading:
            check()
            if chunk.rows.num_rows:
                found.append(chunk.rows)
            if sum(rows.num_rows for rows in found) >= count:
                break
    return pa.concat_tables(found).slice(0, count) if found else None


def _computed(engine: Engine, table: ConnectorTable, rows: pa.Table) -> pa.Table:
    """The rows with their generated columns; on the worker."""
    import pyarrow as pa

    from arroyo_nb.spark.arrow_schema import spark_arrow_schema
    from arroyo_nb.spark.expressions import spark_sql
    from arroyo_nb.spark.user_functions import register_datafusion

    # It may be the first that needs Spark; types are read by a JVM as well.
    spark = engine.session
    held = spark_arrow_schema(table.physical).append(
        pa.field(TIMESTAMP, pa.timestamp("us", "UTC"))
    )
    register_datafusion(spark, [column.expression for column in table.generated])
    made = {
        column.column.name: spark_sql(column.expression, row_time=quoted(TIMESTAMP))
        for column in table.generated
    }
    columns = (
        f"{made.get(name, quoted(name))} AS {quoted(name)}" for name in table.order
    )
    frame = spark.createDataFrame(rows.select(held.names).cast(held))
    found = frame.selectExpr(*columns).toArrow()
    fields = [
        f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
        for f in found.schema
    ]
    return found.cast(pa.schema(fields))
