"""Types by the names that Arrow gives them, and the version that is followed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.casts import cast, datafusion_cast
from arroyo_nb.functions.literals import check_text
from arroyo_nb.functions.signature import (
    Argument,
    Literals,
    Nulls,
    ParameterKind,
    ScalarFunction,
    Signature,
)
from arroyo_nb.functions.types import castable
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import (
    DATE,
    INTERVAL,
    PRIMITIVES,
    TEXT,
    TIME,
    Decimal,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
    quoted_text,
)

_NAMES = {
    "BOOLEAN": "Boolean",
    "TINYINT": "Int8",
    "SMALLINT": "Int16",
    "INT": "Int32",
    "BIGINT": "Int64",
    "TINYINT UNSIGNED": "UInt8",
    "SMALLINT UNSIGNED": "UInt16",
    "INT UNSIGNED": "UInt32",
    "BIGINT UNSIGNED": "UInt64",
    "FLOAT": "Float32",
    "DOUBLE": "Float64",
    "TEXT": "Utf8",
    "JSON": "Utf8",
    "JSON VALUE": "Union",
    "BYTEA": "Binary",
    "DATE": "Date32",
    "TIME": "Time64(Nanosecond)",
    "INTERVAL": "Interval(MonthDayNano)",
    "NULL": "Null",
}
_UNITS = {0: "Second", 3: "Millisecond", 6: "Microsecond", 9: "Nanosecond"}
# A JSON column is text to Arrow, and what json_get gives has no name that is read.
_JSONS = ("JSON", "JSON VALUE")
_BY_NAME: dict[str, Type] = {
    **{_NAMES[name]: Primitive(name) for name in PRIMITIVES if name not in _JSONS},
    **dict.fromkeys(("LargeUtf8", "Utf8View"), TEXT),
    **dict.fromkeys(("LargeBinary", "BinaryView"), Primitive("BYTEA")),
    **{
        f"Timestamp({unit}, {zone})": Timestamp(digits)
        for digits, unit in _UNITS.items()
        for zone in ("None", 'Some("UTC")', 'Some("+00:00")')
    },
}
_DECIMAL = re.compile(r"Decimal128\((\d{1,2}), ?(\d{1,2})\)")
_LIST = re.compile(r"(?:Large)?List\((.*)\)")


def arrow_name(type_: Type) -> str:
    """What Arrow, as Rust writes it, calls a type.

    >>> arrow_name(Timestamp(3))
    'Timestamp(Millisecond, None)'
    """
    match type_:
        case Primitive(name):
            return _NAMES[name]
        case Decimal(precision, scale):
            return f"Decimal128({precision}, {scale})"
        case Timestamp(digits):
            return f"Timestamp({_UNITS[digits]}, None)"
        case ListOf(element):
            return f"List({_field('item', element, nullable=True)})"
        case StructOf(fields):
            return (
                f"Struct({', '.join(f'{f.name} {arrow_name(f.type)}' for f in fields)})"
            )


def _field(name: str, type_: Type, *, nullable: bool) -> str:
    """A field as Rust's debugger shows it, which a list has inside."""
    type_name = arrow_name(type_)
    if isinstance(type_, StructOf):
        inner = (_field(f.name, f.type, nullable=f.nullable) for f in type_.fields)
        type_name = f"Struct([{', '.join(inner)}])"
    return (
        f'Field {{ name: "{name}", data_type: {type_name}, nullable: '
        f"{str(nullable).lower()}, dict_id: 0, dict_is_ordered: false, "
        "metadata: {} }"
    )


def type_of_name(name: str) -> Type:
    """The type of an Arrow name.

    Raises
    ------
    CatalogProblem
        When there is none of that name.

    Examples
    --------
    >>> print(type_of_name("List(Int64)"))
    BIGINT[]
    """
    name = name.strip()
    if (known := _BY_NAME.get(name)) is not None:
        return known
    if (found := _LIST.fullmatch(name)) is not None:
        return ListOf(type_of_name(found[1]))
    found = _DECIMAL.fullmatch(name)
    if found is not None and 0 < int(found[1]) <= 38 and int(found[2]) <= int(found[1]):
        return Decimal(int(found[1]), int(found[2]))
    raise CatalogProblem(
        f"Unsupported type '{name}'. Must be a supported arrow type name such as "
        "'Int32' or 'Timestamp(Nanosecond, None)'",
        hint=did_you_mean(name, _BY_NAME) or "write CAST(x AS TYPE)",
    )


def _cast_type(types: Sequence[Type], literals: Literals) -> Type:
    name = literals[1] if literals else None
    if name is None:
        raise Unsupported(
            "the type in arrow_cast must be a literal",
            hint="write arrow_cast(x, 'Int64')",
        )
    target = type_of_name(name)
    is_in_no_view = types[0] in (DATE, TIME, INTERVAL) or isinstance(
        types[0], Timestamp | ListOf
    )
    if not castable(types[0], target) or (name.strip() == "Utf8View" and is_in_no_view):
        raise CatalogProblem(f"Unsupported CAST from {types[0]} to {target}")
    return target


def _arrow_cast(arguments: Sequence[Argument]) -> str:
    value, name = arguments
    target = type_of_name(name.literal or "")
    return cast(value.sql, value.type, target, literal=value.literal)


def _arrow_cast_elsewhere(arguments: Sequence[Argument]) -> str:
    value, name = arguments
    target = type_of_name(name.literal or "")
    if value.literal is not None:
        check_text(value.literal, target, value.span)
    return datafusion_cast(value.type, target, literal=value.literal)


FUNCTIONS = (
    ScalarFunction(
        "arrow_cast",
        (Signature((ParameterKind.ANY, TEXT), _cast_type),),
        _arrow_cast,
        "a value as the type of that Arrow name, such as 'Int64' or "
        "'Timestamp(Second, None)'",
        example="arrow_cast('12', 'Int32') -> 12",
        datafusion=_arrow_cast_elsewhere,
    ),
    ScalarFunction(
        "arrow_typeof",
        (Signature((ParameterKind.ANY,), TEXT),),
        lambda arguments: quoted_text(arrow_name(arguments[0].type)),
        "the Arrow name of a value's type",
        Nulls.NEVER,
        example="arrow_typeof(1) -> 'Int64'",
    ),
    ScalarFunction(
        "version",
        (Signature((), TEXT),),
        "'Apache DataFusion 48.0.1, x86_64 on linux'",
        "the version of DataFusion whose functions these are, as Arroyo says it",
        Nulls.NEVER,
        example="version() -> 'Apache DataFusion 48.0.1, x86_64 on linux'",
    ),
)
