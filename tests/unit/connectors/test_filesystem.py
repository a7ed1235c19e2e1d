"""Reading the files of a folder."""

import gzip
import json
import os
from datetime import UTC, datetime
from decimal import Decimal as Exact

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.connectors import CONNECTORS, TableSpec, _files
from arroyo_nb.connectors._folder_options import local_path
from arroyo_nb.errors import RunProblem, Unsupported
from arroyo_nb.formats.avro import files as avro_files
from arroyo_nb.formats.parquet import files as parquet_files
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    arrow_schema,
)

SCHEMA = Schema((Field("n", BIGINT), Field("s", TEXT)))


def recorder(path, schema=SCHEMA, *, event_time=None, key=(), **options):
    options = {"path": str(path), "format": "json", "bad_data": "fail", **options}
    spec = TableSpec("t", schema, options, event_time, key)
    return CONNECTORS.get("filesystem").recorder(spec)


def read(path, **options):
    return list(recorder(path, **options).chunks(None))


def numbers(chunks):
    return [n for chunk in chunks for n in chunk.rows["n"].to_pylist()]


def line(n):
    return json.dumps({"n": n, "s": "x" * (n % 7)}) + "\n"


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(line, rows)))


def write_parquet(path, rows, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = list(rows)
    table = pa.table({"s": [f"s{n}" for n in rows], "n": pa.array(rows, pa.int64())})
    pq.write_table(table, path, **options)


def write_avro(path, rows, block_bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]
    schema = fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})
    records = [{"n": n, "s": f"s{n}"} for n in rows]
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, "deflate", block_bytes)


def test_files_come_in_the_order_of_their_paths_without_hidden_ones(tmp_path):
    files = ["b.json", "a/z.json", "a/b=1/_x=2/y.txt", "c/d/e.json"]
    for n, name in enumerate(sorted(files)):
        write_lines(tmp_path / name, [2 * n, 2 * n + 1])
    for name in (".torn.json", "_tmp/x.json", "a/.b/x.json", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("not read")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path.as_uri(), f"{tmp_path}/"):
        assert numbers(read(path)) == list(range(8))
    assert numbers(read(tmp_path / "b.json")) == [4, 5]
    some = {"source.regex_pattern": r"^a/.*\.json$|e\."}
    assert numbers(read(tmp_path, **some)) == [2, 3, 6, 7]


def test_small_files_are_one_chunk(tmp_path):
    for n in range(50):
        write_lines(tmp_path / f"{n:02d}.json", [n])
    (chunk,) = read(tmp_path)
    assert numbers([chunk]) == list(range(50))
    assert len(set(chunk.rows["_arrival"].to_pylist())) == 1


