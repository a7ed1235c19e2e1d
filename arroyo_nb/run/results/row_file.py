"""The files of a row store: how results are written to them and read again.

A file is an Arrow IPC stream. The metadata of each record batch says of which
micro-batch it is, with a check sum: a file that is torn or damaged is read up to there.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

_NOTES = b"batch", b"first", b"count", b"result", b"rows"
SUM = b"sum"
"""In the metadata of a record batch: its check sum, with the values of the others."""

BASE = b"base"
"""In a file's metadata: how many rows of the result it begins with."""

_NEWEST = "newest"


@dataclass(frozen=True)
class Frame:
    """Results of one micro-batch.

    Parameters
    ----------
    batch_id
        Its number.
    first, count
        How many results came before it, and how many it has: rows, or of an updating
        output changes, as they are shown.
    result_rows
        Of an updating output: how many rows the result has after it.
    rows
        The record batches.
    """

    batch_id: int
    first: int
    count: int
    result_rows: int
    rows: pa.Table

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What the file says of it beside its rows."""
        values = self.batch_id, self.first, self.count, self.result_rows
        texts = (str(value).encode() for value in (*values, self.rows.num_rows))
        return dict(zip(_NOTES, texts, strict=True))


@dataclass(eq=False)
class RowFile:
    """One file of the folder.

    Parameters
    ----------
    path
        Where it is.
    first_batch, first
        The micro-batch that it begins with, and how many results came before that.
    next
        How many results came up to its end.
    base_rows
        How many rows of the result it begins with; None: these are not known.
    record_batches
        How many of its record batches are whole, those of the result among them.
    until_batch
        From this micro-batch on it counts no more; None: all counts.
    buffer
        Its bytes, once its folder is removed.
    """

    path: Path
    first_batch: int
    first: int
    next: int
    base_rows: int | None = None
    record_batches: int = 0
    size_bytes: int = 0
    until_batch: int | None = None
    buffer: pa.Buffer | None = None

    def open(self) -> pa.NativeFile:
        """Its bytes; those that are mapped stay readable when it is removed."""
        if self.buffer is not None:
            return pa.BufferReader(self.buffer)
        return pa.memory_map(str(self.path))

    def frames(self) -> Iterator[Frame]:
        """Its micro-batches that count."""
        return self.read(self.open(), self.record_batches)

    def read(self, opened: pa.NativeFile, record_batches: int) -> Iterator[Frame]:
        """Those of the first so many record batches of the opened file."""
        with opened, pa.ipc.open_stream(opened) as reader:
            base = len(_read_base(reader, self.base_rows or 0))
            for frame in _frames(reader, record_batches - base):
                # From here on a later file has the batches: they came again.
                if self.until_batch is not None and frame.batch_id >= self.until_batch:
                    return
                yield frame

    def base(self) -> pa.Table:
        """The rows of the result that it begins with."""
        with self.open() as opened, pa.ipc.open_stream(opened) as reader:
            batches = _read_base(reader, self.base_rows or 0)
            return pa.Table.from_batches(batches, reader.schema.remove_metadata())

    @property
    def knows_result(self) -> bool:
        """Whether it says what the result was before it."""
        is_right = self.until_batch is None or self.first_batch <= self.until_batch
        return self.base_rows is not None and is_right

    def cut(self, batch_id: int, end: int) -> None:
        """Let nothing count from a micro-batch on, with which result ``end`` came."""
        if self.until_batch is None or self.until_batch > batch_id:
            self.until_batch = batch_id
        self.next = max(self.first, min(self.next, end))


@dataclass(frozen=True)
class NewestBatch:
    """What is noted after each micro-batch, also after an empty one.

    Parameters
    ----------
    batch_id
        Its number.
    next
        How many results came up to it.
    let_go
        How many results were let go, as the budget was exceeded.
    gap
        The micro-batch behind which others are missing, nobody knows how many results;
        or -2.
    """

    batch_id: int
    next: int
    let_go: int
    gap: int

    def write(self, folder: Path) -> None:
        """Have it in place: on most disks that takes no more room, so that it is
        possible on a full one too."""
        values = self.batch_id, self.next, self.let_go, self.gap
        # Of one length, so that a write never leaves the end of a longer text behind.
        text = "".join(f"{value:20}" for value in values) + "\n"
        file = os.open(folder / _NEWEST, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, text.encode(), 0)
        finally:
            os.close(file)

    @classmethod
    def read(cls, folder: Path) -> NewestBatch | None:
        """What is noted; None: nothing that could be read."""
        try:
            text = (folder / _NEWEST).read_text("ascii")
            return cls(*map(int, text.split())) if len(text) == 81 else None
        except (OSError, ValueError, TypeError):
            return None


def _frames(reader: pa.ipc.RecordBatchStreamReader, count: int) -> Iterator[Frame]:
    """The micro-batches of the first so many record batches."""
    batches: list[pa.RecordBatch] = []
    notes: dict[bytes, bytes] = {}
    for _ in range(count):
        found = reader.read_next_batch_with_custom_metadata()
        read = dict(found.custom_metadata)
        del read[SUM]
        # Record batches with the same notes are one micro-batch.
        if batches and read != notes:
            yield _frame(notes, batches)
            batches = []
        notes = read
        batches.append(found.batch)
    if batches:
        yield _frame(notes, batches)


def _frame(notes: dict[bytes, bytes], batches: list[pa.RecordBatch]) -> Frame:
    batch_id, first, count, result_rows, _ = (int(notes[name]) for name in _NOTES)
    rows = pa.Table.from_batches(batches)
    return Frame(batch_id, first, count, result_rows, rows)


def _read_base(
    reader: pa.ipc.RecordBatchStreamReader, rows: int
) -> list[pa.RecordBatch]:
    """The record batches that have the first so many rows."""
    batches: list[pa.RecordBatch] = []
    while rows > 0:
        batches.append(reader.read_next_batch())
        rows -= batches[-1].num_rows
    return batches


def read_file(path: Path, schema: pa.Schema) -> RowFile | None:
    """A file and its micro-batches that are whole; None: it has none of these
    columns."""
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
            if not reader.schema.equals(schema):
                return None
            # schema.equals() leaves the metadata out.
            said = (reader.schema.metadata or {}).get(BASE)
            base_rows = None if said is None else int(said)
            base, rows = 0, base_rows or 0
            while rows > 0:
                base, rows = base + 1, rows - _read_checked(reader)[0].num_rows
            found = list(_whole(reader))
    except _BROKEN:
        return None
    if not found:
        return None
    (_, first), (record_batches, last) = found[0], found[-1]
    return RowFile(
        path,
        first.batch_id,
        first.first,
        last.first + last.count,
        base_rows,
        base + record_batches,
        path.stat().st_size,
    )


def has_other_columns(path: Path, schema: pa.Schema) -> bool:
    """Whether a file can be read, and its rows have other columns."""
    with suppress(OSError, pa.ArrowException), pa.memory_map(str(path)) as source:
        return not pa.ipc.read_schema(source).equals(schema)
    return False


def check_sum(batch: pa.RecordBatch, notes: dict[bytes, bytes]) -> bytes:
    """The check sum of a record batch and what is noted of it."""
    noted = zlib.crc32(b" ".join(notes.values()))
    return str(zlib.crc32(batch.serialize(), noted)).encode()


def _read_checked(
    reader: pa.ipc.RecordBatchStreamReader,
) -> tuple[pa.RecordBatch, dict[bytes, bytes]]:
    """The next record batch, and what is noted of it.

    Raises
    ------
    ValueError
        When it was damaged: what has a wrong value may also end the process.
    """
    found = reader.read_next_batch_with_custom_metadata()
    notes = dict(found.custom_metadata)
    if notes.pop(SUM) != check_sum(found.batch, notes):
        raise ValueError("the check sum differs")
    return found.batch, notes


_BROKEN = StopIteration, OSError, pa.ArrowException, KeyError, TypeError, ValueError
"""What reading a file may raise where it ends or is damaged."""


def _whole(reader: pa.ipc.RecordBatchStreamReader) -> Iterator[tuple[int, Frame]]:
    """The micro-batches of a file up to where it is torn or damaged, each with how many
    record batches there are up to its end."""
    record_batches, rows = 0, 0
    with suppress(*_BROKEN):
        while True:
            batch, notes = _read_checked(reader)
            record_batches, rows = record_batches + 1, rows + batch.num_rows
            # A micro-batch counts once all its rows are there: its notes say how many
            # it has.
            if rows == int(notes[_NOTES[-1]]):
                rows = 0
                yield record_batches, _frame(notes, [batch])
