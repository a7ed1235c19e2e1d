"""Writing the files of a folder; the rows come without Spark."""

import gzip
import itertools
import json
import os
import re
import shutil
import uuid
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb import sink_notes as _notes
from arroyo_nb.connectors import CONNECTORS, TableSpec, _folder_writer
from arroyo_nb.connectors import _part_files as _parts
from arroyo_nb.connectors._file_names import STRATEGIES, FileNames
from arroyo_nb.connectors._part_files import KEY, LineParts
from arroyo_nb.connectors._partitions import Partitioning
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats.avro.encode import RowEncoder
from arroyo_nb.schema import BIGINT, TEXT, Field, Schema

SCHEMA = Schema((Field("n", BIGINT), Field("s", TEXT)))
DEFAULTS = {
    "parquet.compression": "zstd",
    "parquet.row_group_size": 2**27,
    "avro.compression": "deflate",
}


@pytest.fixture(autouse=True)
def batches(monkeypatch):
    """A batch is what Spark would give."""
    monkeypatch.setattr(LineParts, "rows", lambda _, rows: rows)


def lines(*rows, keys=None):
    """A batch of lines, in pieces of one row."""
    tables = [
        pa.table({"value": [f"{row}"], KEY: [json.dumps(key)]})
        for row, key in zip(rows, keys or [[]] * len(rows), strict=True)
    ]
    return pa.concat_tables(tables) if tables else lines(0).slice(1)


def datums(rows):
    """A batch of lines as one of Avro, each line its column ``s``."""
    texts = rows["value"].combine_chunks()
    made = RowEncoder(SCHEMA).datums([pa.nulls(len(texts), pa.int64()), texts])
    return pa.table({"value": made, KEY: rows[KEY]})


def opened(root, state, user="run 'a' of process 1", **options):
    options = {"path": str(root), "format": "json", **DEFAULTS, **options}
    spec = TableSpec("t", SCHEMA, options, user=user)
    return CONNECTORS.get("filesystem").writer(spec, state)


def option(**names):
    """Options whose names have dots: two underscores stand for one."""
    return {name.replace("__", "."): value for name, value in names.items()}


def files(root):
    """The files that a reader would see."""
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(p for p in found if not hidden(p.relative_to(root)))


def hidden(path):
    return any(part.startswith(".") for part in path.parts)


def seen(root):
    """The lines of the files, each with its folder."""
    found = Counter()
    for path in files(root):
        folder = str(path.parent.relative_to(root))
        if path.suffix == ".avro":
            with path.open("rb") as file:
                found.update((folder, record["s"]) for record in fastavro.reader(file))
            continue
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
            found.update((folder, line.rstrip("\n")) for line in file)
    return found


def test_each_batch_is_a_file_and_nothing_is_left(tmp_path):
    root = tmp_path / "new" / "out"
    writer = opened(root, tmp_path / "state")
    assert not writer.timed
    writer.take(lines(1, 2), 0)
    writer.take(lines(), 1)
    writer.take(lines(3), 2)
    assert seen(root) == Counter((".", row) for row in "123")
    assert len(files(root)) == 2
    writer.close()
    writer.close()
    assert len(list(root.iterdir())) == 2
    # Another run adds to what is there.
    other = opened(root, tmp_path / "other")
    other.take(lines(1), 0)
    other.close()
    assert len(files(root)) == 3


def test_a_batch_that_comes_again_is_there_already(tmp_path):
    first = opened(tmp_path / "out", tmp_path / "state")
    first.take(lines(1), 0)
    first.take(lines(2, 3), 1)
    names = files(tmp_path / "out")
    again = opened(tmp_path / "out", tmp_path / "state")
    again.take(lines(3, 2), 1)
    assert files(tmp_path / "out") == names
    again.take(lines(4), 2)
    again.close()
    assert seen(tmp_path / "out") == Counter((".", row) for row in "1234")


def test_folders_of_partitions(tmp_path):
    options = option(partitioning__fields=("town", "n"))
    writer = opened(tmp_path, tmp_path / ".state", **options)
    keys = [["a/b", "1"], [None, "2"], ["a/b", "1"], ["..", ""]]
    writer.take(lines(*"xyzw", keys=keys), 0)
    nothing = "__HIVE_DEFAULT_PARTITION__"
    assert seen(tmp_path) == Counter(
        {
            ("town=a%2Fb/n=1", "x"): 1,
            ("town=a%2Fb/n=1", "z"): 1,
            (f"town={nothing}/n=2", "y"): 1,
            (f"town=../n={nothing}", "w"): 1,
        }
    )
    assert len(files(tmp_path)) == 3
    writer.close()


