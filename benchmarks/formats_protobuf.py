"""Records a second of Protocol Buffers: messages as rows, and rows as messages.

Payloads are read from Parquet on two cores, decoded by what decodes those of a topic,
and go to a sink that discards them; rows are encoded by what a sink encodes them with.
The parts that one process needs are measured beside it, without Spark: they say what
bounds the rest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from arroyo_nb.connectors import CONNECTORS, TableSpec, decoding_options
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.protobuf.encode import RowEncoder
from arroyo_nb.formats.protobuf.source import read_schema
from arroyo_nb.records import Records
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    INT,
    TEXT,
    TIMESTAMP,
    Field,
    Schema,
    Timestamp,
    spark_type,
)
from arroyo_nb.session import Session
from arroyo_nb.spark.arrow_schema import spark_arrow_schema
from arroyo_nb.spark.observe import observed_fit
from arroyo_nb.tape.fit import SEEN, UNKNOWN
from benchmarks.report import Report, main

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES, FILE_RECORDS = 2, 250_000
BATCH_RECORDS = 10_000
WARM_UP, ROUNDS = 2, 5
TARGET = 150_000
START_S = 1_700_000_000

PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
enum Kind { CLICK = 0; VIEW = 1; BUY = 2; }
message Event {
  int64 id = 1; string name = 2; double amount = 3; google.protobuf.Timestamp at = 4;
  int32 count = 5; bool ok = 6; Kind kind = 7; optional string city = 8; bytes key = 9;
  uint64 hash = 10;
}
"""
SCHEMA = Schema(
    (
        Field("id", BIGINT),
        Field("name", TEXT),
        Field("amount", DOUBLE),
        Field("at", Timestamp()),
        Field("count", INT),
        Field("ok", BOOLEAN),
        Field("kind", TEXT),
        Field("city", TEXT),
        Field("key", BYTEA),
        Field("hash", BIGINT_UNSIGNED),
    )
)
OPTIONS = {"format": "protobuf", "protobuf.schema": PROTO, "topic": "events"}


def payloads(first: int, count: int) -> pa.Array:
    """Messages of about seventy bytes."""
    cls = read_schema("events", OPTIONS).message_class
    made = (
        cls(
            id=n,
            name=f"user {n % 1000}",
            amount=n % 977 * 0.5,
            at={"seconds": START_S + n, "nanos": 5_000_000},
            count=n % 100,
            ok=n % 2 == 0,
            kind=n % 3,
            city="Aarhus" if n % 5 else None,
            key=b"key",
            hash=2**63 + n,
        )
        for n in range(first, first + count)
    )
    return pa.array((one.SerializeToString() for one in made), pa.binary())


def make_files(folder: Path) -> None:
    """Records as Spark has those of a topic, a file for each core."""
    for number in range(FILES):
        values = payloads(number * FILE_RECORDS, FILE_RECORDS)
        at = pa.array([START_S * 10**6] * len(values), pa.timestamp("us", "UTC"))
        table = pa.table(
            {
                "value": values,
                "timestamp": at,
                "partition": pa.array([number] * len(values), pa.int32()),
                "offset": pa.array(range(len(values)), pa.int64()),
            }
        )
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=10**6)


def decoded(records: DataFrame, *beside: str) -> DataFrame:
    """The rows of the records, as those of a topic are read; ``beside`` has the hidden
    columns by which a run observes them."""
    spec = TableSpec("events", SCHEMA, OPTIONS)
    reader = Records(
        "events",
        "protobuf",
        SCHEMA,
        spark_arrow_schema(SCHEMA),
        decoding_options(CONNECTORS.get("kafka"), spec),
        None,
        (),
        {},
        (TIMESTAMP, *beside),
        windowed=False,
    )
    types = [*(spark_type(field.type) for field in SCHEMA), "timestamp"]
    types += ["bigint"] * len(beside)
    columns = (f"{n} {type_}" for n, type_ in zip(reader.names, types, strict=True))
    return records.mapInArrow(reader, ", ".join(columns))


def best_s(run: Callable[[], object]) -> float:
    """The best of some turns."""

    def seconds() -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    times = [seconds() for _ in range(WARM_UP + ROUNDS)]
    return min(times[WARM_UP:])


def discard(frame: DataFrame) -> None:
    """Compute all rows."""
    frame.write.format("noop").mode("overwrite").save()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What it costs to hand rows to a worker of Python and back."""
    return batches


def measure_in_spark(report: Report, session: Session, folder: Path) -> None:
    """On two cores, from Parquet."""
    records = session.engine.session.read.parquet(folder.as_uri())
    total = FILES * FILE_RECORDS
    plain = total / best_s(lambda: discard(records))
    report.add("protobuf: records that are only read", plain, "rows/s")
    found = total / best_s(lambda: discard(decoded(records)))
    report.add(
        "protobuf: ten columns decoded", found, "rows/s", target=TARGET, at_most=False
    )
    observed = decoded(records, SEEN, UNKNOWN)
    observed = observed_fit(observed, "events", 0).drop(SEEN, UNKNOWN)
    found = total / best_s(lambda: discard(observed))
    report.add("protobuf: ten columns decoded, observed by a run", found, "rows/s")
    names = [f"c_{number} AS {name}" for number, name in enumerate(SCHEMA.names)]
    rows = decoded(records).selectExpr(*names).cache()
    rows.count()
    found = total / best_s(lambda: discard(rows.mapInArrow(_same, rows.schema)))
    report.add("protobuf: ten columns through a worker, as they are", found, "rows/s")
    written = payload_format("protobuf").encoded(SCHEMA, OPTIONS)
    found = total / best_s(lambda: discard(rows.select(written)))
    report.add("protobuf: ten columns encoded", found, "rows/s")
    rows.unpersist()


def measure_parts(report: Report) -> None:
    """In one process, without Spark: what a record costs, and its parts."""
    batch = payloads(0, BATCH_RECORDS)
    message = read_schema("events", OPTIONS)
    parse, values = message.message_class.FromString, batch.to_pylist()
    made = payload_format("protobuf").payload_decoder(SCHEMA, OPTIONS, None)
    columns = [c.combine_chunks() for c in made.decode(batch).rows.columns]
    encoder = RowEncoder(message, SCHEMA)
    for name, part in {
        "protobuf: a message parsed": lambda: list(map(parse, values)),
        "protobuf: a record decoded, all of it": lambda: made.decode(batch),
        "protobuf: a row encoded": lambda: encoder(columns, BATCH_RECORDS),
    }.items():
        report.add(name, best_s(part) / BATCH_RECORDS * 1e6, "us")


def measure_protobuf(report: Report) -> None:
    """Records of Protocol Buffers, decoded and encoded."""
    measure_parts(report)
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_files(folder)
        session.engine.worker.call(measure_in_spark, report, session, folder)


if __name__ == "__main__":
    sys.exit(main(measure_protobuf))
