"""Reading container files, some datums of a block at a time.

A file is read by the schema in its own header. A datum that is bad is passed over by
that schema, so the others of its block are read; where that fails, the rest of the
block is bad, and reading goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from arroyo_nb.codecs.bad_records import refusal
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import Decoded, ListedFile, Piece
from arroyo_nb.formats.avro.columns import Misfit, mismatch
from arroyo_nb.formats.avro.containers import Header, decompressed, most_unpacked
from arroyo_nb.formats.avro.cursor import NAME_BYTES, Cursor, Read, most_values
from arroyo_nb.formats.avro.file_blocks import (
    MAX_BLOCK_BYTES,
    DamagedBlock,
    PackedBlock,
    file_size,
    possible_count,
    read_block,
    read_file_header,
)
from arroyo_nb.formats.avro.inferred import columns_of
from arroyo_nb.formats.avro.payloads import Columns, text_bytes
from arroyo_nb.formats.avro.schema import AvroSchema, SchemaFault, parse_schema
from arroyo_nb.formats.avro.strict import (
    DatumReader,
    DocumentReader,
    RowReader,
    datum_skipper,
)
from arroyo_nb.formats.json.strict import BadRecord
from arroyo_nb.schema import Schema
from arroyo_nb.tape import KEPT_BAD_ROWS, BadRow, Position, shown_text

PIECE_ROWS, PIECE_BYTES = 10_000, 2**20
"""About what is read at once, whatever the size of a block: a row of Python is many
times as large as one of Arrow."""

SHORTER_FILE = "the file became shorter while it was read"


class AvroReader:
    """Reads container files (see :class:`arroyo_nb.formats.FileReader`).

    Parameters
    ----------
    columns
        What is read of a datum.
    drop
        Whether bad records are left out and counted; else they are an error.
    """

    def __init__(self, columns: Columns, *, drop: bool) -> None:
        self._columns = columns
        self._drop = drop

    @contextmanager
    def open(self, file: ListedFile, place: Position | None) -> Iterator[ReadDatums]:
        """A file from a place on.

        Raises
        ------
        RunProblem
            When it is no container, or its schema does not have the columns, and bad
            data is not dropped; when it is another one than was read before.
        """
        with refusals("read", file.name), file.path.open("rb") as stream:
            yield ReadDatums(stream, file.name, self._columns, place, drop=self._drop)


def columns_of_file(file: ListedFile) -> Schema:
    """The columns of a file, by the schema in its header.

    Raises
    ------
    RunProblem
        When it is no container file.
    CatalogProblem
        When its schema has no columns.
    """
    with refusals("read", file.name), file.path.open("rb") as stream:
        try:
            header, _ = read_file_header(stream)
        except BadRecord as problem:
            raise RunProblem(f"'{file.name}' is not an Avro file: {problem}") from None
    return columns_of(header.schema)


@dataclass(frozen=True)
class _Schema:
    """What reads the datums of a file."""

    rows: RowReader
    skip: Read
    document: RowReader


@dataclass(frozen=True)
class _Data:
    """The datums of a block, unpacked; ``end`` is where the next block begins."""

    count: int
    data: bytes
    end: int


class ReadDatums:
    """A container file that is being read."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        columns: Columns,
        place: Position | None,
        *,
        drop: bool,
    ) -> None:
        self._file = file
        self._name = name
        self._columns = columns
        self._drop = drop
        self._size = file_size(file)
        self._header: Header | None = None
        self._schema: _Schema | None = None
        self._fault, begin = "", 0
        try:
            self._header, begin = read_file_header(file)
            self._schema = _schema(self._header, columns)
        except (BadRecord, Misfit) as problem:
            self._refuse(problem)
        self._byte: int = place["byte"] if place else begin
        self._inside: int = place["inside"] if place else 0
        self._done: int = place["done"] if place else 0
        self._row: int = place["row"] if place else 0
        self._data: _Data | None = None
        if place and (place["sync"] != self._sync or self._byte > self._size):
            raise RunProblem(
                f"'{name}' is not the file that was read before, or is shorter",
                hint="start afresh: the file is not the one that the run had read",
            )

    @property
    def place(self) -> Position:
        """The block, what was read of it, the rows up to there, and the file's own
        marker, which tells it from others."""
        return {
            "byte": self._byte,
            "inside": self._inside,
            "done": self._done,
            "row": self._row,
            "sync": self._sync,
        }

    @property
    def records(self) -> int:
        """The rows up to there."""
        return self._row

    def read(self, size_bytes: int) -> Piece | None:
        """The next rows."""
        piece = _Gathered(self._columns, min(size_bytes, PIECE_BYTES))
        if self._header is None:
            self._drop_file(piece)
        while self._header is not None and piece.has_room:
            if self._data is None and not self._next_block(self._header, piece):
                break
            if self._data is not None and self._schema is not None:
                self._read_datums(self._data, self._schema, piece)
        return piece.made() if piece.size_bytes else None

    @property
    def _sync(self) -> str:
        return "" if self._header is None else self._header.sync.hex()

    def _refuse(self, problem: Exception) -> None:
        """End the run because of a file that has no row, or keep the reason."""
        misfits = isinstance(problem, Misfit)
        self._fault = str(mismatch(str(problem)) if misfits else problem)
        if self._drop:
            return
        if misfits:
            raise refusal(BadRow.in_file(self._name, 1, "", self._fault))
        raise RunProblem(f"'{self._name}' is not an Avro file: {problem}")

    def _drop_file(self, piece: _Gathered) -> None:
        """A file without a header is one bad record."""
        if not self._row:
            self._drop_rows(piece, 1, self._fault)
            piece.size_bytes += 1

    def _next_block(self, header: Header, piece: _Gathered) -> bool:
        """Go on to the next block, or pass over one that is bad; False at the end."""
        if self._byte >= self._size:
            return False
        try:
            block = read_block(self._file, self._byte, header.sync)
            if self._schema is None:
                raise _unreadable(self._fault, block, header.codec)
            self._data = _unpacked(block, header.codec)
        except DamagedBlock as damage:
            reason = damage.reason
            if damage.at_end:
                # Others may cut or rewrite the file meanwhile: where it has no more
                # blocks, it ends, whatever its size was when it was opened.
                if damage.end < self._size:
                    reason = SHORTER_FILE
                self._size = damage.end
            # A block that was sound before a restart may have lost its count.
            lost = damage.count - self._done
            self._drop_rows(piece, lost if lost >= 0 else 1, reason)
            piece.size_bytes += max(damage.end - self._byte, 1)
            self._leave_block(damage.end)
        return True

    def _leave_block(self, end: int) -> None:
        self._data, self._byte, self._inside, self._done = None, end, 0, 0

    def _read_datums(self, data: _Data, schema: _Schema, piece: _Gathered) -> None:
        """The datums from where the reader stands, to the end of the block or until
        there are enough."""
        cursor = Cursor(data.data, self._inside)
        while self._done < data.count and piece.has_room:
            begin = cursor.at
            # So many names may be in each datum, not in all of a block.
            cursor.names, cursor.levels = NAME_BYTES, 0
            try:
                row = schema.rows.read(cursor)
                size = max(cursor.at - begin, text_bytes(row), 1)
                if size > MAX_BLOCK_BYTES:
                    raise BadRecord("invalid Avro: the texts in it become too long")
            except BadRecord as problem:
                if not _skipped(schema, cursor, begin):
                    self._drop_rows(piece, data.count - self._done, str(problem))
                    piece.size_bytes += 1
                    self._leave_block(data.end)
                    return
                text = _text(schema, data.data[begin : cursor.at])
                self._drop_rows(piece, 1, str(problem), text)
                size = max(cursor.at - begin, 1)
            else:
                piece.rows.append(row)
                self._row += 1
            piece.size_bytes += size
            self._inside, self._done = cursor.at, self._done + 1
        if self._done == data.count:
            if (left := len(data.data) - self._inside) > 0:
                reason = f"invalid Avro: {left:,} bytes follow the records of a block"
                self._drop_rows(piece, 1, reason)
                piece.size_bytes += 1
            self._leave_block(data.end)

    def _drop_rows(
        self, piece: _Gathered, count: int, reason: str, text: str = ""
    ) -> None:
        """Count bad rows, or end the run."""
        if not count:
            return
        bad = BadRow.in_file(self._name, self._row + 1, text, reason)
        if not self._drop:
            raise refusal(bad)
        self._row += count
        piece.dropped_rows += count
        if len(piece.bad) < KEPT_BAD_ROWS:
            piece.bad.append(bad)


