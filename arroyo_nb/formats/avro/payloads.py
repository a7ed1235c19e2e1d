"""Payloads of Avro as rows: with the id of a schema in front, bare, or as containers.

A batch is read at once where its schema allows that, and datum by datum where not; a
datum that is odd is always read by itself, so that the reason is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from arroyo_nb.formats import DecodedPayloads
from arroyo_nb.formats.avro.budget import Budget
from arroyo_nb.formats.avro.columns import Misfit, mismatch
from arroyo_nb.formats.avro.containers import Header, read_blocks, read_header
from arroyo_nb.formats.avro.cursor import Cursor
from arroyo_nb.formats.avro.datums import PADDING, Datums
from arroyo_nb.formats.avro.schema import AvroSchema, SchemaFault, parse_schema
from arroyo_nb.formats.avro.strict import DatumReader, DocumentReader, RowReader
from arroyo_nb.formats.avro.vector_values import NotVectorized
from arroyo_nb.formats.avro.vectorized import BlockReader
from arroyo_nb.formats.json.strict import BadRecord
from arroyo_nb.schema import Schema, arrow_schema
from arroyo_nb.schema_registry import (
    AVRO,
    RegisteredSchema,
    RegistryClient,
    UnknownSchema,
)
from arroyo_nb.schema_registry.prefix import (
    NO_PREFIX,
    PREFIX_BYTES,
    SchemaCache,
    by_schema_id,
    unknown_ids,
)

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 8 * 2**20
"""About so much is read at once: what is made on the way is several times as much."""

TABLE_ROWS = 10_000
"""Of about so many rows of containers a table is made at once."""

MAX_SCHEMAS = 256
"""So many schemas of containers are kept."""

MAX_REFERENCES = 500
"""So many other schemas one may use, theirs included."""

Bad: TypeAlias = "list[tuple[int, str]]"


@dataclass(frozen=True)
class Columns:
    """What is read of a datum.

    Parameters
    ----------
    schema
        The columns.
    event_time
        The one that may not be NULL because it is the event time.
    document
        Whether the one column is the whole datum as JSON.
    """

    schema: Schema
    event_time: str | None
    document: bool

    def table(self, rows: Sequence[Sequence[Any]]) -> pa.Table:
        """Rows as columns of Arrow."""
        import pyarrow as pa

        fields = list(arrow_schema(self.schema))
        columns = list(zip(*rows, strict=True)) or [()] * len(fields)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, fields, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@dataclass(frozen=True)
class Block:
    """A part of a batch of payloads.

    Parameters
    ----------
    data
        The bytes of the batch, as one array.
    starts, ends
        Where each payload lies.
    numbers
        Its number in the batch.
    """

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, payloads: pa.Array) -> Block:
        """All payloads of a batch; none of them is NULL."""
        import pyarrow as pa

        payloads = payloads.cast(pa.binary())
        _, offsets, data = payloads.buffers()
        first = payloads.offset
        ends = np.frombuffer(offsets, np.int32)[first : first + len(payloads) + 1]
        numbers = np.arange(len(payloads))
        found = np.frombuffer(data or b"", np.uint8)
        return cls(
            found, ends[:-1].astype(np.int64), ends[1:].astype(np.int64), numbers
        )

    def take(self, which: np.ndarray, skipped: int = 0) -> Block:
        """Some of them, without so many bytes at the beginning."""
        starts = self.starts[which] + skipped
        return Block(self.data, starts, self.ends[which], self.numbers[which])

    def parts(self) -> Iterator[Block]:
        """The payloads in parts of about :data:`BLOCK_BYTES`."""
        sizes = np.cumsum(self.ends - self.starts)
        turns = np.flatnonzero(np.diff(sizes // BLOCK_BYTES)) + 1
        for which in np.split(np.arange(len(self.numbers)), turns):
            yield self.take(which)

    def payload(self, place: int) -> bytes:
        """The bytes of one of them."""
        return self.data[self.starts[place] : self.ends[place]].tobytes()


class Reader:
    """Reads the datums of one schema: many at once, or one by one, to the same rows.

    Raises
    ------
    Misfit
        When no datum of the schema can be such a row.
    """

    def __init__(self, schema: AvroSchema, columns: Columns) -> None:
        self.columns = columns
        self._blocks: BlockReader | None = None
        self.datums: RowReader
        if columns.document:
            self.datums = DocumentReader(schema)
            return
        given = (columns.schema, columns.event_time)
        self.datums = DatumReader(schema, columns.schema.fields, columns.event_time)
        try:
            self._blocks = BlockReader(schema, *given)
        except NotVectorized:  # it is read one by one
            self._blocks = None

    def read(self, block: Block) -> DecodedPayloads:
        """The rows of payloads that are one datum each."""
        import pyarrow as pa

        tables, numbers, bad = (
            [self.columns.table([])],
            [block.numbers[:0]],
            list[Any](),
        )
        for part in block.parts():
            left = np.arange(len(part.numbers))
            if self._blocks is not None and len(left):
                table, done = self._at_once(self._blocks, part)
                tables.append(table)
                numbers.append(part.numbers[done])
                left = np.delete(left, done)
            rows, read = self._one_by_one(part, left, bad)
            tables.append(self.columns.table(rows))
            numbers.append(part.numbers[read])
        return DecodedPayloads(
            pa.concat_tables(tables), pa.array(np.concatenate(numbers)), tuple(bad)
        )

    def _at_once(self, blocks: BlockReader, part: Block) -> tuple[pa.Table, np.ndarray]:
        first, last = int(part.starts.min()), int(part.ends.max())
        padded = np.concatenate([part.data[first:last], np.zeros(PADDING, np.uint8)])
        datums = Datums(padded, part.starts - first, part.ends - first)
        return blocks.read(datums)

    def _one_by_one(
        self, part: Block, places: np.ndarray, bad: Bad
    ) -> tuple[list[list[Any]], list[int]]:
        rows, read = [], []
        for place in places.tolist():
            try:
                rows.append(self.datums.read_whole(part.payload(place)))
            except BadRecord as problem:
                bad.append((int(part.numbers[place]), str(problem)))
            else:
                read.append(place)
        return rows, read


class BarePayloads:
    """Reads payloads that are datums of one schema, behind so many bytes."""

    def __init__(self, schema: AvroSchema, columns: Columns, skipped: int = 0) -> None:
        self._reader = _reader(schema, columns)
        self._columns = columns
        self._skipped = skipped

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        block = Block.of(payloads)
        if not self._skipped:
            return _in_order([_read(self._reader, block, self._columns)])
        parts = []
        for schema_id, which in by_schema_id(payloads):
            found = self._reader if schema_id is not None else NO_PREFIX
            skipped = self._skipped if schema_id is not None else 0
            parts.append(_read(found, block.take(which, skipped), self._columns))
        return _in_order(parts or [_read(self._reader, block, self._columns)])


class RegisteredPayloads:
    """Reads payloads that begin with the id of their schema.

    Parameters
    ----------
    client
        Whom to ask for the schemas.
    columns
        What is read.
    """

    def __init__(self, client: RegistryClient, columns: Columns) -> None:
        self._columns = columns
        self._schemas = SchemaCache(
            lambda number: _registered(client, number, columns), unknown_ids(client)
        )

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads.

        Raises
        ------
        RunProblem
            When the registry does not answer, or refuses.
        """
        block = Block.of(payloads)
        parts = [_read(NO_PREFIX, block.take(block.numbers[:0]), self._columns)]
        for schema_id, which in by_schema_id(payloads):
            found: Reader | str = NO_PREFIX
            if schema_id is not None:
                found = self._schemas.get(schema_id)
            skipped = 0 if schema_id is None else PREFIX_BYTES
            parts.append(_read(found, block.take(which, skipped), self._columns))
        return _in_order(parts)


