"""The exact reader of Avro: datum by datum, and it says why one is bad.

What is read of a schema is settled once: a function for each field, which reads a
column's value or passes over what no column wants. The bytes may be anybody's: each
length is checked against what is left of them, what takes no bytes is counted, and
types that hold themselves are followed only so far.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as Number10
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from arroyo_nb.codecs.bad_records import DOES_NOT_MATCH
from arroyo_nb.formats.avro.schema import AvroSchema, AvroType
from arroyo_nb.formats.json.strict import (
    FIRST_DAY,
    FIRST_US,
    INTEGER_BITS,
    LAST_DAY,
    LAST_US,
    UNIT_NS,
    BadRecord,
)
from arroyo_nb.schema import (
    Decimal,
    Field,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
)

MAX_LEVELS = 60
"""How far types that hold themselves are followed; a level takes several frames of
Python."""

FREE_VALUES, VALUES_PER_BYTE = 1_000, 4
"""So many values may take no bytes, and so many more be of one byte of a record."""

DECIMAL_BYTES = 64
"""The longest number of a decimal. One of 38 digits has 16 bytes."""

UNIT_US = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}
"""What a number of each unit is multiplied with, and divided by, for microseconds."""

DAY_US = 24 * 3600 * 10**6


class Misfit(Exception):
    """A schema whose records cannot be those of the columns; says why."""


class Cursor:
    """Where a reader stands in the bytes of a record."""

    __slots__ = ("at", "data", "levels", "values")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self.levels = 0
        self.values = FREE_VALUES + VALUES_PER_BYTE * len(data)

    def long(self) -> int:
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

    def int(self) -> int:
        """A whole number of up to 32 bits."""
        number = self.long()
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

    def bytes(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.long())

    def count(self) -> None:
        """One value more of a kind that may take no bytes."""
        self.values -= 1
        if self.values < 0:
            raise BadRecord("invalid Avro: more values than its bytes can hold")

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


def mismatch(what: str) -> BadRecord:
    """The error of a record that does not match the columns."""
    return BadRecord(f"Avro{DOES_NOT_MATCH}{what}")


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
        read = _Readers(schema).rows(schema.root, columns)
        if event_time is not None:
            place = [field.name for field in columns].index(event_time)
            read = partial(_timed, read, place, event_time)
        super().__init__(read)


class DocumentReader(RowReader):
    """Reads the datums of one schema as values of JSON, each the text of one column."""

    def __init__(self, schema: AvroSchema) -> None:
        text = _json(_Readers(schema).document(schema.root))
        super().__init__(lambda cursor: [text(cursor) or "null"])


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
            return _null
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
                reads.append(_null)
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
                item = partial(_both, Cursor.bytes, self.skip(avro.inner[0]))
                return partial(_items, item, None)
            case "union":
                return partial(_branch, [self.skip(branch) for branch in avro.inner])
            case _:
                return _wire(avro)

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
                return _then(_wire(avro), partial(_unscaled, avro.scale))
            case "fixed" if avro.logical == "uuid":
                return _then(_wire(avro), _uuid)
            case "bytes" | "fixed":
                return _then(
                    _wire(avro), lambda found: base64.b64encode(found).decode()
                )
            case "string":
                return _then(_wire(avro), _text)
            case _:
                return _wire(avro)

    def _object(self, avro: AvroType) -> Read:
        reads = [(f.name, self.document(f.type)) for f in avro.fields]
        return lambda cursor: {name: read(cursor) for name, read in reads}


def fields_of(
    avro: AvroType, columns: Sequence[Field], inside: str
) -> Mapping[str, int]:
    """Which column each field of a record is, by the field's name.

    Raises
    ------
    Misfit
        When a column that is NOT NULL has no field.
    """
    there = {field.name for field in avro.fields}
    found = {}
    for at, column in enumerate(columns):
        # A sink writes `a.b` as `a__b`: it is read back by that name.
        name = column.name if column.name in there else sanitized(column.name)
        if name in there and name not in found:
            found[name] = at
        elif not column.nullable:
            raise Misfit(f"'{inside}{column.name}' is NOT NULL and is missing")
    return found


def sanitized(name: str) -> str:
    """A column's name as Avro has names.

    >>> sanitized("window.start"), sanitized("a b"), sanitized("2nd")
    ('window__start', 'a_b', '_2nd')
    """
    word = "".join(
        char if char.isascii() and (char.isalnum() or char == "_") else "_"
        for char in name.replace(".", "__")
    )
    return f"_{word}" if not word or word[0].isdigit() else word


def misfit(avro: AvroType, type_: Type, name: str) -> Misfit:
    """The error of a field that is never a value of its column."""
    return Misfit(f"'{name}' is {type_}, the schema has {avro}")


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


def _null(_cursor: Cursor) -> None:
    return None


def _refuse(why: str, _cursor: Cursor) -> Any:
    raise mismatch(why)


def _branch(reads: Sequence[Read], cursor: Cursor) -> Any:
    number = cursor.long()
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
    while number := cursor.long():
        if number < 0:
            cursor.long()  # the size of the block, for who passes over it unread
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
        word = _text(cursor.bytes())
        return {key: word, value: read(cursor)}

    _items(entry, entries.append, cursor)
    return entries


def _mapping(read: Read, cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _items(lambda c: (_text(c.bytes()), read(c)), lambda e: found.update([e]), cursor)
    return found


def _then(read: Read, convert: Callable[[Any], Any]) -> Read:
    return lambda cursor: convert(read(cursor))


def _json(read: Read) -> Read:
    from arroyo_nb.formats.json.payload_writer import json_text

    def text(cursor: Cursor) -> str | None:
        value = read(cursor)
        return None if value is None else json_text(value)

    return text


# What is written.


def _wire(avro: AvroType) -> Read:
    match avro.kind:
        case "null":
            return _null
        case "boolean":
            return _boolean
        case "int":
            return Cursor.int
        case "long":
            return Cursor.long
        case "float":
            return partial(_float, struct.Struct("<f"))
        case "double":
            return partial(_float, struct.Struct("<d"))
        case "bytes" | "string":
            return Cursor.bytes
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
    number = cursor.int()
    if not 0 <= number < len(symbols):
        raise BadRecord(
            f"invalid Avro: an enum of {len(symbols)} symbols has no number {number}"
        )
    return symbols[number]


# What it is as a column.


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


Convert: TypeAlias = "Callable[[Any], Any] | None"


def _scalar(avro: AvroType, type_: Type, name: str) -> tuple[Read, Convert]:
    """What reads a value, and makes it one of the column; None from it says that it
    cannot."""
    made = conversion(avro, type_)
    if made is None:
        raise misfit(avro, type_, name)
    return _wire(avro), made[0]


def conversion(avro: AvroType, type_: Type) -> tuple[Convert] | None:
    """What makes a column's value of one that is written so; None: nothing does."""
    kind = avro.kind
    whole = kind in ("int", "long")
    match type_:
        case Timestamp(digits):
            return _instant(avro, digits)
        case Decimal(precision, scale) if avro.logical == "decimal" or whole:
            return (partial(_decimal, precision, scale, avro.scale),)
        case Primitive("BOOLEAN") if kind == "boolean":
            return (None,)
        case Primitive("DATE") if kind == "int" and avro.logical in ("", "date"):
            return (partial(_between, FIRST_DAY, LAST_DAY),)
        case Primitive("TIME") if avro.logical.startswith("time-"):
            return (partial(_time, UNIT_US[avro.logical.removeprefix("time-")][0]),)
        case Primitive("DOUBLE") if whole or kind in ("float", "double"):
            return (float if whole else None,)
        case Primitive("FLOAT") if whole or kind in ("float", "double"):
            return (_single if kind == "double" else float,)
        case Primitive("TEXT") if kind in ("string", "bytes") and not avro.precision:
            return (_text,)
        case Primitive("TEXT") if kind == "enum":
            return (None,)
        case Primitive("TEXT") if avro.logical == "uuid":
            return (_uuid,)
        case Primitive("BYTEA") if kind in ("bytes", "string", "fixed"):
            return (None,)
        case Primitive(name) if (
            whole and name.removesuffix(" UNSIGNED") in INTEGER_BITS
        ):
            return (partial(_between, *integer_range(name)),)
        case _:
            return None


