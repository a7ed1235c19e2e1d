"""The reader of JSON records in Spark's own expressions (arroyo-semantics c.5).

A record becomes a variant, in which Spark tells the types of JSON apart, and each
column is made of what the variant has under its name. A number that is written with an
exponent is a DOUBLE in a variant, so such ones are read a second time, as decimals.

It reads what :class:`arroyo_nb.formats.json.strict.RecordReader` reads, with these
differences. Of a number with an exponent the places behind the 18th (of a DECIMAL: the
sixth beyond its own, or more; of one so large that 38 digits have no room for these,
those beyond its own) are rounded away, where the other finds it to be no value
of the type; and where the record has anything like an exponent of four digits, such
numbers are bad data. So is what Spark's parser (Jackson) refuses anywhere in a record:
half a surrogate pair, a number of more than 1,000 digits, a name of more than 50,000
characters, over 1,000 levels; and an offset of a time zone beyond 18 hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from arroyo_nb.codecs.bad_records import MISMATCH
from arroyo_nb.codecs.sql_decoder import AS_MARKED_TEXT, HOLDS_TEXT, TEXT, SqlDecoder
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING
from arroyo_nb.formats.json.strict import (
    DAY,
    FIRST_DAY,
    FIRST_US,
    INSTANT,
    INTEGER_BITS,
    LAST_DAY,
    LAST_US,
    NUMBER,
    UNIT_NS,
)
from arroyo_nb.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    Decimal,
    Field,
    Primitive,
    Schema,
    Timestamp,
    Type,
    quoted,
    quoted_text,
    spark_type,
)
from arroyo_nb.schema import TEXT as TEXT_TYPE
from arroyo_nb.tape import END_OF_TIME_US
from arroyo_nb.with_options import OptionValue

_NUMBER, _DAY, _INSTANT = (rf"^{form}\z" for form in (NUMBER, DAY, INSTANT))
_DIGITS = r"^[-+]?[0-9.]+([eE][-+]?[0-9]+)?\z"
"""What may be a DECIMAL, of which a text can have a plus, and zeros in front."""
_DIGITS_OF = "replace(regexp_extract({}, '^[-+]?([0-9.]*)', 1), '.', '')"
"""The digits of a number, without its sign, its point and its exponent."""

# Spark would write out a decimal of a billion digits. It may stand in a text, too.
_HUGE = "[0-9.][eE][-+]?[0-9]{4}"

_LARGE = "_large"
"""The step that reads numbers once more which have no room beside so many places."""

_SHOWN_CHARS = 60
_END_OF_TIME = f"timestamp_micros({END_OF_TIME_US}L)"

# The parser stops behind the first value. So the text stands in braces, and once more
# in brackets: no text that goes on behind its value fits into both.
_IN_BRACES = f"""try_parse_json(concat('{{"r":', {TEXT}, '}}'))"""
_RECORD = {"_record": "try_variant_get(_parsed, '$.r', 'map<string,variant>')"}


def json_decoder(schema: Schema, event_time: str | None) -> SqlDecoder:
    """A reader of the records of a schema.

    Parameters
    ----------
    schema
        The columns; of none :func:`unread_types` has a word.
    event_time
        The column that may not be NULL because it is the event time.
    """
    columns = [_JsonColumn(number, field) for number, field in enumerate(schema)]
    numbers = [column for column in columns if column.is_number]
    exact = [column for column in numbers if not column.is_real]
    reals = _in_brackets(column for column in columns if column.is_real)
    large = [column for column in exact if column.may_be_large]
    decimals = {"_decimals": _in_brackets(exact)}
    if large:
        decimals[_LARGE] = _in_brackets(large, large=True)
    decimals = {
        name: f"IF({TEXT} RLIKE '{_HUGE}', NULL, {read})"
        for name, read in decimals.items()
    }
    steps = (
        AS_MARKED_TEXT,
        {"_parsed": _IN_BRACES, "_reals": reals, **decimals},
        _RECORD,
        {c.found: f"_record[{quoted_text(c.field.name)}]" for c in columns},
        {name: text for c in columns for name, text in c.parts.items()},
        {c.number: c.number_sql for c in numbers},
        {c.digits: _DIGITS_OF.format(c.number) for c in exact},
        {c.places: c.places_sql for c in exact},
        {c.value: c.value_sql for c in columns},
    )
    found = _shown("variant_get(_parsed, '$.r', 'variant')")
    problems = (column.problem_sql(event_time) for column in columns)
    return SqlDecoder(
        tuple(filter(None, steps)),
        tuple(column.value for column in columns),
        f"""CASE
            WHEN {TEXT} IS NULL THEN 'invalid JSON: not UTF-8'
            WHEN _parsed IS NULL THEN 'invalid JSON'
            WHEN _record IS NULL THEN {_said("a record is an object, found ", found)}
            WHEN _reals IS NULL OR size(_reals) <> 1 THEN 'invalid JSON'
            ELSE coalesce({", ".join(problems)}, CAST(NULL AS STRING)) END""",
        HOLDS_TEXT,
    )


def _in_brackets(columns: Iterable[_JsonColumn], *, large: bool = False) -> str:
    """The numbers of some columns, read as their own types."""
    types = (
        (c.field, spark_type(c.field.type) if large else c.raw_type) for c in columns
    )
    parts = ", ".join(f"{quoted(field.name)}: {type_}" for field, type_ in types)
    type_ = quoted_text(f"array<struct<{parts or '_: string'}>>")
    return f"from_json(concat('[', {TEXT}, ']'), {type_})"


def unread_types(
    schema: Schema, options: Mapping[str, OptionValue]
) -> Iterator[tuple[str, Type]]:
    """The columns, with their types, that are read in Python only."""
    in_bytes = options.get(DECIMAL_ENCODING) == "bytes"
    for field in schema:
        match field.type:
            case Primitive(kind):
                is_read = kind in _KINDS or _bits(kind) is not None
            case Decimal():
                is_read = not in_bytes
            case type_:
                is_read = isinstance(type_, Timestamp)
        if not is_read:
            yield field.name, field.type


def _bits(kind: str) -> int | None:
    return INTEGER_BITS.get(kind.removesuffix(" UNSIGNED"))


class _JsonColumn:
    """A column of a record, and what is made on the way to it."""

    def __init__(self, number: int, field: Field) -> None:
        self.field = field
        self.found, self.kind, self.text = (
            f"_{word}_{number}" for word in ("found", "kind", "text")
        )
        self.number, self.digits, self.places, self.value = (
            f"_{word}_{number}" for word in ("number", "digits", "places", "value")
        )

    @property
    def is_number(self) -> bool:
        """Whether JSON may have a number for it."""
        return self.field.type not in (BOOLEAN, TEXT_TYPE)

    @property
    def is_real(self) -> bool:
        """Whether it has a number that is rounded anyway."""
        return self.field.type in (DOUBLE, FLOAT)

    @property
    def raw_type(self) -> str:
        """The type that its numbers are read as a second time: with more places than
        the column has, so that a number with more is told from one of the type."""
        match self.field.type:
            case Decimal(precision, scale):
                return f"decimal(38,{max(38 - precision + scale, min(38, scale + 6))})"
            case type_:
                return spark_type(type_) if self.is_real else "decimal(38,18)"

    @property
    def may_be_large(self) -> bool:
        """Whether :attr:`raw_type` has no room for its largest numbers."""
        match self.field.type:
            case Decimal(precision, scale):
                return precision > 38 - (min(38, scale + 6) - scale)
            case _:
                return False

    @property
    def _whole(self) -> str:
        """The number, where it is a whole one of at most 20 digits."""
        return f"IF({self.places} <= 0, TRY_CAST({self.number} AS DECIMAL(20,0)), NULL)"

    @property
    def parts(self) -> Mapping[str, str]:
        """Which of JSON's types it has, and its text."""
        return {
            self.kind: f"schema_of_variant({self.found})",
            self.text: f"CAST({self.found} AS STRING)",
        }

    @property
    def number_sql(self) -> str:
        """The number: where it is rounded anyway itself, else its text. Times are
        numbers only where they are no texts."""
        pattern = _DIGITS if isinstance(self.field.type, Decimal) else _NUMBER
        in_text = f"IF({self.text} RLIKE r'{pattern}', {self.text}, NULL)"
        again = "_reals" if self.is_real else "_decimals"
        raw = f"get({again}, 0).{quoted(self.field.name)}"
        if self.may_be_large:
            large = f"get({_LARGE}, 0).{quoted(self.field.name)}"
            raw = f"coalesce(CAST({raw} AS STRING), CAST({large} AS STRING))"
        is_plain = f"{self.kind} = 'BIGINT' OR startswith({self.kind}, 'DECIMAL')"
        if self.is_real:
            cast = f"TRY_CAST({in_text} AS {self.raw_type})"
            is_number = f"{is_plain} OR {self.kind} = 'DOUBLE'"
            return f"IF({self.kind} = 'STRING', {cast}, IF({is_number}, {raw}, NULL))"
        if isinstance(self.field.type, Timestamp) or self.field.type == DATE:
            in_text = "NULL"
        # What the decimal does not hold is no value of the column's type either.
        is_held = f"CAST({raw} AS DOUBLE) = TRY_CAST({self.text} AS DOUBLE)"
        return (
            f"CASE WHEN {self.kind} = 'STRING' THEN {in_text} "
            f"WHEN {is_plain} THEN {self.text} "
            f"WHEN {self.kind} = 'DOUBLE' AND {is_held} THEN CAST({raw} AS STRING) END"
        )

    @property
    def places_sql(self) -> str:
        """How many digits the number has behind its point, once the exponent has moved
        that, without zeros at the end: Spark's casts round, and do not tell."""
        exponent = f"regexp_extract({self.number}, '[eE]([-+]?[0-9]+)', 1)"
        is_moved = f"{self.number} RLIKE '[eE]'"
        moved = f"IF({is_moved}, TRY_CAST({exponent} AS SMALLINT), 0S)"
        written = f"length(regexp_extract({self.number}, '[.]([0-9]*)', 1))"
        plain = f"rtrim('0', {self.digits})"
        zeros = f"(length({self.digits}) - length({plain}))"
        return f"IF({plain} = '', 0L, {written} - {moved} - {zeros})"

    @property
    def value_sql(self) -> str:
        """The value; NULL where there is none, or one of another type."""
        match self.field.type:
            case Timestamp(digits):
                return self._instant(digits)
            case Decimal() as type_:
                return self._decimal(type_)
            case Primitive(kind) if (bits := _bits(kind)) is not None:
                low = 0 if kind.endswith("UNSIGNED") else -(2 ** (bits - 1))
                return self._within(self._whole, low, low + 2**bits - 1, "{}")
            case Primitive(kind):
                return _KINDS[kind](self)
            case type_:
                raise TypeError(f"no JSON in SQL for {type_}")

    def problem_sql(self, event_time: str | None) -> str:
        """What is wrong with it."""
        name = self.field.name
        missing, too_late = "NULL", ""
        if name == event_time:
            missing = _said(f"the event time '{name}' is missing")
            said = _said(f"the event time '{name}' is past the year 9998")
            too_late = f"WHEN {self.value} >= {_END_OF_TIME} THEN {said}"
        if not self.field.nullable:
            state = f"IF({self.found} IS NULL, 'missing', 'null')"
            missing = _said(f"'{name}' is NOT NULL and is ", state)
        other = _said(f"'{name}' is {self.field.type}, found ", _shown(self.found))
        return (
            f"CASE WHEN {self.found} IS NULL OR is_variant_null({self.found}) "
            f"THEN {missing} WHEN {self.value} IS NULL THEN {other} {too_late} END"
        )

    def _within(self, number: str, low: int, high: int, made: str) -> str:
        held = spark_type(self.field.type)
        value = f"CAST({made.format(number)} AS {held})"
        return f"IF({number} BETWEEN {low} AND {high}, {value}, NULL)"

    def _instant(self, digits: int) -> str:
        ns = UNIT_NS[digits]
        us = f"floor({self._whole} * {ns} / 1000)"
        number = self._within(
            us, FIRST_US, LAST_US, "timestamp_micros(CAST({} AS BIGINT))"
        )
        text = f"TRY_CAST(upper({self.text}) AS TIMESTAMP)"
        ends = f"timestamp_micros({FIRST_US}L) AND timestamp_micros({LAST_US}L)"
        is_one = f"{self.text} RLIKE r'{_INSTANT}' AND {text} BETWEEN {ends}"
        return f"IF({self.kind} = 'STRING', IF({is_one}, {text}, NULL), {number})"

    def _day(self) -> str:
        number = self._within(
            self._whole, FIRST_DAY, LAST_DAY, "date_from_unix_date(CAST({} AS INT))"
        )
        text = f"TRY_CAST({self.text} AS DATE)"
        is_one = f"{self.text} RLIKE r'{_DAY}' AND {text} >= DATE'0001-01-01'"
        return f"IF({self.kind} = 'STRING', IF({is_one}, {text}, NULL), {number})"

    def _decimal(self, type_: Decimal) -> str:
        made = f"TRY_CAST({self.number} AS {spark_type(type_)})"
        return f"IF({self.places} <= {type_.scale}, {made}, NULL)"

    def _real(self) -> str:
        return f"IF(abs({self.number}) < DOUBLE('Infinity'), {self.number}, NULL)"

    def _boolean(self) -> str:
        found = f"try_variant_get({self.found}, '$', 'boolean')"
        return f"IF({self.kind} = 'BOOLEAN', {found}, NULL)"

    def _string(self) -> str:
        return f"IF({self.kind} = 'STRING', {self.text}, NULL)"


_KINDS = {
    "BOOLEAN": _JsonColumn._boolean,
    "TEXT": _JsonColumn._string,
    "DOUBLE": _JsonColumn._real,
    "FLOAT": _JsonColumn._real,
    "DATE": _JsonColumn._day,
}


def _shown(variant: str) -> str:
    return f"substring(to_json({variant}), 1, {_SHOWN_CHARS})"


def _said(what: str, then: str = "''") -> str:
    return f"concat({quoted_text(MISMATCH + what)}, {then})"
