"""Dates and times. Timestamps have no zone: they are UTC wall time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.chrono_formats import java_pattern
from arroyo_nb.functions.literals import check_text, is_date
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    Result,
    ScalarFunction,
    Signature,
    SignatureProblem,
    Template,
)
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    Timestamp,
    Type,
    quoted_text,
)

_TIME = Timestamp()

# part -> its value; a minute's pieces count from the minute's start, as Arroyo's do.
_PARTS = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "week": "weekofyear({0})",
    "day": "day({0})",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
    "millisecond": "CAST(pmod(unix_micros({0}), 60000000L) div 1000 AS INT)",
    "microsecond": "CAST(pmod(unix_micros({0}), 60000000L) AS INT)",
    # Sunday is 1 to Spark.
    "dow": "(dayofweek({0}) - 1)",
    "doy": "dayofyear({0})",
    "epoch": "(unix_micros({0}) / 1000000D)",
}
_UNITS = (
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
)


def _word(argument: Argument, known: Sequence[str], what: str) -> str:
    every = "known: " + ", ".join(known)
    if argument.literal is None:
        raise Unsupported(f"{what} must be a literal", span=argument.span, hint=every)
    word = argument.literal.lower()
    if word not in known:
        raise CatalogProblem(
            f"{what} '{argument.literal}' is not known",
            span=argument.span,
            hint=did_you_mean(word, known) or every,
        )
    return word


def _pattern(argument: Argument, *, reads: bool = False) -> str:
    if argument.literal is None:
        raise Unsupported(
            "a time pattern must be a literal",
            span=argument.span,
            hint="write it as '...'",
        )
    try:
        return quoted_text(java_pattern(argument.literal, reads=reads))
    except Unsupported as problem:
        problem.span = argument.span
        raise


def _date_part(arguments: Sequence[Argument]) -> str:
    part = _word(arguments[0], tuple(_PARTS), "the part of a date")
    return _PARTS[part].format(arguments[1].sql)


def _part_type(_: Sequence[Type], literals: Literals) -> Type:
    return DOUBLE if literals and (literals[0] or "").lower() == "epoch" else INT


def _date_trunc(arguments: Sequence[Argument]) -> str:
    unit = _word(arguments[0], _UNITS, "the unit of date_trunc")
    return f"date_trunc({quoted_text(unit)}, {arguments[1].sql})"


def _date_bin(arguments: Sequence[Argument]) -> str:
    """The start of the bin: bins are counted from the origin, else the epoch."""
    if arguments[0].duration is not None and arguments[0].duration <= timedelta():
        raise CatalogProblem(
            "the width of date_bin must be longer than zero", span=arguments[0].span
        )
    width, time, *origin = (a.sql for a in arguments)
    micros = f"unix_micros({time})"
    since = f"unix_micros({origin[0]})" if origin else "0L"
    # The microseconds of an interval: those of the instant it leads to from 1970.
    width_us = f"unix_micros(timestamp_seconds(0) + {width})"
    return f"timestamp_micros({micros} - pmod({micros} - {since}, {width_us}))"


# What stands for a part that is no literal: it leaves the others all their values.
_ANY_DATE = (2024, 1, 1)


def _make_date(arguments: Sequence[Argument]) -> str:
    year, month, day = (
        any_ if argument.number is None else argument.number
        for argument, any_ in zip(arguments, _ANY_DATE, strict=True)
    )
    if not is_date(year, month, day):
        is_day = is_date(year, month, 1)
        place, what = (2, f"day {day}") if is_day else (1, f"month {month}")
        raise CatalogProblem(
            f"make_date() is given the {what}, which does not exist",
            span=arguments[place].span,
            hint="write make_date(year, month, day)",
        )
    return f"make_date({', '.join(a.sql for a in arguments)})"


def _to_char(arguments: Sequence[Argument]) -> str:
    return f"date_format({arguments[0].sql}, {_pattern(arguments[1])})"


def _read(text: Argument, patterns: Sequence[Argument]) -> str:
    """Text by the first pattern that fits; the last one's failure is the run's."""
    *others, last = (_pattern(pattern, reads=True) for pattern in patterns)
    tries = [f"try_to_timestamp({text.sql}, {pattern})" for pattern in others]
    return f"coalesce({', '.join((*tries, f'to_timestamp({text.sql}, {last})'))})"


def _check_time(value: Argument, target: Type) -> None:
    if value.literal is not None:
        check_text(value.literal, target, value.span)


def _to_timestamp(digits: int, unit_digits: int) -> Template:
    """A number counts units of ``10 ** -unit_digits`` s, a text is read."""

    def template(arguments: Sequence[Argument]) -> str:
        value, *patterns = arguments
        result = Timestamp(digits)
        if patterns:
            return cast(_read(value, patterns), _TIME, result)
        if value.type == BIGINT:
            return cast(value.sql, BIGINT, Timestamp(unit_digits))
        if value.type == DOUBLE:
            return cast(f"timestamp_seconds({value.sql})", _TIME, result)
        _check_time(value, _TIME)
        time = cast(value.sql, value.type, _TIME)
        return cast(time, _TIME, result)

    return template


def _timestamps(
    name: str, digits: int, unit_digits: int, *, example: str
) -> ScalarFunction:
    result = Timestamp(digits)
    # Seconds may have a fraction; other units are whole.
    numbers = (BIGINT, DOUBLE) if unit_digits == 0 else (BIGINT,)
    return ScalarFunction(
        name,
        (
            *(Signature((number,), result) for number in numbers),
            Signature((TEXT, TEXT), result, optional=1, repeats=True),
            Signature((_TIME,), result),
        ),
        _to_timestamp(digits, unit_digits),
        f"a number of {_UNIT_NAMES[unit_digits]} since 1970, or a text, as a TIMESTAMP",
        example=example,
        differs="microseconds are kept, and no nanoseconds" if digits == 9 else "",
    )


_UNIT_NAMES = {0: "seconds", 3: "ms", 6: "microseconds", 9: "nanoseconds"}


def _date_of_days(types: Sequence[Type], _literals: Literals) -> Type:
    (given,) = types
    if given not in (DATE, INT, BIGINT, NULL):
        raise SignatureProblem(
            f"Unsupported data type {given} for function to_date",
            hint="write CAST(x AS DATE)",
        )
    return DATE


def _to_date(arguments: Sequence[Argument]) -> str:
    value, *patterns = arguments
    if not patterns:
        _check_time(value, DATE)
        return cast(value.sql, value.type, DATE, literal=value.literal)
    return f"CAST({_read(value, patterns)} AS DATE)"


FUNCTIONS = (
    ScalarFunction(
        "date_bin",
        (Signature((INTERVAL, _TIME, _TIME), _TIME, optional=1),),
        _date_bin,
        "start of the bin: date_bin(width, time, origin)",
        example="date_bin(INTERVAL '1 day', '2024-03-01 10:40:00') "
        "-> 2024-03-01 00:00:00",
    ),
    ScalarFunction(
        "date_part",
        (Signature((TEXT, _TIME), _part_type),),
        _date_part,
        "a part of a time: " + ", ".join(_PARTS),
        aliases=("datepart", "extract"),
        example="date_part('hour', '2024-03-01 10:40:00') -> 10",
    ),
    ScalarFunction(
        "date_trunc",
        (Signature((TEXT, _TIME), _TIME),),
        _date_trunc,
        "start of the unit: " + ", ".join(_UNITS),
        aliases=("datetrunc",),
        example="date_trunc('hour', '2024-03-01 10:40:00') -> 2024-03-01 10:00:00",
    ),
    ScalarFunction(
        "from_unixtime",
        (Signature((BIGINT,), Timestamp(0)),),
        "timestamp_seconds({0})",
        "seconds since 1970 as a TIMESTAMP",
        example="from_unixtime(86400) -> 1970-01-02 00:00:00",
    ),
    ScalarFunction(
        "make_date",
        (Signature((INT, INT, INT), DATE),),
        _make_date,
        "the date of year, month, day",
        example="make_date(2024, 2, 29) -> 2024-02-29",
    ),
    ScalarFunction(
        "to_char",
        (Signature((_TIME, TEXT), TEXT),),
        _to_char,
        "a time as text, by a pattern such as '%Y-%m-%d %H:%M'",
        aliases=("date_format",),
        example="to_char('2024-03-01 10:40:00', '%H:%M, %d %b') -> '10:40, 01 Mar'",
    ),
    ScalarFunction(
        "to_date",
        (
            Signature((TEXT, TEXT), DATE, optional=1, repeats=True),
            Signature((DATE,), _date_of_days),
            Signature((BIGINT,), _date_of_days),
        ),
        _to_date,
        "a text (by the first pattern that fits) or days since 1970 as a DATE",
        example="to_date('01.03.2024', '%d.%m.%Y') -> 2024-03-01",
    ),
    ScalarFunction(
        "to_local_time",
        (Signature((_TIME,), Result.FIRST),),
        # A TIMESTAMP has no zone that could be taken away.
        "{0}",
        "a time without its zone: the TIMESTAMP itself, which is in UTC",
        example="to_local_time(to_timestamp('2024-03-01 10:40:00')) -> "
        "2024-03-01 10:40:00",
    ),
    ScalarFunction(
        "to_unixtime",
        (Signature((_TIME,), BIGINT),),
        "unix_seconds({0})",
        "whole seconds since 1970",
        example="to_unixtime('1970-01-02 00:00:00') -> 86400",
    ),
    _timestamps(
        "to_timestamp",
        9,
        0,
        example="to_timestamp('2024-03-01T10:40:00Z') -> 2024-03-01 10:40:00",
    ),
    _timestamps(
        "to_timestamp_seconds",
        0,
        0,
        example="to_timestamp_seconds(1) -> 1970-01-01 00:00:01",
    ),
    _timestamps(
        "to_timestamp_millis",
        3,
        3,
        example="to_timestamp_millis(1500) -> 1970-01-01 00:00:01.500000",
    ),
    _timestamps(
        "to_timestamp_micros",
        6,
        6,
        example="to_timestamp_micros(1500000) -> 1970-01-01 00:00:01.500000",
    ),
    _timestamps(
        "to_timestamp_nanos",
        9,
        9,
        example="to_timestamp_nanos(1500000000) -> 1970-01-01 00:00:01.500000",
    ),
)
