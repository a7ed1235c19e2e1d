"""How a tape lies on disk: a header and numbered Parquet chunks.

::

    _tape.json               version, schema, source, seed, bounded, made_by, and of a
                             tape of records its chunks and what was redacted
    chunk-00000001.parquet   rows; the footer says where the recorder stood after them
    chunk-00000002.parquet
    _read/                   of a run: chunks that every query has read
                             (:mod:`arroyo_nb.tape.read_chunks`)

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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem, StateProblem
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import BadRow, Chunk, Position

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
HEADER = "_tape.json"
CHUNKS = "chunk-*.parquet"
"""Glob of the chunk files."""
_CHUNK = re.compile(r"chunk-(\d{8,})\.parquet\Z")
_KEY = "arroyo_nb."


_UNREAD = "it has rows of '{}' that are not written yet"


class TornChunk(RunProblem):
    """A chunk file that is not Parquet: it was cut off while it was written, or is
    damaged."""


@dataclass(frozen=True)
class Header:
    """What a tape says about itself.

    ``schema`` is the columns as the SQL that declares them, ``seed`` what its random
    choices were made from, ``made_by`` the program that wrote it. A tape that somebody
    keeps says how many ``chunks`` it has; the fields that were ``redacted`` are named.
    """

    schema: str
    source: str
    bounded: bool
    seed: int | None = None
    made_by: str = "arroyo_nb"
    version: int = VERSION
    chunks: int | None = None
    redacted: tuple[str, ...] = ()


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
    """The footer of one chunk file: all that is known without reading its rows.

    ``end`` counts the end-of-stream chunks up to it; 0 where it has rows.
    """

    number: int
    rows: int
    size_bytes: int
    position: Position
    totals: Totals
    dropped_rows: int = 0
    bad: tuple[BadRow, ...] = ()
    end: int = 0


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


def chunk_path(folder: Path, number: int) -> Path:
    """File of a chunk; numbers count from 1."""
    return folder / f"chunk-{number:08d}.parquet"


def is_tape_file(name: str) -> bool:
    """Whether a file of that name, in the folder of a tape, is a part of the tape."""
    # What was half written when its writer died ends so.
    part = name.removeprefix(".").removesuffix(".tmp")
    is_half = name == f".{part}.tmp"
    is_part = part == HEADER or _CHUNK.match(part) is not None
    return is_part and (name == part or is_half)


def chunk_numbers(folder: Path) -> tuple[int, ...]:
    """Numbers of the chunk files of a folder, ascending."""
    found = (_CHUNK.match(entry.name) for entry in os.scandir(folder))
    return tuple(sorted(int(match[1]) for match in found if match))


def read_header(folder: Path, name: str = "") -> Header:
    """The header of a tape.

    Parameters
    ----------
    folder
        Where it lies.
    name
        What errors call it; empty: its path.

    Raises
    ------
    RunProblem
        When there is none, or it is not one that this version can read.
    """
    name = name or str(folder)
    try:
        found = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        version = found["version"]
        # Before the other fields are looked at: a later version may have any.
        if version == VERSION:
            return Header(**{**found, "redacted": tuple(found.get("redacted", ()))})
    except OSError as problem:
        if not folder.exists():
            raise RunProblem(f"there is no tape '{name}'") from problem
        raise RunProblem(f"'{name}' is not a tape: no {HEADER}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise RunProblem(f"'{name}' is not a tape: bad {HEADER}") from problem
    newer = isinstance(version, int) and version > VERSION
    raise RunProblem(
        f"the tape '{name}' has version {version}, this program reads version "
        f"{VERSION}",
        hint="a newer arroyo_nb wrote it" if newer else "record it again",
    )


def read_mark(folder: Path, number: int) -> Mark:
    """The footer of one chunk.

    Raises
    ------
    TornChunk
        When the file is not whole.
    RunProblem
        When it cannot be read, or is not a chunk of a tape.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = chunk_path(folder, number)
    try:
        footer = pq.read_metadata(path)
    except pa.ArrowInvalid as problem:
        raise TornChunk(f"'{path}' is not a chunk of a tape: {problem}") from problem
    except OSError as problem:
        raise RunProblem(f"cannot read the chunk '{path}': {problem}") from problem
    try:
        size = path.stat().st_size
        return _mark(number, footer.num_rows, size, footer.metadata)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise RunProblem(f"'{path}' is not a chunk of a tape: {problem}") from problem


