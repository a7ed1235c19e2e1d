"""Which types stand for which: widening of numbers, text where a time is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    JSON,
    NULL,
    TEXT,
    TIME,
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


def element_of(type_: Type) -> Type:
    """The type of a list's elements; NULL where it is no list."""
    return type_.element if isinstance(type_, ListOf) else NULL


def key_of(type_: Type) -> Type | None:
    """The type of a map's keys; None: it is no map."""
    entry = element_of(type_)
    key = entry.field("key") if isinstance(entry, StructOf) else None
    return None if key is None else key.type


def depth_of(type_: Type) -> int:
    """How many lists lie in each other; 0 where it is no list."""
    return 1 + depth_of(type_.element) if isinstance(type_, ListOf) else 0


def has_floats(type_: Type) -> bool:
    """Is there a FLOAT or DOUBLE in its values?"""
    match type_:
        case ListOf(element):
            return has_floats(element)
        case StructOf(fields):
            return any(has_floats(field.type) for field in fields)
    return type_ in (FLOAT, DOUBLE)


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
        case ListOf(element), Primitive("TEXT" | "JSON"):
            return castable(element, wanted)
        case (ListOf() | StructOf(), _) | (_, StructOf()):
            return False
        case _, ListOf(element):
            # One value becomes a list of one.
            return castable(given, element)
    kind, other_kind = _kind(given), _kind(wanted)
    return (
        kind == "text"
        or kind == other_kind
        or other_kind in _CASTS.get(kind, ())
        or (given, wanted) in _COUNTED
    )


_CASTS = {
    "boolean": ("integer", "floating", "text"),
    "integer": ("boolean", "floating", "decimal", "text", "bytes", "timestamp"),
    "floating": ("boolean", "integer", "decimal", "text", "timestamp"),
    "decimal": ("integer", "floating", "text", "timestamp"),
    "timestamp": ("integer", "floating", "decimal", "text", "date", "time"),
    "bytes": ("text",),
    "date": ("text", "timestamp"),
    "time": ("text",),
    "interval": ("text",),
}
"""What Arrow casts a kind of type to; a text to anything."""

_COUNTED = frozenset(
    (
        *((number, DATE) for number in (INT, BIGINT)),
        *((DATE, number) for number in (INT, BIGINT)),
        *((BIGINT, TIME), (TIME, BIGINT)),
    )
)
"""Days since 1970, and nanoseconds since midnight."""

_KINDS: dict[Type, str] = {
    **dict.fromkeys((TEXT, JSON), "text"),
    **dict.fromkeys((FLOAT, DOUBLE), "floating"),
    BOOLEAN: "boolean",
    BYTEA: "bytes",
    DATE: "date",
    TIME: "time",
    INTERVAL: "interval",
}


def _kind(type_: Type) -> str:
    if is_integer(type_):
        return "integer"
    if isinstance(type_, Decimal):
        return "decimal"
    if isinstance(type_, Timestamp):
        return "timestamp"
    return _KINDS.get(type_, str(type_))


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


def chosen_type(types: Iterable[Type]) -> Type | None:
    """The type of what is one of several values, as of ``coalesce``; None where there
    is none. A text beside a number is read as a number.

    >>> from arroyo_nb.schema import BIGINT
    >>> print(chosen_type([BIGINT, TEXT]), chosen_type([DATE, TEXT]))
    BIGINT None
    """
    common: Type | None = NULL
    for type_ in types:
        if common is None:
            return None
        pair = (common, type_)
        if TEXT in pair and not (NULL in pair or JSON in pair or pair == (TEXT, TEXT)):
            common = next(filter(is_number, pair), None)
        else:
            common = _wider(*pair)
    return common


def compared_type(types: Sequence[Type]) -> Type | None:
    """The type in which values are compared; None where there is none. A number beside
    a text is compared as text.

    >>> from arroyo_nb.schema import BIGINT
    >>> print(compared_type([BIGINT, TEXT]), compared_type([DATE, TEXT]))
    TEXT DATE
    """
    common = common_type(types)
    if common is None and all(t in (TEXT, NULL) or is_number(t) for t in types):
        return TEXT
    return common


