"""Parts of times and of lengths of time: date_part and EXTRACT."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.functions.casts import cast
from arroyo_nb.functions.datafusion import text_literal
from arroyo_nb.functions.let_binding import once
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    ParameterKind,
    ScalarFunction,
    Signature,
    literal_word,
)
from arroyo_nb.functions.time_units import SECOND_US
from arroyo_nb.schema import DATE, DOUBLE, INT, INTERVAL, TEXT, TIME, Timestamp, Type

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
_SHORT = {
    "year": ("y", "yr", "yrs"),
    "quarter": ("qtr",),
    "month": ("mon", "mons"),
    "week": ("w",),
    "day": ("d",),
    "hour": ("h", "hr", "hrs"),
    "minute": ("m", "min", "mins"),
    "second": ("s", "sec", "secs"),
    "millisecond": ("ms", "msec", "msecs"),
    "microsecond": ("us", "usec", "usecs"),
}
_PLURAL = frozenset(_SHORT) - {"quarter"}
_NAMES = {
    **{part: part for part in _PARTS},
    **{short: part for part, words in _SHORT.items() for short in words},
    **{f"{part}s": part for part in _PLURAL},
}
# A length of time is counted in one unit, its fraction cut off.
_LENGTHS = {
    "week": 7 * 24 * 3600 * SECOND_US,
    "day": 24 * 3600 * SECOND_US,
    "hour": 3600 * SECOND_US,
    "minute": 60 * SECOND_US,
    "second": SECOND_US,
}
_OF_CLOCK = ("hour", "minute", "second", "millisecond", "microsecond", "epoch")
_OF_LENGTH = (*_LENGTHS, "millisecond", "microsecond", "epoch")
_OF_INTERVAL = ("year", "month", *_OF_LENGTH)


def interval_micros(interval: str) -> str:
    """The microseconds of an INTERVAL of Spark's: those of the instant it leads to from
    1970."""
    return f"unix_micros(timestamp_seconds(0) + {interval})"


def _part(arguments: Sequence[Argument]) -> str:
    given, value = arguments
    word = (given.literal or "").lower()
    if word not in _NAMES:
        return literal_word(given, tuple(_PARTS), "the part of a date")
    part = _NAMES[word]
    parts, of = _PARTS_OF.get(value.type, (tuple(_PARTS), ""))
    if value.type == INTERVAL and not _is_of_calendar(value):
        parts, of = _OF_LENGTH, "a length of time"
    if part not in parts:
        raise CatalogProblem(
            f"{of} has no part '{part}'",
            span=given.span,
            hint="known: " + ", ".join(parts),
        )
    return part


_PARTS_OF: dict[Type, tuple[tuple[str, ...], str]] = {
    TIME: (_OF_CLOCK, "a TIME"),
    INTERVAL: (_OF_INTERVAL, "an INTERVAL"),
}


def _is_of_calendar(interval: Argument) -> bool:
    """Whether it has months, days and the rest apart; what Spark holds is a length, as
    the difference of two times is to DataFusion."""
    return interval.constant is not None or interval.has_months


def _date_part(arguments: Sequence[Argument]) -> str:
    part, value = _part(arguments), arguments[1]
    if value.type != INTERVAL:
        # Spark counts the microseconds of a TIMESTAMP alone.
        is_date = value.type == DATE
        time = cast(value.sql, DATE, Timestamp()) if is_date else value.sql
        return _PARTS[part].format(time)
    micros = interval_micros(value.sql)
    if part in _LENGTHS and part != "second":
        return _wrapped(f"{micros} div {_LENGTHS[part]}L")
    return once(lambda texts: _part_of_length(part, texts[0]), [micros])


_PER_SECOND = {"second": 1, "millisecond": 1000, "microsecond": SECOND_US}
_MOST_US = (2**31 - 1) // 1000
"""The longest length whose nanoseconds are an INT: about two seconds."""


def _part_of_length(part: str, micros: str) -> str:
    """Seconds and what is less, by DataFusion's steps. It takes whole seconds and
    nanoseconds apart, each as an INT: NULL where there are more seconds, no fraction
    where there are more nanoseconds."""
    seconds = f"{micros} div {SECOND_US}L"
    if part == "epoch":
        whole = f"CAST({seconds} AS DOUBLE)"
        nanos = f"CAST({micros} % {SECOND_US}L * 1000L AS DOUBLE)"
        exact = f"{whole} + {nanos} / 1e9D"
    else:
        per_second = _PER_SECOND[part]
        whole = _wrapped(f"{seconds} * {per_second}L")
        exact = f"CAST({micros} div {SECOND_US // per_second}L AS INT)"
    return (
        f"CASE WHEN {micros} BETWEEN -{_MOST_US}L AND {_MOST_US}L THEN {exact} "
        f"WHEN {seconds} BETWEEN -{2**31}L AND {2**31 - 1}L THEN {whole} END"
    )


def _wrapped(count: str) -> str:
    """An INT that wraps around."""
    return f"CAST(pmod({count} + {2**31}L, {2**32}L) - {2**31}L AS INT)"


def _elsewhere(arguments: Sequence[Argument]) -> str:
    value = arguments[1]
    if value.type != TIME and not (value.type == INTERVAL and _is_of_calendar(value)):
        return ""
    return f"date_part({text_literal(_part(arguments))}, {{1}})"


def _part_type(_: Sequence[Type], literals: Literals) -> Type:
    return DOUBLE if literals and (literals[0] or "").lower() == "epoch" else INT


FUNCTIONS = (
    ScalarFunction(
        "date_part",
        tuple(
            Signature((TEXT, parameter), _part_type)
            for parameter in (ParameterKind.MOMENT, TIME, INTERVAL)
        ),
        _date_part,
        "a part of a time or of a length of time: " + ", ".join(_PARTS),
        aliases=("datepart", "extract"),
        example="date_part('hour', '2024-03-01 10:40:00') -> 10",
        datafusion=_elsewhere,
    ),
)
