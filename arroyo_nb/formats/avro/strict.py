"""The exact reader of Avro: datum by datum, and it says why one is bad.

What is read of a schema is settled once: a function for each field, which reads a
column's value or passes over what no column wants.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from arroyo_nb.formats.avro.columns import (
    Convert,
    Misfit,
    conversion,
    fields_of,
    misfit,
    mismatch,
    text_of,
    unscaled,
    uuid_text,
)
from arroyo_nb.formats.avro.cursor import Cursor, Read, read_null, wire_reader
from arroyo_nb.formats.avro.schema import AvroSchema, AvroType
from arroyo_nb.formats.json.strict import BadRecord
from arroyo_nb.schema import Field, ListOf, Primitive, StructOf, Type


class RowReader:
    """Reads datums, a row each."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def read(self, cursor: Cursor) -> list[Any]:
        """The values of one row, in the order of the columns.

        Raises
        ------
        BadRecord
            When the bytes are no such datum.
        """
        try:
            row: list[Any] = self._read(cursor)
        except RecursionError:
            raise BadRecord("invalid Avro: nested too deeply") from None
        return row

    def read_whole(self, data: bytes) -> list[Any]:
        """The row of bytes that are nothing but one datum."""
        cursor = Cursor(data)
        row = self.read(cursor)
        if cursor.at < len(data):
            left = len(data) - cursor.at
            raise BadRecord(f"invalid Avro: {left:,} bytes follow the record")
        return row


class DatumReader(RowReader):
    """Reads the datums of one schema as rows of some columns.

    Parameters
    ----------
    schema
        How they were written.
    columns
        What is read.
    event_time
        The column that may not be NULL because it is the event time.

    Raises
    ------
    Misfit
        When no datum of the schema can be such a row.
    """

    def __init__(
        self, schema: AvroSchema, columns: Sequence[Field], event_time: str | None
    ) -> None:
        read = _made(lambda: _Readers(schema).rows(schema.root, columns))
        if event_time is not None:
            place = [field.name for field in columns].index(event_time)
            read = partial(_timed, read, place, event_time)
        super().__init__(read)


class DocumentReader(RowReader):
    """Reads the datums of one schema as values of JSON, each the text of one column;
    parameters and errors as of :class:`DatumReader`."""

    def __init__(self, schema: AvroSchema) -> None:
        text = _json(_made(lambda: _Readers(schema).document(schema.root)))
        super().__init__(lambda cursor: [text(cursor) or "null"])


def datum_skipper(schema: AvroSchema) -> Read:
    """Passes over the datums of a schema, whatever the columns are.

    Raises
    ------
    Misfit
        When the schema is nested too deeply.
    """
    return _made(lambda: _Readers(schema).skip(schema.root))


def _made(make: Callable[[], Read]) -> Read:
    try:
        return make()
    except RecursionError:  # thousands of types, each within the next
        raise Misfit("the schema is nested too deeply") from None


def _timed(read: Read, place: int, name: str, cursor: Cursor) -> Any:
    row = read(cursor)
    if row[place] is None:
        raise mismatch(f"the event time '{name}' is missing")
    return row