def case_type(types: Sequence[Type]) -> Type | None:
    """The type of the results of CASE, and of what its WHENs are compared in; None
    where there is none. It is that of a comparison, but of a text and a TIMESTAMP it is
    the finest TIMESTAMP.

    >>> print(case_type([Timestamp(3), TEXT]), case_type([Timestamp(3), Timestamp(6)]))
    TIMESTAMP TIMESTAMP(3)
    """
    common = compared_type(types)
    return Timestamp() if isinstance(common, Timestamp) and TEXT in types else common


def calculated_type(one: Type, other: Type) -> Type | None:
    """The type in which an arithmetic operator calculates; None where there is none.
    Beside FLOAT or DOUBLE a DECIMAL is one too.

    >>> print(calculated_type(Decimal(10, 2), FLOAT), calculated_type(FLOAT, DOUBLE))
    FLOAT DOUBLE
    """
    if not all(is_number(type_) or type_ == NULL for type_ in (one, other)):
        return None
    floating = [type_ for type_ in (DOUBLE, FLOAT) if type_ in (one, other)]
    return floating[0] if floating else common_type((one, other))


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
    # Text is read as a time or as bytes, and a date is the time at which it starts.
    for weaker, temporal in _READ_AS.items():
        if weaker in pair:
            (other,) = pair - {weaker}
            if isinstance(other, Timestamp):
                # A DATE is cast to the finest.
                return Timestamp() if weaker == DATE else other
            return other if other in temporal else None
    return None


def element_type(lists: Sequence[Type], values: Sequence[Type]) -> Type | None:
    """The one type of the elements of lists and of values for them, as in
    ``array_append(list, value)``; None where there is none.

    Unlike elsewhere a text is not read as anything else, and a value is cast less
    freely than a list.

    >>> from arroyo_nb.schema import BIGINT, BIGINT_UNSIGNED
    >>> print(element_type([BIGINT, BIGINT_UNSIGNED], []))
    DECIMAL(20, 0)
    >>> print(element_type([BIGINT], [BIGINT_UNSIGNED]))
    None
    """
    types = {type_ for type_ in (*lists, *values) if type_ != NULL}
    if TEXT in types and types - {TEXT, JSON}:
        return None
    common = common_type(types)
    if isinstance(common, Timestamp) and DATE in types and len(values) == 1:
        return common
    if isinstance(common, Decimal | Timestamp):
        # What is exact is not cast where it is no list.
        uncast = {common, NULL, DATE} if common == Timestamp() else {common}
        return common if {*values} <= uncast else None
    return common


_READ_AS: dict[Type, tuple[Type, ...]] = {
    TEXT: (DATE, TIME, BYTEA),
    DATE: (),
}


def _wider_number(one: Type, other: Type) -> Type:
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _wider_decimal(as_decimal(one), as_decimal(other))
    if DOUBLE in (one, other):
        return DOUBLE
    if FLOAT in (one, other):
        return FLOAT
    if is_unsigned(one) != is_unsigned(other):
        # No whole number holds it and a negative one.
        if BIGINT_UNSIGNED in (one, other):
            return as_decimal(BIGINT_UNSIGNED)
        one, other = _SIGNED.get(one, one), _SIGNED.get(other, other)
    return max(one, other, key=_rank)


def _rank(type_: Type) -> int:
    return _RANK[str(type_)]


def as_decimal(type_: Type) -> Decimal:
    """The DECIMAL that a number is beside another one."""
    if isinstance(type_, Decimal):
        return type_
    if type_ in _FLOATING:
        return _FLOATING[type_]
    # DataFusion's digits, by rank; a BIGINT would do with 19.
    digits: Sequence[int] = (3, 3, 5, 5, 10, 10, 20, 20)
    return Decimal(digits[_rank(type_)], 0)


_FLOATING: dict[Type, Decimal] = {FLOAT: Decimal(14, 7), DOUBLE: Decimal(30, 15)}


def _wider_decimal(one: Decimal, other: Decimal) -> Decimal:
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return Decimal(min(38, whole + scale), scale)
