"""The exact reader of JSON records: one by one, and it says why a record is bad.

Its rules are arroyo-semantics c.5. Numbers keep their text until the column's type
has been seen, so no digit is lost to a float on the way.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number10
from decimal import InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.codecs.bad_records import MISMATCH, TO_READ_IT
from arroyo_nb.formats.json.decimals import (
    EITHER,
    NUMBERS,
    DecimalForms,
    PlainTexts,
    decimal_of,
    form_of,
)
from arroyo_nb.formats.json.told_decimals import told_decimals
from arroyo_nb.schema import (
    EPOCH,
    MICROSECOND,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_schema,
    arrow_type,
)
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    import pyarrow as pa

INTEGER_BITS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INT": 32,
    "BIGINT": 64,
}
FIRST_US = -62_135_596_800_000_000  # 0001-01-01, the first instant Spark can show
LAST_US = 253_402_300_799_999_999  # the last one of the year 9999
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # the same as days
MOST_PLACES = 76
"""How far from its point a digit of a DECIMAL is looked for."""
UNIT_NS = {0: 10**9, 3: 10**6, 6: 10**3, 9: 1}

_FieldsReader: TypeAlias = "Callable[[dict[str, Any]], dict[str, Any]]"

_KEPT_READERS = 64
"""Readers of records with other schemas beside them: a topic has a few."""

MOST_LEVELS = 300
"""A record of more is bad data, whoever reads it: Python's own reader ends at about
1,000 calls, of which others take some."""

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))

_UTF_16 = f"invalid JSON: it is UTF-16{TO_READ_IT}let it be written as UTF-8"
_REGISTERED = (
    f"invalid JSON: it begins with the id of a schema of a registry{TO_READ_IT}write "
    "'json.confluent_schema_registry' = 'true'"
)
_FRAMED = re.compile(rb"\0[\0-\x1f][\s\S]{3}\s*[{\[]")
"""How a record begins that has the id of its schema before it, as Confluent's writers
put it."""

_TOO_DEEP = "invalid JSON: nested too deeply"

# As both Python and Spark read them; to either, all of a text must be one.
NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?"
DAY = r"\d{4}-\d\d-\d\d"
ZONE = r"[Zz]|[-+]\d\d(?::?\d\d)?"
INSTANT = rf"({DAY})(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{{1,9}}))?({ZONE})?)?"

_NUMBER = re.compile(rf"{NUMBER}\Z", re.ASCII)
_WHOLE = re.compile(r"-?\d+\Z", re.ASCII)
_INSTANT = re.compile(rf"{INSTANT}\Z", re.ASCII)
_DAY = re.compile(rf"{DAY}\Z", re.ASCII)


class BadRecord(Exception):
    """A record that is not JSON, or not of the schema; says why."""


BLANKS = b" \t\r\n"
"""What may stand between the parts of a document."""


class JsonNumber(str):
    """A JSON number as it was written."""

    __slots__ = ()


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_parse = json.JSONDecoder(
    parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=_no_constant
).decode


def parse(text: bytes) -> Any:
    """A JSON document with its numbers as text.

    Raises
    ------
    BadRecord
        When it is not one.
    """
    if is_deep(text):
        raise BadRecord(_TOO_DEEP)
    try:
        return _parse(text.decode("utf-8"))
    except json.JSONDecodeError as problem:
        if other := _other_form(text):
            raise BadRecord(other) from None
        # Some of Python's messages end with the word already.
        what = problem.msg.lower().removesuffix(" at")
        raise BadRecord(f"invalid JSON: {what} at column {problem.colno}") from problem
    except UnicodeDecodeError as problem:
        if other := _other_form(text):
            raise BadRecord(other) from None
        where = f"not UTF-8 at byte {problem.start + 1}"
        raise BadRecord(f"invalid JSON: {where}") from problem
    except ValueError as problem:
        raise BadRecord(f"invalid JSON: {problem}") from problem
    except RecursionError:
        raise BadRecord(_TOO_DEEP) from None


def is_deep(text: bytes) -> bool:
    """Whether a record has more than :data:`MOST_LEVELS` levels."""
    if text.count(b"{") + text.count(b"[") <= MOST_LEVELS:
        return False
    import numpy as np

    # Without what is escaped every other part between quotes is a text.
    outside = b"".join(_ESCAPED.sub(b"", text).split(b'"')[::2])
    brackets = np.frombuffer(outside.translate(None, _NO_BRACKETS), np.uint8)
    opens = (brackets == ord("{")) | (brackets == ord("["))
    levels = np.cumsum(np.where(opens, 1, -1))
    return bool((levels > MOST_LEVELS).any())


def _other_form(text: bytes) -> str | None:
    """What a record is that is no JSON: framed, or UTF-16, of which every other byte is
    0; None: nothing is known of it."""
    if _FRAMED.match(text):
        return _REGISTERED
    is_utf_16 = text.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or 0 in text[:2]
    return _UTF_16 if is_utf_16 else None


class RecordReader:
    """Reads records of one schema.

    Parameters
    ----------
    schema
        The columns.
    event_time
        The column that may not be NULL because it is the event time.
    forms
        What the texts of its DECIMALs are.
    """

    def __init__(
        self,
        schema: Schema,
        event_time: str | None,
        forms: DecimalForms = NUMBERS,
    ) -> None:
        self._schema = schema
        self._event_time = event_time
        self._forms = forms
        self._readers = {forms: _fields_reader(schema.fields, forms)}

    def read(self, text: bytes) -> dict[str, Any] | None:
        """One record: its columns as values for Arrow; None: the text is blank, which
        is no record, or says nothing.

        Raises
        ------
        BadRecord
            When it is not JSON or does not match the schema.
        """
        if not text.strip(BLANKS):
            return None
        try:
            return self._read(parse(text))
        except RecursionError:
            # What can be parsed may still be too deep to be written as a text.
            raise BadRecord(_TOO_DEEP) from None

    def table(self, records: Sequence[dict[str, Any]]) -> pa.Table:
        """The records as rows."""
        import pyarrow as pa

        schema = arrow_schema(self._schema)
        columns = [
            pa.array([record[field.name] for record in records], field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def _read(self, document: Any) -> dict[str, Any] | None:
        return self._record(document)

    def _record(self, document: Any, beside: Any = None) -> dict[str, Any]:
        """The columns of a record; ``beside`` is the schema beside it, if any."""
        if not isinstance(document, dict):
            raise mismatch(f"a record is an object, found {_shown(document)}")
        record = self._reader(beside)(document)
        if self._event_time is not None:
            self._check_event_time(record[self._event_time])
        return record

    def _reader(self, beside: Any) -> _FieldsReader:
        """What reads the columns of records that have this schema beside them."""
        told = told_decimals(self._schema.fields, beside) if beside else ()
        forms = self._forms.with_told(told)
        if forms not in self._readers:
            if len(self._readers) > _KEPT_READERS:
                self._readers.clear()
            self._readers[forms] = _fields_reader(self._schema.fields, forms)
        return self._readers[forms]

    def _check_event_time(self, us: int | None) -> None:
        what = f"the event time '{self._event_time}'"
        if us is None:
            raise mismatch(f"{what} is missing")
        if us >= END_OF_TIME_US:
            raise mismatch(f"{what} is past the year 9998")


def _fields_reader(
    fields: Sequence[Field], forms: DecimalForms, inside: str = ""
) -> _FieldsReader:
    """A reader of an object: type by type it is chosen once, not for each record.
    ``inside`` is what the names of an inner object's fields begin with in errors."""
    readers = [
        (f.name, f.nullable, _reader(f.type, inside + f.name, forms)) for f in fields
    ]

    def read(document: dict[str, Any]) -> dict[str, Any]:
        values = {}
        for name, nullable, reader in readers:
            found = document.get(name)
            if found is None and not nullable:
                state = "null" if name in document else "missing"
                raise mismatch(f"'{inside}{name}' is NOT NULL and is {state}")
            values[name] = None if found is None else reader(found)
        return values

    return read


