"""How a tape lies on disk: a header and numbered Parquet chunks.

::

    _tape.json               version, schema, source, seed, bounded, made_by
    chunk-00000001.parquet   rows; the footer says where the recorder stood after them
    chunk-00000002.parquet

Two facts make the folder safe to watch. A chunk appears at once, by a rename from a
name that Spark's file source ignores (it skips names that begin with ``_`` or
``.``). And a chunk's modification time is its number of seconds after a fixed
moment: Spark orders files by that time, so the order is that of the numbers whatever
the clock did. Nothing in a tape is unpickled.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import TIMESTAMP, Schema, arrow_schema
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US, BadRow, Chunk, Position

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
HEADER = "_tape.json"
CHUNKS = "chunk-*.parquet"
"""Glob of the chunk files."""
CODEC = "none"
"""Spark reads uncompressed chunks a fifth faster than any codec's; a running tape is
bounded, so its size matters less."""
KEPT_BAD_ROWS = 20
"""How many unreadable records are kept as a sample."""

_CHUNK = re.compile(r"chunk-(\d{8,})\.parquet\Z")
_KEY = "arroyo_nb."
_FIRST_MTIME_S = 946_684_800  # 2000-01-01: any fixed moment does


@dataclass(frozen=True)
class Header:
    """What a tape says about itself.

    ``schema`` is the columns as the SQL that declares them, ``seed`` what its random
    choices were made from, ``made_by`` the program that wrote it.
    """

    schema: str
    source: str
    bounded: bool
    seed: int | None = None
    made_by: str = "arroyo_nb"
    version: int = VERSION


@dataclass(frozen=True)
class Totals:
    """Everything up to and including a chunk; survives the removal of old chunks."""

    rows: int = 0
    dropped_rows: int = 0
    max_event_time_us: int | None = None

    def after(self, rows: pa.Table) -> Totals:
        """The totals with some rows more."""
        return Totals(
            self.rows + rows.num_rows,
            self.dropped_rows,
            newest(self.max_event_time_us, rows),
        )


@dataclass(frozen=True)
class Mark:
    """The footer of one chunk file: all that is known without reading its rows."""

    number: int
    rows: int
    size_bytes: int
    position: Position
    totals: Totals
    dropped_rows: int = 0
    bad: tuple[BadRow, ...] = ()
    end: bool = False


@dataclass(frozen=True)
class Tape:
    """A tape on disk, opened for reading.

    Parameters
    ----------
    folder
        Where it lies.
    header
        What it says about itself.
    """

    folder: Path
    header: Header

    @classmethod
    def open(cls, folder: Path) -> Tape:
        """Open a tape.

        Raises
        ------
        RunProblem
            When the folder is not a tape, or one of a version that is not known.
        """
        return cls(folder, read_header(folder))

    def numbers(self) -> tuple[int, ...]:
        """Numbers of the chunks that are there, ascending."""
        return chunk_numbers(self.folder)

    def chunks(self, after: int = 0) -> Iterator[Chunk]:
        """The chunks with a number above ``after``, without the end-of-stream row."""
        for number in self.numbers():
            if number > after:
                mark, rows = read_chunk(self.folder, number)
                if not mark.end:
                    yield Chunk(rows, mark.position, mark.dropped_rows, mark.bad)

    def table(self) -> pa.Table:
        """All rows in arrival order."""
        import pyarrow as pa

        return pa.concat_tables([chunk.rows for chunk in self.chunks()])


class TapeWriter:
    """The one writer of a tape; goes on where a killed one stopped.

    Parameters
    ----------
    folder
        Where the tape lies; made if need be.
    header
        What it says about itself.
    compression
        Parquet codec of the chunks.
    """

    def __init__(
        self, folder: Path, header: Header, *, compression: str = CODEC
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.last = recover(folder)
        self._compression = compression
        self._dropped_rows = 0
        self._bad: tuple[BadRow, ...] = ()
        write_header(folder, header)

    def append(self, chunk: Chunk) -> Mark | None:
        """Write a chunk; an empty one is not written, what it dropped goes with the
        next one. Returns its footer."""
        self._dropped_rows += chunk.dropped_rows
        self._bad = (self._bad + chunk.bad)[:KEPT_BAD_ROWS]
        if chunk.rows.num_rows == 0:
            return None
        return self._write(chunk, self._totals.after(chunk.rows))

    def end(self, schema: Schema) -> Mark:
        """Write the end-of-stream chunk; its row is not one of the source's."""
        position = self.last.position if self.last else {"at": None, "skip": 0}
        return self._write(end_chunk(schema, position), self._totals, end=True)

    @property
    def _totals(self) -> Totals:
        return self.last.totals if self.last else Totals()

    def _write(self, chunk: Chunk, totals: Totals, *, end: bool = False) -> Mark:
        chunk = replace(chunk, dropped_rows=self._dropped_rows, bad=self._bad)
        totals = replace(totals, dropped_rows=totals.dropped_rows + self._dropped_rows)
        self.last = write_chunk(
            self.folder,
            self.last.number + 1 if self.last else 1,
            chunk,
            totals,
            end=end,
            compression=self._compression,
        )
        self._dropped_rows, self._bad = 0, ()
        return self.last


def chunk_path(folder: Path, number: int) -> Path:
    """File of a chunk; numbers count from 1."""
    return folder / f"chunk-{number:08d}.parquet"


def chunk_numbers(folder: Path) -> tuple[int, ...]:
    """Numbers of the chunk files of a folder, ascending."""
    found = (_CHUNK.match(entry.name) for entry in os.scandir(folder))
    return tuple(sorted(int(match[1]) for match in found if match))


