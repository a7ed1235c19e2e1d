"""Payloads that are messages, as rows: each is parsed, then column by column.

A batch with a message that no row can be made of is halved until that one is alone: so
one bad record costs its batch a second reading, and not a look at every record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from arroyo_nb.codecs.protobuf_fields import record_of_columns
from arroyo_nb.codecs.shapes import Misfit, Record
from arroyo_nb.formats import DecodedPayloads
from arroyo_nb.formats.protobuf.descriptors import MessageSchema
from arroyo_nb.schema import Schema, arrow_schema
from arroyo_nb.tape import RecordCounts


class MessagePayloads:
    """Reads payloads that are a message each.

    Parameters
    ----------
    message
        The message.
    schema
        The columns to read.
    event_time
        The column that is the event time, which no record may lack.
    """

    def __init__(
        self, message: MessageSchema, schema: Schema, event_time: str | None
    ) -> None:
        self._message = message
        self._parse = message.message_class.FromString
        self._record = column_record(message, schema)
        self._schema = arrow_schema(schema)
        needed = [f.name for f in schema if not f.nullable or f.name == event_time]
        self._needed = tuple(needed)
        self._has_required = _has_required(message.descriptor, set())
        self._has_inner = any(map(_is_inner, message.descriptor.fields))

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        bad: list[tuple[int, str]] = []
        messages, numbers = self._parsed(payloads.to_pylist(), bad)
        counts = RecordCounts(unknown=sum(map(self._has_unknown, messages)))
        parts = list(self._rows(messages, numbers, bad))
        tables = [self._schema.empty_table(), *(rows for rows, _ in parts)]
        placed = [number for _, found in parts for number in found]
        return DecodedPayloads(
            pa.concat_tables(tables), pa.array(placed, pa.int64()), tuple(bad), counts
        )

    def _parsed(
        self, payloads: list[bytes], bad: list[tuple[int, str]]
    ) -> tuple[list[Message], Sequence[int]]:
        """The messages, and which payload each is."""
        if not self._has_required:
            try:
                return list(map(self._parse, payloads)), range(len(payloads))
            except DecodeError:  # which one is found below
                pass
        messages, numbers = [], []
        for number, payload in enumerate(payloads):
            try:
                message: Any = self._parse(payload)
            except DecodeError as problem:
                bad.append((number, self._reason(problem)))
                continue
            if not message.IsInitialized():
                missing = ", ".join(message.FindInitializationErrors())
                bad.append((number, f"required fields are missing: {missing}"))
                continue
            messages.append(message)
            numbers.append(number)
        return messages, numbers

    def _reason(self, problem: DecodeError) -> str:
        # The library says which message, then what is wrong.
        said = str(problem).rpartition(": ")[2]
        return f"it is no message '{self._message.name}': {said}"

    def _has_unknown(self, message: Message) -> bool:
        """Whether it has fields that its schema does not know, or knows as of another
        type."""
        if len(UnknownFieldSet(message)):
            return True
        if not self._has_inner:
            return False
        # Those of messages inside of it: nobody else tells.
        size_bytes = message.ByteSize()
        message.DiscardUnknownFields()  # type: ignore[attr-defined, unused-ignore]
        return message.ByteSize() != size_bytes

    def _rows(
        self,
        messages: list[Message],
        numbers: Sequence[int],
        bad: list[tuple[int, str]],
    ) -> Iterator[tuple[pa.Table, Sequence[int]]]:
        """The rows of the messages, in as few pieces as can be."""
        if not messages:
            return
        try:
            rows = self._table(messages)
        except Misfit as misfit:
            if len(messages) == 1:
                where = misfit.path.lstrip(".")
                said = f"'{where}': {misfit.reason}" if where else misfit.reason
                bad.append((numbers[0], said))
                return
            middle = len(messages) // 2
            yield from self._rows(messages[:middle], numbers[:middle], bad)
            yield from self._rows(messages[middle:], numbers[middle:], bad)
            return
        yield rows, numbers

    def _table(self, messages: list[Message]) -> pa.Table:
        columns = self._record.columns(messages)
        rows = pa.table(columns, schema=self._schema)
        for name in self._needed:
            if rows[name].null_count:
                nulls = rows[name].combine_chunks().is_null()
                raise Misfit(
                    nulls.index(True).as_py(),
                    f".{name}",
                    "it is not set, and the column is NOT NULL or the event time",
                )
        return rows


@lru_cache(maxsize=64)
def column_record(message: MessageSchema, schema: Schema) -> Record:
    """The columns of a table as those of a message's fields.

    Raises
    ------
    CatalogProblem
        When there is no field for a column, or one of another type.
    """
    return record_of_columns(message.descriptor, schema)


def _is_inner(field: FieldDescriptor) -> bool:
    """Whether it is a message whose fields may change: not one of Google's."""
    of = field.message_type
    return of is not None and not of.full_name.startswith("google.protobuf.")


def _has_required(descriptor: Descriptor, known: set[str]) -> bool:
    """Whether a message, or one inside of it, has fields that must be set."""
    if descriptor.full_name in known:
        return False
    known.add(descriptor.full_name)
    fields: Sequence[Any] = descriptor.fields
    return any(
        field.is_required
        or (field.message_type and _has_required(field.message_type, known))
        for field in fields
    )
