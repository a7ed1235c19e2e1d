"""Spark reads a tape: a chunk is a batch, in order, with the types it expects."""

import random
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from arroyo_nb.run.sources.tape import FILES_REMEMBERED
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    TIME,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    arrow_schema,
    spark_schema,
)
from arroyo_nb.tape import ARRIVAL, Chunk
from arroyo_nb.tape.format import Header, Tape
from arroyo_nb.tape.writer import GROUP_ROWS, TapeWriter

INNER = StructOf((Field("x", Timestamp()), Field("y", Primitive("INT UNSIGNED"))))
SCHEMA = Schema(
    (
        Field("n", Primitive("SMALLINT UNSIGNED"), nullable=False),
        Field("u", BIGINT_UNSIGNED),
        Field("c", TIME),
        Field("t", Timestamp(3)),
        Field("l", ListOf(INNER)),
    )
)
INSTANT = pa.timestamp("us", "UTC")


def chunk(number):
    record = {
        "n": number,
        "u": 2**64 - number,
        "c": number,
        "t": number * 1_000_000,
        "l": [{"x": number, "y": 2**32 - 1}, None],
    }
    stamp = pa.array([number * 1_000_000], INSTANT)
    rows = pa.Table.from_pylist([record], arrow_schema(SCHEMA))
    rows = rows.append_column(ARRIVAL, stamp).append_column("_timestamp", stamp)
    return Chunk(rows, {"at": number})


@pytest.fixture
def batches(engine, tmp_path):
    """Plays the tape in a folder; the batches as Arrow tables."""

    def play(folder, remembered):
        spark = engine.session
        columns = f"{spark_schema(SCHEMA)}, {ARRIVAL} timestamp, _timestamp timestamp"
        found = []
        query = (
            spark.readStream.schema(columns)
            .option("maxFilesPerTrigger", 1)
            .option("maxFileAge", remembered)
            .parquet(folder.as_uri())
            .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .foreachBatch(lambda batch, _: found.append(batch.toArrow()))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return found

    def on_worker(folder, remembered=FILES_REMEMBERED):
        return engine.worker.call(play, folder, remembered)

    return on_worker


def test_a_chunk_is_a_batch_in_order_whenever_it_was_written(batches, tmp_path):
    folder = tmp_path / "tape"
    writer = TapeWriter(folder, Header(str(SCHEMA), "here", bounded=True))
    for number in range(1, 13):
        writer.append(chunk(number))
    writer.end(SCHEMA)
    (folder / ".chunk-00000014.parquet.tmp").write_bytes(b"half")
    # Copied elsewhere in any order, the files keep the times that order them.
    files = list(folder.iterdir())
    random.Random(1).shuffle(files)
    for file in files:
        file.rename(file.with_name(file.name + ".moved"))
        file.with_name(file.name + ".moved").rename(file)

    *found, end = batches(folder)
    assert [batch["n"].to_pylist() for batch in found] == [[n] for n in range(1, 13)]
    (row,) = end.to_pylist()
    assert row.pop("_timestamp") == datetime(9999, 1, 1, tzinfo=UTC)
    assert set(row.values()) == {None}
    # Every type is read as it was stored.
    tape = Tape.open(folder).table().to_pylist()
    assert [batch.to_pylist()[0] for batch in found] == tape
    assert tape[0]["u"] == 2**64 - 1
    assert tape[0]["l"] == [
        {"x": datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "y": 2**32 - 1},
        None,
    ]


def test_what_spark_forgets_is_neither_read_again_nor_passed_over(batches, tmp_path):
    writer = TapeWriter(tmp_path / "tape", Header(str(SCHEMA), "here", bounded=True))
    for first in (1, 9):
        # The look-ahead is longer than what is remembered, and read files stay.
        for number in range(first, first + 8):
            writer.append(chunk(number))
        found = batches(tmp_path / "tape", "3s")
        assert [batch["n"].to_pylist() for batch in found] == [
            [number] for number in range(first, first + 8)
        ]


def test_a_large_chunk_is_read_by_all_cores_and_stays_in_order(
    batches, engine, tmp_path
):
    folder = tmp_path / "tape"
    writer = TapeWriter(folder, Header(str(SCHEMA), "here", bounded=True))
    numbers = pa.array(range(3 * GROUP_ROWS), pa.uint64())
    rows = chunk(1).rows.take(pa.array([0] * len(numbers)))
    place = rows.column_names.index("u")
    writer.append(Chunk(rows.set_column(place, rows.field("u"), numbers), {}))

    (found,) = batches(folder)
    assert found["u"].to_pylist() == numbers.to_pylist()

    def counted(batches):
        yield pa.record_batch([pa.array([sum(b.num_rows for b in batches)])], ["rows"])

    def read_by_each():
        read = engine.session.read.parquet(folder.as_uri())
        return read.mapInArrow(counted, "rows bigint").toArrow()["rows"].to_pylist()

    by_each = engine.worker.call(read_by_each)
    assert len(by_each) > 1
    assert all(by_each)