def test_time_comes_before_fields(tmp_path):
    options = option(partitioning__time_pattern="%Y/%m", partitioning__fields=("town",))
    writer = opened(tmp_path, tmp_path / ".state", **options)
    assert writer.timed
    writer.take(lines("x", keys=[["2023/02", "a"]]), 0)
    writer.close()
    assert seen(tmp_path) == Counter({("2023/02/town=a", "x"): 1})


def test_a_file_is_whole_at_its_size(tmp_path):
    options = option(rolling_policy__file_size=6)
    writer = opened(tmp_path, tmp_path / ".state", **options)
    writer.take(lines("a"), 0)
    writer.take(lines("b"), 1)
    assert files(tmp_path) == []
    # Two more fill the first file, four fill one by themselves, and one is left.
    writer.take(lines(*"cdefghi"), 2)
    assert sorted(path.read_text() for path in files(tmp_path)) == [
        "a\nb\nc\n",
        "d\ne\nf\n",
        "g\nh\ni\n",
    ]
    writer.take(lines("j"), 3)
    writer.close()
    assert seen(tmp_path) == Counter((".", row) for row in "abcdefghij")
    assert not list(tmp_path.glob(".arroyo-*"))


@pytest.mark.parametrize(
    ("policy", "ages"),
    [
        ("rolling_policy.interval", [0, 40, 59, 61]),
        ("rolling_policy.inactivity_interval", [0, 40, 99, 160]),
    ],
)
def test_a_file_is_whole_in_time(tmp_path, monkeypatch, policy, ages):
    clock = iter(ages)
    monkeypatch.setattr(_folder_writer.time, "time", lambda: next(clock))
    fields = option(partitioning__fields=("k",))
    options = {policy: timedelta(seconds=60), **fields}
    # a is written to in the first three batches, b lets the time go on.
    for batch in range(len(ages)):
        writer = opened(tmp_path, tmp_path / ".state", **options)
        key = "b" if batch == 3 else "a"
        writer.take(lines(batch, keys=[[key]]), batch)
        found = seen(tmp_path)
    assert found == Counter(("k=a", row) for row in "012")
    assert len(files(tmp_path)) == 1
    writer.close()
    assert seen(tmp_path)[("k=b", "3")] == 1


class Killed(BaseException):
    """The process ends here."""


STEPS = ((os, "replace"), (os, "unlink"), (os, "mkdir"), (os, "fsync"), (os, "rmdir"))
"""All that a writer does to the disk but write: it may be killed before or after."""


@settings(max_examples=60)
@given(
    batches=st.lists(
        st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=4
    ),
    kills=st.lists(st.integers(0, 25), max_size=6),
    size=st.sampled_from([None, 1, 5, 1000]),
    compression=st.sampled_from(["uncompressed", "gzip", "avro"]),
    strategy=st.sampled_from(["serial", "uuid_v7"]),
)
def test_every_row_is_seen_once_wherever_it_is_killed(
    tmp_path_factory, batches, kills, size, compression, strategy
):
    root = tmp_path_factory.mktemp("run") / "out"
    given = option(
        partitioning__fields=("k",),
        json__compression=compression,
        filename__strategy=strategy,
    )
    if compression == "avro":
        given |= {"format": "avro", "json.compression": "uncompressed"}
    if size is not None:
        given["rolling_policy.file_size"] = size
    wanted = Counter(
        (f"k={key}", f"{batch}.{row}")
        for batch, keys in enumerate(batches)
        for row, key in enumerate(keys)
    )
    left = iter([*kills, None])
    committed, before = 0, Counter()
    while True:
        with pytest.MonkeyPatch.context() as patch:
            deadly(patch, next(left))
            try:
                writer = opened(root, root.with_name("state"), **given)
                while committed < len(batches):
                    keys = batches[committed]
                    rows = [f"{committed}.{row}" for row in range(len(keys))]
                    batch = lines(*rows, keys=[[key] for key in keys])
                    batch = datums(batch) if compression == "avro" else batch
                    writer.take(batch, committed)
                    committed += 1
                writer.close()
                break
            except Killed:
                # What the system does for a process that ends.
                with suppress(AttributeError, UnboundLocalError):
                    writer._undo.close()
        # What was seen stays, and nothing is seen twice.
        now = seen(root) if root.exists() else Counter()
        assert before <= now <= wanted
        before = now
    assert seen(root) == wanted
    assert not list(root.glob(".*"))


