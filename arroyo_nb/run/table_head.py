"""The first rows of a table, without a run: what it holds is read, decoded and shown.

Spark is asked only where a table has generated columns, for these alone.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arroyo_nb.catalog import ConnectorTable, LookupTable, MemoryTable, View
from arroyo_nb.changelog import WEIGHT
from arroyo_nb.connectors import CONNECTORS, Direction, Streaming
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import Forgettable
from arroyo_nb.formats import reads_fields
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.sources.fit_notes import WAIT_S, FitNotes
from arroyo_nb.schema import TIMESTAMP, arrow_schema, quoted
from arroyo_nb.tape.fit import Fit, fit_of_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import pyarrow as pa

    from arroyo_nb.catalog import Relation
    from arroyo_nb.engine import Engine
    from arroyo_nb.tape import BadRow, Chunk

LIVE_S = 10.0
"""How long the rows of a live source are waited for: a feed may have none to give."""

_QUERIES = {View: "a view", MemoryTable: "a memory table"}


@dataclass(frozen=True)
class Head:
    """The first rows of a table.

    Parameters
    ----------
    rows
        As Arrow, with the table's columns.
    fit
        How they fit those columns.
    left_out
        How many bad records were left out before the last of them.
    bad
        Some of these.
    weights
        Of a table of changes, for each row whether it came (1) or went (-1).
    """

    rows: pa.Table
    fit: Fit = field(default_factory=Fit)
    left_out: int = 0
    bad: tuple[BadRow, ...] = ()
    weights: pa.ChunkedArray | None = None

    @property
    def shown(self) -> pa.Table:
        """The rows; those of a table of changes with a sign before them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.weights is None:
            return self.rows
        signs = pc.if_else(pc.greater(self.weights, 0), "+", "-")
        return self.rows.add_column(0, pa.field(SIGN, pa.string()), signs)


SIGN = "+/-"
"""The column that says of a change whether its row came or went."""


def head(engine: Engine, table: Relation, count: int) -> Head:
    """The first rows that a table has.

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


def head_notes(table: ConnectorTable, found: Head) -> Iterator[str]:
    """What is odd in the first rows of a source, and which of its records are no rows,
    each in a sentence."""
    if found.weights is not None:
        yield "+ is a row as a change has made it, - a row as it was before"
    if found.left_out:
        are = "record that does" if found.left_out == 1 else "records that do"
        first = f"; the first: {found.bad[0]}" if found.bad else ""
        yield f"{found.left_out:,} {are} not fit the columns left out{first}"
    if reads_fields(table.format):
        yield from FitNotes(table).notes(found.fit, WAIT_S)


def _head(
    engine: Engine, table: Relation, count: int, check: Callable[[], None]
) -> Head:
    if isinstance(table, LookupTable):
        return Head(_lookup_rows(table, count, check))
    if not isinstance(table, ConnectorTable) or table.direction is not Direction.SOURCE:
        what = _QUERIES.get(type(table), "a sink")
        raise RunProblem(
            f"'{table.name}' is {what}: head shows the rows of sources",
            hint=f"run SELECT * FROM {table.name}" if type(table) in _QUERIES else None,
        )
    taken: list[Chunk] = []
    are_all = _take(_chunks(table, count, check), count, check, taken)
    weights = None
    fit = sum((fit_of_chunk(chunk, table.physical) for chunk in taken), Fit())
    if (rows := _joined(taken, count)) is None:
        rows = arrow_schema(table.schema).empty_table()
    elif WEIGHT in rows.column_names:
        weights = rows[WEIGHT]
    if table.generated and rows.num_rows:
        rows = engine.worker.call(_computed, engine, table, rows)
    return Head(
        rows.select(list(table.order)),
        replace(fit, are_all=are_all),
        sum(chunk.dropped_rows for chunk in taken),
        tuple(bad for chunk in taken for bad in chunk.bad),
        weights,
    )


def _lookup_rows(table: LookupTable, count: int, check: Callable[[], None]) -> pa.Table:
    if table.rows is not None:
        return table.rows.slice(0, count)
    if table.asked:
        raise RunProblem(
            f"'{table.name}' is asked by key: it has no first rows",
            hint="join it to a stream to see what it holds",
        )
    recorder = CONNECTORS.get(table.connector).recorder(table.spec.resolved())
    taken: list[Chunk] = []
    _take(recorder.chunks(None), count, check, taken)
    if (rows := _joined(taken, count)) is None:
        return arrow_schema(table.schema).empty_table()
    return rows.select(list(table.schema.names))


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


def _take(
    chunks: Iterator[Chunk], count: int, check: Callable[[], None], taken: list[Chunk]
) -> bool:
    """Take chunks until they have as many rows; whether there are no more."""
    reading: Generator[Chunk] = chunks  # type: ignore[assignment]
    rows = 0
    with closing(reading):
        for chunk in reading:
            check()
            taken.append(chunk)
            rows += chunk.rows.num_rows
            if rows >= count:
                return False
    return True


def _joined(taken: Sequence[Chunk], count: int) -> pa.Table | None:
    """As many rows of some chunks; None: they have none."""
    import pyarrow as pa

    found = [chunk.rows for chunk in taken if chunk.rows.num_rows]
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