def integer_range(name: str) -> tuple[int, int]:
    """The smallest and the largest number of a type."""
    bits = INTEGER_BITS[name.removesuffix(" UNSIGNED")]
    if name.endswith("UNSIGNED"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def instant_unit(avro: AvroType, digits: int) -> tuple[int, int] | None:
    """What a number is multiplied with and divided by for the microseconds of a
    timestamp; None: it is none. A number that says nothing is in the column's unit."""
    if avro.logical == "date":
        return DAY_US, 1
    if "timestamp-" in avro.logical:
        return UNIT_US[avro.logical.rpartition("-")[2]]
    if avro.kind in ("int", "long") and not avro.logical:
        return max(1, UNIT_NS[digits] // 1000), 1000 if digits == 9 else 1
    return None


def _instant(avro: AvroType, digits: int) -> tuple[Convert] | None:
    unit = instant_unit(avro, digits)
    return None if unit is None else (partial(_microseconds, *unit),)


def _microseconds(times: int, by: int, found: int) -> int | None:
    return _between(FIRST_US, LAST_US, found * times // by)


def _between(low: int, high: int, found: int) -> int | None:
    return found if low <= found <= high else None


def _time(times: int, found: int) -> int | None:
    return _between(0, DAY_US - 1, found * times)


def _single(found: float) -> float | None:
    """A DOUBLE as a FLOAT; one that would become infinite is none."""
    if not math.isfinite(found):
        return found
    try:
        struct.pack("<f", found)
    except OverflowError:
        return None
    return found


def _text(found: bytes) -> str:
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as problem:
        where = f"not UTF-8 at byte {problem.start + 1}"
        raise BadRecord(f"invalid Avro: a string is {where}") from None


def _uuid(found: bytes) -> str:
    return str(UUID(bytes=found))


def _unscaled(scale: int, found: bytes) -> Number10:
    if len(found) > DECIMAL_BYTES:
        raise BadRecord(f"invalid Avro: a decimal of {len(found):,} bytes")
    return _number10(int.from_bytes(found, "big", signed=True), scale)


def _decimal(precision: int, scale: int, given: int, found: Any) -> Number10 | None:
    """A number with the column's digits; one that has more is none."""
    if isinstance(found, bytes):
        if len(found) > DECIMAL_BYTES:
            return None
        found = int.from_bytes(found, "big", signed=True)
    if scale >= given:
        number = found * 10 ** (scale - given)
    else:
        number, rest = divmod(found, 10 ** (given - scale))
        if rest:
            return None
    return _number10(number, scale) if abs(number) < 10**precision else None


def _number10(number: int, scale: int) -> Number10:
    # As digits: arithmetic would round to the context's precision.
    digits = tuple(map(int, str(abs(number))))
    return Number10((int(number < 0), digits, -scale))
