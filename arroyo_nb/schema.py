"""Columns and their types, in Arroyo's words, with their Arrow and Spark counterparts.

A type prints as the SQL that declares it. Arrow is imported only when it is asked
for, so that planning a script stays light.

Event time is the field ``_timestamp``: part of every plan schema, hidden from ``*``
and from name resolution, never written to a sink. Spark keeps microseconds, so a
``TIMESTAMP`` (nanoseconds in Arroyo) is stored with microseconds here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.errors import CatalogProblem

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.source import Span

TIMESTAMP = "_timestamp"
"""Name of the hidden event-time field."""

HIDDEN_COLUMNS = frozenset(
    (
        TIMESTAMP,
        *("_weight", "_row_id", "_sequence"),
        *("_arrival", "_watermark", "_window"),
        *("_found", "_seen", "_unread"),
        # What is counted of the records of a topic.
        *("_unknown", "_empty", "_plain_decimals", "_unsent"),
    )
)
"""What stands beside the columns of a relation while it runs: no column of a user's
has one of these names, or it would be taken for them."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Where instants are counted from, and where Spark's watermarks begin."""

MICROSECOND = timedelta(microseconds=1)
"""The smallest step of time that is kept."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parameters; ``name`` is a key of :data:`PRIMITIVES`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """DECIMAL(precision, scale); 0 < precision <= 38, scale <= precision."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """TIMESTAMP without zone; ``digits`` of fraction declared: 0, 3, 6 or 9."""

    digits: int = 9

    def __str__(self) -> str:
        return "TIMESTAMP" if self.digits == 9 else f"TIMESTAMP({self.digits})"


@dataclass(frozen=True, slots=True)
class ListOf:
    """``element[]``; elements are nullable."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class StructOf:
    """STRUCT of named fields."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{f.name} {f.type}' for f in self.fields)}>"

    def field(self, name: str) -> Field | None:
        """The field of that exact name."""
        return next((f for f in self.fields if f.name == name), None)


Type: TypeAlias = "Primitive | Decimal | Timestamp | ListOf | StructOf"

BOOLEAN = Primitive("BOOLEAN")
TINYINT, SMALLINT = Primitive("TINYINT"), Primitive("SMALLINT")
INT, BIGINT = Primitive("INT"), Primitive("BIGINT")
INT_UNSIGNED, BIGINT_UNSIGNED = Primitive("INT UNSIGNED"), Primitive("BIGINT UNSIGNED")
FLOAT, DOUBLE = Primitive("FLOAT"), Primitive("DOUBLE")
TEXT, BYTEA, JSON = Primitive("TEXT"), Primitive("BYTEA"), Primitive("JSON")
JSON_VALUE = Primitive("JSON VALUE")
"""What ``->`` gives: a value of JSON, of another type in each row. No column is
declared so. It is kept as its JSON text, and NULL where it is missing or null."""
DATE, TIME, INTERVAL = Primitive("DATE"), Primitive("TIME"), Primitive("INTERVAL")
NULL = Primitive("NULL")

# name -> (Arrow type, Spark type). Spark has no unsigned integers and no time of
# day that every operator takes: they are widened, and checked where they are read.
PRIMITIVES: dict[str, tuple[str, str]] = {
    "BOOLEAN": ("bool_", "boolean"),
    "TINYINT": ("int8", "tinyint"),
    "SMALLINT": ("int16", "smallint"),
    "INT": ("int32", "int"),
    "BIGINT": ("int64", "bigint"),
    "TINYINT UNSIGNED": ("uint8", "smallint"),
    "SMALLINT UNSIGNED": ("uint16", "int"),
    "INT UNSIGNED": ("uint32", "bigint"),
    "BIGINT UNSIGNED": ("uint64", "decimal(20,0)"),
    "FLOAT": ("float32", "float"),
    "DOUBLE": ("float64", "double"),
    "TEXT": ("string", "string"),
    "JSON": ("string", "string"),
    "JSON VALUE": ("string", "string"),
    "BYTEA": ("binary", "binary"),
    "DATE": ("date32", "date"),
    "TIME": ("time64", "bigint"),
    "INTERVAL": ("duration", "interval day to second"),
    "NULL": ("null", "void"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name as it is written to a sink, type, and nullability."""

    name: str
    type: Type
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + ("" if self.nullable else " NOT NULL")


