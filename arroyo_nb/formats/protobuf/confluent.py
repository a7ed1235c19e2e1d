"""Confluent's wire format: what stands before a message whose schema is in a registry.

::

    0, id of the schema (4 bytes, big-endian), place of the message, the message

A schema is a file, and may have several messages: the place is a list of numbers, the
message at the top of the file first, then those inside. It is written as varints in
zigzag order, its length first; the first message of a file, by far the most usual, is a
single zero. Source: Confluent's documentation, "Wire format".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor

from arroyo_nb.formats import DecodedPayloads, PayloadDecoder
from arroyo_nb.formats.protobuf.descriptors import (
    MessageSchema,
    message_indexes,
    top_messages,
)

ID_BYTES = 5
"""The zero and the id of the schema."""

_MAX_VARINT_BYTES = 5
_MAX_DEPTH = 64


def head(schema_id: int, message: MessageSchema) -> bytes:
    """What a sink writes before each message."""
    place = place_bytes(message_indexes(message.descriptor))
    return b"\0" + schema_id.to_bytes(ID_BYTES - 1, "big") + place


def place_bytes(indexes: tuple[int, ...]) -> bytes:
    """The place of a message.

    >>> place_bytes((0,)), place_bytes((1, 0))
    (b'\\x00', b'\\x04\\x02\\x00')
    """
    if indexes == (0,):
        return b"\0"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def _varint(number: int) -> bytes:
    left, made = number << 1, bytearray()  # zigzag: none is negative
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


class BadPlace(Exception):
    """A payload that does not begin as Confluent's do; the text says why."""


def read_place(payload: bytes) -> tuple[tuple[int, ...], int]:
    """The place of the message of a payload, and where the message begins.

    Raises
    ------
    BadPlace
        When the payload does not begin so.

    >>> read_place(bytes([0, 0, 0, 0, 7, 4, 2, 0]))
    ((1, 0), 8)
    """
    if payload[:1] != b"\0" or len(payload) <= ID_BYTES:
        raise BadPlace(
            "it does not begin with the id of a schema in the schema registry"
        )
    if not int.from_bytes(payload[1:ID_BYTES], "big"):
        raise BadPlace("it begins with 0, which is the id of no schema")
    count, at = _read_varint(payload, ID_BYTES)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MAX_DEPTH:
        raise BadPlace(f"the place of its message has {count} numbers")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(payload, at)
        indexes.append(index)
    return tuple(indexes), at


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    found = 0
    for number, byte in enumerate(payload[at : at + _MAX_VARINT_BYTES]):
        found |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at + number + 1
    raise BadPlace("the place of its message is cut off")


class ConfluentPayloads:
    """Reads payloads in Confluent's wire format.

    A message is read by the schema of the table, whichever its own is: fields are known
    by their numbers, so an older or newer one is read too.

    Parameters
    ----------
    decoder
        Reads what stands behind.
    message
        The message that it reads.
    """

    def __init__(self, decoder: PayloadDecoder, message: MessageSchema) -> None:
        self._decoder = decoder
        self._descriptor = message.descriptor
        self._indexes = message_indexes(self._descriptor)
        self._place = place_bytes(self._indexes)

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        begins, bad = self._begins(payloads)
        numbers = np.flatnonzero(begins)
        values = payloads.to_pylist()
        messages = [values[n][begins[n] :] for n in numbers.tolist()]
        found = self._decoder.decode(pa.array(messages, pa.binary()))
        bad += [(int(numbers[number]), why) for number, why in found.bad]
        placed = numbers[found.numbers.to_numpy()]
        return replace(found, numbers=pa.array(placed, pa.int64()), bad=tuple(bad))

    def _begins(
        self, payloads: pa.Array
    ) -> tuple[np.ndarray[Any, Any], list[tuple[int, str]]]:
        """Where each message begins, 0 where none does, and why not."""
        end = ID_BYTES + len(self._place)
        usual = pc.and_(
            pc.starts_with(payloads, pattern=b"\0"),
            pc.equal(pc.binary_slice(payloads, ID_BYTES, end), self._place),
        )
        known = pc.not_equal(pc.binary_slice(payloads, 1, ID_BYTES), bytes(4))
        usual = pc.fill_null(pc.and_(usual, known), False)
        is_usual = usual.to_numpy(zero_copy_only=False)
        begins, bad = np.where(is_usual, end, 0), []
        for number in np.flatnonzero(~is_usual).tolist():
            try:
                begins[number] = self._begin(payloads[number].as_py())
            except BadPlace as problem:
                bad.append((number, str(problem)))
        return begins, bad

    def _begin(self, payload: bytes) -> int:
        indexes, at = read_place(payload)
        if indexes != self._indexes:
            other = _name_at(self._descriptor, indexes)
            named = f"'{other}'" if other else f"none of its schema: {[*indexes]}"
            raise BadPlace(
                f"its message is {named}, and not '{self._descriptor.full_name}'"
            )
        return at


def _name_at(descriptor: Descriptor, indexes: tuple[int, ...]) -> str | None:
    """The name of the message at a place of the same file; None: there is none."""
    first, *inner = indexes
    names = top_messages(descriptor.file)
    if not 0 <= first < len(names):
        return None
    found = descriptor.file.pool.FindMessageTypeByName(names[first])
    for index in inner:
        if not 0 <= index < len(found.nested_types):
            return None
        found = found.nested_types[index]
    return str(found.full_name)