def deadly(patch, steps):
    """Kill the process before or after so many steps; None: never."""
    if steps is None:
        return
    counted = itertools.count()

    def deadly_step(real):
        def step(*given):
            number = next(counted)
            if number > steps and number % 2:
                raise Killed
            result = real(*given)
            if number > steps:
                raise Killed
            return result

        return step

    for owner, name in STEPS:
        patch.setattr(owner, name, deadly_step(getattr(owner, name)))


def test_rows_that_are_gone_are_told(tmp_path):
    options = option(rolling_policy__file_size=1000)
    opened(tmp_path, tmp_path / ".state", **options).take(lines(1), 0)
    (staging,) = tmp_path.glob(".arroyo-*")
    (staging / "stray").write_text("of a batch that was not noted")
    writer = opened(tmp_path, tmp_path / ".state", **options)
    assert [path.name for path in staging.iterdir()] == ["0.0"]
    (staging / "0.0").unlink()
    with pytest.raises(RunProblem, match="misses rows that this run has written"):
        writer.close()
    with pytest.raises(RunProblem, match="misses rows that this run has written"):
        opened(tmp_path, tmp_path / ".state", **options)


def test_a_value_that_is_too_long_for_a_folder_is_told():
    partitioning = Partitioning(fields=("town",))
    assert len(partitioning.folder(json.dumps(["x" * 250]))) == 255
    with pytest.raises(
        RunProblem, match=r"a value of 'town' makes .* 256 bytes.*: 'xx"
    ):
        partitioning.folder(json.dumps(["x" * 251]))


def test_a_folder_that_is_gone_with_its_rows_is_told(tmp_path):
    folder, state = tmp_path / "out", tmp_path / "state"
    opened(folder, state).close()
    shutil.rmtree(folder)
    writer = opened(folder, state)  # it held no row
    writer.take(lines(1), 0)
    writer.close()
    shutil.rmtree(folder)
    with pytest.raises(RunProblem, match=r"'.*/out' is gone, with the rows"):
        opened(folder, state)
    folder.mkdir()


def test_what_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunProblem, match=r"cannot write '.*/file': File exists"):
        opened(tmp_path / "file", tmp_path / "state")
    writer = opened(tmp_path / "out", tmp_path / "state")
    writer._staging.rmdir()
    with pytest.raises(RunProblem, match=r"cannot write '.*/out': No such file"):
        writer.take(lines(1), 0)
    writer.close()


def test_files_that_are_counted_have_one_writer_and_free_names(tmp_path):
    options = option(filename__strategy="serial", filename__prefix="p")
    (tmp_path / "p-00001-000.json").write_text("of somebody else\n")
    first = opened(tmp_path, tmp_path / ".a", **options)
    with pytest.raises(RunProblem, match="being written by run 'a' of process 1"):
        opened(tmp_path, tmp_path / ".b", **options)
    for batch in range(3):
        first.take(lines(batch), batch)
    first.close()
    second = opened(tmp_path, tmp_path / ".b", filename__suffix="x", **options)
    second.take(lines(9), 0)
    second.close()
    assert {path.name: path.read_text() for path in files(tmp_path)} == {
        "p-00000-000.json": "0\n",
        "p-00001-000.json": "of somebody else\n",
        "p-00002-000.json": "1\n",
        "p-00003-000.json": "2\n",
        "p-00004-000.json": "9\n",
    }