@pytest.mark.parametrize(
    ("compression", "pack"),
    [
        ("gzip", gzip.compress),
        ("zstd", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    ],
)
def test_packed_files(tmp_path, compression, pack, monkeypatch):
    monkeypatch.setattr(_files, "LARGEST_CHUNK_BYTES", 1000)
    monkeypatch.setattr(_files, "FIRST_CHUNK_BYTES", 1000)
    halves = ["".join(map(line, rows)) for rows in (range(500), range(500, 900))]
    # Two members, the first of which ends within a line.
    text = "\ufeff" + halves[0]
    members = (text[:-3].encode(), (text[-3:] + halves[1]).encode())
    (tmp_path / "a").write_bytes(b"".join(map(pack, members)))
    (tmp_path / "b").write_bytes(pack(b'{"n": 900}'))
    given = {"source.compression": compression}
    chunks = read(tmp_path, **given)
    assert numbers(chunks) == list(range(901))
    for done, chunk in enumerate(chunks, 1):
        rest = recorder(tmp_path, **given).chunks(chunk.position)
        assert numbers(rest) == numbers(chunks[done:])
    (tmp_path / "a").write_bytes(pack(b'{"n": 0}\n'))
    with pytest.raises(RunProblem, match=r"shorter than what was read"):
        list(recorder(tmp_path, **given).chunks(chunks[3].position))
    (tmp_path / "a").write_bytes(b"not packed")
    with pytest.raises(RunProblem, match=r"cannot read '.*/a': .*(inflate|ZSTD)"):
        read(tmp_path, **given)
    (tmp_path / "a").write_bytes(pack(b'{"n": 0}\n' * 99)[:-9])
    with pytest.raises(RunProblem, match=r"cannot read '.*/a': Truncated"):
        read(tmp_path, **given)


def test_files_are_unpacked_by_their_first_bytes(tmp_path):
    for number, pack in enumerate(
        (gzip.compress, lambda d: pa.compress(d, codec="zstd", asbytes=True), bytes)
    ):
        # Whatever its name says.
        (tmp_path / f"{number}.gz").write_bytes(pack(b'{"n": %d}\n' % number))
    chunks = read(tmp_path)
    assert numbers(chunks) == [0, 1, 2]
    with pytest.raises(RunProblem, match=r"'.*/0.gz' is packed with gzip") as told:
        read(tmp_path, **{"source.compression": "none"})
    assert told.value.hint == "write 'source.compression' = 'gzip', or leave it out"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_of_another_encoding_is_told_as_such(tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "a").write_bytes((mark + '{"n": 0}\n').encode(encoding))
    with pytest.raises(RunProblem, match="is UTF-16, and lines are read as UTF-8"):
        read(tmp_path, bad_data="drop")


@settings(max_examples=25)
@given(
    files=st.lists(st.integers(0, 60), min_size=1, max_size=6),
    chunk_bytes=st.integers(1, 900),
    format_=st.sampled_from(["json", "parquet", "avro"]),
    # Of a row group or block a row, or some, or more than all at once.
    batch_bytes=st.sampled_from([60, 200, 600, 6_000]),
)
def test_from_every_position_the_same_chunks_come(
    tmp_path_factory, files, chunk_bytes, format_, batch_bytes
):
    folder = tmp_path_factory.mktemp("data")
    wanted = []
    for number, count in enumerate(files):
        rows = range(len(wanted), len(wanted) + count)
        wanted += rows
        if format_ == "json":
            write_lines(folder / f"{number}", rows)
        elif format_ == "avro":
            write_avro(folder / f"{number}", rows, block_bytes=40)
        else:
            write_parquet(folder / f"{number}", rows, row_group_size=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "FIRST_CHUNK_BYTES", chunk_bytes)
        patch.setattr(_files, "LARGEST_CHUNK_BYTES", 4 * chunk_bytes)
        patch.setattr(parquet_files, "BATCH_BYTES", batch_bytes)
        patch.setattr(avro_files, "PIECE_BYTES", max(1, batch_bytes // 20))
        chunks = read(folder, format=format_)
        assert numbers(chunks) == wanted
        every = 1 + len(chunks) // 20  # of hundreds, some
        for done, chunk in list(enumerate(chunks, 1))[::every]:
            position = json.loads(json.dumps(chunk.position))
            rest = list(recorder(folder, format=format_).chunks(position))
            assert [numbers([c]) for c in rest] == [numbers([c]) for c in chunks[done:]]
            assert [c.position for c in rest] == [c.position for c in chunks[done:]]


def test_other_files_are_not_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "LARGEST_CHUNK_BYTES", 1)
    for name in "abc":
        write_lines(tmp_path / name, [1, 2])
    middle = read(tmp_path)[2].position
    # What comes later is read, what was read is known.
    write_lines(tmp_path / "d", [5])
    assert numbers(recorder(tmp_path).chunks(middle)) == [2, 1, 2, 5]
    write_lines(tmp_path / "aa", [7])
    with pytest.raises(RunProblem, match="are others now"):
        list(recorder(tmp_path).chunks(middle))
    (tmp_path / "aa").unlink()
    (tmp_path / "b").write_text("")
    with pytest.raises(RunProblem, match=r"b' is shorter than what was read"):
        list(recorder(tmp_path).chunks(middle))


def test_changes_of_all_files_are_one_sequence(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "LARGEST_CHUNK_BYTES", 1)
    update = {"before": {"n": 1}, "after": {"n": 1, "s": "x"}, "op": "u"}
    for name in "abc":
        # The last line has no end.
        (tmp_path / name).write_text("\n".join([json.dumps(update)] * 3))
    made = recorder(tmp_path, format="debezium_json", key=("n",))
    chunks = list(made.chunks(None))
    rows = pa.concat_tables(chunk.rows for chunk in chunks)
    assert rows["_weight"].to_pylist() == [-1, 1] * 9
    sequence = rows["_sequence"].to_pylist()
    assert sequence == sorted(set(sequence))
    again = pa.concat_tables(c.rows for c in made.chunks(chunks[4].position))
    assert again["_sequence"].to_pylist() == sequence[-again.num_rows :]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_bad_line_is_named_by_its_file(tmp_path, compression):
    pack = gzip.compress if compression == "gzip" else bytes
    (tmp_path / "a").write_bytes(pack(b'{"n": 1}\n'))
    (tmp_path / "b").write_bytes(pack(b'{"n": 2}\n{"n": []}\n{"n": 3}'))
    options = {"source.compression": compression}
    with pytest.raises(RunProblem, match=r"/b:2: "):
        read(tmp_path, **options)
    (chunk,) = read(tmp_path, bad_data="drop", **options)
    assert numbers([chunk]) == [1, 2, 3]
    assert chunk.dropped_rows == 1
    assert [bad.place for bad in chunk.bad] == [f"{tmp_path}/b:2"]


def test_what_cannot_be_read_is_told_before_the_run_starts(tmp_path):
    with pytest.raises(RunProblem, match=r"there is no file '.*none'"):
        recorder(tmp_path / "none")
    (tmp_path / "_hidden").write_text("")
    with pytest.raises(RunProblem, match=r"there is no file in '[^']*'\n") as failed:
        recorder(tmp_path)
    assert "begin with" in failed.value.hint
    with pytest.raises(RunProblem, match=r"in '.*' whose path matches '\\.csv'"):
        recorder(tmp_path, **{"source.regex_pattern": r"\.csv"})


def test_a_secret_of_the_path_is_not_told(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a").write_text("oops")
    options = {"path": str(secret), "format": "json", "bad_data": "fail"}
    declared = {**options, "path": "{{ PLACE }}"}
    spec = TableSpec("t", SCHEMA, options, declared=declared)
    with pytest.raises(RunProblem) as failed:
        list(CONNECTORS.get("filesystem").recorder(spec).chunks(None))
    assert str(failed.value).startswith("{{ PLACE }}/a:1: ")
    spec = TableSpec("t", SCHEMA, {**options, "path": "s3://secret"}, declared=declared)
    connector = CONNECTORS.get("filesystem")
    for use in (connector.recorder, lambda spec: connector.writer(spec, tmp_path)):
        with pytest.raises(Unsupported, match=r"'{{ PLACE }}' is not local") as refused:
            use(spec)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "path", ["s3://bucket/x", "abfs://a@b/x", "r2://x", "file://host/x"]
)
def test_only_local_paths(path):
    with pytest.raises(Unsupported, match=r"is not local"):
        local_path(path)


DECLARED = Schema(
    (
        Field("flag", BOOLEAN),
        Field("small", INT),
        Field("big", BIGINT_UNSIGNED),
        Field("x", DOUBLE),
        Field("money", Decimal(10, 2)),
        Field("text", TEXT),
        Field("bytes", BYTEA),
        Field("at", Timestamp()),
        Field("day", DATE),
        Field("list", ListOf(INT)),
        Field("row", StructOf((Field("a", TEXT), Field("b", Timestamp())))),
    )
)


def test_parquet_of_other_widths_and_units(tmp_path):
    at = datetime(2023, 1, 2, 3, 4, 5, 678_000)
    row = {
        "row": {"b": at, "a": "y", "more": 1},
        "small": 1,
        "flag": True,
        "big": 2,
        "x": 3,
        "money": Exact("4.50"),
        "text": "five",
        "bytes": b"6",
        "at": at,
        "day": at.date(),
        "list": [7, None],
        "other": "not read",
    }
    types = {
        "row": pa.struct(
            {"b": pa.timestamp("ms"), "a": pa.large_string(), "more": pa.int8()}
        ),
        "small": pa.int64(),
        "big": pa.int16(),
        "x": pa.int32(),
        "money": pa.decimal128(20, 4),
        "text": pa.dictionary(pa.int32(), pa.string()),
        "bytes": pa.large_binary(),
        "at": pa.timestamp("ns", "Europe/Copenhagen"),
        "list": pa.large_list(pa.int64()),
    }
    local = at.replace(tzinfo=UTC)
    columns = {
        name: pa.array([local if name == "at" else value, None], types.get(name))
        for name, value in row.items()
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    (chunk,) = read(tmp_path, schema=DECLARED, format="parquet")
    rows = chunk.rows.drop_columns(["_arrival", "_timestamp"])
    assert rows.schema == arrow_schema(DECLARED)
    first, second = rows.to_pylist()
    row["row"].pop("more")
    assert first == {name: row[name] for name in DECLARED.names}
    assert set(second.values()) == {None}


def test_parquet_of_another_schema(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text('{"n": 1}\n')
    with pytest.raises(RunProblem, match=r"a\.parquet' is not a Parquet file: "):
        recorder(path, format="parquet")
    path.write_bytes(b"")
    with pytest.raises(RunProblem, match=r"a\.parquet' is not a Parquet file: "):
        recorder(path, format="parquet")
    pq.write_table(pa.table({"n": [1], "ss": ["x"]}), path)
    with pytest.raises(RunProblem, match=r"has no column 's'") as failed:
        recorder(path, format="parquet")
    assert failed.value.hint.startswith("did you mean 'ss'? Or write 'parquet.mi")
    pq.write_table(pa.table({"n": ["1"], "s": ["x"]}), path)
    with pytest.raises(RunProblem, match=r"'n' of '.*' is of the type string, and BIG"):
        recorder(path, format="parquet")
    # A later one is told when it is its turn, with its name.
    write_parquet(path, [1])
    pq.write_table(pa.table({"n": [1]}), tmp_path / "b.parquet")
    with pytest.raises(RunProblem, match=r"b\.parquet' has no column 's'"):
        read(tmp_path, format="parquet")


def test_bad_rows_of_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "BATCH_BYTES", 200)
    schema = Schema((Field("n", INT, nullable=False), Field("at", Timestamp())))
    at = datetime(2023, 1, 1)
    n = [*range(30), 2**40, *range(30, 50), None, 50]
    ats = [*[at] * 40, None, *[at] * 12]
    table = pa.table({"n": n, "at": pa.array(ats, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a", row_group_size=11)
    options = {"schema": schema, "event_time": "at", "format": "parquet"}
    with pytest.raises(RunProblem, match=r"/a:31: .*value 1099511627776 does not fit"):
        read(tmp_path, **options)
    chunks = read(tmp_path, bad_data="drop", **options)
    bad = [row for chunk in chunks for row in chunk.bad]
    assert [row.place.rsplit(":")[-1] for row in bad] == ["31", "41", "52"]
    assert "'at' is NOT NULL" in bad[1].reason
    assert "'n': None" in bad[2].text
    assert sum(chunk.dropped_rows for chunk in chunks) == 3
    assert numbers(chunks) == [*range(39), *range(40, 51)]


def test_a_large_row_group_needs_little_memory(tmp_path):
    path = tmp_path / "a.parquet"
    text = pa.array([os.urandom(500).hex() for _ in range(1000)])
    rows = pa.table({"n": pa.nulls(1000, pa.int64()), "s": text})
    table = pa.concat_tables([rows] * 60)
    pq.write_table(table, path, compression="none", use_dictionary=False)
    size = table.nbytes
    del table, rows
    before = pa.total_allocated_bytes()
    most = count = 0
    for chunk in recorder(path, format="parquet").chunks(None):
        count += chunk.rows.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert count == 60_000
    assert most < 40 * 2**20 < size


def _held(shape, times):
    """The times as a column of a shape, and its declared type."""
    made = {
        "plain": (Timestamp(6), lambda t: t),
        "list": (ListOf(Timestamp(6)), lambda t: [t]),
        "struct": (StructOf((Field("f", Timestamp(6)),)), lambda t: {"f": t}),
    }
    type_, of = made[shape]
    stored = {
        "plain": lambda unit: unit,
        "list": pa.list_,
        "struct": lambda unit: pa.struct([pa.field("f", unit)]),
    }[shape]
    return type_, of, lambda unit: pa.array(map(of, times), stored(unit))


@pytest.mark.parametrize("shape", ["plain", "list", "struct"])
@pytest.mark.parametrize("int96", [True, False])
def test_times_of_parquet_are_exact_in_all_years_that_can_be_shown(
    tmp_path, shape, int96
):
    times = [
        datetime(1, 1, 1),
        datetime(1677, 9, 20, 23, 59, 59, 999999),
        datetime(2262, 4, 12),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        None,
    ]
    type_, of, column = _held(shape, times)
    table = pa.table({"t": column(pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=int96)
    schema = Schema((Field("t", type_),))
    (chunk,) = recorder(tmp_path, schema, format="parquet").chunks(None)
    assert chunk.rows["t"].to_pylist() == list(map(of, times))


@pytest.mark.parametrize("shape", ["plain", "list", "struct"])
@pytest.mark.parametrize("int96", [True, False])
@pytest.mark.parametrize(
    "beyond_s",
    # Below and above the years that can be shown; beyond microseconds in 64 bits.
    [253_402_300_800, -62_135_596_801, 10**13, 10**14],
)
def test_a_time_of_parquet_that_cannot_be_shown_is_bad_data(
    tmp_path, shape, int96, beyond_s
):
    type_, of, column = _held(shape, [0, beyond_s, 1])
    # Parquet has no seconds: pyarrow writes them as INT96, or as milliseconds.
    pq.write_table(
        pa.table({"t": column(pa.timestamp("s"))}),
        tmp_path / "a.parquet",
        use_deprecated_int96_timestamps=int96,
    )
    schema = Schema((Field("t", type_),))
    (chunk,) = recorder(tmp_path, schema, format="parquet", bad_data="drop").chunks(
        None
    )
    wanted = [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 1)]
    assert chunk.rows["t"].to_pylist() == list(map(of, wanted))
    (bad,) = chunk.bad
    assert bad.place.endswith("a.parquet:2")
    assert "does not fit into" in bad.reason
    with pytest.raises(RunProblem, match="does not fit into"):
        list(recorder(tmp_path, schema, format="parquet").chunks(None))
