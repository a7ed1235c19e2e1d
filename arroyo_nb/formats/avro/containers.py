"""Avro's container files: a header with the schema, then blocks of datums.

A record of a topic may be a whole container. Its codec may make gigabytes of a few
bytes, so what comes out of a block is bounded. Source: the Avro specification, "Object
Container Files".
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arroyo_nb.formats.avro.budget import Budget
from arroyo_nb.formats.avro.cursor import Cursor
from arroyo_nb.formats.json.strict import BadRecord

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MAX_BYTES = 16 * 2**20
"""The most that the blocks of one container may become when they are decompressed."""
MAX_RECORDS = 100_000
"""The most records of a container that is one record of a topic."""
MAX_HEADER_ENTRIES = 1_000
"""The most entries in a header; writers make some ten."""
_MOST_PER_BYTE = {"null": 1, "deflate": 1_032, "snappy": 22}
"""How many bytes one packed byte may become; other codecs have no small bound."""


@dataclass(frozen=True)
class Header:
    """What a container begins with."""

    schema: str
    codec: str
    sync: bytes


@dataclass(frozen=True)
class Block:
    """Some datums, decompressed."""

    count: int
    data: bytes


def read_header(cursor: Cursor) -> Header:
    """The header of a container; the cursor is behind it then.

    Raises
    ------
    BadRecord
        When there is none, or it has too many entries.
    """
    if not cursor.data.startswith(MAGIC):
        raise BadRecord("invalid Avro: it does not begin as a container file does")
    cursor.take(len(MAGIC))
    meta = _metadata(cursor)
    if "avro.schema" not in meta:
        raise BadRecord("invalid Avro: the container has no schema")
    schema = meta["avro.schema"].decode("utf-8", "replace")
    codec = meta.get("avro.codec", b"null").decode("utf-8", "replace")
    return Header(schema, codec, cursor.take(SYNC_BYTES))


def _metadata(cursor: Cursor) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    entries = 0
    while number := cursor.read_long():
        if number < 0:
            cursor.read_long()
        entries += abs(number)
        if entries > MAX_HEADER_ENTRIES:
            raise BadRecord(
                f"invalid Avro: the header has more than {MAX_HEADER_ENTRIES:,} entries"
            )
        for _ in range(abs(number)):
            name = cursor.read_bytes().decode("utf-8", "replace")
            found[name] = cursor.read_bytes()
    return found


def read_blocks(cursor: Cursor, header: Header, budget: Budget) -> Iterator[Block]:
    """The blocks from where the cursor stands to the end.

    Parameters
    ----------
    cursor, header
        The container.
    budget
        What is left for it.

    Raises
    ------
    BadRecord
        When one is damaged, its codec is not known, or it becomes too much.
    """
    left_bytes, left_records = MAX_BYTES, MAX_RECORDS
    while cursor.at < len(cursor.data):
        count = cursor.read_long()
        packed = cursor.read_bytes()
        if cursor.take(SYNC_BYTES) != header.sync or count < 0:
            raise BadRecord("invalid Avro: a block of the container is damaged")
        left_records -= count
        if left_records < 0:
            most = f"{MAX_RECORDS:,}"
            raise BadRecord(f"invalid Avro: a container of over {most} records")
        budget.rows.use(count)
        data = _unpacked(packed, header.codec, left_bytes, budget)
        left_bytes -= len(data)
        yield Block(count, data)


def _unpacked(packed: bytes, codec: str, most: int, budget: Budget) -> bytes:
    """The bytes of a block; one that cannot be had has cost as much as it could."""
    cost = min(most, budget.size_bytes.left)
    try:
        data = decompressed(packed, codec, cost)
        cost = len(data)
        return data
    finally:
        budget.size_bytes.use(cost)


def decompressed(data: bytes, codec: str, most: int) -> bytes:
    """The bytes of a block.

    Parameters
    ----------
    data
        The block.
    codec
        How it is compressed.
    most
        How many bytes may come of it.

    Raises
    ------
    BadRecord
        When they cannot be had.
    """
    try:
        match codec:
            case "null":
                found = data
            case "deflate":
                found = zlib.decompressobj(-15).decompress(data, most + 1)
            case "bzip2":
                found = bz2.BZ2Decompressor().decompress(data, most + 1)
            case "xz":
                found = lzma.LZMADecompressor().decompress(data, most + 1)
            case "snappy":
                found = _snappy(data, most)
            case "zstandard":
                found = _zstandard(data, most)
            case _:
                raise BadRecord(
                    f"invalid Avro: the codec '{codec[:40]}' of the container is "
                    "unknown"
                )
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        raise BadRecord(
            f"invalid Avro: a block of the container is no {codec}"
        ) from None
    if len(found) > most:
        raise _too_large()
    return found


def most_unpacked(size: int, codec: str, most: int) -> int:
    """How many bytes a block may become when it is unpacked.

    Parameters
    ----------
    size
        The bytes of the packed block.
    codec
        How it is compressed.
    most
        How many bytes may come of any block.
    """
    per_byte = _MOST_PER_BYTE.get(codec)
    return most if per_byte is None else min(most, per_byte * size)


def _too_large() -> BadRecord:
    return BadRecord("invalid Avro: the blocks of the container become too many bytes")


def _snappy(data: bytes, most: int) -> bytes:
    import pyarrow as pa

    # Its length stands in front, as a plain number of seven bits a byte; behind it is a
    # checksum of four bytes.
    size = bits = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << bits
        bits += 7
        if not byte & 0x80:
            break
    if size > most:
        raise _too_large()
    found = pa.decompress(data[:-4], size, "snappy", asbytes=True)
    if zlib.crc32(found) != int.from_bytes(data[-4:], "big"):
        raise ValueError("checksum")
    return bytes(found)


def _zstandard(data: bytes, most: int) -> bytes:
    import pyarrow as pa

    with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
        return bytes(stream.read(most + 1))