def _reader(type_: Type, name: str, forms: DecimalForms) -> Callable[[Any], Any]:
    """A reader of a value that is not null; it refuses what is not of the type."""
    convert = _conversion(type_, name, forms)

    def read(found: Any) -> Any:
        value = convert(found)
        if value is None:
            raise mismatch(f"'{name}' is {type_}, found {_shown(found)}")
        return value

    return read


def _conversion(type_: Type, name: str, forms: DecimalForms) -> Callable[[Any], Any]:
    """What makes a value of a type; None from it says that it cannot."""
    match type_:
        case ListOf(element):
            return partial(_list, _reader(element, f"{name}[]", forms))
        case StructOf(fields):
            return partial(_struct, _fields_reader(fields, forms, f"{name}."))
        case Timestamp(digits):
            return partial(_instant, digits)
        case Decimal(_, scale):
            made = arrow_type(type_)
            match forms.form(name, scale):
                case int(digits):
                    return partial(_decimal_of_bytes, made, digits)
                case str(form) if form == EITHER:
                    return partial(_decimal_of_either, made, forms.plain, name)
                case _:
                    return partial(_decimal, made)
        case Primitive(kind) if kind in _SCALARS:
            return _SCALARS[kind]
        case Primitive(kind) if kind.removesuffix(" UNSIGNED") in INTEGER_BITS:
            return partial(_integer, kind)
        case Primitive():
            return _unreadable


def _unreadable(found: Any) -> None:
    """BYTEA, TIME and INTERVAL have no form in JSON."""


def _list(item: Callable[[Any], Any], found: Any) -> list[Any] | None:
    if not isinstance(found, list):
        return None
    return [None if one is None else item(one) for one in found]


def _struct(
    fields: Callable[[dict[str, Any]], dict[str, Any]], found: Any
) -> dict[str, Any] | None:
    return fields(found) if isinstance(found, dict) else None


def _boolean(found: Any) -> bool | None:
    return found if isinstance(found, bool) else None


def _text(found: Any) -> str | None:
    if (
        isinstance(found, str)
        and not isinstance(found, JsonNumber)
        and _encodable(found)
    ):
        return found
    return None