def write_header(folder: Path, header: Header) -> None:
    """Write the header, replacing what was there at once."""
    text = json.dumps(asdict(header), indent=2) + "\n"
    torn = folder / f".{HEADER}.tmp"
    torn.write_text(text, encoding="utf-8")
    torn.replace(folder / HEADER)


def read_header(folder: Path) -> Header:
    """The header of a tape.

    Raises
    ------
    RunProblem
        When there is none, or it is not one that this version can read.
    """
    try:
        found = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            raise RunProblem(
                f"the tape '{folder}' has version {found['version']}, "
                f"this program reads version {VERSION}",
                hint="record it again",
            )
        return Header(**found)
    except OSError as problem:
        raise RunProblem(f"'{folder}' is not a tape: no {HEADER}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise RunProblem(f"'{folder}' is not a tape: bad {HEADER}") from problem


def write_chunk(
    folder: Path,
    number: int,
    chunk: Chunk,
    totals: Totals,
    *,
    end: bool = False,
    compression: str = CODEC,
) -> Mark:
    """Write one chunk file; it appears complete, or not at all.

    Parameters
    ----------
    folder
        Where the tape lies.
    number
        Counts from 1, without gaps.
    chunk
        The rows and where the recorder stands after them.
    totals
        Everything up to and including this chunk.
    end
        Whether this is the end-of-stream chunk.
    compression
        Parquet codec.

    Returns
    -------
    Mark
        What :func:`read_mark` will say of it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    notes = {
        "position": chunk.position,
        "dropped_rows": chunk.dropped_rows,
        "bad": [asdict(row) for row in chunk.bad],
        "totals": asdict(totals),
        "end": end,
    }
    metadata = {_KEY + key: json.dumps(value) for key, value in notes.items()}
    path = chunk_path(folder, number)
    torn = path.with_name(f".{path.name}.tmp")
    rows = stored(chunk.rows)
    texts = [f.name for f in rows.schema if pa.types.is_string(f.type)]
    with pq.ParquetWriter(
        torn,
        rows.schema,
        compression=compression,
        # Numbers in a dictionary take three times as long to write.
        use_dictionary=texts,
        store_schema=False,
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(metadata)
    size = torn.stat().st_size
    mtime_s = _FIRST_MTIME_S + number
    os.utime(torn, (mtime_s, mtime_s))
    torn.replace(path)
    return Mark(
        number,
        chunk.rows.num_rows,
        size,
        chunk.position,
        totals,
        chunk.dropped_rows,
        chunk.bad,
        end,
    )


def read_mark(folder: Path, number: int) -> Mark:
    """The footer of one chunk.

    Raises
    ------
    RunProblem
        When the file is not a chunk of a tape.
    """
    import pyarrow.parquet as pq

    path = chunk_path(folder, number)
    try:
        footer = pq.read_metadata(path)
        size = path.stat().st_size
        return _mark(number, footer.num_rows, size, footer.metadata)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise RunProblem(f"'{path}' is not a chunk of a tape: {problem}") from problem


def read_chunk(folder: Path, number: int) -> tuple[Mark, pa.Table]:
    """The footer and the rows of one chunk.

    Raises
    ------
    RunProblem
        When the file is not a chunk of a tape.
    """
    import pyarrow.parquet as pq

    mark = read_mark(folder, number)
    table = pq.ParquetFile(chunk_path(folder, number)).read()
    return mark, table.replace_schema_metadata(None)


def recover(folder: Path) -> Mark | None:
    """Make a folder whole after a kill and say where it stands.

    Half-written files are removed, and a last chunk that cannot be read is one.

    Returns
    -------
    Mark or None
        The footer of the last chunk; None where there is no chunk.
    """
    for torn in folder.glob(".*.tmp"):
        torn.unlink()
    for number in reversed(chunk_numbers(folder)):
        try:
            return read_mark(folder, number)
        except RunProblem:
            chunk_path(folder, number).unlink()
    return None


def end_chunk(schema: Schema, position: Position) -> Chunk:
    """The end-of-stream chunk: one row at the end of time, all else NULL."""
    import pyarrow as pa

    columns = {
        field.name: pa.nulls(1, field.type) for field in arrow_schema(schema)
    } | {
        ARRIVAL: pa.nulls(1, pa.timestamp("us", "UTC")),
        TIMESTAMP: pa.array([END_OF_TIME_US], pa.timestamp("us", "UTC")),
    }
    return Chunk(pa.table(columns), position)


def stored(table: pa.Table) -> pa.Table:
    """The rows as Spark reads them: widened integers, instants in UTC, all nullable."""
    import pyarrow as pa

    fields = [pa.field(f.name, _stored_type(f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


def _stored_type(type_: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    # The counterpart of schema.PRIMITIVES' Spark column, on Arrow types.
    widened = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.time64("us"): pa.int64(),
        pa.timestamp("us"): pa.timestamp("us", "UTC"),
    }
    if pa.types.is_list(type_):
        return pa.list_(_stored_type(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _stored_type(f.type)) for f in type_])
    return widened.get(type_, type_)


def _mark(number: int, rows: int, size: int, metadata: dict[bytes, bytes]) -> Mark:
    notes: dict[str, Any] = {
        key: json.loads(metadata[f"{_KEY}{key}".encode()])
        for key in ("position", "dropped_rows", "bad", "totals", "end")
    }
    bad = tuple(BadRow(**row) for row in notes.pop("bad"))
    totals = Totals(**notes.pop("totals"))
    return Mark(number, rows, size, totals=totals, bad=bad, **notes)


def newest(before: int | None, rows: pa.Table) -> int | None:
    """The newest event time with these rows, in microseconds after the epoch."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.max(rows[TIMESTAMP]).cast(pa.int64()).as_py()
    return max((us for us in (before, found) if us is not None), default=None)
