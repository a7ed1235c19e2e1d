"""Tapes of records: what is kept, where chunks end, and what is refused."""

from __future__ import annotations

import errno
import json
import random
import shutil

import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US, writer
from arroyo_nb.tape import records as of_records
from arroyo_nb.tape.format import HEADER, VERSION, chunk_path
from arroyo_nb.tape.records import (
    NO_TIME,
    TOGETHER_US,
    RecordTape,
    RecordWriter,
    TapeRecord,
    Unwritten,
)

SECOND = 1_000_000
ONE = TapeRecord(1, 7, 1_500, b"k", b"\xff\0", [("h", b"\x01"), ("h", None)])
TOMBSTONE = TapeRecord(0, 3, NO_TIME, None, None)


def written(path, *records, at=lambda n: n):
    with RecordWriter(path, "orders") as writer:
        for number, record in enumerate(records):
            writer.append(record, at(number))
        writer.finish()
    return path


def rows(path):
    return [
        row for _, rows in RecordTape(path, "a").chunks() for row in rows.to_pylist()
    ]


def test_a_record_reads_back_as_it_came(tmp_path):
    path = written(tmp_path / "below" / "a.tape", ONE, TOMBSTONE)
    assert RecordTape(path, "a").topic == "orders"
    one, tombstone = rows(path)
    assert one.pop("headers") == [
        {"key": "h", "value": b"\x01"},
        {"key": "h", "value": None},
    ]
    del one[ARRIVAL], one[TIMESTAMP], tombstone[ARRIVAL], tombstone[TIMESTAMP]
    assert tuple(one.values()) == (1, 7, 1_500, b"k", b"\xff\0")
    assert tuple(tombstone.values()) == (0, 3, NO_TIME, None, None, None)


def test_what_arrives_together_is_a_chunk(tmp_path):
    at = [0, TOGETHER_US - 1, TOGETHER_US, 10 * SECOND]
    path = written(tmp_path / "a", *[ONE] * 4, at=at.__getitem__)
    chunks = [len(chunk) for _, chunk in RecordTape(path, "a").chunks()]
    assert chunks == [2, 1, 1]
    assert [n for n, _ in RecordTape(path, "a").chunks(after=2)] == [3]


@pytest.mark.parametrize(("limit", "value"), [("RECORDS", 2), ("BYTES", 200)])
def test_a_chunk_is_bounded(tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(of_records, f"CHUNK_{limit}", value)
    path = written(tmp_path / "a", *[ONE] * 5)
    assert [len(chunk) for _, chunk in RecordTape(path, "a").chunks()] == [2, 2, 1]


class Full:
    """A disk that has room for so many bytes more; files in it may be removed."""

    def __init__(self, monkeypatch, folder, room_bytes):
        self._folder, self._room_bytes = folder, room_bytes
        for name in ("write_chunk", "write_header"):
            monkeypatch.setattr(
                f"arroyo_nb.tape.writer.{name}", self._checked(getattr(writer, name))
            )
        monkeypatch.setattr(of_records, "write_header", writer.write_header)

    def _checked(self, write):
        def checked(folder, *args, **given):
            made = write(folder, *args, **given)
            files = [path for path in self._folder.rglob("*") if path.is_file()]
            if sum(path.stat().st_size for path in files) > self._room_bytes:
                newest = max(files, key=lambda path: path.stat().st_ctime_ns)
                newest.rename(newest.with_name(f".{newest.name}.tmp"))
                raise OSError(errno.ENOSPC, "Arrow says it otherwise")
            return made

        return checked


def fill(made, count):
    for number in range(count):
        made.append(ONE._replace(partition=number), number)


def test_what_is_whole_is_kept_when_the_disk_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(of_records, "CHUNK_RECORDS", 2)
    Full(monkeypatch, tmp_path, of_records.RESERVE_BYTES + 16_000)
    with RecordWriter(tmp_path / "a", "orders") as made:
        with pytest.raises(Unwritten, match=r"a' cannot be written: the disk is full"):
            fill(made, 100)
        kept, partitions = made.records, len(made.partitions)
        made.finish()
    assert 0 < kept < 99
    assert kept % 2 == 0
    assert partitions == kept
    assert [row["partition"] for row in rows(tmp_path / "a")] == [*range(kept)]
    assert not [path for path in tmp_path.rglob(".*") if path.name != "a"]


def test_an_empty_tape_is_one(tmp_path):
    assert rows(written(tmp_path / "a")) == []


def test_a_time_that_cannot_be_held_is_the_end_of_time(tmp_path):
    far, early = (ONE._replace(timestamp_ms=ms) for ms in (2**62, -(2**62)))
    times = pa.array([row[TIMESTAMP] for row in rows(written(tmp_path / "a", far))])
    assert times.cast(pa.int64()).to_pylist() == [END_OF_TIME_US]
    (chunk,) = RecordTape(written(tmp_path / "b", early), "b").chunks()
    assert chunk[1][TIMESTAMP].cast(pa.int64()).to_pylist() == [-END_OF_TIME_US]
    assert chunk[1]["timestamp"].to_pylist() == [-(2**62)]


def test_nothing_half_written_is_seen(tmp_path):
    with RecordWriter(tmp_path / "a", "orders") as writer:
        writer.append(ONE, 0)
        writer.rest(SECOND)
        assert not (tmp_path / "a").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_tape_is_never_written_over(tmp_path):
    path = written(tmp_path / "a", ONE)
    with pytest.raises(RunProblem, match=r"something at .* already"):
        RecordWriter(path, "orders")
    with RecordWriter(tmp_path / "b", "orders") as one:
        written(tmp_path / "b", ONE)
        with pytest.raises(RunProblem, match="cannot be written"):
            one.finish()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]
    assert len(rows(tmp_path / "b")) == 1


