"""Which types stand for which: widening of numbers, text where a time is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    JSON,
    NULL,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
)

# Signed and unsigned alternate by width, so that the wider of two is the later one.
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
# The signed integer that holds an unsigned one; there is none for the largest.
_SIGNED: dict[Type, Type] = {
    Primitive(_INTEGERS[rank]): Primitive(_INTEGERS[rank + 1]) for rank in (1, 3, 5)
}


def is_integer(type_: Type) -> bool:
    """Is it a whole number, signed or not?"""
    return isinstance(type_, Primitive) and type_.name in _RANK


def is_unsigned(type_: Type) -> bool:
    """Is it a whole number without a sign?"""
    return is_integer(type_) and str(type_).endswith("UNSIGNED")


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
        case ListOf(element):
            return isinstance(given, ListOf) and fits(given.element, element)
        case StructOf(fields):
            return isinstance(given, StructOf) and _fit(given.fields, fields)
        case _:
            return False


def _fit(given: Sequence[Field], wanted: Sequence[Field]) -> bool:
    """Whether the fields of a struct are those of another, by their names in order."""
    return [f.name for f in given] == [f.name for f in wanted] and all(
        fits(one.type, other.type) for one, other in zip(given, wanted, strict=True)
    )


def castable(given: Type, wanted: Type) -> bool:
    """Whether CAST knows how to make the one type of the other."""
    match given, wanted:
        case _ if given in (wanted, NULL):
            return True
        case ListOf(one), ListOf(other):
            return castable(one, other)
        case (Primitive("JSON VALUE"), _):
            # What is written as a cast of it is a function: which one, the type says.
            return wanted == JSON
        case StructOf(ones), StructOf(others):
            pairs = zip(ones, others, strict=False)
            return len(ones) == len(others) and all(
                castable(one.type, other.type) for one, other in pairs
            )
        case (ListOf() | StructOf(), _) | (_, ListOf() | StructOf()):
            return False
    kinds = frozenset((_kind(given), _kind(wanted)))
    pair = {given, wanted}
    is_days = DATE in pair and not pair.isdisjoint((INT, BIGINT))
    return TEXT in pair or kinds in _CASTS or is_days


_CASTS = {
    frozenset(("number",)),
    frozenset(("timestamp",)),
    frozenset(("number", "boolean")),
    frozenset(("number", "timestamp")),
    frozenset(("date", "timestamp")),
}


def _kind(type_: Type) -> str:
    if is_number(type_):
        return "number"
    if isinstance(type_, Timestamp):
        return "timestamp"
    if type_ == BOOLEAN:
        return "boolean"
    return "date" if type_ == DATE else "other"


def common_type(types: Iterable[Type]) -> Type | None:
    """The narrowest type that holds all of them; of TIMESTAMPs the coarsest, as Arrow
    has it. None where there is none.

    >>> from arroyo_nb.schema import BIGINT, INT
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
        # Arrow compares and chooses in the coarser of two units.
        return min(one, other, key=lambda t: t.digits)
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
        return FLOAT
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _wider_decimal(_as_decimal(one), _as_decimal(other))
    if is_unsigned(one) != is_unsigned(other):
        # No whole number holds it and a negative one.
        if BIGINT_UNSIGNED in (one, other):
            return _as_decimal(BIGINT_UNSIGNED)
        one, other = _SIGNED.get(one, one), _SIGNED.get(other, other)
    return max(one, other, key=_rank)


def _rank(type_: Type) -> int:
    return _RANK[str(type_)]


def _as_decimal(type_: Type) -> Decimal:
    if isinstance(type_, Decimal):
        return type_
    # DataFusion's digits, by rank; a BIGINT would do with 19.
    digits: Sequence[int] = (3, 3, 5, 5, 10, 10, 20, 20)
    return Decimal(digits[_rank(type_)], 0)


def _wider_decimal(one: Decimal, other: Decimal) -> Decimal:
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return Decimal(min(38, whole + scale), scale)