class _Readers:
    """Makes the readers of one schema."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._skips: dict[str, Read] = {}
        self._documents: dict[str, Read] = {}

    # What is read as columns.

    def rows(self, root: AvroType, columns: Sequence[Field]) -> Read:
        """Reads the rows of a record, or of the records of a union."""
        root = self._schema.resolved(root)
        if root.kind == "union":
            return self._union(root, lambda branch: self.rows(branch, columns))
        if root.kind != "record":
            raise Misfit(f"a record is wanted, the schema has {root}")
        return self._record(root, columns, "")

    def _record(self, avro: AvroType, columns: Sequence[Field], inside: str) -> Read:
        wanted = fields_of(avro, columns, inside)
        steps: list[tuple[int, Read]] = []
        for field in avro.fields:
            at = wanted.get(field.name)
            if at is None:
                steps.append((-1, self.skip(field.type)))
                continue
            steps.append((at, self._column(field.type, columns[at], inside)))
        return partial(_row, steps, [None] * len(columns))

    def _column(self, avro: AvroType, column: Field, inside: str) -> Read:
        read = self.value(avro, column.type, inside + column.name)
        return read if column.nullable else _not_null(read, column, inside)

    def value(self, avro: AvroType, type_: Type, name: str) -> Read:
        """Reads a value as a column's type.

        Raises
        ------
        Misfit
            When it never is one.
        """
        avro = self._schema.resolved(avro)
        if type_ == Primitive("JSON"):
            return _json(self.document(avro))
        if avro.kind == "union":
            return self._union(avro, lambda branch: self.value(branch, type_, name))
        if avro.kind == "null":
            return read_null
        match type_:
            case ListOf(element) if avro.kind == "array":
                return partial(_array, self.value(avro.inner[0], element, f"{name}[]"))
            case ListOf(StructOf((key, value))) if avro.kind == "map":
                if key.type != Primitive("TEXT"):
                    raise misfit(avro, type_, name)
                read = self._column(avro.inner[0], value, f"{name}[].")
                return partial(_map, read, (key.name, value.name))
            case StructOf(fields) if avro.kind == "record":
                read = self._record(avro, fields, f"{name}.")
                return partial(_struct, read, [field.name for field in fields])
            case _:
                read, convert = _scalar(avro, type_, name)
                return (
                    read if convert is None else _converted(read, convert, name, type_)
                )

    def _union(self, avro: AvroType, make: Callable[[AvroType], Read]) -> Read:
        """A value of any branch that can be read so; the others are bad data."""
        reads: list[Read] = []
        found: list[Misfit] = []
        for branch in avro.inner:
            if branch.kind == "null":
                reads.append(read_null)
                continue
            try:
                reads.append(make(branch))
            except Misfit as problem:
                found.append(problem)
                reads.append(partial(_refuse, str(problem)))
        others = [branch for branch in avro.inner if branch.kind != "null"]
        if others and len(found) == len(others):
            raise found[0]
        return partial(_branch, reads)

    # What is passed over.

    def skip(self, avro: AvroType) -> Read:
        """Passes over a value."""
        avro = self._schema.resolved(avro)
        if avro.name and avro.kind == "record":
            return self._named(avro, self._skips, self._skip_record)
        match avro.kind:
            case "array":
                return partial(_items, self.skip(avro.inner[0]), None)
            case "map":
                item = partial(_both, Cursor.read_bytes, self.skip(avro.inner[0]))
                return partial(_items, item, None)
            case "union":
                return partial(_branch, [self.skip(branch) for branch in avro.inner])
            case _:
                return wire_reader(avro)

    def _skip_record(self, avro: AvroType) -> Read:
        return partial(_all, [self.skip(field.type) for field in avro.fields])

    def _named(
        self,
        avro: AvroType,
        made: dict[str, Read],
        make: Callable[[AvroType], Read],
    ) -> Read:
        """The reader of a record, which is made once: it may hold the record itself."""
        if avro.name not in made:
            known: list[Read] = []
            made[avro.name] = partial(_level, known)
            known.append(make(avro))
        return made[avro.name]

    # What is read as JSON.

    def document(self, avro: AvroType) -> Read:
        """Reads a value as one that JSON has."""
        avro = self._schema.resolved(avro)
        match avro.kind:
            case "record":
                return self._named(avro, self._documents, self._object)
            case "array":
                return partial(_array, self.document(avro.inner[0]))
            case "map":
                return partial(_mapping, self.document(avro.inner[0]))
            case "union":
                return partial(_branch, [self.document(b) for b in avro.inner])
            case _ if avro.logical == "decimal":
                return _then(wire_reader(avro), partial(unscaled, avro.scale))
            case "fixed" if avro.logical == "uuid":
                return _then(wire_reader(avro), uuid_text)
            case "bytes" | "fixed":
                return _then(
                    wire_reader(avro), lambda found: base64.b64encode(found).decode()
                )
            case "string":
                return _then(wire_reader(avro), text_of)
            case "enum":
                return partial(_spelled, wire_reader(avro))
            case _:
                return wire_reader(avro)

    def _object(self, avro: AvroType) -> Read:
        reads = [(f.name, self.document(f.type)) for f in avro.fields]
        size = sum(len(name) for name, _ in reads)

        def read_object(cursor: Cursor) -> Any:
            cursor.spell(size)
            return {name: read(cursor) for name, read in reads}

        return read_object


def _row(steps: Sequence[tuple[int, Read]], nulls: list[Any], cursor: Cursor) -> Any:
    row = nulls.copy()
    for at, read in steps:
        if at < 0:
            read(cursor)
        else:
            row[at] = read(cursor)
    return row


def _struct(read: Read, names: Sequence[str], cursor: Cursor) -> Any:
    return dict(zip(names, read(cursor), strict=True))


def _not_null(read: Read, column: Field, inside: str) -> Read:
    def required(cursor: Cursor) -> Any:
        value = read(cursor)
        if value is None:
            raise mismatch(f"'{inside}{column.name}' is NOT NULL and is null")
        return value

    return required


def _refuse(why: str, _cursor: Cursor) -> Any:
    raise mismatch(why)


def _branch(reads: Sequence[Read], cursor: Cursor) -> Any:
    number = cursor.read_long()
    if not 0 <= number < len(reads):
        raise BadRecord(
            f"invalid Avro: a union of {len(reads)} types has no branch {number}"
        )
    return reads[number](cursor)


def _level(known: Sequence[Read], cursor: Cursor) -> Any:
    cursor.down()
    value = known[0](cursor)
    cursor.levels -= 1
    return value


def _all(reads: Sequence[Read], cursor: Cursor) -> None:
    for read in reads:
        read(cursor)


def _both(first: Read, second: Read, cursor: Cursor) -> None:
    first(cursor)
    second(cursor)


def _items(read: Read, add: Callable[[Any], object] | None, cursor: Cursor) -> None:
    """The items of an array or a map, which are written in blocks."""
    while number := cursor.read_long():
        if number < 0:
            cursor.read_long()  # the size of the block, for who passes over it unread
            number = -number
        for _ in range(number):
            cursor.count()
            value = read(cursor)
            if add is not None:
                add(value)


def _array(read: Read, cursor: Cursor) -> list[Any]:
    items: list[Any] = []
    _items(read, items.append, cursor)
    return items


def _map(read: Read, names: tuple[str, str], cursor: Cursor) -> list[Any]:
    entries: list[Any] = []
    key, value = names

    def entry(cursor: Cursor) -> Any:
        word = text_of(cursor.read_bytes())
        return {key: word, value: read(cursor)}

    _items(entry, entries.append, cursor)
    return entries


def _mapping(read: Read, cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _items(
        lambda c: (text_of(c.read_bytes()), read(c)),
        lambda e: found.update([e]),
        cursor,
    )
    return found


def _then(read: Read, convert: Callable[[Any], Any]) -> Read:
    return lambda cursor: convert(read(cursor))


def _spelled(read: Read, cursor: Cursor) -> Any:
    symbol = read(cursor)
    cursor.spell(len(symbol))
    return symbol


def _json(read: Read) -> Read:
    from arroyo_nb.codecs.json_text import json_text

    def text(cursor: Cursor) -> str | None:
        value = read(cursor)
        return None if value is None else json_text(value)

    return text


def _converted(
    read: Read, convert: Callable[[Any], Any], name: str, type_: Type
) -> Read:
    def converted(cursor: Cursor) -> Any:
        found = read(cursor)
        value = convert(found)
        if value is None:
            shown = found.hex() if isinstance(found, bytes) else str(found)
            raise mismatch(f"'{name}' is {type_}, found {shown[:60]}")
        return value

    return converted


def _scalar(avro: AvroType, type_: Type, name: str) -> tuple[Read, Convert]:
    """What reads a value, and makes it one of the column; None from it says that it
    cannot."""
    made = conversion(avro, type_)
    if made is None:
        raise misfit(avro, type_, name)
    return wire_reader(avro), made[0]
