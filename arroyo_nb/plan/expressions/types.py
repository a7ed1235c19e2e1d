"""Type names of DDL and CAST -> Arroyo types (arroyo-semantics a.4, type map)."""

from __future__ import annotations

import re

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.plan.expressions.scope import unique
from arroyo_nb.registry import nearest
from arroyo_nb.repairs import Repair, Replace
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    JSON,
    SMALLINT,
    TEXT,
    TIME,
    TINYINT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    StructOf,
    Timestamp,
    Type,
)
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import span_of

_D = exp.DType
_PLAIN: dict[exp.DType, Type] = {
    _D.BOOLEAN: BOOLEAN,
    _D.TINYINT: TINYINT,
    _D.SMALLINT: SMALLINT,
    _D.INT: INT,
    _D.BIGINT: BIGINT,
    _D.UTINYINT: Primitive("TINYINT UNSIGNED"),
    _D.USMALLINT: Primitive("SMALLINT UNSIGNED"),
    _D.UINT: INT_UNSIGNED,
    _D.UBIGINT: BIGINT_UNSIGNED,
    _D.FLOAT: FLOAT,
    _D.DOUBLE: DOUBLE,
    _D.CHAR: TEXT,
    _D.VARCHAR: TEXT,
    _D.TEXT: TEXT,
    _D.DATE: DATE,
    _D.TIME: TIME,
    _D.VARBINARY: BYTEA,
    _D.INTERVAL: INTERVAL,
    _D.JSON: JSON,
}
_TIMESTAMPS = {_D.TIMESTAMP, _D.DATETIME}
_PRECISIONS = (0, 3, 6, 9)
_MOST_DIGITS = 9
# WITHOUT TIME ZONE as well: Arroyo refuses both, sqlglot drops the one.
_ZONED = re.compile(r"\bTIME\s+ZONE\b", re.IGNORECASE)

# Types of SQL that no connector reads or writes.
_INTERNAL = {TINYINT, SMALLINT, DATE, TIME, INTERVAL} | {
    Primitive("TINYINT UNSIGNED"),
    Primitive("SMALLINT UNSIGNED"),
}


def type_from_sql(data_type: exp.Expr) -> Type:
    """The type that a type name means.

    Raises
    ------
    Unsupported
        For a type that Arroyo does not have.
    CatalogProblem
        For a precision that makes no sense.
    """
    text: str = data_type.meta.get("text", "")
    kind = data_type.this
    arguments = data_type.expressions
    sizes = [_size(a, data_type) for a in arguments if isinstance(a, exp.DataTypeParam)]
    if kind in _PLAIN and not _ZONED.search(text):
        return _PLAIN[kind]
    if kind in _TIMESTAMPS and not _ZONED.search(text):
        return Timestamp(_digits(sizes, data_type))
    if kind == _D.DECIMAL:
        return _decimal(sizes, data_type)
    if kind == _D.ARRAY:
        if not arguments:
            raise Unsupported(
                "Arrays with unspecified type is not supported", span=span_of(data_type)
            )
        return ListOf(type_from_sql(arguments[0]))
    if kind == _D.STRUCT:
        return _struct(arguments)
    raise Unsupported(
        f"Unsupported SQL type '{text}'",
        span=span_of(data_type),
        hint=_type_hint(text),
        repairs=_type_repairs(text, span_of(data_type)),
    )


_NAMES = (
    *("BIGINT", "BOOLEAN", "BYTEA", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT"),
    *(
        "INTEGER",
        "INTERVAL",
        "JSON",
        "SMALLINT",
        "TEXT",
        "TIME",
        "TIMESTAMP",
        "TINYINT",
    ),
)
_OTHER_NAMES = {
    "NUMBER": "DECIMAL(p, s)",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "VARCHAR2": "TEXT",
    "NVARCHAR": "TEXT",
    "UUID": "TEXT",
    "JSONB": "JSON",
    "MAP": "JSON",
    "ROW": "STRUCT<name TYPE, ...>",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "MULTISET": "an array, as in TEXT[]",
}
"""What other dialects call a type, and what it is called here."""


def _type_repairs(text: str, span: Span | None) -> list[Repair]:
    """The type that another dialect's stands for, where one alone does."""
    name = re.split(r"\W", text.strip().upper(), maxsplit=1)[0]
    # What has blanks or points of omission is to be filled in by who knows.
    other = "TIMESTAMP" if _ZONED.search(text) else _OTHER_NAMES.get(name, " ")
    return [Replace(span, other)] if span and other.isalpha() else []


def _type_hint(text: str) -> str | None:
    name = re.split(r"\W", text.strip().upper(), maxsplit=1)[0]
    if name in _OTHER_NAMES:
        return f"write {_OTHER_NAMES[name]}"
    if _ZONED.search(text):
        return "write TIMESTAMP: it is in UTC"
    return nearest(name, _NAMES) or "the types are: " + ", ".join(_NAMES)


def is_internal(type_: Type) -> bool:
    """Whether a type may not be used for a column of a connection table."""
    match type_:
        case ListOf(element):
            return is_internal(element)
        case StructOf(fields):
            return any(is_internal(f.type) for f in fields)
        case _:
            return type_ in _INTERNAL


def _size(parameter: exp.DataTypeParam, data_type: exp.Expr) -> int:
    """A number in the brackets after a type's name."""
    given = parameter.this
    is_number = isinstance(given, exp.Literal) and not given.is_string
    if not is_number or not given.name.isdigit() or len(given.name) > _MOST_DIGITS:
        raise CatalogProblem(
            f"the size in {data_type.meta['text']} is not a whole number",
            span=span_of(parameter) or span_of(data_type),
        )
    return int(given.name)


def _digits(sizes: list[int], data_type: exp.Expr) -> int:
    _check_count(sizes, 1, data_type)
    # A plain TIMESTAMP counts nanoseconds to Arroyo.
    digits = sizes[0] if sizes else 9
    if digits not in _PRECISIONS:
        raise CatalogProblem(
            f"unsupported precision {digits} -- supported precisions are "
            "0 (seconds), 3 (milliseconds), 6 (microseconds), and 9 (nanoseconds)",
            span=span_of(data_type),
        )
    return digits


def _decimal(sizes: list[int], data_type: exp.Expr) -> Decimal:
    _check_count(sizes, 2, data_type)
    # DataFusion's own size where none is given.
    precision, scale = (*sizes, 0)[:2] if sizes else (38, 10)
    if not 0 < precision <= 38 or scale > precision:
        raise CatalogProblem(
            f"DECIMAL({precision}, {scale}) is not valid: 0 < precision <= 38 and "
            "scale <= precision",
            span=span_of(data_type),
        )
    return Decimal(precision, scale)


def _check_count(sizes: list[int], most: int, data_type: exp.Expr) -> None:
    if len(sizes) > most:
        raise CatalogProblem(
            f"{data_type.meta['text']} has {len(sizes)} sizes, but takes {most} at "
            "most",
            span=span_of(data_type),
        )


def _struct(definitions: list[exp.Expr]) -> StructOf:
    fields = tuple(map(_struct_field, definitions))
    unique(
        fields,
        lambda _, other, name: CatalogProblem(
            f"the struct's field '{name}' is declared twice",
            span=span_of(definitions[other]),
            hint="give each field a name of its own",
        ),
    )
    return StructOf(fields)


def _struct_field(field: exp.Expr) -> Field:
    if not isinstance(field, exp.ColumnDef) or field.kind is None:
        raise Unsupported(
            "anonymous struct fields are not allowed", span=span_of(field)
        )
    return Field(field.name, type_from_sql(field.kind))
