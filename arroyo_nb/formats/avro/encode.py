"""Rows as datums of Avro: the schema of some columns, and their values by it.

The schema is a record ``ArroyoAvro``: a column that may be NULL is a union with null,
which is its default, so that a new column does not break who reads with an old schema.
Values are made column by column and joined to rows at the end. Source:
arroyo-semantics c.6.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats.avro.columns import sanitized
from arroyo_nb.formats.avro.containers import MAGIC, SYNC_BYTES
from arroyo_nb.schema import (
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

RECORD = "ArroyoAvro"
SYNC = bytes(range(SYNC_BYTES))
"""Ends a block of a container. It need not be by chance: no datum is looked for it."""

_WIRES: dict[str, str] = {
    "BOOLEAN": "boolean",
    "FLOAT": "float",
    "DOUBLE": "double",
    "TEXT": "string",
    "JSON": "string",
    "JSON VALUE": "string",
    "BYTEA": "bytes",
    "NULL": "null",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT"), "int"),
    **dict.fromkeys(("TINYINT UNSIGNED", "SMALLINT UNSIGNED"), "int"),
    **dict.fromkeys(("BIGINT", "INT UNSIGNED", "BIGINT UNSIGNED"), "long"),
}


def record_schema(schema: Schema) -> str:
    """The Avro schema of some columns, as the text of JSON.

    Raises
    ------
    RunProblem
        When they cannot be written.

    >>> from arroyo_nb.schema import BIGINT
    >>> text = record_schema(Schema((Field("a.b", BIGINT, nullable=False),)))
    >>> json.loads(text)["fields"]
    [{'name': 'a__b', 'type': 'long'}]
    """
    return json.dumps(_Schemas().record(schema.fields, RECORD))


class _Schemas:
    """Makes the schemas of types; each record in them has a name of its own."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def record(self, fields: Sequence[Field], name: str) -> dict[str, Any]:
        """The schema of a row."""
        words = [sanitized(field.name) for field in fields]
        for place, word in enumerate(words):
            if (other := words.index(word)) < place:
                raise RunProblem(
                    f"the columns '{fields[other].name}' and '{fields[place].name}' "
                    f"are both called '{word}' in Avro",
                    hint="give one of them another name, with AS",
                )
        while name in self._names:
            name += "_"
        self._names.add(name)
        listed = [
            self._field(field, word, name)
            for field, word in zip(fields, words, strict=True)
        ]
        return {"type": "record", "name": name, "fields": listed}

    def _field(self, field: Field, word: str, record: str) -> dict[str, Any]:
        type_ = self.type(field.type, f"{record}_{word}", field.name)
        if not field.nullable or type_ == "null":
            return {"name": word, "type": type_}
        return {"name": word, "type": ["null", type_], "default": None}

    def type(self, type_: Type, record: str, column: str) -> Any:
        """The schema of a value; ``record`` is what a record in it is called."""
        match type_:
            case Timestamp(digits):
                unit = "millis" if digits <= 3 else "micros"
                return {"type": "long", "logicalType": f"timestamp-{unit}"}
            case Decimal(precision, scale):
                digits_of = {"precision": precision, "scale": scale}
                return {"type": "bytes", "logicalType": "decimal", **digits_of}
            case ListOf(element):
                inner = self.type(element, record, column)
                items = inner if inner == "null" else ["null", inner]
                return {"type": "array", "items": items}
            case StructOf(fields):
                return self.record(fields, record)
            case Primitive("DATE"):
                return {"type": "int", "logicalType": "date"}
            case Primitive("TIME"):
                return {"type": "long", "logicalType": "time-micros"}
            case Primitive(name) if name in _WIRES:
                return _WIRES[name]
            case _:
                raise RunProblem(
                    f"the column '{column}' is {type_}, which Avro has no form for",
                    hint="cast it to TEXT or BIGINT",
                )


Texts: TypeAlias = "list[bytes]"
Encode: TypeAlias = "Callable[[pa.Array], Texts]"


def long_bytes(number: int) -> bytes:
    """A whole number as Avro writes it.

    >>> long_bytes(-1), long_bytes(64)
    (b'\\x01', b'\\x80\\x01')
    """
    rest = (number << 1) ^ (number >> 63)
    if rest < 0x80:
        return _SHORT[rest]
    made = bytearray()
    while rest >= 0x80:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    made.append(rest)
    return bytes(made)


_SHORT = [bytes((number,)) for number in range(0x80)]


@dataclass(frozen=True)
class RowEncoder:
    """Writes rows as datums; pickled for Spark's workers.

    Parameters
    ----------
    schema
        The columns, in the order of the rows' fields.
    embedded
        Whether each datum is a block of a container: behind its count and size.
    """

    schema: Schema
    embedded: bool = False

    def datums(self, columns: Sequence[pa.Array]) -> Texts:
        """The datum of each row.

        Raises
        ------
        DataProblem
            When a value does not fit into what Avro has for its column.
        """
        made = [
            _column(field)(column)
            for field, column in zip(self.schema, columns, strict=True)
        ]
        rows = [b"".join(parts) for parts in zip(*made, strict=True)]
        if not self.embedded:
            return rows
        # One datum, of so many bytes.
        return [b"\x02" + long_bytes(len(row)) + row for row in rows]


def container_head(schema: Schema) -> bytes:
    """What a container begins with whose datums have some columns."""
    meta = {"avro.schema": record_schema(schema).encode(), "avro.codec": b"null"}
    entries = b"".join(
        long_bytes(len(part)) + part
        for name, value in meta.items()
        for part in (name.encode(), value)
    )
    return MAGIC + long_bytes(len(meta)) + entries + b"\0" + SYNC


