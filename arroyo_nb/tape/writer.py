"""Writing a tape: the one writer of a folder, and what a chunk file looks like.

A chunk is written under a hidden name, gets the time that orders it, and is renamed.
After a kill the folder itself says where to go on: half-written files are removed,
and the last footer has the position.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.durable_files import sync
from arroyo_nb.schema import TIMESTAMP, Schema, arrow_schema
from arroyo_nb.tape import (
    ARRIVAL,
    END_OF_TIME_US,
    KEPT_BAD_ROWS,
    BadRow,
    Chunk,
    Position,
)
from arroyo_nb.tape.format import (
    HEADER,
    Header,
    Mark,
    TornChunk,
    Totals,
    chunk_numbers,
    chunk_path,
    footer_of,
    read_mark,
)

if TYPE_CHECKING:
    import pyarrow as pa

CODEC = "none"
"""Spark reads uncompressed chunks a fifth faster than any codec's; a running tape is
bounded, so its size matters less."""

GROUP_ROWS = 65_536
"""Rows of a row group: the least that one of several cores reads of a large chunk."""

_FIRST_MTIME_S = 946_684_800  # 2000-01-01: any fixed moment does


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
        if chunk.empty:
            return None
        return self._write(chunk, self._totals.after(chunk.rows))

    def end(self, schema: Schema) -> Mark:
        """Write an end-of-stream chunk; its row is not one of the source's."""
        position = self.last.position if self.last else {"at": None, "skip": 0}
        end = self.ends + 1
        return self._write(end_chunk(schema, position), self._totals, end=end)

    @property
    def ends(self) -> int:
        """How many end-of-stream chunks there are."""
        return self.last.end if self.last else 0

    @property
    def dropped_rows(self) -> int:
        """Bad records so far, those that no chunk has taken note of yet among them."""
        return self._totals.dropped_rows + self._dropped_rows

    @property
    def _totals(self) -> Totals:
        return self.last.totals if self.last else Totals()

    def _write(self, chunk: Chunk, totals: Totals, *, end: int = 0) -> Mark:
        chunk = replace(chunk, dropped_rows=self._dropped_rows, bad=self._bad)
        totals = replace(totals, dropped_rows=self.dropped_rows)
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


def write_chunk(
    folder: Path,
    number: int,
    chunk: Chunk,
    totals: Totals,
    *,
    end: int = 0,
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
        Which of the end-of-stream chunks this is, counted from 1; 0 for rows.
    compression
        Parquet codec.

    Returns
    -------
    Mark
        What :func:`read_mark` will say of it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = chunk_path(folder, number)
    torn = path.with_name(f".{path.name}.tmp")
    rows = stored(chunk.rows)
    texts = [f.name for f in rows.schema if pa.types.is_string(f.type)]
    with pq.ParquetWriter(
        torn,
        rows.schema,
        compression=compression,
        # A chunk that was damaged since is known before its rows are taken for true.
        write_page_checksum=True,
        # Numbers in a dictionary take three times as long to write.
        use_dictionary=texts,
        store_schema=False,
    ) as writer:
        writer.write_table(rows, row_group_size=GROUP_ROWS)
        writer.add_key_value_metadata(footer_of(chunk, totals, number, end=end))
    size = torn.stat().st_size
    mtime_s = _FIRST_MTIME_S + number
    # Before the rename: Spark may list the folder the moment the name is there, and
    # keeps the time that it sees.
    os.utime(torn, (mtime_s, mtime_s))
    if chunk.durable:
        sync(torn)
    torn.replace(path)
    if chunk.durable:
        sync(folder)
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


def write_header(folder: Path, header: Header) -> None:
    """Write the header, replacing what was there at once."""
    text = json.dumps(asdict(header), indent=2) + "\n"
    torn = folder / f".{HEADER}.tmp"
    torn.write_text(text, encoding="utf-8")
    torn.replace(folder / HEADER)


def recover(folder: Path) -> Mark | None:
    """Make a folder whole after a kill and say where it stands.

    Half-written files are removed. A last chunk that is not Parquet is one; only the
    last can be, and one that merely cannot be read now is none.

    Returns
    -------
    Mark or None
        The footer of the last chunk; None where there is no chunk.

    Raises
    ------
    RunProblem
        When a chunk that was whole cannot be read.
    """
    for torn in folder.glob(".*.tmp"):
        torn.unlink()
    # Chunks are written one after the other, so that only the newest can be torn.
    *others, last = (0, *chunk_numbers(folder))
    try:
        return read_mark(folder, last) if last else None
    except TornChunk:
        chunk_path(folder, last).unlink()
    return read_mark(folder, others[-1]) if others[-1] else None


def end_chunk(schema: Schema, position: Position) -> Chunk:
    """The end-of-stream chunk: one row at the end of time, all else NULL."""
    import pyarrow as pa

    columns = {
        field.name: pa.nulls(1, field.type) for field in arrow_schema(schema)
    } | {
        ARRIVAL: pa.nulls(1, pa.timestamp("us", "UTC")),
        # It takes the watermark past every window, so that all of them close.
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
