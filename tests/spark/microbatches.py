"""Streams of exactly known micro-batches: one Parquet file is one batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arroyo_nb.plan import nodes
from arroyo_nb.schema import TIMESTAMP, quoted, spark_schema
from arroyo_nb.spark.lower import changelog_columns
from arroyo_nb.tape import END_OF_TIME_US

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Outcome:
    """What a stream gave: rows by batch, and Spark's progress of each batch."""

    rows: list[tuple[int, dict[str, Any]]]
    progress: list[dict[str, Any]]


def sampled(cases: Mapping[str, Any], often: Iterable[str], family: str) -> list[Any]:
    """Parameters by their names: those that always run, and the rest, which are of a
    long family: random queries go the same ways every time."""
    long = pytest.mark.long(family)
    missing = set(often) - set(cases)
    assert not missing
    return [
        pytest.param(case, id=name, marks=() if name in often else long)
        for name, case in cases.items()
    ]


def write_chunks(
    folder: Path, schema: pa.Schema, batches: Iterable[Sequence[tuple[Any, ...]]]
) -> None:
    """One file per batch, in order; the last two have the end-of-stream row only."""
    end = (*(None for _ in schema), END_OF_TIME_US)
    full = schema.append(pa.field(TIMESTAMP, pa.timestamp("us", tz="UTC")))

    def table(batch: Sequence[tuple[Any, ...]]) -> pa.Table:
        columns = list(zip(*batch, strict=True)) or [() for _ in full]
        arrays = [
            pa.array(list(values), field.type)
            for values, field in zip(columns, full, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=full)

    write_tables(folder, map(table, [*batches, [end], [end]]))


def write_tables(folder: Path, tables: Iterable[pa.Table]) -> None:
    """One file per batch, in order."""
    for number, table in enumerate(tables):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path)
        # Spark orders files by modification time, in milliseconds.
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def stored(source: nodes.Source) -> str:
    told = "".join(f", {quoted(name)} bigint" for name in changelog_columns(source))
    return f"{spark_schema(source.schema)}, {quoted(TIMESTAMP)} timestamp{told}"


def reader(spark: Any, folder: Path) -> Callable[[nodes.Source], Any]:
    def read(source: nodes.Source) -> Any:
        stream = spark.readStream.schema(stored(source))
        return stream.option("maxFilesPerTrigger", 1).parquet(str(folder))

    return read


def batch_reader(
    spark: Any, folder: Path, number: int | None = None
) -> Callable[[nodes.Source], Any]:
    def read(source: nodes.Source) -> Any:
        path = folder if number is None else folder / f"{number:05}.parquet"
        return spark.read.schema(stored(source)).parquet(str(path))

    return read


def run_to_end(
    frame: Any, checkpoint: Path, after: Callable[[int], None] = lambda _: None
) -> Outcome:
    """Run until all files are read and no window is left; on the worker thread.
    ``after`` is called after each batch, before the next."""
    rows: list[tuple[int, dict[str, Any]]] = []

    def keep(batch: Any, batch_id: int) -> None:
        rows.extend((batch_id, row) for row in batch.toArrow().to_pylist())
        after(batch_id)

    query = (
        frame.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
        progress = [json.loads(p.json) for p in query.recentProgress]
    finally:
        query.stop()
    return Outcome(rows, progress)


def micros(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(microseconds=1)
