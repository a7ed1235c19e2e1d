"""The tape on disk."""

import json
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    TIME,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    arrow_schema,
)
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US, BadRow, Chunk
from arroyo_nb.tape.format import (
    HEADER,
    Header,
    Mark,
    Tape,
    Totals,
    chunk_path,
    read_chunk,
    read_mark,
)
from arroyo_nb.tape.replay import Replay
from arroyo_nb.tape.writer import TapeWriter, recover

SCHEMA = Schema((Field("n", BIGINT),))
HEAD = Header(str(SCHEMA), "here", bounded=True, seed=7)
INSTANT = pa.timestamp("us", "UTC")


def rows(*times_us):
    stamps = pa.array(times_us, INSTANT)
    return pa.table({"n": pa.array(times_us), ARRIVAL: stamps, "_timestamp": stamps})


def test_a_tape_reads_back_as_it_was_written(tmp_path):
    bad = (BadRow("f:3", "{", "invalid JSON"),)
    writer = TapeWriter(tmp_path, HEAD)
    first = writer.append(Chunk(rows(1, 5), {"at": 1}, dropped_rows=2, bad=bad))
    writer.append(Chunk(rows(3), {"at": 2}))
    last = writer.end(SCHEMA)

    tape = Tape.open(tmp_path)
    assert tape.header == HEAD
    assert tape.numbers() == (1, 2, 3)
    assert tape.table()["n"].to_pylist() == [1, 5, 3]
    one, two = tape.chunks()
    assert (one.position, one.dropped_rows, one.bad) == ({"at": 1}, 2, bad)
    assert (two.position, two.dropped_rows, two.bad) == ({"at": 2}, 0, ())
    assert read_mark(tmp_path, 1) == first
    assert first.totals == Totals(2, 2, 5)
    assert last == Mark(3, 1, last.size_bytes, {"at": 2}, Totals(3, 2, 5), end=1)


def test_the_end_of_stream_row_is_null_but_for_its_time(tmp_path):
    TapeWriter(tmp_path, HEAD).end(SCHEMA)
    _, table = read_chunk(tmp_path, 1)
    end_of_time = datetime(9999, 1, 1, tzinfo=UTC)
    assert end_of_time.timestamp() * 1e6 == END_OF_TIME_US
    assert table.to_pylist() == [{"n": None, ARRIVAL: None, "_timestamp": end_of_time}]


def test_what_an_empty_chunk_dropped_goes_with_the_next(tmp_path):
    bad = tuple(BadRow(f"f:{n}", "", "") for n in range(600))
    writer = TapeWriter(tmp_path, HEAD)
    assert writer.append(Chunk(rows(), {"at": 1}, dropped_rows=600, bad=bad)) is None
    mark = writer.append(Chunk(rows(1), {"at": 2}, dropped_rows=600, bad=bad))
    assert (mark.number, mark.dropped_rows, len(mark.bad)) == (1, 1_200, 1_000)


def test_modification_times_rise_with_the_numbers_whatever_the_clock_does(tmp_path):
    writer = TapeWriter(tmp_path, HEAD)
    for n in range(1, 40):
        writer.append(Chunk(rows(n), {"at": n}))
    times = [chunk_path(tmp_path, n).stat().st_mtime for n in range(1, 40)]
    # Whole seconds: file systems that keep no finer times keep the order too.
    assert {b - a for a, b in pairwise(times)} == {1.0}


def test_types_are_stored_as_spark_reads_them(tmp_path):
    inner = StructOf((Field("x", Timestamp()), Field("y", Primitive("INT UNSIGNED"))))
    schema = Schema(
        (
            Field("u", BIGINT_UNSIGNED, nullable=False),
            Field("c", TIME),
            Field("m", Decimal(5, 2)),
            Field("l", ListOf(inner)),
        )
    )
    values = {"u": 2**64 - 1, "c": 5, "m": 1, "l": [{"x": 7, "y": 2**32 - 1}]}
    stamp = pa.array([0], INSTANT)
    table = pa.Table.from_pylist([values], arrow_schema(schema))
    table = table.append_column(ARRIVAL, stamp).append_column("_timestamp", stamp)
    TapeWriter(tmp_path, HEAD).append(Chunk(table, {}))
    _, found = read_chunk(tmp_path, 1)
    struct = pa.struct([("x", INSTANT), ("y", pa.int64())])
    assert found.schema.types == [
        pa.decimal128(20, 0),
        pa.int64(),
        pa.decimal128(5, 2),
        pa.list_(struct),
        INSTANT,
        INSTANT,
    ]
    assert all(field.nullable for field in found.schema)
    assert found["u"].to_pylist() == [2**64 - 1]
    assert found["l"][0].as_py()[0]["y"] == 2**32 - 1