def test_names(monkeypatch):
    assert list(STRATEGIES) == ["uuid_v7", "uuid", "ulid", "serial"]
    clock = iter(range(1_700_000_000_000_000_000, 2**63, 10**7))
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    for strategy in ("uuid_v7", "ulid"):
        names = [FileNames(strategy, None, "x").name(0) for _ in range(50)]
        assert names == sorted(set(names))
    made = uuid.UUID(STRATEGIES["uuid_v7"](0))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert uuid.UUID(STRATEGIES["uuid"](0)).version == 4
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", STRATEGIES["ulid"](0))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4"])
def test_parquet_files(tmp_path, codec):
    options = option(format="parquet", parquet__compression=codec)
    sizes = option(parquet__row_group_size=500, rolling_policy__file_size=2**20)
    writer = opened(tmp_path, tmp_path / ".state", **options, **sizes)
    for batch in range(4):
        numbers = range(100 * batch, 100 * batch + 100)
        columns = {"n": pa.array(numbers, pa.int32()), "s": [f"{n}" for n in numbers]}
        rows = pa.table({**columns, KEY: ["[]"] * 100})
        writer.take(
            pa.concat_tables(rows[at : at + 9] for at in range(0, 100, 9)), batch
        )
    writer.close()
    (path,) = files(tmp_path)
    assert path.suffix == ".parquet"
    found = pq.ParquetFile(path)
    assert found.read()["n"].to_pylist() == list(range(400))
    assert found.schema_arrow == pa.schema({"n": pa.int64(), "s": pa.string()})
    groups = [found.metadata.row_group(n) for n in range(found.num_row_groups)]
    assert all(20 < group.num_rows < 80 for group in groups[:-1])
    names = {"lz4": "LZ4", "uncompressed": "UNCOMPRESSED"}
    assert groups[0].column(0).compression == names.get(codec, codec.upper())


def test_a_large_batch_of_parquet_is_cut_at_the_size(tmp_path):
    options = option(
        format="parquet",
        parquet__compression="uncompressed",
        rolling_policy__file_size=64 * 2**10,
    )
    writer = opened(tmp_path, tmp_path / ".state", **options)
    texts = [os.urandom(8).hex() for _ in range(20_000)]
    columns = {"n": range(20_000), "s": texts, KEY: ["[]"] * 20_000}
    rows = pa.table(columns)
    writer.take(
        pa.concat_tables(rows[at : at + 500] for at in range(0, 20_000, 500)), 0
    )
    writer.close()
    sizes = [path.stat().st_size for path in files(tmp_path)]
    assert len(sizes) > 5
    assert max(sizes) < 2 * 64 * 2**10
    found = [
        n for path in files(tmp_path) for n in pq.read_table(path)["n"].to_pylist()
    ]
    assert sorted(found) == list(range(20_000))


def test_a_large_batch_of_avro_is_cut_at_the_size(tmp_path):
    options = option(format="avro", avro__compression="uncompressed")
    sizes = option(rolling_policy__file_size=200 * 2**10)
    writer = opened(tmp_path, tmp_path / ".state", **options, **sizes)
    texts = [os.urandom(16).hex() for _ in range(40_000)]
    for number, begin in enumerate(range(0, 40_000, 10_000)):
        batch = pa.table({"value": texts[begin : begin + 10_000], KEY: ["[]"] * 10_000})
        rows = datums(batch)
        pieces = (rows[at : at + 500] for at in range(0, 10_000, 500))
        writer.take(pa.concat_tables(pieces), number)
    writer.close()
    sizes = [path.stat().st_size for path in files(tmp_path)]
    assert len(sizes) > 5
    assert max(sizes) < 2 * 200 * 2**10
    assert sorted(seen(tmp_path)) == sorted((".", text) for text in texts)


def test_notes_are_whole_or_not_there(tmp_path, monkeypatch):
    notes = _notes.Notes(tmp_path / "a" / "notes.json")
    assert notes.read() is None
    notes.write({"a": 1})

    def killed(*_):
        raise Killed

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(Killed):
        notes.write({"a": 2})
    assert _notes.Notes(tmp_path / "a" / "notes.json").read() == {"a": 1}


def test_rows_of_a_key_stay_in_their_order():
    rows = lines(*range(100), keys=[[str(n % 3)] for n in range(100)]).combine_chunks()
    found = _parts.split(rows)
    assert {key: len(tables) for key, tables in found.items()} == dict.fromkeys(
        ('["0"]', '["1"]', '["2"]'), 1
    )
    assert found['["1"]'][0]["value"].to_pylist() == [f"{n}" for n in range(1, 100, 3)]


def test_files_that_are_not_whole_are_not_made_of_two_kinds(tmp_path):
    root, state = tmp_path / "out", tmp_path / "state"
    grows = option(rolling_policy__file_size=10**6)
    writer = opened(root, state, **grows)
    writer.take(lines(1), 0)
    writer._undo.close()  # it is killed
    with pytest.raises(RunProblem, match="files of json that are not whole yet"):
        opened(root, state, **grows, format="parquet")
    writer = opened(root, state, **grows)
    writer.close()
    writer = opened(root, state, **grows, format="parquet")
    writer.take(pa.table({"n": [2], "s": ["b"], KEY: ["[]"]}), 1)
    writer.close()
    assert sorted(path.suffix for path in files(root)) == [".json", ".parquet"]
