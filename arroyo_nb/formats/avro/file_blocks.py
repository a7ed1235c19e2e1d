"""The blocks of a container file, as they lie on the disk.

A file may have any size, so a block is read at a time, and a larger one than
:data:`MAX_BLOCK_BYTES` is not read. Behind a damaged block reading goes on where the
file's marker ends the next one. Source: the Avro specification, "Object Container
Files".
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

from arroyo_nb.formats.avro.containers import MAGIC, SYNC_BYTES, Header, read_header
from arroyo_nb.formats.avro.cursor import Cursor, most_values
from arroyo_nb.formats.json.strict import BadRecord

MAX_BLOCK_BYTES = 64 * 2**20
"""The largest block that is read, packed or not. Writers make them of some 64 KiB."""

MAX_HEADER_BYTES = 8 * 2**20
"""The largest header that is read: nearly all of it is the schema."""
_HEADER_BYTES = 64 * 2**10
_HEAD_BYTES = 20
"""Two numbers, of up to ten bytes each."""
_SEARCHED_BYTES = 2**20


@dataclass(frozen=True)
class PackedBlock:
    """A block of a file.

    Parameters
    ----------
    count
        How many datums it has.
    data
        They, packed.
    end
        Where the next block begins.
    """

    count: int
    data: bytes
    end: int


class DamagedBlock(Exception):
    """A block that cannot be read.

    Parameters
    ----------
    reason
        Why.
    end
        Where the next block begins.
    count
        How many datums it has; 1 where that is not known.
    at_end
        Whether the file has no marker behind it: ``end`` is where the file ends now, or
        where the block begins when the file is shorter than that.
    """

    def __init__(
        self, reason: str, end: int, count: int = 1, *, at_end: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.end = end
        self.count = count
        self.at_end = at_end


def read_file_header(stream: BinaryIO) -> tuple[Header, int]:
    """The header of a file, and where its first block begins.

    Raises
    ------
    BadRecord
        When there is none.
    """
    data = b""
    while True:
        more = stream.read(max(_HEADER_BYTES, len(data)))
        data += more
        cursor = Cursor(data)
        try:
            return read_header(cursor), cursor.at
        except BadRecord as problem:
            if not more or not data.startswith(MAGIC):
                raise
            if len(data) >= MAX_HEADER_BYTES:
                raise BadRecord(
                    f"{problem}; at most {MAX_HEADER_BYTES:,} bytes of a header are "
                    "read"
                ) from None


def file_size(stream: BinaryIO) -> int:
    """The bytes of an open file."""
    return os.fstat(stream.fileno()).st_size


def read_block(stream: BinaryIO, begin: int, sync: bytes) -> PackedBlock:
    """The block that begins at a byte.

    Raises
    ------
    DamagedBlock
        When there is none.
    """
    stream.seek(begin)
    head = Cursor(stream.read(_HEAD_BYTES))
    try:
        count, size = head.read_long(), head.read_long()
    except BadRecord:
        raise _damaged(stream, begin, sync) from None
    first, marker = begin + head.at, begin + head.at + size
    if count < 0 or size < 0 or marker + SYNC_BYTES > file_size(stream):
        raise _damaged(stream, begin, sync)
    stream.seek(marker)
    if stream.read(SYNC_BYTES) != sync:
        raise _damaged(stream, begin, sync)
    end = marker + SYNC_BYTES
    if size > MAX_BLOCK_BYTES:
        raise DamagedBlock(
            f"a block of the container has {size:,} bytes, and at most "
            f"{MAX_BLOCK_BYTES:,} are read",
            end,
            possible_count(count, MAX_BLOCK_BYTES),
        )
    stream.seek(first)
    data = stream.read(size)
    # The file may become shorter between two reads.
    if len(data) < size:
        raise _damaged(stream, begin, sync)
    return PackedBlock(count, data, end)


def possible_count(count: int, size: int) -> int:
    """How many datums a block loses that nobody can read.

    Parameters
    ----------
    count
        How many it announces.
    size
        How many bytes it has at most, unpacked.

    Returns
    -------
    int
        The count; 1 when such bytes cannot hold so many.
    """
    return count if count <= most_values(size) else 1


def _damaged(stream: BinaryIO, begin: int, sync: bytes) -> DamagedBlock:
    end, has_marker = _behind_marker(stream, begin, sync)
    return DamagedBlock(
        f"invalid Avro: the container is damaged between the bytes {begin:,} and "
        f"{end:,}",
        end,
        at_end=not has_marker,
    )


def _behind_marker(stream: BinaryIO, begin: int, sync: bytes) -> tuple[int, bool]:
    """Where the next marker from a byte on ends, and True; without one, the end of the
    file and False."""
    stream.seek(begin)
    at, found = begin, b""
    while more := stream.read(_SEARCHED_BYTES):
        found += more
        if (place := found.find(sync)) >= 0:
            return at + place + SYNC_BYTES, True
        # A marker may lie across two reads.
        kept = found[-(SYNC_BYTES - 1) :]
        at, found = at + len(found) - len(kept), kept
    return at + len(found), False
