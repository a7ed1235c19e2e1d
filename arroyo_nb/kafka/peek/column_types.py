"""What a column of JSON documents is: its type, its range, and whether it is a time.

What has no single type in most of the sample becomes a column of type JSON, which takes
any value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from arroyo_nb.plan.tables.render_ddl import PLAIN_NAME
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    EPOCH,
    HIDDEN_COLUMNS,
    JSON,
    MICROSECOND,
    NULL,
    TEXT,
    Field,
    ListOf,
    StructOf,
    Timestamp,
    Type,
)

ODD_SHARE = 0.1
"""Values of another type make a column one of them when they are more; fewer are bad
data."""

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_LONGS = range(-(2**63), 2**63)
_WIDER: Mapping[frozenset[Type | None], Type] = {
    frozenset((BIGINT, DOUBLE)): DOUBLE,
    frozenset((Timestamp(), TEXT)): TEXT,
}

Document: TypeAlias = dict[str, Any]

Numbered: TypeAlias = "list[tuple[int, Document]]"
"""Documents with their places in the sample."""


class GuessedColumn(NamedTuple):
    """What a sample has of one field.

    Attributes
    ----------
    name
        Its name; a column has it too.
    type
        The type that takes its values.
    nulls
        In how many records it is NULL, or missing.
    least, most
        Of a number, a text, a truth value or a time as it is written; None: of another
        value, or of none.
    times
        The unit that its numbers count the time in since 1970; empty: they are none.
    disorder
        By how much a time lies before the newest one so far, at most; a few that are
        more than a year from the others are left out.
    """

    name: str
    type: Type
    nulls: int = 0
    least: Any = None
    most: Any = None
    times: str = ""
    disorder: timedelta = timedelta()


def guess_columns(
    documents: Numbered,
) -> tuple[tuple[GuessedColumn, ...], tuple[int, ...]]:
    """The columns, in the order in which they were first seen, and the places of the
    documents whose values are all of their types."""
    values: dict[str, dict[int, Any]] = {}
    for row, (_, document) in enumerate(documents):
        for name, value in document.items():
            if name and name not in HIDDEN_COLUMNS and value is not None:
                values.setdefault(name, {})[row] = value
            elif name and name not in HIDDEN_COLUMNS:
                values.setdefault(name, {})
    # One odd value makes its whole document odd: as bad data it would be dropped whole.
    columns, odd = [], set()
    for name, of_rows in values.items():
        type_, others = _majority(of_rows)
        odd |= others
        fitting = {row: value for row, value in of_rows.items() if row not in others}
        columns.append((name, type_, fitting))
    rows = [row for row in range(len(documents)) if row not in odd]
    described = tuple(
        _described(name, type_, [of_rows.get(row) for row in rows])
        for name, type_, of_rows in columns
    )
    return described, tuple(documents[row][0] for row in rows)


def _majority(values: Mapping[int, Any]) -> tuple[Type, set[int]]:
    """The type of most values, and those that are of another one, which are few."""
    types = {row: _type_of(value) for row, value in values.items()}
    counted = Counter(types.values()).most_common()
    allowed = len(types) * ODD_SHARE
    others: set[Type | None] = set()
    joined: Type | None = NULL
    # The most frequent type first; a rare one is odd where it would widen the column
    # to JSON, or turn its times into texts.
    for type_, count in counted:
        wider = _joined(joined, type_) if joined is not None else None
        is_wide = wider is None or (joined, wider) == (Timestamp(), TEXT)
        if is_wide and count <= allowed:
            allowed -= count
            others.add(type_)
        else:
            joined = wider
    odd = {row for row, type_ in types.items() if type_ in others}
    whole = joined is not None and _is_whole(joined)
    return (joined, odd) if joined is not None and whole else (JSON, set())


def _described(name: str, type_: Type, values: Sequence[Any]) -> GuessedColumn:
    there = [value for value in values if value is not None]
    column = GuessedColumn(name, type_, len(values) - len(there))
    if not there or isinstance(type_, ListOf | StructOf) or type_ == JSON:
        return column
    column = column._replace(least=min(there), most=max(there))
    unit = _unit(type_, column.least, column.most)
    if unit or isinstance(type_, Timestamp):
        instants = [_instant_us(value, unit) for value in there]
        column = column._replace(times=unit, disorder=_disorder(instants))
    return column


UNITS: Mapping[str, int] = {
    "seconds": 10**6,
    "millis": 10**3,
    "micros": 1,
}
"""The units of numbers that count a time, in microseconds: what the functions that read
them end with."""

_FIRST_US, _LAST_US = 631_152_000 * 10**6, 4_102_444_800 * 10**6
"""The years 1990 to 2099: numbers that lie there, in one of the units, may be times."""


def _unit(type_: Type, least: Any, most: Any) -> str:
    if type_ != BIGINT:
        return ""
    fitting = (
        unit
        for unit, us in UNITS.items()
        if least * us >= _FIRST_US and most * us <= _LAST_US
    )
    return next(fitting, "")


def _instant_us(value: Any, unit: str) -> int:
    if unit:
        return int(value * UNITS[unit])
    moment = datetime.fromisoformat(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


LONGEST_DISORDER = timedelta(days=366)
"""A column whose times are in more disorder is no event time."""

FAR_US = LONGEST_DISORDER // MICROSECOND
"""Times that are farther from the others are taken for wrong, where they are few."""


def _disorder(instants_us: Sequence[int]) -> timedelta:
    # The median, as one wrong clock moves an average by years.
    middle_us = sorted(instants_us)[len(instants_us) // 2]
    near = [us for us in instants_us if abs(us - middle_us) <= FAR_US]
    if len(instants_us) - len(near) <= ODD_SHARE * len(instants_us):
        instants_us = near
    newest = accumulate(instants_us, max)
    behind = (top - us for top, us in zip(newest, instants_us, strict=True))
    return timedelta(microseconds=max(behind))


_TIME_NAME = re.compile(
    r"time|stamp|(?:^|_)(?:ts|at|date|when|dt)(?:_|$)|[a-z](?:At|Ts|On)$|_(?:ms|us)$"
    r"|millis|micros|epoch"
)
_HAPPENED = re.compile(r"event|occur|happen|(?:^|_)(?:time|timestamp|ts)$|^at$")
_LATER = re.compile(r"updat|modif|process|ingest|expir|until|due|birth|load|end")


def time_unit(value: Any) -> str:
    """The unit in which a number counts a time since 1970; empty: it is none.

    >>> time_unit(1_700_000_000_123), time_unit("soon")
    ('millis', '')
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    nanos = _FIRST_US * 1000 <= value <= _LAST_US * 1000
    return "nanos" if nanos else _unit(BIGINT, value, value)


