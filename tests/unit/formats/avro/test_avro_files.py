"""Container files in a folder: what fastavro writes is read, however it is damaged."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal as Number10
from uuid import UUID

import fastavro
import pytest
from avro_records import PACKED, UNSTRUCTURED, container, record
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.connectors import CONNECTORS, TableSpec
from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats.avro import file_blocks, files
from arroyo_nb.formats.avro.cursor import Cursor
from arroyo_nb.formats.avro.encode import varint
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
)
from arroyo_nb.tape import KEPT_BAD_ROWS

COLUMNS = Schema((Field("n", BIGINT), Field("s", TEXT)))
WRITTEN = record(n="long", s=["null", "string"])


def recorder(path, schema=COLUMNS, event_time=None, **options):
    options = {"path": str(path), "format": "avro", "bad_data": "fail", **options}
    return CONNECTORS.get("filesystem").recorder(
        TableSpec("t", schema, options, event_time)
    )


def read(path, schema=COLUMNS, event_time=None, **options):
    return list(recorder(path, schema, event_time, **options).chunks(None))


def rows(chunks):
    names = [n for n in chunks[0].rows.column_names if not n.startswith("_")]
    return [
        tuple(row.values())
        for chunk in chunks
        for row in chunk.rows.select(names).to_pylist()
    ]


def numbers(chunks):
    return [row[0] for row in rows(chunks)]


def bad(chunks):
    return [row for chunk in chunks for row in chunk.bad]


def dropped(chunks):
    return sum(chunk.dropped_rows for chunk in chunks)


def written(path, values, schema=WRITTEN, block_bytes=16_000, codec="null"):
    """A file with values, a block each where ``block_bytes`` is 1."""
    with path.open("wb") as out:
        parsed = fastavro.parse_schema(schema)
        fastavro.writer(out, parsed, values, codec, sync_interval=block_bytes)
    return path


def some(count, first=0):
    return [{"n": n, "s": f"text {n}"} for n in range(first, first + count)]


AT = datetime(2024, 2, 29, 1, 2, 3, 4_000, UTC)
EVERY = record(
    yes="boolean",
    few="int",
    many="long",
    half="float",
    whole="double",
    name="string",
    raw="bytes",
    fixed={"type": "fixed", "name": "F", "size": 3},
    kind={"type": "enum", "name": "E", "symbols": ["A", "B"]},
    price={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    share={
        "type": "fixed",
        "name": "D",
        "size": 8,
        "logicalType": "decimal",
        "precision": 18,
        "scale": 4,
    },
    day={"type": "int", "logicalType": "date"},
    milli={"type": "long", "logicalType": "timestamp-millis"},
    micro={"type": "long", "logicalType": "timestamp-micros"},
    id={"type": "string", "logicalType": "uuid"},
    maybe=["null", "long"],
    either=["int", "string"],
    tags={"type": "array", "items": ["null", "string"]},
    more={"type": "map", "values": "int"},
    inner={
        "type": "record",
        "name": "I",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "I"]}],
    },
    unread={"type": "array", "items": "string"},
)
TYPES = {
    "yes": BOOLEAN,
    "few": INT,
    "many": BIGINT,
    "half": FLOAT,
    "whole": DOUBLE,
    "name": TEXT,
    "raw": BYTEA,
    "fixed": BYTEA,
    "kind": TEXT,
    "price": Decimal(9, 2),
    "share": Decimal(18, 4),
    "day": Timestamp(),
    "milli": Timestamp(3),
    "micro": Timestamp(),
    "id": TEXT,
    "maybe": BIGINT,
    "either": JSON,
    "tags": ListOf(TEXT),
    "more": ListOf(StructOf((Field("key", TEXT), Field("value", INT)))),
    "inner": StructOf((Field("a", INT), Field("b", StructOf((Field("a", INT),))))),
    "absent": INT,
}


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", *PACKED])
def test_every_type_and_codec_of_fastavro_is_read(tmp_path, codec):
    value = {
        "yes": True,
        "few": -1,
        "many": 2**40,
        "half": 0.5,
        "whole": 1e300,
        "name": "Århus",
        "raw": b"\xff",
        "fixed": b"abc",
        "kind": "B",
        "price": Number10("-12.30"),
        "share": Number10("1.2345"),
        "day": date(1969, 12, 31),
        "milli": AT,
        "micro": AT,
        "id": UUID(int=7),
        "maybe": None,
        "either": "x",
        "tags": ["a", None],
        "more": {"k": 1},
        "inner": {"a": 1, "b": {"a": 2, "b": None}},
        "unread": ["x"] * 3,
    }
    path = tmp_path / "a.avro"
    path.write_bytes(container(EVERY, value, value, codec=codec))
    schema = Schema(tuple(Field(name, type_) for name, type_ in TYPES.items()))
    found = rows(read(tmp_path, schema))
    at = AT.replace(tzinfo=None)
    given = {
        **{name: value[name] for name in TYPES if name in value},
        "day": datetime(1969, 12, 31),
        "milli": at,
        "micro": at,
        "id": str(UUID(int=7)),
        "either": '"x"',
        "absent": None,
        "more": [{"key": "k", "value": 1}],
        "inner": {"a": 1, "b": {"a": 2}},
    }
    assert found == [tuple(given[name] for name in TYPES)] * 2


def test_files_of_several_schemas_are_one_table(tmp_path):
    written(tmp_path / "a.avro", some(3))
    wider = record(more="string", n="int")
    written(tmp_path / "b.avro", [{"n": 7, "more": "x"}], wider)
    assert rows(read(tmp_path)) == [
        *((n, f"text {n}") for n in range(3)),
        (7, None),
    ]


def test_a_record_as_json(tmp_path):
    written(tmp_path / "a.avro", some(2))
    found = read(tmp_path, Schema((Field("value", JSON),)), **{UNSTRUCTURED: True})
    assert [json.loads(text) for (text,) in rows(found)] == some(2)


def test_empty_files_and_blocks_have_no_rows(tmp_path):
    written(tmp_path / "a.avro", [])
    path = written(tmp_path / "b.avro", some(1))
    header, begin = file_blocks.read_file_header(io.BytesIO(path.read_bytes()))
    data = path.read_bytes()
    path.write_bytes(data[:begin] + b"\0\0" + header.sync + data[begin:])
    assert numbers(read(tmp_path)) == [0]


def test_what_is_no_container_ends_the_run_or_is_one_bad_record(tmp_path):
    (tmp_path / "a.avro").write_bytes(b"")
    (tmp_path / "b.avro").write_bytes(b"PAR1" * 30_000)
    whole = written(tmp_path / "c.avro", some(3)).read_bytes()
    (tmp_path / "d.avro").write_bytes(whole[:60])
    broken = whole.replace(b'"long"', b'"lang"')
    (tmp_path / "e.avro").write_bytes(broken)
    with pytest.raises(RunProblem, match=r"a\.avro' is not an Avro file: invalid"):
        recorder(tmp_path)
    found = read(tmp_path, bad_data="drop")
    assert numbers(found) == [0, 1, 2]
    # The last one has blocks that say how many records are lost.
    assert dropped(found) == 6
    reasons = {row.origin[-6:]: row.reason for row in bad(found)}
    assert "does not begin as a container" in reasons["a.avro"]
    assert "does not begin as a container" in reasons["b.avro"]
    assert "bytes are announced" in reasons["d.avro"]
    assert "the type 'lang' is not known" in reasons["e.avro"]


def _header(*entries):
    """A header of blocks of entries, one block each; a number is the count alone."""
    blocks = [
        varint(entry)
        if isinstance(entry, int)
        else varint(1) + b"".join(varint(len(part)) + part for part in entry)
        for entry in entries
    ]
    return b"Obj\x01" + b"".join(blocks)


EMPTY = (b"", b"")
SCHEMA_ENTRY = (b"avro.schema", json.dumps(WRITTEN).encode())


@pytest.mark.parametrize(
    "begin",
    [
        _header(2**40) + b"\0\0" * 2**20,
        _header(-(2**40), 0) + b"\0\0" * 2**20,
        _header(*[EMPTY] * 10_000, SCHEMA_ENTRY),
        _header(*[EMPTY] * 1_000, SCHEMA_ENTRY, 0) + bytes(16),
    ],
)
def test_a_header_of_many_entries_is_refused_soon(tmp_path, begin, monkeypatch):
    taken = []
    take = Cursor.take
    monkeypatch.setattr(
        Cursor, "take", lambda self, size: taken.append(size) or take(self, size)
    )
    (tmp_path / "a.avro").write_bytes(begin)
    found = read(tmp_path, bad_data="drop")
    assert dropped(found) == 1
    assert "the header has more than 1,000 entries" in bad(found)[0].reason
    # Not once for each doubling of what is read of the file.
    assert len(taken) < 20_000


def test_a_header_of_as_many_entries_as_are_allowed_is_read(tmp_path):
    whole = written(tmp_path / "a.avro", some(2)).read_bytes()
    header, begin = file_blocks.read_file_header(io.BytesIO(whole))
    more = _header(*[EMPTY] * 999, SCHEMA_ENTRY, 0) + header.sync
    (tmp_path / "a.avro").write_bytes(more + whole[begin:])
    assert numbers(read(tmp_path)) == [0, 1]


def test_a_header_that_is_too_large_is_refused_with_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks, "MAX_HEADER_BYTES", 100_000)
    large = (b"more", bytes(300_000))
    path = tmp_path / "a.avro"
    path.write_bytes(_header(large, SCHEMA_ENTRY, 0) + bytes(16))
    with pytest.raises(RunProblem, match="at most 100,000 bytes of a header are read"):
        read(path)


def test_a_schema_without_the_columns_is_told_with_its_file(tmp_path):
    written(tmp_path / "a.avro", [{"n": "x"}] * 1_100, record(n="string"), 1)
    written(tmp_path / "b.avro", some(2))
    with pytest.raises(DataProblem, match=r"a\.avro:1: .*'n' is BIGINT, the schema"):
        recorder(tmp_path)
    found = read(tmp_path, bad_data="drop")
    assert numbers(found) == [0, 1]
    assert dropped(found) == 1_100
    assert len(bad(found)) == KEPT_BAD_ROWS


def test_a_bad_record_is_left_out_by_itself(tmp_path):
    values = some(50)
    values[30]["n"] = 2**40
    written(tmp_path / "a.avro", values, codec="deflate")
    narrow = Schema((Field("n", INT), Field("s", TEXT)))
    with pytest.raises(DataProblem, match=r"a\.avro:31: .*1099511627776.*text 30"):
        read(tmp_path, narrow)
    found = read(tmp_path, narrow, bad_data="drop")
    assert numbers(found) == [n for n in range(50) if n != 30]
    (row,) = bad(found)
    assert (row.line, json.loads(row.text)) == (31, values[30])


def test_a_missing_event_time_is_bad_data(tmp_path):
    at = ["null", {"type": "long", "logicalType": "timestamp-millis"}]
    values = [{"at": AT}, {"at": None}]
    written(tmp_path / "a.avro", values, record(at=at))
    schema = Schema((Field("at", Timestamp()),))
    found = read(tmp_path, schema, "at", bad_data="drop")
    assert len(rows(found)) == 1
    assert "the event time 'at' is missing" in bad(found)[0].reason


@pytest.fixture
def blocks(tmp_path):
    """A file of ten blocks of one record, and where each begins."""
    path = written(tmp_path / "a.avro", some(10), block_bytes=1)
    begins = []
    with path.open("rb") as stream:
        header, begin = file_blocks.read_file_header(stream)
        while begin < path.stat().st_size:
            begins.append(begin)
            begin = file_blocks.read_block(stream, begin, header.sync).end
    assert len(begins) == 10
    return path, begins


@pytest.mark.parametrize(
    ("at", "byte", "lost"),
    [
        (0, 0xFF, [4]),  # the count is another number, and so is what follows
        (1, 0x7F, [4]),  # the size is negative
        (1, 0x02, [4]),  # the size is another one
        (-1, 0, [3, 4]),  # the marker before it
    ],
)
def test_behind_a_damaged_block_reading_goes_on(blocks, at, byte, lost):
    path, begins = blocks
    data = bytearray(path.read_bytes())
    data[begins[4] + at] ^= byte or 0xFF
    path.write_bytes(data)
    with pytest.raises(DataProblem, match=r"a\.avro:\d: invalid Avro"):
        read(path)
    found = read(path, bad_data="drop")
    assert numbers(found) == [n for n in range(10) if n not in lost]
    assert dropped(found) == 1
    assert bad(found)[0].origin.endswith("a.avro")


def test_a_file_that_was_cut_off_is_read_up_to_there(blocks):
    path, begins = blocks
    data = path.read_bytes()
    for size in range(begins[8] + 1, begins[9]):
        path.write_bytes(data[:size])
        found = read(path, bad_data="drop")
        assert numbers(found) == list(range(8))
        assert dropped(found) == 1
    with pytest.raises(DataProblem, match="damaged between the bytes"):
        read(path)


def test_a_block_that_does_not_unpack_is_counted_by_its_records(tmp_path):
    path = written(tmp_path / "a.avro", some(7), codec="deflate")
    data = path.read_bytes()
    _, begin = file_blocks.read_file_header(io.BytesIO(data))
    path.write_bytes(data[: begin + 2] + b"\xff\xff" + data[begin + 4 :])
    found = read(path, bad_data="drop")
    assert (found[0].rows.num_rows, dropped(found)) == (0, 7)
    assert "no deflate" in bad(found)[0].reason


def test_counts_and_sizes_that_cannot_be_are_damage(tmp_path):
    path = tmp_path / "a.avro"
    empty = {"type": "record", "name": "R", "fields": []}
    data = written(path, [{}] * 3, empty).read_bytes()
    header, _ = file_blocks.read_file_header(io.BytesIO(data))
    huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\0" + header.sync
    path.write_bytes(data + huge)
    found = read(path, bad_data="drop")
    assert (len(rows(found)), dropped(found)) == (3, 1)
    assert "more records than its bytes can hold" in bad(found)[0].reason


def _block(count, data, sync):
    return varint(count) + varint(len(data)) + data + sync


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz", *PACKED])
@pytest.mark.parametrize("schema", [WRITTEN, record(n="string")])
def test_an_impossible_count_of_a_block_that_is_not_read_is_one(
    tmp_path, codec, schema
):
    values = [{"n": "x" if schema != WRITTEN else 5, "s": None}]
    path = tmp_path / "a.avro"
    path.write_bytes(container(schema, *values, codec=codec))
    data = path.read_bytes()
    header, begin = file_blocks.read_file_header(io.BytesIO(data))
    junk = [_block(2**62, b"\xff\xff", header.sync)] * 3
    path.write_bytes(data[:begin] + b"".join(junk) + data[begin:])
    found = read(path, bad_data="drop")
    assert dropped(found) == (3 if schema == WRITTEN else 4)
    assert [row.line for row in bad(found)] == [1, 2, 3, 4][: dropped(found)]
    assert found[-1].rows.num_rows == (schema == WRITTEN)


def test_the_count_of_a_block_is_bounded_by_what_its_codec_makes_of_it(tmp_path):
    # Deflate makes at most 1,032 bytes of one.
    most = 1_000 + 4 * 1_032 * 2
    for count, lost in ((most, most), (most + 1, 1)):
        path = written(tmp_path / "a.avro", [], codec="deflate")
        header, _ = file_blocks.read_file_header(io.BytesIO(path.read_bytes()))
        with path.open("ab") as out:
            out.write(_block(count, b"\xff\xff", header.sync))
        assert dropped(read(path, bad_data="drop")) == lost


def test_a_block_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks, "MAX_BLOCK_BYTES", 1_000)
    values = [*some(2), {"n": 2, "s": "x" * 2_000}, *some(2, 3)]
    path = written(tmp_path / "a.avro", values, block_bytes=1)
    found = read(tmp_path, bad_data="drop")
    assert numbers(found) == [0, 1, 3, 4]
    assert "at most 1,000 are read" in bad(found)[0].reason
    assert dropped(found) == 1
    header, begin = file_blocks.read_file_header(io.BytesIO(path.read_bytes()))
    path.write_bytes(
        path.read_bytes()[:begin] + _block(2**62, bytes(2_000), header.sync)
    )
    assert dropped(read(tmp_path, bad_data="drop")) == 1


@settings(max_examples=100)
@given(damage=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4))
def test_whatever_is_damaged_other_blocks_are_read(tmp_path_factory, damage):
    folder = tmp_path_factory.mktemp("files")
    path = written(folder / "a.avro", some(60), block_bytes=30, codec="deflate")
    data = bytearray(path.read_bytes())
    _, begin = file_blocks.read_file_header(io.BytesIO(data))
    spots = [begin + int(at * (len(data) - begin - 1)) for at, _ in damage]
    for spot, (_, byte) in zip(spots, damage, strict=True):
        data[spot] = byte
    path.write_bytes(data)
    found = read(path, bad_data="drop")
    good = [n for n in numbers(found) if 0 <= n < 60]
    # Damage loses its own block and the next one, each of four records at most, or
    # changes values that nothing guards.
    assert len(set(good)) >= 60 - 8 * len(damage)
    assert all(row.place.startswith(f"{path}:") for row in bad(found))


def test_another_file_is_not_gone_on_with(tmp_path):
    path = written(tmp_path / "a.avro", some(20_000))
    first = next(recorder(path).chunks(None))
    written(path, some(20_000))
    with pytest.raises(RunProblem, match="is not the file that was read before"):
        next(recorder(path).chunks(first.position))


def test_a_large_file_needs_little_memory(tmp_path):
    path = tmp_path / "a.avro"
    values = ({"n": n, "s": os.urandom(200).hex()} for n in range(100_000))
    written(path, values, block_bytes=8 * 2**20)
    size = path.stat().st_size
    assert size > 38 * 2**20
    tracemalloc.start()
    count = 0
    with files.AvroReader(_columns(), drop=False).open(_listed(path), None) as reading:
        while (piece := reading.read(2**24)) is not None:
            count += piece.decoded.rows.num_rows
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    # A block, the one before it, and the rows of a piece.
    assert most < 30 * 2**20


def _columns():
    from arroyo_nb.formats.avro.payloads import Columns

    return Columns(COLUMNS, None, document=False)


def _listed(path):
    from arroyo_nb.formats import ListedFile

    return ListedFile(path, str(path))


def test_long_names_of_a_schema_do_not_become_gigabytes(tmp_path):
    symbol = "A" * 2**20
    kind = {"type": "enum", "name": "E", "symbols": [symbol]}
    written(tmp_path / "a.avro", [{"s": symbol}] * 300, record(s=kind))
    schema = Schema((Field("s", TEXT),))
    chunks = recorder(tmp_path, schema).chunks(None)
    sizes = [chunk.rows.nbytes for chunk in chunks]
    assert max(sizes) < 20 * 2**20
    assert sum(sizes) > 300 * 2**20


def _read_changed(path, change, columns=None, *, drop=True):
    """The rows and the bad rows of a file that is changed after its first piece."""
    reader = files.AvroReader(columns or _columns(), drop=drop)
    with reader.open(_listed(path), None) as reading:
        pieces = [reading.read(1_000)]
        change()
        # A reader that makes no progress would never come to None.
        for _ in range(1_000):
            if (piece := reading.read(2**20)) is None:
                break
            pieces.append(piece)
        else:
            raise AssertionError("the reader does not come to an end")
        decoded = [piece.decoded for piece in pieces]
        read_ = [n for piece in decoded for n in piece.rows["n"].to_pylist()]
        return read_, sum(piece.dropped_rows for piece in decoded), reading, decoded


@pytest.mark.parametrize("size", [0, 5_000, 150_000, "at a marker", "in a marker"])
def test_a_file_that_becomes_shorter_while_it_is_read_ends_there(tmp_path, size):
    path = written(tmp_path / "a.avro", some(30_000), block_bytes=50_000)
    if isinstance(size, str):
        with path.open("rb") as stream:
            header, begin = file_blocks.read_file_header(stream)
            for _ in range(3):
                begin = file_blocks.read_block(stream, begin, header.sync).end
        size = begin - 5 * (size == "in a marker")
    read_, lost, reading, decoded = _read_changed(path, lambda: os.truncate(path, size))
    assert read_ == list(range(len(read_)))
    assert 0 < len(read_) < 30_000
    assert lost == 1
    (row,) = [row for piece in decoded for row in piece.bad]
    assert row.reason == files.SHORTER_FILE
    assert row.line == len(read_) + 1 == reading.records
    # A restart goes on behind it, unless the file lost what was read before.
    place = reading.place
    if size >= 150_000:
        reader = files.AvroReader(_columns(), drop=True)
        with reader.open(_listed(path), place) as again:
            assert again.read(2**20) is None


def test_a_file_that_becomes_shorter_ends_a_run_that_drops_nothing(tmp_path):
    path = written(tmp_path / "a.avro", some(30_000), block_bytes=50_000)
    with pytest.raises(DataProblem, match=r"a\.avro:\d+: the file became shorter"):
        _read_changed(path, lambda: os.truncate(path, 150_000), drop=False)


@pytest.mark.parametrize("count", [100, 30_000, 60_000])
def test_a_file_that_is_rewritten_while_it_is_read_comes_to_an_end(tmp_path, count):
    path = written(tmp_path / "a.avro", some(30_000), block_bytes=50_000)
    read_, lost, _, _ = _read_changed(
        path, lambda: written(path, some(count), block_bytes=50_000)
    )
    assert 0 < len(read_) < 30_000
    assert lost == 1


def test_a_block_that_is_damaged_between_two_runs_is_counted_once(tmp_path):
    path = written(tmp_path / "a.avro", some(1_000), block_bytes=2**20)
    reader = files.AvroReader(_columns(), drop=True)
    with reader.open(_listed(path), None) as reading:
        first = reading.read(1_000)
        place = reading.place
    rows_before = first.decoded.rows.num_rows
    assert 1 < rows_before < 1_000
    os.truncate(path, path.stat().st_size - 1)
    with reader.open(_listed(path), place) as reading:
        assert reading.read(2**20).decoded.dropped_rows == 1
        assert reading.records == rows_before + 1
        assert reading.read(2**20) is None
