"""Which types stand for which: widening of numbers, text where a time is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    JSON,
    NULL,
    TEXT,
    Decimal,
    ListOf,
    Primitive,
    Timestamp,
    Type,
)

# Each integer holds the values of those before it; signed and unsigned alternate by
# width, so that the wider of two is the later one.
_INTEGERS = (
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "SMALLINT UNSIGNED",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
)
_RANK = {name: rank for rank, name in enumerate(_INTEGERS)}


def is_integer(type_: Type) -> bool:
    """Is it a whole number, signed or not?"""
    return isinstance(type_, Primitive) and type_.name in _RANK


def is_number(type_: Type) -> bool:
    """Can one calculate with it?"""
    return is_integer(type_) or type_ in (FLOAT, DOUBLE) or isinstance(type_, Decimal)


def fits(given: Type, wanted: Type) -> bool:
    """May a value stand where another type is wanted, by an implicit cast?"""
    if given in (wanted, NULL):
        return True
    match wanted:
        case Primitive("TEXT"):
            return given == JSON
        case Primitive("DOUBLE" | "FLOAT"):
            return is_number(given)
        case Primitive(name) if name in _RANK:
            return is_integer(given)
        case Timestamp():
            return given in (TEXT, DATE) or isinstance(given, Timestamp)
        case Primitive("DATE"):
            return given == TEXT or isinstance(given, Timestamp)
        case Primitive("BYTEA"):
            return given == TEXT
        case _:
            return False


def common_type(types: Iterable[Type]) -> Type | None:
    """The narrowest type that holds all of them; None where there is none.

    >>> from arroyo_nb.schema import INT
    >>> print(common_type([INT, BIGINT, NULL]), common_type([INT, TEXT]))
    BIGINT None
    """

    common: Type | None = NULL
    for type_ in types:
        common = None if common is None else _wider(common, type_)
    return common


def _wider(one: Type, other: Type) -> Type | None:
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if is_number(one) and is_number(other):
        return _wider_number(one, other)
    if isinstance(one, Timestamp) and isinstance(other, Timestamp):
        return max(one, other, key=lambda t: t.digits)
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        element = _wider(one.element, other.element)
        return None if element is None else ListOf(element)
    pair = {one, other}
    if pair <= {TEXT, JSON}:
        return TEXT
    # Text is read as a time, and a date is the time at which it starts.
    for weaker, temporal in _READ_AS.items():
        if weaker in pair:
            (other,) = pair - {weaker}
            return other if isinstance(other, Timestamp) or other in temporal else None
    return None


_READ_AS: dict[Type, tuple[Type, ...]] = {TEXT: (DATE, INTERVAL), DATE: ()}


def _wider_number(one: Type, other: Type) -> Type:
    if DOUBLE in (one, other):
        return DOUBLE
    if FLOAT in (one, other):
        return FLOAT if one == other else DOUBLE
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _wider_decimal(_as_decimal(one), _as_decimal(other))
    narrow, wide = sorted((one, other), key=_rank)
    if wide == BIGINT_UNSIGNED and "UNSIGNED" not in str(narrow):
        return BIGINT
    return wide


def _rank(type_: Type) -> int:
    return _RANK[str(type_)]


def _as_decimal(type_: Type) -> Decimal:
    if isinstance(type_, Decimal):
        return type_
    digits: Sequence[int] = (3, 3, 5, 5, 10, 10, 19, 20)
    return Decimal(digits[_rank(type_)], 0)


def _wider_decimal(one: Decimal, other: Decimal) -> Decimal:
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return Decimal(min(38, whole + scale), scale)
