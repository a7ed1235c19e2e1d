"""Results of both engines in one form: a type in Arroyo's words, and a plain value.

How a type of Arroyo's is held in Arrow (arroyo-semantics: type map) decides which types
are one: a TIMESTAMP has nanoseconds and no zone, TEXT is any of Arrow's strings.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from arroyo_nb.schema import Decimal, ListOf, Primitive, StructOf, Timestamp, Type

_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "uint8": "TINYINT UNSIGNED",
    "uint16": "SMALLINT UNSIGNED",
    "uint32": "INT UNSIGNED",
    "uint64": "BIGINT UNSIGNED",
    "halffloat": "HALF",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "TEXT",
    "large_string": "TEXT",
    "string_view": "TEXT",
    "binary": "BYTEA",
    "large_binary": "BYTEA",
    "binary_view": "BYTEA",
    "date32[day]": "DATE",
    "date64[ms]": "DATE64",
    "null": "NULL",
    "month_day_nano_interval": "INTERVAL",
}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def type_name(type_: pa.DataType) -> str:
    """An Arrow type in Arroyo's words.

    >>> type_name(pa.list_(pa.timestamp("ms")))
    'TIMESTAMP(3)[]'
    """
    if str(type_) in _NAMES:
        return _NAMES[str(type_)]
    if pa.types.is_timestamp(type_):
        zone = f" {type_.tz}" if type_.tz else ""
        return str(Timestamp(_DIGITS[type_.unit])) + zone
    if pa.types.is_time(type_):
        return "TIME"
    if pa.types.is_duration(type_):
        return "INTERVAL"
    if pa.types.is_decimal(type_):
        return str(Decimal(type_.precision, type_.scale))
    if pa.types.is_map(type_):
        return f"MAP<{type_name(type_.key_type)}, {type_name(type_.item_type)}>"
    if pa.types.is_fixed_size_binary(type_):
        return "BYTEA"
    if pa.types.is_struct(type_):
        fields = ", ".join(f"{f.name} {type_name(f.type)}" for f in type_)
        return f"STRUCT<{fields}>"
    if is_list(type_):
        return f"{type_name(type_.value_type)}[]"
    return str(type_)


def is_list(type_: pa.DataType) -> bool:
    """Whether it is one of Arrow's types of lists."""
    return str(type_).startswith(("list", "large_list", "fixed_size_list"))


def plain(scalar: pa.Scalar) -> Any:
    """An Arrow value that compares: instants, times and durations in nanoseconds, days
    as a number; an interval is its months and the nanoseconds of the rest."""
    type_ = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(type_) or pa.types.is_time(type_):
        return scalar.value * _NANOS[type_.unit]
    if pa.types.is_duration(type_):
        return (0, scalar.value * _NANOS[type_.unit])
    if pa.types.is_date(type_):
        return scalar.value
    if str(type_) == "month_day_nano_interval":
        months, days, nanos = scalar.as_py()
        return (months, days * 86_400 * 10**9 + nanos)
    if pa.types.is_map(type_):
        return [{k: plain(pair[k]) for k in pair} for pair in scalar.values]
    if is_list(type_):
        return [plain(item) for item in scalar.values]
    if pa.types.is_struct(type_):
        fields = enumerate(type_)
        return {f.name: plain(pa.array([scalar], type_).field(n)[0]) for n, f in fields}
    return scalar.as_py()


def plain_here(value: Any, type_: Type) -> Any:
    """A plain value of Spark's type as one of Arroyo's: unsigned integers and times are
    held as wider numbers."""
    match type_:
        case _ if value is None:
            return None
        case Primitive(name) if name.endswith("UNSIGNED"):
            return int(value)
        case Primitive("TIME"):
            return value * 1000
        case ListOf(element):
            return [plain_here(item, element) for item in value]
        case StructOf(fields):
            return {f.name: plain_here(value[f.name], f.type) for f in fields}
    return value
