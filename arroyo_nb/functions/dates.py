"""Dates and times. Timestamps have no zone: they are UTC wall time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported
from arroyo_nb.functions.casts import cast, datafusion_cast
from arroyo_nb.functions.chrono_formats import check_pattern, common_pattern
from arroyo_nb.functions.date_parts import interval_micros
from arroyo_nb.functions.literals import check_text, is_date
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    ParameterKind,
    ScalarFunction,
    Signature,
    SignatureProblem,
    literal_word,
)
from arroyo_nb.functions.timestamps import by_patterns
from arroyo_nb.schema import (
    BIGINT,
    DATE,
    INT,
    INTERVAL,
    NULL,
    TEXT,
    TIME,
    Timestamp,
    Type,
    quoted_text,
)

_TIME = Timestamp()
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


def _time(argument: Argument) -> str:
    return cast(argument.sql, argument.type, _TIME)


def _precision(types: Sequence[Type], _: Literals) -> Type:
    """A TIMESTAMP keeps its precision; what is none becomes one."""
    return types[1] if isinstance(types[1], Timestamp) else _TIME


def _bin_precision(types: Sequence[Type], literals: Literals) -> Type:
    """That of the time, but where the origin has another than the finest."""
    is_finest = len(types) < 3 or types[2] in (_TIME, NULL)
    return _precision(types, literals) if is_finest else _TIME


def _date_trunc(arguments: Sequence[Argument]) -> str:
    unit = literal_word(arguments[0], _UNITS, "the unit of date_trunc")
    time = _time(arguments[1])
    match unit:
        case "microsecond":
            return time
        case "millisecond":
            # Towards 1970, as in DataFusion; other units begin before the time.
            return f"timestamp_millis(unix_micros({time}) div 1000)"
    return f"date_trunc({quoted_text(unit)}, {time})"


def _date_bin(arguments: Sequence[Argument]) -> str:
    """The start of the bin: bins are counted from the origin, else the epoch."""
    width, time, *origin = arguments
    micros = f"unix_micros({_time(time)})"
    since = f"unix_micros({_time(origin[0])})" if origin else "0L"
    width_us = interval_micros(width.sql)
    start = f"timestamp_micros({micros} - pmod({micros} - {since}, {width_us}))"
    is_finest = all(o.type == _TIME and o.literal is None for o in origin)
    is_kept = isinstance(time.type, Timestamp) and is_finest
    return cast(start, _TIME, time.type) if is_kept else start


def _date_bin_elsewhere(arguments: Sequence[Argument]) -> str:
    """Bins of months, and of a width that is negative."""
    width, _, *origin = arguments
    named = zip(("the width", "the origin"), (width, *origin), strict=False)
    for what, argument in named:
        if argument.constant is None and argument.literal is None:
            raise Unsupported(
                f"{what} of date_bin must be a literal",
                span=argument.span,
                hint="write date_bin(INTERVAL '1 day', at, TIMESTAMP '2024-01-01')",
            )
    if width.duration == timedelta():
        raise CatalogProblem(
            "the width of date_bin must be longer than zero", span=width.span
        )
    if width.duration is not None and width.duration > timedelta():
        return ""
    return "date_bin({0}, {1}, {2})" if origin else "date_bin({0}, {1})"


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
    value, pattern = arguments
    java = _common(value, pattern)
    assert java is not None, "DataFusion writes it"
    return f"date_format({_time(value)}, {quoted_text(java)})"


def _common(value: Argument, pattern: Argument) -> str | None:
    if pattern.literal is None or value.type in (TIME, INTERVAL):
        return None
    return common_pattern(pattern.literal, of_days=value.type == DATE)


def _to_char_elsewhere(arguments: Sequence[Argument]) -> str:
    value, pattern = arguments
    if value.type == INTERVAL:
        return _length_to_char(value)
    if pattern.literal is not None:
        try:
            check_pattern(pattern.literal)
        except ArroyoError as problem:
            problem.span = pattern.span
            raise
    return "" if _common(value, pattern) is not None else "to_char({0}, {1})"


def _length_to_char(value: Argument) -> str:
    """A length is what two times differ by; DataFusion has other INTERVALs beside."""
    if value.constant is not None or value.has_months:
        raise CatalogProblem(
            "to_char() does not take an INTERVAL, but what two times differ by",
            span=value.span,
            hint="write CAST(x AS TEXT), or to_char(t2 - t1, 'pretty')",
        )
    return "to_char(arrow_cast({0}, 'Duration(Nanosecond)'), {1})"


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
    assert not patterns, "DataFusion reads by patterns"
    return cast(value.sql, value.type, DATE, literal=value.literal)


_by_patterns = by_patterns("to_date")


def _to_date_elsewhere(arguments: Sequence[Argument]) -> str:
    value, *patterns = arguments
    if patterns:
        return _by_patterns(arguments)
    if value.literal is not None:
        check_text(value.literal, DATE, value.span)
    return datafusion_cast(value.type, DATE, literal=value.literal)


def _local_type(types: Sequence[Type], _: Literals) -> Type:
    if not isinstance(types[0], Timestamp):
        raise SignatureProblem(
            f"to_local_time() takes a TIMESTAMP, not {types[0]}",
            hint="cast it: to_local_time(CAST(x AS TIMESTAMP))",
        )
    return types[0]


_BIN = (INTERVAL, ParameterKind.MOMENT, ParameterKind.MOMENT)

FUNCTIONS = (
    ScalarFunction(
        "date_bin",
        (Signature(_BIN, _bin_precision, optional=1),),
        _date_bin,
        "start of the bin: date_bin(width, time, origin); the width may have months",
        example="date_bin(INTERVAL '1 day', '2024-03-01 10:40:00') "
        "-> 2024-03-01 00:00:00",
        datafusion=_date_bin_elsewhere,
    ),
    ScalarFunction(
        "date_trunc",
        (Signature((TEXT, ParameterKind.MOMENT), _precision),),
        _date_trunc,
        "start of the unit: " + ", ".join(_UNITS),
        aliases=("datetrunc",),
        example="date_trunc('hour', '2024-03-01 10:40:00') -> 2024-03-01 10:00:00",
    ),
    ScalarFunction(
        "make_date",
        (Signature((ParameterKind.DAY_PART,) * 3, DATE),),
        _make_date,
        "the date of year, month, day",
        example="make_date(2024, 2, 29) -> 2024-02-29",
    ),
    ScalarFunction(
        "to_char",
        tuple(
            Signature((parameter, ParameterKind.AS_TEXT), TEXT)
            for parameter in (ParameterKind.MOMENT, TIME, INTERVAL)
        ),
        _to_char,
        "a time as text, by a pattern such as '%Y-%m-%d %H:%M'",
        aliases=("date_format",),
        example="to_char('2024-03-01 10:40:00', '%H:%M, %d %b') -> '10:40, 01 Mar'",
        datafusion=_to_char_elsewhere,
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
        datafusion=_to_date_elsewhere,
    ),
    ScalarFunction(
        "to_local_time",
        (Signature((_TIME,), _local_type),),
        # A TIMESTAMP has no zone that could be taken away.
        "{0}",
        "a time without its zone: the TIMESTAMP itself, which is in UTC",
        example="to_local_time(to_timestamp('2024-03-01 10:40:00')) -> "
        "2024-03-01 10:40:00",
    ),
)