class _Gathered:
    """The rows that become a piece."""

    def __init__(self, columns: Columns, room_bytes: int) -> None:
        self._columns = columns
        self._room_bytes = room_bytes
        self.rows: list[list[Any]] = []
        self.bad: list[BadRow] = []
        self.dropped_rows = 0
        self.size_bytes = 0

    @property
    def has_room(self) -> bool:
        """Whether more is to be read."""
        return self.size_bytes < self._room_bytes and len(self.rows) < PIECE_ROWS

    def made(self) -> Piece:
        """The piece."""
        rows = self._columns.table(self.rows)
        decoded = Decoded(rows, self.dropped_rows, tuple(self.bad))
        return Piece(decoded, self.size_bytes)


def _schema(header: Header, columns: Columns) -> _Schema:
    """What reads the datums of a file.

    Raises
    ------
    BadRecord
        When the schema in its header is none.
    Misfit
        When none of its datums can be a row.
    """
    try:
        schema: AvroSchema = parse_schema(header.schema)
    except SchemaFault as fault:
        raise BadRecord(f"invalid Avro: the schema of the container: {fault}") from None
    document = DocumentReader(schema)
    if columns.document:
        rows: RowReader = document
    else:
        rows = DatumReader(schema, columns.schema.fields, columns.event_time)
    return _Schema(rows, datum_skipper(schema), document)


def _unpacked(block: PackedBlock, codec: str) -> _Data:
    try:
        data = decompressed(block.data, codec, MAX_BLOCK_BYTES)
    except BadRecord as problem:
        raise _unreadable(str(problem), block, codec) from None
    # A count that such bytes never have would be a loop without end.
    if block.count > most_values(len(data)):
        raise DamagedBlock(
            "invalid Avro: a block of more records than its bytes can hold", block.end
        )
    return _Data(block.count, data, block.end)


def _unreadable(reason: str, block: PackedBlock, codec: str) -> DamagedBlock:
    """The damage of a block whose datums cannot be read, with its count if that may be
    true."""
    size = most_unpacked(len(block.data), codec, MAX_BLOCK_BYTES)
    return DamagedBlock(reason, block.end, possible_count(block.count, size))


def _skipped(schema: _Schema, cursor: Cursor, begin: int) -> bool:
    """Whether the cursor is behind the datum that begins there."""
    cursor.at, cursor.levels = begin, 0
    try:
        schema.skip(cursor)
    except (BadRecord, RecursionError):
        return False
    return True


def _text(schema: _Schema, data: bytes) -> str:
    """A bad datum as JSON; empty where it has no such text."""
    try:
        return shown_text(str(schema.document.read_whole(data)[0]))
    except BadRecord:
        return ""
