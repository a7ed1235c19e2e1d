"""Container files that a sink writes: fastavro and this package read them."""

from __future__ import annotations

import json
import os

import fastavro
import pyarrow as pa
import pytest

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import FORMATS, PARTITION_KEY
from arroyo_nb.formats.avro import parts
from arroyo_nb.formats.avro.encode import RowEncoder, record_schema
from arroyo_nb.formats.avro.file_blocks import read_block, read_file_header
from arroyo_nb.schema import BIGINT, INTERVAL, TEXT, Field, Schema

SCHEMA = Schema((Field("n", BIGINT, nullable=False), Field("s", TEXT)))


def writer(codec="deflate", schema=SCHEMA):
    return FORMATS.get("avro").parts(schema, {parts.COMPRESSION: codec})


def batch(numbers, texts=None):
    numbers = list(numbers)
    texts = texts or [f"text {n}" for n in numbers]
    made = RowEncoder(SCHEMA).datums([pa.array(numbers, pa.int64()), pa.array(texts)])
    return pa.table({"value": made, PARTITION_KEY: ["[]"] * len(numbers)})


def by_fastavro(path):
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def by_us(path):
    options = {"path": str(path), "format": "avro", "bad_data": "fail"}
    spec = TableSpec("t", SCHEMA, options, None)
    chunks = CONNECTORS.get("filesystem").recorder(spec).chunks(None)
    found = [chunk.rows.select(["n", "s"]) for chunk in chunks]
    return pa.concat_tables(found).to_pylist()


def block_counts(path):
    found = []
    with path.open("rb") as file:
        header, begin = read_file_header(file)
        while begin < path.stat().st_size:
            block = read_block(file, begin, header.sync)
            found.append(block.count)
            begin = block.end
    return found


@pytest.mark.parametrize("codec", parts.CODECS)
def test_a_file_is_read_back(tmp_path, codec):
    path = tmp_path / "a.avro"
    size = writer(codec).write(path, iter([batch(range(5_000))]), float("inf"))
    assert size == path.stat().st_size
    wanted = [{"n": n, "s": f"text {n}"} for n in range(5_000)]
    assert by_us(path) == wanted
    with path.open("rb") as file:
        header, _ = read_file_header(file)
    assert header.codec == parts.CODECS[codec][0]
    assert json.loads(header.schema) == json.loads(record_schema(SCHEMA))
    if codec in ("uncompressed", "deflate"):  # for others fastavro needs a library
        assert by_fastavro(path) == wanted


def test_the_option_has_the_codecs():
    (option,) = FORMATS.get("avro").file_options
    assert option.choices == tuple(parts.CODECS)


def test_pieces_are_gathered_to_blocks_until_there_is_no_room(tmp_path):
    path = tmp_path / "a.avro"
    pieces = (batch(range(at, at + 10)) for at in range(0, 100_000, 10))
    size = writer("uncompressed").write(path, pieces, 500_000)
    assert 500_000 <= size < 600_000
    counts = block_counts(path)
    assert all(3_000 < count < 10_000 for count in counts[:-1])
    left = [row for piece in pieces for row in piece["value"].to_pylist()]
    assert sum(counts) + len(left) == 100_000
    assert [row["n"] for row in by_fastavro(path)] == list(range(sum(counts)))


def test_a_slice_of_a_batch_is_written_without_its_neighbours(tmp_path):
    path = tmp_path / "a.avro"
    pieces = iter([batch(range(100))[40:60], batch([1])[:0], batch([7])])
    writer().write(path, pieces, float("inf"))
    assert [row["n"] for row in by_fastavro(path)] == [*range(40, 60), 7]


@pytest.mark.parametrize("offsets", [None, pa.py_buffer(b"")])
def test_a_batch_without_rows_or_offsets_is_no_block(tmp_path, offsets):
    path = tmp_path / "a.avro"
    buffers = [None, offsets, pa.py_buffer(b"")]
    none = pa.Array.from_buffers(pa.binary(), 0, buffers)
    empty = pa.table({"value": none, PARTITION_KEY: pa.array([], pa.string())})
    writer().write(path, iter([empty, batch([7])]), float("inf"))
    assert [row["n"] for row in by_fastavro(path)] == [7]


def test_parts_become_one_file(tmp_path):
    made = writer()
    paths = [tmp_path / f"{number}" for number in range(3)]
    for number, path in enumerate(paths):
        begin = 3_000 * number
        made.write(path, iter([batch(range(begin, begin + 3_000))]), float("inf"))
    whole = tmp_path / "whole.avro"
    made.join(paths, whole)
    assert [row["n"] for row in by_fastavro(whole)] == list(range(9_000))
    assert by_us(whole) == by_fastavro(whole)


def test_parts_of_other_schemas_are_not_one_file(tmp_path):
    one, other = tmp_path / "1", tmp_path / "2"
    writer().write(one, iter([batch([1])]), float("inf"))
    writer("snappy").write(other, iter([batch([2])]), float("inf"))
    with pytest.raises(RunProblem, match="another Avro schema or codec"):
        writer().join([one, other], tmp_path / "whole")


def test_columns_that_cannot_be_written_are_told_at_the_start():
    with pytest.raises(RunProblem, match="'d' is INTERVAL, which Avro has no form"):
        writer(schema=Schema((Field("d", INTERVAL),)))


def test_a_row_that_no_reader_takes_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "MAX_BLOCK_BYTES", 2**20)
    rows = batch([1], [os.urandom(2**20).hex()])
    with pytest.raises(DataProblem, match="a row is larger than 1 MiB"):
        writer().write(tmp_path / "a", iter([rows]), float("inf"))