WINDOW_STRUCT = StructOf(
    (Field("start", Timestamp(), False), Field("end", Timestamp(), False))
)
"""Type of a window column: half open ``[start, end)``."""


def check_visible(name: str, span: Span | None = None) -> None:
    """Refuse the name of a hidden column for one of the user's.

    Raises
    ------
    CatalogProblem
        When it is one of :data:`HIDDEN_COLUMNS`.
    """
    if name in HIDDEN_COLUMNS:
        raise CatalogProblem(
            f"'{name}' is a hidden column",
            span=span,
            hint="give the column another name",
        )


@dataclass(frozen=True)
class Schema:
    """Columns in order, names unique. Hidden columns are not listed.

    >>> print(Schema((Field("a", INT), Field("w", WINDOW_STRUCT, False))))
    a INT, w STRUCT<start TIMESTAMP, end TIMESTAMP> NOT NULL
    """

    fields: tuple[Field, ...] = ()

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Field:
        return self._by_name[name]

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))

    def get(self, name: str) -> Field | None:
        """The column of that exact name."""
        return self._by_name.get(name)

    def with_nulls_of(self, other: Schema) -> Schema:
        """These columns, NULL where they or those of ``other``, by place, may be."""
        pairs = zip(self, other, strict=True)
        return Schema(tuple(maybe_null(f) if g.nullable else f for f, g in pairs))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(f.name for f in self.fields)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {f.name: f for f in self.fields}


def nullable(schema: Schema) -> Schema:
    """The columns as Spark sends them: those of stateful operators may all be NULL.

    Of a struct that may be NULL itself, such as the window of a row that an outer join
    pads, so may the fields: Arrow fills them with NULLs.
    """
    return Schema(tuple(_nullable(field) for field in schema))


def _nullable(field: Field) -> Field:
    type_ = field.type
    if field.nullable and isinstance(type_, StructOf):
        type_ = StructOf(tuple(_nullable(maybe_null(f)) for f in type_.fields))
    return replace(field, type=type_, nullable=True)


def maybe_null(field: Field) -> Field:
    """The column, NULL in some rows."""
    return field if field.nullable else replace(field, nullable=True)


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type that holds a value; timestamps are naive UTC microseconds."""
    import pyarrow as pa

    match type_:
        case Primitive("TIME"):
            return pa.time64("us")
        case Primitive("INTERVAL"):
            return pa.duration("us")
        case Primitive(name):
            return getattr(pa, PRIMITIVES[name][0])()
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Timestamp():
            return pa.timestamp("us")
        case ListOf(element):
            return pa.list_(arrow_type(element))
        case StructOf(fields):
            return pa.struct([_arrow_field(f) for f in fields])


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a relation's visible columns."""
    import pyarrow as pa

    return pa.schema([_arrow_field(f) for f in schema])


def _arrow_field(field: Field) -> pa.Field:
    import pyarrow as pa

    return pa.field(field.name, arrow_type(field.type), field.nullable)


def spark_type(type_: Type) -> str:
    """The Spark SQL type that holds a value, as DDL text.

    >>> spark_type(WINDOW_STRUCT)
    'struct<`start`: timestamp, `end`: timestamp>'
    """
    match type_:
        case Primitive(name):
            return PRIMITIVES[name][1]
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Timestamp():
            return "timestamp"
        case ListOf(element):
            # Arrow takes no list of nothing from Spark.
            return f"array<{spark_type(TEXT if element == NULL else element)}>"
        case StructOf(fields):
            inner = ", ".join(f"{quoted(f.name)}: {spark_type(f.type)}" for f in fields)
            return f"struct<{inner}>"


def spark_schema(schema: Schema) -> str:
    """The Spark DDL of a relation's visible columns."""
    return ", ".join(f"{quoted(f.name)} {spark_type(f.type)}" for f in schema)


def quoted(name: str) -> str:
    """A Spark identifier: the one place where a name is quoted for Spark.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


# Spark reads these inside a literal; ``$`` is there because Spark replaces ``${x}``
# before it parses, wherever it stands.
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "$": "\\u0024", "\0": "\\u0000"})


def quoted_text(value: str) -> str:
    """A Spark string literal: the one place where a text is quoted for Spark.

    >>> print(quoted_text("it's"))
    'it\\'s'
    """
    return "'" + value.translate(_ESCAPES) + "'"