def read_chunk(folder: Path, number: int) -> tuple[Mark, pa.Table]:
    """The footer and the rows of one chunk.

    Raises
    ------
    TornChunk
        When the file is not whole, or other than it was written.
    RunProblem
        When it is not a chunk of a tape.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    mark, path = read_mark(folder, number), chunk_path(folder, number)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except (OSError, pa.ArrowException) as problem:
        raise TornChunk(f"'{path}' cannot be read: {problem}") from problem
    return mark, table.replace_schema_metadata(None)


def check_chunks(folder: Path, source: str, read: int, logged: int) -> None:
    """Find out whether a folder still has the chunks that a resumed run needs. The
    newest one is removed where it is damaged and no query has read it: it is recorded
    again.

    Parameters
    ----------
    folder
        Where they lie; it may be missing.
    source
        Whose they are.
    read, logged
        The newest chunk whose rows are written, and the newest that a query has read.

    Raises
    ------
    StateProblem
        When one is gone or damaged.
    """
    numbers = chunk_numbers(folder) if folder.is_dir() else ()
    newest = max(numbers, default=0)
    # Spark has logged a file that is not there: it would fail with words of its own
    # when it reads the batch again.
    if newest < logged:
        meaning = f"it says where the source '{source}' goes on"
        raise StateProblem(chunk_path(folder, logged), "is gone", meaning)
    for number in range(max(read, 1), newest + 1):
        path, meaning = chunk_path(folder, number), _UNREAD.format(source)
        if number not in numbers:
            # The one before the first that is needed tells nothing more.
            if number > read:
                raise StateProblem(path, "is gone", meaning)
            continue
        try:
            if number > read:
                read_chunk(folder, number)
            elif number == newest:
                meaning = f"it says where the source '{source}' goes on"
                read_mark(folder, number)
        except RunProblem:
            # No batch has it, so that recording it again gives whatever the source has
            # now.
            if number == newest > logged:
                path.unlink()
                return
            raise StateProblem(path, "is damaged", meaning) from None


def footer_of(chunk: Chunk, totals: Totals, number: int, *, end: int) -> dict[str, str]:
    """Key-value metadata of a chunk file: what :func:`read_mark` reads."""
    notes = {
        "position": chunk.position,
        "dropped_rows": chunk.dropped_rows,
        "bad": [asdict(row) for row in chunk.bad],
        "totals": asdict(totals),
        "end": end,
        "number": number,
    }
    return {_KEY + key: json.dumps(value) for key, value in notes.items()}


def _mark(number: int, rows: int, size: int, metadata: dict[bytes, bytes]) -> Mark:
    notes: dict[str, Any] = {
        key: json.loads(metadata[f"{_KEY}{key}".encode()])
        for key in ("position", "dropped_rows", "bad", "totals", "end")
    }
    named = metadata.get(f"{_KEY}number".encode())
    # A chunk that was copied to another name: its rows would come twice. Earlier
    # versions did not write the number.
    if named is not None and json.loads(named) != number:
        raise ValueError(f"it is the chunk {int(named)}")
    bad = tuple(BadRow(**row) for row in notes.pop("bad"))
    totals = Totals(**notes.pop("totals"))
    return Mark(number, rows, size, totals=totals, bad=bad, **notes)


def newest(before: int | None, rows: pa.Table) -> int | None:
    """The newest event time with these rows, in microseconds after the epoch."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.max(rows[TIMESTAMP]).cast(pa.int64()).as_py()
    return max((us for us in (before, found) if us is not None), default=None)
