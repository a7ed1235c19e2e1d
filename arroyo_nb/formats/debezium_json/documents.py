"""Reading debezium documents: one JSON object with before, after and op a line.

The document may lie in a ``payload``, beside the ``schema`` that Kafka Connect adds.
A line that is ``null`` is a tombstone and says nothing. Of a row before only the
primary key must be told: many databases tell no more. Rules: arroyo-semantics c.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import SEQUENCE
from arroyo_nb.formats import Decoded, DecodedPayloads
from arroyo_nb.formats.debezium_json.unsent import count_unsent
from arroyo_nb.formats.json.decimals import DecimalForms
from arroyo_nb.formats.json.lines import LineDecoder
from arroyo_nb.formats.json.strict import (
    BadRecord,
    JsonNumber,
    RecordReader,
    mismatch,
)
from arroyo_nb.formats.json.told_decimals import SCHEMA
from arroyo_nb.formats.json.vectorized import BlockReader, first_record
from arroyo_nb.formats.json.wrapped import PAYLOAD, PayloadReaders
from arroyo_nb.schema import TEXT, Field, Schema, StructOf, Timestamp, Type
from arroyo_nb.tape import RecordCounts

if TYPE_CHECKING:
    import pyarrow as pa

BEFORE, AFTER, OP = "before", "after", "op"

# Which images of the row an op needs. That of a `u` may be missing before: its key is
# then the one after.
_NEEDED = {"c": (AFTER,), "r": (AFTER,), "u": (AFTER,), "d": (BEFORE,)}

_TOMBSTONE = re.compile(rb"\nnull(?=[ \t\r]*(?:\n|\Z))")


@dataclass(frozen=True)
class DocumentRows:
    """The rows that documents speak of, and how their values are written.

    Parameters
    ----------
    schema
        The source's columns.
    primary_key
        Which of them tell rows apart.
    forms
        What the texts of DECIMALs are.
    counted
        Whether an instant is expected to be a number.
    """

    schema: Schema
    primary_key: tuple[str, ...]
    forms: DecimalForms
    counted: bool

    @cached_property
    def document(self) -> Schema:
        """The columns of a document; what must be there depends on its op."""
        row = StructOf(tuple(_nullable(field) for field in self.schema))
        return Schema((Field(BEFORE, row), Field(AFTER, row), Field(OP, TEXT)))

    def required(self, image: str) -> tuple[str, ...]:
        """The columns that may not be NULL in a row before or after."""
        keys = self.primary_key
        if image == BEFORE:
            return keys
        strict = (f.name for f in self.schema if not f.nullable and f.name not in keys)
        return (*keys, *strict)


def _nullable(field: Field) -> Field:
    return replace(field, nullable=True)


class DocumentDecoder:
    """Reads the changes that documents tell: a row for each, with its weight and its
    place in the sequence."""

    def __init__(self, rows: DocumentRows, *, drop: bool) -> None:
        self._plain = rows.forms.plain
        self._lines = LineDecoder(DocumentBlocks(rows), DocumentReader(rows), drop=drop)

    def decode(self, block: bytes, origin: str, first_line: int) -> Decoded:
        """Read a block of lines.

        Raises
        ------
        RunProblem
            When a document is bad and bad data is not dropped.
        """
        import numpy as np
        import pyarrow as pa

        from arroyo_nb.changelog.debezium_changes import unrolled

        before = self._plain.count
        found = self._lines.decode(_without_tombstones(block), origin, first_line)
        changes = unrolled(found.rows)
        # A line tells two changes at most: those of the next block come after.
        sequence = pa.array(2 * first_line + np.arange(len(changes)), pa.int64())
        counts = RecordCounts(
            plain_decimals=self._plain.count - before,
            unsent=count_unsent(found.rows[AFTER]),
        )
        rows = changes.append_column(SEQUENCE, sequence)
        return replace(found, rows=rows, counts=counts)


class DocumentPayloads:
    """Reads the changes that documents tell which come each by itself: a row for each,
    with its weight."""

    def __init__(self, rows: DocumentRows) -> None:
        from arroyo_nb.formats.json.payloads import JsonPayloads

        self._plain = rows.forms.plain
        self._documents = JsonPayloads(DocumentBlocks(rows), DocumentReader(rows))

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of documents; one that is ``null`` says nothing."""
        from arroyo_nb.changelog.debezium_changes import unrolled
        from arroyo_nb.changelog.keys import whole

        before = self._plain.count
        found = self._documents.decode(payloads)
        changes = unrolled(found.rows.append_column(SEQUENCE, found.numbers))
        numbers = whole(changes[SEQUENCE])
        counts = found.counts + RecordCounts(
            plain_decimals=self._plain.count - before,
            unsent=count_unsent(found.rows[AFTER]),
        )
        rows = changes.drop_columns([SEQUENCE])
        return replace(found, rows=rows, numbers=numbers, counts=counts)


