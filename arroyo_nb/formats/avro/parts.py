"""Writing container files, a block at a time.

Spark's workers make the datums; here they are gathered to blocks and packed. Each file
has a marker of its own, by which its readers find the next block.
"""

from __future__ import annotations

import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import PARTITION_KEY, Pieces, partition_key
from arroyo_nb.formats.avro import COMPRESSION
from arroyo_nb.formats.avro.containers import SYNC_BYTES
from arroyo_nb.formats.avro.encode import container_head, encoded_column, varint
from arroyo_nb.formats.avro.file_blocks import (
    MAX_BLOCK_BYTES,
    file_size,
    read_block,
    read_file_header,
)
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

BLOCK_BYTES = 64 * 2**10
"""About what a block has before it is packed; what is read at once, at least."""

Pack = Callable[[bytes], bytes]


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def _snappy(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.compress(data, "snappy", asbytes=True)
    return packed + zlib.crc32(data).to_bytes(4, "big")


def _zstandard(data: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.compress(data, "zstd", asbytes=True)
    return packed


CODECS: Mapping[str, tuple[str, Pack]] = {
    "uncompressed": ("null", lambda data: data),
    "deflate": ("deflate", _deflate),
    "snappy": ("snappy", _snappy),
    "zstd": ("zstandard", _zstandard),
}
"""What the option may say: the codec in a file's header, and what packs a block."""


class AvroParts:
    """Container files of the record that topics have, too."""

    extension = "avro"

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._schema = schema
        codec, self._pack = CODECS[str(options[COMPRESSION])]
        # What cannot be written is told before the first batch.
        self._head = container_head(schema, codec)

    def columns(self, names: Sequence[str], key: str) -> list[Column]:  # noqa: ARG002
        """The datum of each row, and its key."""
        return [encoded_column(self._schema, embedded=False), partition_key(key)]

    def rows(self, computed: pa.Table) -> pa.Table:
        """As they are."""
        return computed

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write blocks until there is no room."""
        sync = secrets.token_bytes(SYNC_BYTES)
        with path.open("wb") as file:
            file.write(self._head + sync)
            blocks = _Blocks(file, self._pack, sync)
            for piece in pieces:
                blocks.add(piece.drop_columns(PARTITION_KEY)["value"])
                if file.tell() + blocks.waiting_bytes >= room_bytes:
                    break
            blocks.flush()
        return path.stat().st_size

    def join(self, parts: Sequence[Path], path: Path) -> None:
        """The blocks of all parts behind the header of the first, as they are packed.

        Raises
        ------
        RunProblem
            When the parts have other schemas or codecs.
        """
        first, *others = parts
        with path.open("wb") as file:
            with first.open("rb") as found:
                header, _ = read_file_header(found)
                found.seek(0)
                shutil.copyfileobj(found, file, 2**20)
            for part in others:
                with part.open("rb") as found:
                    other, begin = read_file_header(found)
                    if (other.schema, other.codec) != (header.schema, header.codec):
                        raise RunProblem(
                            f"the rows in '{part}' have another Avro schema or codec "
                            f"than those in '{first.name}', and are of one file",
                            hint="start the run as it was and stop it, which makes "
                            "its files whole",
                        )
                    _copy_blocks(found, begin, other.sync, file, header.sync)


class _Blocks:
    """Gathers datums until they are a block."""

    def __init__(self, file: BinaryIO, pack: Pack, sync: bytes) -> None:
        self._file = file
        self._pack = pack
        self._sync = sync
        self._waiting: list[bytes] = []
        self._count = 0
        self.waiting_bytes = 0

    def add(self, datums: pa.ChunkedArray) -> None:
        """Add datums; a block is written once enough bytes are waiting."""
        for chunk in datums.chunks:
            for data, count in _cut(chunk, BLOCK_BYTES):
                self._waiting.append(data)
                self._count += count
                self.waiting_bytes += len(data)
                if self.waiting_bytes >= BLOCK_BYTES:
                    self.flush()

    def flush(self) -> None:
        """Write the waiting datums as one block.

        Raises
        ------
        DataProblem
            When they are more than a reader takes.
        """
        if self.waiting_bytes > MAX_BLOCK_BYTES:
            raise DataProblem(
                f"a row is larger than {MAX_BLOCK_BYTES // 2**20} MiB as Avro, and no "
                "such row is written",
                hint="leave its largest column out, or cut the text in it",
            )
        if self._count:
            packed = self._pack(b"".join(self._waiting))
            _write_block(self._file, self._count, packed, self._sync)
        self._waiting, self._count, self.waiting_bytes = [], 0, 0


def _cut(datums: pa.Array, size_bytes: int) -> Iterator[tuple[bytes, int]]:
    """The bytes of datums in runs of about a size, and how many are in each."""
    if not len(datums):
        return  # An array without rows may have no offsets.
    _, offsets, data = datums.buffers()
    ends = np.frombuffer(offsets, np.int32)
    ends = ends[datums.offset : datums.offset + len(datums) + 1].astype(np.int64)
    held = memoryview(data or b"")
    turns = np.flatnonzero(np.diff((ends[1:] - ends[0]) // size_bytes)) + 1
    cuts = [0, *turns.tolist(), len(datums)]
    for begin, end in pairwise(cuts):
        yield bytes(held[ends[begin] : ends[end]]), end - begin


def _copy_blocks(
    found: BinaryIO, begin: int, sync: bytes, file: BinaryIO, own_sync: bytes
) -> None:
    """Copy all blocks from a byte on, with another marker."""
    size = file_size(found)
    while begin < size:
        block = read_block(found, begin, sync)
        _write_block(file, block.count, block.data, own_sync)
        begin = block.end


def _write_block(file: BinaryIO, count: int, packed: bytes, sync: bytes) -> None:
    file.write(varint(count) + varint(len(packed)) + packed + sync)