class ContainerPayloads:
    """Reads payloads that are whole containers, of any number of rows each."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._reader = lru_cache(MAX_SCHEMAS)(self._read_schema)

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        import pyarrow as pa

        tables, budget = [self._columns.table([])], Budget()
        rows, numbers, bad = list[list[Any]](), list[int](), list[tuple[int, str]]()
        for number, payload in enumerate(payloads.to_pylist()):
            try:
                found = self._rows(payload, budget)
            except BadRecord as problem:
                bad.append((number, str(problem)))
                continue
            rows += found
            numbers += [number] * len(found)
            # Rows of Python are many times as large as those of Arrow.
            if len(rows) >= TABLE_ROWS:
                tables.append(self._columns.table(rows))
                rows = []
        tables.append(self._columns.table(rows))
        table = pa.concat_tables(tables)
        return DecodedPayloads(table, pa.array(numbers, pa.int64()), tuple(bad))

    def _rows(self, payload: bytes, budget: Budget) -> list[list[Any]]:
        budget.begin(len(payload))
        cursor = Cursor(payload)
        header = read_header(cursor)
        reader = self._reader(header.schema)
        if isinstance(reader, str):
            raise BadRecord(reader)
        return list(_datums(cursor, header, reader, budget))

    def _read_schema(self, text: str) -> Reader | str:
        try:
            return _reader(parse_schema(text), self._columns)
        except SchemaFault as fault:
            return f"invalid Avro: the schema of the container: {fault}"


def _datums(
    cursor: Cursor, header: Header, reader: Reader, budget: Budget
) -> Iterator[list[Any]]:
    for block in read_blocks(cursor, header, budget):
        inside = Cursor(block.data)
        for _ in range(block.count):
            inside.count()
            row = reader.datums.read(inside)
            # The names in a schema may make long texts of few bytes.
            budget.size_bytes.use(text_bytes(row))
            yield row
        if inside.at < len(block.data):
            raise BadRecord("invalid Avro: a block of the container is damaged")


def text_bytes(value: Any) -> int:
    """How long the texts in a value are."""
    match value:
        case str() | bytes():
            return len(value)
        case list():
            return sum(map(text_bytes, value))
        case dict():
            return sum(map(text_bytes, value.values()))
        case _:
            return 0


def _reader(schema: AvroSchema, columns: Columns) -> Reader | str:
    """What reads the datums of a schema, or why none of them can be a row."""
    try:
        return Reader(schema, columns)
    except Misfit as problem:
        return str(mismatch(str(problem)))


def _registered(
    client: RegistryClient, schema_id: int, columns: Columns
) -> Reader | str:
    found = client.schema(schema_id)
    if found.schema_type != AVRO:
        return f"its schema {schema_id} in the schema registry is {found.schema_type}"
    try:
        uses = referenced_texts(client, found)
        return _reader(parse_schema(found.text, uses), columns)
    except SchemaFault as fault:
        return f"its schema {schema_id} in the schema registry is none of Avro: {fault}"
    except UnknownSchema as problem:
        return f"its schema {schema_id} uses another one: {problem.message}"


def referenced_texts(client: RegistryClient, schema: RegisteredSchema) -> list[str]:
    """The texts of the schemas that one uses, those that are used first.

    Raises
    ------
    SchemaFault
        When they use each other, or are too many.
    """
    found: dict[str, None] = {}
    _collect(client, schema, found, [])
    return [*found]


def _collect(
    client: RegistryClient,
    schema: RegisteredSchema,
    found: dict[str, None],
    path: list[str],
) -> None:
    for reference in schema.references:
        place = f"{reference.subject} {reference.version}"
        if place in path or len(found) > MAX_REFERENCES or len(path) > MAX_REFERENCES:
            raise SchemaFault("it uses too many other schemas, or itself")
        used = client.referenced(reference)
        if used.text not in found:
            _collect(client, used, found, [*path, place])
            found[used.text] = None


def _read(found: Reader | str, block: Block, columns: Columns) -> DecodedPayloads:
    """The rows of payloads of one schema, or why they all are bad."""
    import pyarrow as pa

    if isinstance(found, Reader):
        return found.read(block)
    bad = tuple((number, found) for number in block.numbers.tolist())
    return DecodedPayloads(columns.table([]), pa.array([], pa.int64()), bad)


def _in_order(parts: Sequence[DecodedPayloads]) -> DecodedPayloads:
    """The rows of all parts, in the order of their payloads."""
    import pyarrow as pa

    rows = pa.concat_tables([part.rows for part in parts]).combine_chunks()
    numbers = np.concatenate([part.numbers.to_numpy() for part in parts])
    bad = tuple(one for part in parts for one in part.bad)
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows.take(pa.array(order)), numbers[order]
    return DecodedPayloads(rows, pa.array(numbers.astype(np.int64)), bad)
