"""What a value of Avro is as the value of a column, and which never is one.

Both readers go by these rules. A number fits any column that can hold its value, so
that a schema may become wider without a change of the table.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as Number10
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from arroyo_nb.codecs.bad_records import DOES_NOT_MATCH, TO_READ_IT
from arroyo_nb.formats.avro.schema import AvroType
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
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    TEXT,
    Decimal,
    Field,
    Primitive,
    Timestamp,
    Type,
)

DECIMAL_BYTES = 64
"""The longest number of a decimal. One of 38 digits has 16 bytes."""

UNIT_US = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}
"""What a number of each unit is multiplied with, and divided by, for microseconds."""

DAY_US = 24 * 3600 * 10**6


Convert: TypeAlias = "Callable[[Any], Any] | None"


class Misfit(Exception):
    """A schema whose records cannot be those of the columns; says why."""


def misfit(avro: AvroType, type_: Type, name: str) -> Misfit:
    """The error of a field that is never a value of its column."""
    shown = str(avro)
    shown = shown if len(shown) <= 100 else f"{shown[:97]}..."
    said = f"'{name}' is {type_}, the schema has {shown}"
    return Misfit(f"{said}{TO_READ_IT}declare it {fitting_type(avro)}")


def fitting_type(avro: AvroType) -> Type:
    """A type of a column that a value can be read as; each can be JSON."""
    is_instant = avro.logical.removeprefix("local-").startswith(("timestamp", "date"))
    types = (
        *((Timestamp(),) if is_instant else ()),
        *((Decimal(avro.precision, avro.scale),) if avro.precision else ()),
        *(BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, TEXT, BYTEA),
    )
    narrow = (INT,) if avro.kind == "long" else ()
    fits = (t for t in types if t not in narrow and conversion(avro, t) is not None)
    return next(fits, JSON)


def mismatch(what: str) -> BadRecord:
    """The error of a record that does not match the columns."""
    return BadRecord(f"Avro{DOES_NOT_MATCH}{what}")


def fields_of(
    avro: AvroType, columns: Sequence[Field], inside: str
) -> Mapping[str, int]:
    """Which column each field of a record is, by the field's name.

    Raises
    ------
    Misfit
        When a column that is NOT NULL has no field, or two columns have the same.
    """
    there = {field.name for field in avro.fields}
    found = {column.name: at for at, column in enumerate(columns)}
    found = {name: at for name, at in found.items() if name in there}
    for at, column in enumerate(columns):
        if column.name in there:
            continue
        # A sink writes `a.b` as `a__b`: it is read back by that name.
        name = sanitized(column.name)
        if name in found:
            other = columns[found[name]].name
            raise Misfit(
                f"'{inside}{other}' and '{inside}{column.name}' are one field, '{name}'"
            )
        if name in there:
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
            return (text_of,)
        case Primitive("TEXT") if kind == "enum":
            return (None,)
        case Primitive("TEXT") if avro.logical == "uuid":
            return (uuid_text,)
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


def text_of(found: bytes) -> str:
    """The text of bytes.

    Raises
    ------
    BadRecord
        When they are not UTF-8.
    """
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as problem:
        where = f"not UTF-8 at byte {problem.start + 1}"
        raise BadRecord(f"invalid Avro: a string is {where}") from None


def uuid_text(found: bytes) -> str:
    """The text of a UUID's sixteen bytes."""
    return str(UUID(bytes=found))


def unscaled(scale: int, found: bytes) -> Number10:
    """The number of a decimal's bytes.

    Raises
    ------
    BadRecord
        When they are more than any number needs.
    """
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