def _without_tombstones(block: bytes) -> bytes:
    """The same lines, those blank that are ``null``: Arrow reads no ``null``."""
    if block.startswith(b"null"):
        return _TOMBSTONE.sub(b"\n", b"\n" + block)[1:]
    return _TOMBSTONE.sub(b"\n", block) if b"\nnull" in block else block


class DocumentBlocks:
    """Reads blocks of documents, or refuses."""

    def __init__(self, rows: DocumentRows) -> None:
        self._rows = rows
        document = rows.document
        payload = Field(PAYLOAD, StructOf(document.fields))
        wrapped = Schema((payload, Field(OP, TEXT)))
        self._plain = BlockReader(document, None, rows.forms)
        self._wrapped = PayloadReaders(wrapped, StructOf(document.fields), rows.forms)

    def read(self, block: bytes) -> pa.Table | None:
        """The documents; None where they must be read one by one."""
        try:
            first = first_record(block)
        except BadRecord:
            return None
        if not isinstance(first, dict):
            return None
        payload = _payload(first)
        if payload is first:
            found = self._plain.read_like(block, self._like(first))
        else:
            like = {PAYLOAD: self._like(payload)}
            found = _unwrapped(self._wrapped.read_like(block, first, like))
        return found if found is not None and self._is_sound(found) else None

    def _like(self, document: Any) -> Mapping[str, Any]:
        """A document whose rows have a value wherever one can be told beforehand."""
        images = document if isinstance(document, dict) else {}
        row: dict[str, Any] = {}
        for image in (images.get(BEFORE), images.get(AFTER)):
            if isinstance(image, dict):
                row |= {k: v for k, v in image.items() if v is not None}
        for field in self._rows.schema:
            if field.name not in row and self._rows.counted:
                row[field.name] = _number(field.type)
        return {BEFORE: row, AFTER: row, OP: "c"}

    def _is_sound(self, documents: pa.Table) -> bool:
        """Whether no document is one that the exact reader refuses."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ops = documents[OP]
        if not pc.all(pc.is_in(ops, pa.array(list(_NEEDED))), min_count=0).as_py():
            return False
        for image in (BEFORE, AFTER):
            needed = [op for op, images in _NEEDED.items() if image in images]
            used = pc.is_in(ops, pa.array(needed))
            if image == BEFORE:
                told = pc.and_(pc.equal(ops, "u"), documents[BEFORE].is_valid())
                used = pc.or_(used, told)
            rows = documents[image].filter(used)
            columns = (pc.struct_field(rows, c) for c in self._rows.required(image))
            if rows.null_count or any(column.null_count for column in columns):
                return False
        return True


def _number(type_: Type) -> JsonNumber | None:
    return JsonNumber("0") if isinstance(type_, Timestamp) else None


def _payload(document: dict[str, Any]) -> Any:
    """What a document says, with the schema beside it or without."""
    wrapped = OP not in document and PAYLOAD in document
    return document[PAYLOAD] if wrapped else document


def _unwrapped(found: pa.Table | None) -> pa.Table | None:
    import pyarrow as pa

    if found is None or found[PAYLOAD].null_count:
        return None
    # One with an op beside its payload is not wrapped.
    if found[OP].null_count < len(found):
        return None
    columns = found[PAYLOAD].combine_chunks().flatten()
    return pa.table(columns, schema=pa.schema(list(found[PAYLOAD].type)))


class DocumentReader(RecordReader):
    """Reads documents one by one, and says why one is bad."""

    def __init__(self, rows: DocumentRows) -> None:
        super().__init__(rows.document, None, rows.forms)
        self._rows = rows

    def _read(self, document: Any) -> dict[str, Any] | None:
        beside = None
        if (
            isinstance(document, dict)
            and (payload := _payload(document)) is not document
        ):
            document, beside = payload, document.get(SCHEMA)
        if document is None:
            return None
        found = self._record(document, beside)
        op = found[OP]
        if op not in _NEEDED:
            raise _unknown(op)
        for image in (BEFORE, AFTER):
            self._check(found, image, op)
        return found

    def _check(self, document: dict[str, Any], image: str, op: str) -> None:
        row = document[image]
        needed = image in _NEEDED[op]
        if row is None and needed:
            raise mismatch(f"'{image}' is null or missing, and the op is '{op}'")
        if row is None or not (needed or (image == BEFORE and op == "u")):
            return
        for name in self._rows.required(image):
            if row[name] is None:
                is_key = name in self._rows.primary_key
                what = "the PRIMARY KEY" if is_key else "NOT NULL"
                raise mismatch(f"'{image}.{name}' is {what} and is null or missing")


def _unknown(op: str | None) -> BadRecord:
    if op is None:
        return mismatch("'op' is null or missing")
    return BadRecord(f"unexpected op value '{op}': it is one of {', '.join(_NEEDED)}")