def likely_event_time(columns: Iterable[GuessedColumn]) -> GuessedColumn | None:
    """The column that most likely says when something happened: always there, and by
    its name a time where it is a number."""
    there = [c for c in columns if not c.nulls and _may_be_time(c)]
    return max(there, key=_time_rank, default=None)


def _may_be_time(column: GuessedColumn) -> bool:
    named = _TIME_NAME.search(column.name) or _TIME_NAME.search(column.name.lower())
    is_time = isinstance(column.type, Timestamp) or bool(column.times and named)
    return is_time and column.disorder <= LONGEST_DISORDER


def _time_rank(column: GuessedColumn) -> tuple[bool, bool, bool]:
    name = column.name.lower()
    is_text = isinstance(column.type, Timestamp)
    return not _LATER.search(name), bool(_HAPPENED.search(name)), is_text


def _type_of(value: Any) -> Type | None:
    """The type of a JSON value; NULL of one that tells nothing, None: it has none."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return BIGINT if value in _LONGS else None
        case float():
            return DOUBLE if math.isfinite(value) else None  # 1e400
        case str():
            return Timestamp() if _is_time(value) else TEXT
        case list():
            nothing: Type | None = NULL
            element = reduce(_joined, map(_type_of, value), nothing)
            return None if element is None else ListOf(element)
        case _:
            return _struct({name: _type_of(inner) for name, inner in value.items()})


def _struct(types: Mapping[str, Type | None]) -> Type | None:
    known = {name: type_ for name, type_ in types.items() if type_ is not None}
    # Within a struct there is no type for any JSON value, nor for an odd name.
    if len(known) < len(types) or not all(map(PLAIN_NAME.fullmatch, types)):
        return None
    return StructOf(tuple(Field(name, type_) for name, type_ in known.items()))


def _joined(left: Type | None, right: Type | None) -> Type | None:
    """The type that takes values of both."""
    match left, right:
        case _ if left == right or right == NULL:
            return left
        case _ if left == NULL:
            return right
        case ListOf(one), ListOf(other):
            element = _joined(one, other)
            return None if element is None else ListOf(element)
        case StructOf(some), StructOf(others):
            types: dict[str, Type | None] = {field.name: field.type for field in some}
            for field in others:
                types[field.name] = _joined(types.get(field.name, NULL), field.type)
            return _struct(types)
        case _:
            return _WIDER.get(frozenset((left, right)))


def _is_whole(type_: Type) -> bool:
    """Whether nothing in it is still unknown."""
    match type_:
        case ListOf(element):
            return _is_whole(element)
        case StructOf(fields):
            return bool(fields) and all(_is_whole(field.type) for field in fields)
        case _:
            return type_ != NULL


def _is_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