def test_a_writer_goes_on_after_torn_files(tmp_path):
    TapeWriter(tmp_path, HEAD).append(Chunk(rows(1, 2), {"at": 1}))
    (tmp_path / ".chunk-00000002.parquet.tmp").write_bytes(b"half")
    chunk_path(tmp_path, 2).write_bytes(b"")  # renamed, then the power went
    assert recover(tmp_path).number == 1
    writer = TapeWriter(tmp_path, HEAD)
    assert writer.append(Chunk(rows(9), {"at": 2})).totals == Totals(3, 0, 9)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        HEADER,
        "chunk-00000001.parquet",
        "chunk-00000002.parquet",
    ]


@pytest.mark.parametrize(
    "problem", [OSError(24, "Too many open files"), OSError(5, "Input/output error")]
)
def test_a_chunk_that_cannot_be_read_now_is_not_removed(tmp_path, monkeypatch, problem):
    TapeWriter(tmp_path, HEAD).append(Chunk(rows(1, 2), {"at": 1}))

    def refuse(_):
        raise problem

    monkeypatch.setattr("pyarrow.parquet.read_metadata", refuse)
    with pytest.raises(RunProblem, match=problem.strerror):
        recover(tmp_path)
    assert chunk_path(tmp_path, 1).exists()


def test_only_the_last_chunk_can_be_torn(tmp_path):
    writer = TapeWriter(tmp_path, HEAD)
    for at in (1, 2, 3):
        writer.append(Chunk(rows(at), {"at": at}))
    for number in (2, 3):
        chunk_path(tmp_path, number).write_bytes(b"half")
    with pytest.raises(RunProblem, match=r"00000002.*not a chunk"):
        recover(tmp_path)
    assert chunk_path(tmp_path, 2).exists()


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "is not a tape: no _tape.json"),
        ("{", "is not a tape: bad _tape.json"),
        ("[]", "is not a tape: bad _tape.json"),
        ('{"version": 1}', "is not a tape: bad _tape.json"),
        ('{"version": 2}', "has version 2, this program reads version 1"),
    ],
)
def test_what_is_not_a_tape_is_told(tmp_path, header, reason):
    if header is not None:
        (tmp_path / HEADER).write_text(header)
    with pytest.raises(RunProblem, match=reason):
        Tape.open(tmp_path)


def test_what_is_not_a_chunk_is_told(tmp_path):
    chunk_path(tmp_path, 1).write_bytes(b"not parquet")
    with pytest.raises(RunProblem, match=r"chunk-00000001\.parquet' is not a chunk"):
        read_mark(tmp_path, 1)
    import pyarrow.parquet as pq

    pq.write_table(rows(1), chunk_path(tmp_path, 1))
    with pytest.raises(RunProblem, match="is not a chunk"):
        read_chunk(tmp_path, 1)


def test_a_replay_gives_the_chunks_after_any_position(tmp_path):
    writer = TapeWriter(tmp_path, HEAD)
    for n in range(1, 5):
        writer.append(Chunk(rows(n, n + 1), {"at": n}))
    replay = Replay(tmp_path)
    chunks = list(replay.chunks(None))
    for done, chunk in enumerate(chunks, 1):
        rest = list(replay.chunks(json.loads(json.dumps(chunk.position))))
        assert [c.rows for c in rest] == [c.rows for c in chunks[done:]]
        assert [c.position for c in rest] == [c.position for c in chunks[done:]]
