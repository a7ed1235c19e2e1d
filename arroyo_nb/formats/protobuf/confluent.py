"""Confluent's wire format: what stands before a message whose schema is in a registry.

::

    0, id of the schema (4 bytes, big-endian), place of the message, the message

A schema is a file, and may have several messages: the place is a list of numbers, the
message at the top of the file first, then those inside. It is written as varints in
zigzag order, its length first; the first message of a file, by far the most usual, is a
single zero. Source: Confluent's documentation, "Wire format".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FileDescriptor

from arroyo_nb.formats import DecodedPayloads, PayloadDecoder
from arroyo_nb.formats.protobuf.descriptors import (
    MessageSchema,
    message_indexes,
    top_messages,
)
from arroyo_nb.formats.protobuf.registry import schema_file
from arroyo_nb.schema_registry import RegistryClient
from arroyo_nb.schema_registry.prefix import (
    NO_PREFIX,
    PREFIX_BYTES,
    SchemaCache,
    by_schema_id,
    prefix,
    unknown_ids,
)

_MAX_VARINT_BYTES = 5
_MAX_DEPTH = 64


def head(schema_id: int, message: MessageSchema) -> bytes:
    """What a sink writes before each message."""
    return prefix(schema_id) + place_bytes(message_indexes(message.descriptor))


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
    """A payload whose message is not the wanted one; the text says why."""


def read_place(payload: bytes) -> tuple[tuple[int, ...], int]:
    """The place of the message of a payload, and where the message begins.

    Raises
    ------
    BadPlace
        When no place stands behind the id of the schema.

    >>> read_place(bytes([0, 0, 0, 0, 7, 4, 2, 0]))
    ((1, 0), 8)
    """
    count, at = _read_varint(payload, PREFIX_BYTES)
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
    client
        Whom to ask which message stands at a place in the schema of a record; None: it
        is the one that stands there in the table's own.
    """

    def __init__(
        self,
        decoder: PayloadDecoder,
        message: MessageSchema,
        client: RegistryClient | None,
    ) -> None:
        self._decoder = decoder
        self._name = message.name
        self._own = message.descriptor.file
        self._files: SchemaCache[FileDescriptor | str] | None = None
        if client is not None:
            ask = partial(schema_file, client)
            self._files = SchemaCache(ask, unknown_ids(client))

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads.

        Raises
        ------
        RunProblem
            When the registry does not answer, or refuses.
        """
        begins, bad = np.zeros(len(payloads), np.int64), list[tuple[int, str]]()
        for schema_id, which in by_schema_id(payloads):
            file = self._file(schema_id)
            if isinstance(file, str):
                bad += ((number, file) for number in which.tolist())
            else:
                bad += self._place(payloads, which, file, begins)
        numbers = np.flatnonzero(begins)
        values = payloads.to_pylist()
        messages = [values[n][begins[n] :] for n in numbers.tolist()]
        found = self._decoder.decode(pa.array(messages, pa.binary()))
        bad += [(int(numbers[number]), why) for number, why in found.bad]
        placed = numbers[found.numbers.to_numpy()]
        return replace(found, numbers=pa.array(placed, pa.int64()), bad=tuple(bad))

    def _file(self, schema_id: int | None) -> FileDescriptor | str:
        """The schema of an id, or why it is none."""
        if schema_id is None:
            return NO_PREFIX
        if not schema_id:
            return "it begins with 0, which is the id of no schema"
        return self._own if self._files is None else self._files.get(schema_id)

    def _place(
        self,
        payloads: pa.Array,
        which: np.ndarray,
        file: FileDescriptor,
        begins: np.ndarray,
    ) -> Iterator[tuple[int, str]]:
        """Set where the messages of one schema begin; gives why others do not."""
        place = _place_of(file, self._name)
        end = PREFIX_BYTES + len(place)
        found = pc.binary_slice(payloads, PREFIX_BYTES, end).take(pa.array(which))
        is_usual = pc.equal(found, place).to_numpy(zero_copy_only=False) & bool(place)
        begins[which[is_usual]] = end
        for number in which[~is_usual].tolist():
            try:
                begins[number] = self._begin(payloads[number].as_py(), file)
            except BadPlace as problem:
                yield number, str(problem)

    def _begin(self, payload: bytes, file: FileDescriptor) -> int:
        indexes, at = read_place(payload)
        found = _name_at(file, indexes)
        if found != self._name:
            named = f"'{found}'" if found else f"none of its schema: {[*indexes]}"
            raise BadPlace(f"its message is {named}, and not '{self._name}'")
        return at


def _place_of(file: FileDescriptor, name: str) -> bytes:
    """How the place of a message is written; empty: it is none of the file."""
    try:
        found: Descriptor = file.pool.FindMessageTypeByName(name)
    except KeyError:
        return b""
    return place_bytes(message_indexes(found)) if found.file.name == file.name else b""


def _name_at(file: FileDescriptor, indexes: tuple[int, ...]) -> str | None:
    """The name of the message at a place of a file; None: there is none."""
    first, *inner = indexes
    names = top_messages(file)
    if not 0 <= first < len(names):
        return None
    found = file.pool.FindMessageTypeByName(names[first])
    for index in inner:
        if not 0 <= index < len(found.nested_types):
            return None
        found = found.nested_types[index]
    return str(found.full_name)
