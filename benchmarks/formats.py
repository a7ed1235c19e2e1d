"""Records a second that Spark decodes and encodes, by format, on two cores.

Payloads of ten columns are read from Parquet and decoded as those of a topic are, by
Python workers; the rows go to a sink that discards them. The same rows are encoded as a
sink does it. JSON stands beside the others for comparison.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arroyo_nb.formats import payload_format
from arroyo_nb.formats.avro.encode import record_schema
from arroyo_nb.records import OFFSET, PARTITION, TIME, VALUE, Records
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Decimal,
    Field,
    Schema,
    Timestamp,
    arrow_schema,
    quoted,
    spark_type,
)
from arroyo_nb.session import Session
from arroyo_nb.spark.arrow_schema import spark_arrow_schema
from benchmarks.report import Report, main

CHUNKS, CHUNK_ROWS = 4, 100_000
WARM_UP, ROUNDS = 2, 5
DECODED, ALONE_ROWS = 150_000.0, 10_000
START_US = 1_700_000_000_000_000

COLUMNS = Schema(
    (
        Field("id", BIGINT, nullable=False),
        Field("user_name", TEXT),
        Field("city", TEXT),
        Field("at", Timestamp(), nullable=False),
        Field("price", Decimal(12, 2)),
        Field("amount", DOUBLE),
        Field("share", FLOAT),
        Field("items", INT),
        Field("paid", BOOLEAN),
        Field("note", TEXT),
    )
)


@dataclass(frozen=True)
class Subject:
    """A format that is measured.

    Attributes
    ----------
    format, options
        What a table says.
    target
        The records a second that it decodes at least; None: it is only told.
    """

    format: str
    options: Mapping[str, str | bool]
    target: float | None = None


def subjects() -> tuple[Subject, ...]:
    """The formats, one a line."""
    avro = {"avro.raw_datums": True, "avro.schema": record_schema(COLUMNS)}
    return (Subject("json", {}), Subject("avro", avro, DECODED))


def rows(first: int) -> pa.Table:
    """The rows of a chunk; some values of some columns are NULL."""
    n = np.arange(first, first + CHUNK_ROWS)
    text = pa.array(n % 1000).cast(pa.string())
    columns = [
        pa.array(n),
        text,
        pa.array(["Aarhus", "Odense", None, "Skagen"]).take(pa.array(n % 4)),
        pa.array(START_US + n).cast(pa.timestamp("us")),
        pa.array(n % 100_000).cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)),
        pa.array(n * 0.37),
        pa.array((n % 97 / 97).astype(np.float32)),
        pa.array((n % 7).astype(np.int32), mask=n % 11 == 0),
        pa.array(n % 2 == 0),
        pa.array(["left at the door", None]).take(pa.array(n % 2)),
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(COLUMNS))


def make_payloads(subject: Subject, folder: Path) -> None:
    """Files of records as a topic has them."""
    written = {n: v for n, v in subject.options.items() if n != "avro.schema"}
    write = payload_format(subject.format).payload_writer(
        "t", COLUMNS, written, read=False
    )
    for number in range(CHUNKS):
        first = number * CHUNK_ROWS
        values = write(rows(first).to_pylist())
        places = pa.array(np.arange(first, first + CHUNK_ROWS))
        records = {
            VALUE: pa.array(values, pa.binary()),
            TIME: places.cast(pa.timestamp("us", "UTC")),
            PARTITION: pa.array(np.zeros(CHUNK_ROWS, np.int32)),
            OFFSET: places,
        }
        pq.write_table(pa.table(records), folder / f"{number}.parquet")


def best_s(run: Callable[[], object]) -> float:
    """The best time of some turns."""
    times = []
    for _ in range(WARM_UP + ROUNDS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times[WARM_UP:])


def worker(subject: Subject) -> Records:
    """What Spark's workers call."""
    return Records(
        "t",
        subject.format,
        COLUMNS,
        spark_arrow_schema(COLUMNS),
        subject.options,
        None,
        (),
        {},
        (TIMESTAMP,),
        windowed=False,
    )


def alone(report: Report, subject: Subject, folder: Path) -> None:
    """The decoder without Spark, on one core, in batches of Spark's size."""
    values = pq.read_table(folder / "0.parquet")[VALUE].combine_chunks()
    decoder = payload_format(subject.format).payload_decoder(
        COLUMNS, subject.options, None
    )
    batches = [values.slice(at, ALONE_ROWS) for at in range(0, len(values), ALONE_ROWS)]
    assert not decoder.decode(batches[0]).bad
    taken_s = best_s(lambda: [decoder.decode(batch) for batch in batches])
    name = f"{subject.format}: decoded, one core, no Spark"
    report.add(name, len(values) / taken_s, "rows/s")


def in_spark(
    report: Report, session: Session, subject: Subject, payloads: Path, plain: Path
) -> None:
    """Both ways, by all cores."""
    spark, reader = session.engine.session, worker(subject)
    types = [spark_type(field.type) for field in COLUMNS] + ["timestamp"]
    declared = ", ".join(
        f"{quoted(name)} {type_}"
        for name, type_ in zip(reader.names, types, strict=True)
    )
    records = spark.read.parquet(payloads.as_uri())
    decoded = records.mapInArrow(reader, declared)
    encoded = spark.read.parquet(plain.as_uri()).select(
        payload_format(subject.format).encoded(COLUMNS, subject.options)
    )
    for what, frame, target in (
        ("decoded", decoded, subject.target),
        ("encoded", encoded, None),
    ):
        frame_writer = frame.write.format("noop").mode("overwrite")
        rate = CHUNKS * CHUNK_ROWS / best_s(frame_writer.save)
        name = f"{subject.format}: {what} in Spark"
        report.add(name, rate, "rows/s", target=target, at_most=False)


def measure(report: Report) -> None:
    """Make the records of each format, then measure."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        plain = Path(name) / "plain"
        plain.mkdir()
        for number in range(CHUNKS):
            pq.write_table(rows(number * CHUNK_ROWS), plain / f"{number}.parquet")
        for subject in subjects():
            folder = Path(name) / subject.format
            folder.mkdir()
            make_payloads(subject, folder)
            alone(report, subject, folder)
            session.engine.worker.call(
                in_spark, report, session, subject, folder, plain
            )


if __name__ == "__main__":
    sys.exit(main(measure))
