"""The bytes of a datum, read from the beginning to the end.

They may be anybody's: each length is checked against what is left of them, what takes
no bytes is counted, and types that hold themselves are followed only so far. Source:
the Avro specification, "Binary Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from arroyo_nb.formats.avro.schema import AvroType
from arroyo_nb.formats.json.strict import BadRecord

MAX_LEVELS = 60
"""How far types that hold themselves are followed; a level takes several frames of
Python."""

FREE_VALUES, VALUES_PER_BYTE = 1_000, 4
"""So many values may take no bytes, and so many more be of one byte of a record."""

NAME_BYTES = 64 * 2**20
"""How long the names of fields and symbols together may be in what JSON is made of: a
schema may have long ones, and a value of none or one byte repeats them."""


def most_values(size: int) -> int:
    """How many values so many bytes may hold."""
    return FREE_VALUES + VALUES_PER_BYTE * size


class Cursor:
    """Where a reader stands in the bytes of a record."""

    __slots__ = ("at", "data", "levels", "names", "values")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self.levels = 0
        self.names = NAME_BYTES
        self.values = most_values(len(data))

    def read_long(self) -> int:
        """A whole number of up to 64 bits."""
        data, at = self.data, self.at
        try:
            byte = data[at]
            number = byte & 0x7F
            bits = 7
            while byte & 0x80:
                at += 1
                byte = data[at]
                number |= (byte & 0x7F) << bits
                bits += 7
                if bits > 70 or number >> 64:
                    raise BadRecord("invalid Avro: a number of more than 64 bits")
        except IndexError:
            raise ended() from None
        self.at = at + 1
        return (number >> 1) ^ -(number & 1)

    def read_int(self) -> int:
        """A whole number of up to 32 bits."""
        number = self.read_long()
        if not -(2**31) <= number < 2**31:
            raise BadRecord("invalid Avro: an int of more than 32 bits")
        return number

    def take(self, size: int) -> bytes:
        """So many bytes."""
        at, end = self.at, self.at + size
        if size < 0 or end > len(self.data):
            left = len(self.data) - at
            raise BadRecord(
                f"invalid Avro: {size:,} bytes are announced, and {left:,} are left"
            )
        self.at = end
        return self.data[at:end]

    def read_bytes(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.read_long())

    def count(self) -> None:
        """One value more of a kind that may take no bytes."""
        self.values -= 1
        if self.values < 0:
            raise BadRecord("invalid Avro: more values than its bytes can hold")

    def spell(self, size: int) -> None:
        """Names of so many letters more."""
        self.names -= size
        if self.names < 0:
            raise BadRecord("invalid Avro: the names in it become too long a text")

    def down(self) -> None:
        """One level more of a type that may hold itself."""
        self.count()
        self.levels += 1
        if self.levels > MAX_LEVELS:
            raise BadRecord("invalid Avro: nested too deeply")


Read: TypeAlias = Callable[[Cursor], Any]
"""Reads a value; None is NULL."""


def ended() -> BadRecord:
    """The error of a record that ends too early."""
    return BadRecord("invalid Avro: it ends in the middle of a value")


def read_null(_cursor: Cursor) -> None:
    """A value that takes no bytes."""


def wire_reader(avro: AvroType) -> Read:
    """Reads a value as it is written: a text as its bytes."""
    match avro.kind:
        case "null":
            return read_null
        case "boolean":
            return _boolean
        case "int":
            return Cursor.read_int
        case "long":
            return Cursor.read_long
        case "float":
            return partial(_float, struct.Struct("<f"))
        case "double":
            return partial(_float, struct.Struct("<d"))
        case "bytes" | "string":
            return Cursor.read_bytes
        case "fixed":
            return partial(_fixed, avro.size)
        case "enum":
            return partial(_symbol, avro.symbols)
        case kind:
            raise AssertionError(kind)


def _boolean(cursor: Cursor) -> bool:
    (byte,) = cursor.take(1)
    if byte > 1:
        raise BadRecord(f"invalid Avro: a boolean is 0 or 1, found {byte}")
    return byte == 1


def _float(form: struct.Struct, cursor: Cursor) -> float:
    number: float = form.unpack(cursor.take(form.size))[0]
    return number


def _fixed(size: int, cursor: Cursor) -> bytes:
    return cursor.take(size)


def _symbol(symbols: Sequence[str], cursor: Cursor) -> str:
    number = cursor.read_int()
    if not 0 <= number < len(symbols):
        raise BadRecord(
            f"invalid Avro: an enum of {len(symbols)} symbols has no number {number}"
        )
    return symbols[number]