def encoded_column(schema: Schema, *, embedded: bool) -> Column:
    """The datum of each row of a DataFrame, as a column named ``value``.

    Parameters
    ----------
    schema
        The columns to write; the frame has them under these names and types.
    embedded
        As of :class:`RowEncoder`.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.functions import arrow_udf

    from arroyo_nb.schema import quoted

    encoder = RowEncoder(schema, embedded)

    # Spark goes by the annotations: structs in, bytes out.
    def encode(rows: pa.Array) -> pa.Array:
        return pa.array(encoder.datums(rows.flatten()), pa.binary())

    encode.__annotations__ = {"rows": pa.Array, "return": pa.Array}
    made = arrow_udf(encode, "binary")  # type: ignore[call-overload]
    # Spark stumbles over dots and backticks in names that Python is given.
    given = [
        F.col(quoted(field.name)).alias(f"c_{place}")
        for place, field in enumerate(schema)
    ]
    column: Column = made(F.struct(*given)).alias("value")
    return column


def _column(field: Field) -> Encode:
    """Writes the values of a column."""
    encode = _encoder(field.type, field.name)
    if field.nullable and field.type != Primitive("NULL"):
        return partial(_nullable, encode)
    return partial(_required, encode, field.name)


def _nullable(encode: Encode, column: pa.Array) -> Texts:
    if not column.null_count:
        return [b"\x02" + text for text in encode(column)]
    texts = iter(encode(column.drop_null()))
    there = column.is_valid().to_pylist()
    return [b"\x02" + next(texts) if is_there else b"\0" for is_there in there]


def _required(encode: Encode, name: str, column: pa.Array) -> Texts:
    import pyarrow as pa

    if column.null_count and not pa.types.is_null(column.type):
        raise DataProblem(
            f"the column '{name}' is NOT NULL, and a row of it is NULL",
            hint=f"write coalesce({name}, ...), or declare the column without NOT NULL",
        )
    return encode(column)


def _encoder(type_: Type, name: str) -> Encode:
    """Writes values that are not NULL."""
    match type_:
        case Timestamp(digits):
            return partial(_instants, 1000 if digits <= 3 else 1)
        case Decimal(_, scale):
            return partial(_decimals, scale)
        case ListOf(element):
            item = Field(f"{name}[]", element)
            return partial(_lists, _column(item))
        case StructOf(fields):
            inner = [_column(field) for field in fields]
            return partial(_structs, inner)
        case Primitive("FLOAT"):
            return partial(_floats, "<f4")
        case Primitive("DOUBLE"):
            return partial(_floats, "<f8")
        case Primitive("BOOLEAN"):
            return _booleans
        case Primitive("NULL"):
            return _nothing
        case Primitive("DATE"):
            return partial(_casted, "int32")
        case Primitive("TIME"):
            return partial(_casted, "int64")
        case Primitive("TEXT" | "JSON" | "JSON VALUE" | "BYTEA"):
            return _bytes
        case _:
            return partial(_numbers, name)


def _numbers(name: str, column: pa.Array) -> Texts:
    import pyarrow as pa

    # Spark holds the largest of the unsigned ones as decimals.
    numbers = column.to_pylist()
    if pa.types.is_decimal(column.type) or pa.types.is_uint64(column.type):
        numbers = [int(number) for number in numbers]
        if any(number >= 2**63 for number in numbers):
            raise DataProblem(
                f"the column '{name}' has a number over 2^63 - 1, and Avro none so "
                "large",
                hint=f"write CAST({name} AS TEXT)",
            )
    return list(map(long_bytes, numbers))


def _casted(type_: str, column: pa.Array) -> Texts:
    return list(map(long_bytes, column.cast(type_).to_pylist()))


def _instants(unit_us: int, column: pa.Array) -> Texts:
    numbers = column.cast("int64").to_pylist()
    return [long_bytes(number // unit_us) for number in numbers]


def _decimals(scale: int, column: pa.Array) -> Texts:
    made = []
    for value in column.to_pylist():
        sign, digits, exponent = value.as_tuple()
        number = int("".join(map(str, digits))) * 10 ** (exponent + scale)
        number = -number if sign else number
        # As few bytes as hold it, and its sign.
        size = (number if number >= 0 else ~number).bit_length() // 8 + 1
        made.append(_SHORT[2 * size] + number.to_bytes(size, "big", signed=True))
    return made


def _floats(form: str, column: pa.Array) -> Texts:
    data = column.to_numpy(zero_copy_only=False).astype(form).tobytes()
    size = struct.calcsize("f" if form == "<f4" else "d")
    return [data[at : at + size] for at in range(0, len(data), size)]


def _booleans(column: pa.Array) -> Texts:
    return [b"\x01" if value else b"\0" for value in column.to_pylist()]


def _nothing(column: pa.Array) -> Texts:
    return [b""] * len(column)


def _bytes(column: pa.Array) -> Texts:
    import pyarrow as pa

    texts = column.cast(pa.binary()).to_pylist()
    return [long_bytes(len(text)) + text for text in texts]


def _structs(encoders: Sequence[Encode], column: pa.Array) -> Texts:
    parts = [
        encode(part) for encode, part in zip(encoders, column.flatten(), strict=True)
    ]
    if not parts:
        return [b""] * len(column)
    return [b"".join(texts) for texts in zip(*parts, strict=True)]


def _lists(encode: Encode, column: pa.Array) -> Texts:
    return list(_items(encode(column.flatten()), column.value_lengths().to_pylist()))


def _items(texts: Texts, counts: Sequence[int]) -> Iterator[bytes]:
    """Each list as one block of its items; an empty one is only the end."""
    at = 0
    for count in counts:
        block = b"".join(texts[at : at + count])
        at += count
        yield long_bytes(count) + block + b"\0" if count else b"\0"