def test_only_its_owner_may_read_a_tape(tmp_path):
    path = written(tmp_path / "a", ONE)
    assert path.stat().st_mode & 0o777 == 0o700


def edited(path, **header):
    found = json.loads((path / HEADER).read_text())
    (path / HEADER).write_text(json.dumps({**found, **header}))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda p: edited(p, version=VERSION + 1), "this program reads version 1"),
        (lambda p: edited(p, odd=1), "'a' is not a tape: bad _tape.json"),
        (lambda p: (p / HEADER).write_text("{"), "'a' is not a tape: bad _tape.json"),
        (lambda p: (p / HEADER).unlink(), "'a' is not a tape: no _tape.json"),
        (lambda p: shutil.rmtree(p), "there is no tape 'a'"),
        (lambda p: edited(p, schema="n INT"), "does not hold records of a topic"),
        (lambda p: chunk_path(p, 2).unlink(), "'a' is damaged: some of its chunks"),
        (lambda p: chunk_path(p, 3).unlink(), "'a' is damaged: some of its chunks"),
        (lambda p: edited(p, chunks=None), "'a' is damaged: some of its chunks"),
        (lambda p: chunk_path(p, 1).write_bytes(b""), "'a' is damaged: its chunk 1"),
    ],
)
def test_what_is_no_whole_tape_is_refused(tmp_path, harm, said):
    many = [ONE._replace(offset=n, value=b"%d" % n * 50) for n in range(200)]
    path = written(tmp_path / "a", *many, at=lambda n: n // 70 * SECOND)
    harm(path)
    with pytest.raises(RunProblem) as told:
        list(RecordTape(path, "a").chunks())
    assert said in str(told.value)


def test_a_newer_version_is_told_as_one(tmp_path):
    path = written(tmp_path / "a", ONE)
    edited(path, version=VERSION + 1)
    with pytest.raises(RunProblem) as told:
        RecordTape(path, "a")
    assert told.value.hint == "a newer arroyo_nb wrote it"


def test_of_a_damaged_tape_nothing_false_is_read(tmp_path):
    chance = random.Random(7)
    many = [ONE._replace(offset=n, value=chance.randbytes(50)) for n in range(200)]
    path = written(tmp_path / "a", *many, at=lambda _: 0)
    file, whole = chunk_path(path, 1), rows(path)
    data, told = file.read_bytes(), 0
    for at in range(4, len(data), 97):
        harmed = bytearray(data)
        harmed[at] ^= 1
        file.write_bytes(harmed)
        try:
            assert rows(path) == whole  # there are bytes that say nothing
        except RunProblem:
            told += 1
    assert told > 50