def _double(found: Any) -> float | None:
    number = float(found) if _is_number(found) else float("inf")
    return number if abs(number) != float("inf") else None


def _day(found: Any) -> date | None:
    """Days after the epoch where it is a number, which is what Debezium has for it."""
    if isinstance(found, JsonNumber):
        days = _whole(found)
        if days is None or not FIRST_DAY <= days <= LAST_DAY:
            return None
        return (EPOCH + days * timedelta(days=1)).date()
    try:
        return date.fromisoformat(found) if _DAY.match(_text(found) or "") else None
    except ValueError:
        return None


def _json(found: Any) -> str | None:
    text = compact(found)
    return text if _encodable(text) else None


def _integer(kind: str, found: Any) -> int | None:
    number = _whole(found)
    bits = INTEGER_BITS[kind.removesuffix(" UNSIGNED")]
    low = 0 if kind.endswith("UNSIGNED") else -(2 ** (bits - 1))
    return number if number is not None and 0 <= number - low < 2**bits else None


def _whole(found: Any) -> int | None:
    if not _is_number(found):
        return None
    # The time that int() takes grows with the square of the digits.
    if len(found) < 30 and _WHOLE.match(found):
        return int(found)
    number = _exact(found)
    # 1e999999999 is a whole number too, of more digits than there is memory.
    if number is None or number.adjusted() > 30:
        return None
    if number != number.to_integral_value():
        return None
    return int(number)


def _float(found: Any) -> float | None:
    import pyarrow as pa

    # Rounded by Arrow, as in the other reader: by way of a double it is rounded twice.
    number = _through_arrow(found, pa.float32()) if _is_number(found) else None
    return None if number is None or abs(number) == float("inf") else float(number)


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "BOOLEAN": _boolean,
    "TEXT": _text,
    "DOUBLE": _double,
    "FLOAT": _float,
    "DATE": _day,
    "JSON": _json,
}


def _decimal(type_: pa.DataType, found: Any) -> Number10 | None:
    exact = _exact(found) if isinstance(found, str) else None
    if exact is None or abs(exact.adjusted()) > MOST_PLACES:
        return None
    # Which text is a decimal number is left to Arrow, as in the other reader. Of some
    # exponents Arrow 26 makes another number; others end the process.
    number = _through_arrow(found, type_)
    return number if number is not None and number == exact else None


def _exact(text: str) -> Number10 | None:
    try:
        return Number10(str(text))
    except InvalidOperation:  # no number, or one with an exponent beyond all bounds
        return None


def _decimal_of_bytes(type_: pa.DataType, scale: int, found: Any) -> Number10 | None:
    if isinstance(found, JsonNumber):
        return _decimal(type_, found)
    text = _text(found)
    return None if text is None else decimal_of(text, type_, scale)


def _decimal_of_either(
    type_: pa.DataType, plain: PlainTexts, name: str, found: Any
) -> Number10 | None:
    text = _text(found)
    if text is None:
        return _decimal(type_, found)
    match form_of(text, type_.scale):
        case None:
            raise mismatch(
                f"the text {_shown(text)} of '{name}' may be a number, or the bytes of "
                f"another{TO_READ_IT}write 'json.decimal_encoding' = 'string' (a "
                "number) or 'bytes' into the table's options"
            )
        case int(scale):
            return decimal_of(text, type_, scale)
        case _:
            number = _decimal(type_, text)
            plain.count += number is not None
            return number


def _through_arrow(text: str, type_: pa.DataType) -> Any:
    import pyarrow as pa

    try:
        return pa.array([str(text)]).cast(type_)[0].as_py()
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None


def _instant(digits: int, found: Any) -> int | None:
    """Microseconds after the epoch."""
    if isinstance(found, JsonNumber):
        number = _whole(found)
        us = None if number is None else number * UNIT_NS[digits] // 1000
        return us if us is not None and FIRST_US <= us <= LAST_US else None
    match = _INSTANT.match(_text(found) or "")
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        zone = (zone or "Z").upper()
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}{zone}")
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    # Cut off, as in the other reader: rounding up would change the second.
    return (moment - EPOCH) // MICROSECOND + int((fraction or "").ljust(6, "0")[:6])


def _is_number(found: Any) -> bool:
    return isinstance(found, JsonNumber) or (
        isinstance(found, str) and _NUMBER.match(found) is not None
    )


def _encodable(text: str) -> bool:
    try:
        # Half a surrogate pair can be escaped in JSON, and is no text.
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def compact(document: Any) -> str:
    """A document as JSON text without blanks; its numbers as they were written."""
    match document:
        case JsonNumber():
            return str(document)
        case dict():
            inner = (f"{compact(k)}:{compact(v)}" for k, v in document.items())
            return "{" + ",".join(inner) + "}"
        case list():
            return "[" + ",".join(map(compact, document)) + "]"
        case _:
            return json.dumps(document, ensure_ascii=False)


def mismatch(what: str) -> BadRecord:
    """The error of a record that does not match its schema."""
    return BadRecord(MISMATCH + what)


def _shown(document: Any) -> str:
    text = compact(document).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= 60 else text[:57] + "..."
