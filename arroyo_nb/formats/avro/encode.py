"""Rows as datums of Avro: the schema of some columns, and their values by it.

The schema is a record ``ArroyoAvro``: a column that may be NULL is a union with null,
which is its default, so that a new column does not break who reads with an old schema.
Values are written a column at a time, by NumPy, and joined to rows at the end. Source:
arroyo-semantics c.6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

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
"""Ends a block of a container that is one record. It need not be by chance: no datum
is searched for it."""

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


Encode: TypeAlias = "Callable[[pa.Array], pa.Array]"
"""Writes the values of a column, each as bytes."""


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

    def datums(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The datum of each row.

        Raises
        ------
        DataProblem
            When a value does not fit into what Avro has for its column.
        """
        rows = joined(
            *(
                _column(field)(column)
                for field, column in zip(self.schema, columns, strict=True)
            )
        )
        # One datum, of so many bytes.
        return joined(b"\x02", with_sizes(rows)) if self.embedded else rows


def container_head(schema: Schema, codec: str = "null") -> bytes:
    """What a container begins with, up to its marker.

    Parameters
    ----------
    schema
        The columns of its datums.
    codec
        How its blocks are packed.

    Raises
    ------
    RunProblem
        When they cannot be written.
    """
    import pyarrow as pa

    meta = {
        "avro.schema": record_schema(schema).encode(),
        "avro.codec": codec.encode(),
    }
    parts = pa.array(
        [part for name, value in meta.items() for part in (name.encode(), value)]
    )
    entries = b"".join(with_sizes(parts).to_pylist())
    return MAGIC + varint(len(meta)) + entries + b"\0"


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
        return encoder.datums(rows.flatten())

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


def _nullable(encode: Encode, column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not column.null_count:
        return joined(b"\x02", encode(column))
    found = joined(b"\x02", encode(column.drop_null()))
    there = column.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(there) - 1, mask=~there)
    return pc.fill_null(found.take(places), b"\0")


def _required(encode: Encode, name: str, column: pa.Array) -> pa.Array:
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
        case Decimal(precision, scale):
            return partial(_decimals, precision, scale)
        case ListOf(element):
            return partial(_lists, _column(Field(f"{name}[]", element)))
        case StructOf(fields):
            return partial(_structs, [_column(field) for field in fields])
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


def _numbers(name: str, column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Spark holds the largest of the unsigned ones as decimals.
        return _casted("int64", column)
    except pa.ArrowInvalid:
        raise DataProblem(
            f"a row has {pc.max(column).as_py()} in the column '{name}', and Avro's "
            "largest number is 2^63 - 1",
            hint=f"write CAST({name} AS TEXT)",
        ) from None


def _casted(type_: str, column: pa.Array) -> pa.Array:
    return varints(column.cast(type_).to_numpy(zero_copy_only=False))


def _instants(unit_us: int, column: pa.Array) -> pa.Array:
    numbers = column.cast("int64").to_numpy(zero_copy_only=False)
    return varints(numbers // unit_us)


def _decimals(precision: int, scale: int, column: pa.Array) -> pa.Array:
    import pyarrow as pa

    column = column.cast(pa.decimal128(precision, scale))
    data = np.frombuffer(column.buffers()[1] or b"", np.uint8).reshape(-1, 16)
    # The highest byte first.
    numbers = data[column.offset : column.offset + len(column), ::-1]
    negative = numbers[:, :1] >= 0x80
    filler = np.where(negative, 0xFF, 0)
    # As few bytes as hold the number, and its sign in the first bit.
    needed = numbers != filler
    needed[:, -1] = True
    first = needed.argmax(axis=1)
    leading = np.take_along_axis(numbers, first[:, None], axis=1)
    first = np.maximum(first - ((leading >= 0x80) != negative)[:, 0], 0)
    return with_sizes(_ragged(numbers, np.arange(16) >= first[:, None]))


def _floats(form: str, column: pa.Array) -> pa.Array:
    numbers = column.to_numpy(zero_copy_only=False).astype(form)
    data = np.frombuffer(numbers.tobytes(), np.uint8)
    data = data.reshape(len(column), numbers.itemsize)
    return _ragged(data, np.ones(data.shape, bool))


def _booleans(column: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(column, b"\x01", b"\0")


def _nothing(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(b"", pa.binary()), len(column))


def _bytes(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return with_sizes(column.cast(pa.binary()))


def _structs(encoders: Sequence[Encode], column: pa.Array) -> pa.Array:
    parts = [
        encode(part) for encode, part in zip(encoders, column.flatten(), strict=True)
    ]
    return joined(*parts) if parts else _nothing(column)


def _lists(encode: Encode, column: pa.Array) -> pa.Array:
    """Each list as one block of its items; an empty one is only the end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = column.value_lengths().to_numpy(zero_copy_only=False)
    items = encode(column.flatten())
    lists = pa.ListArray.from_arrays(pa.array(_ends(sizes), pa.int32()), items)
    blocks = joined(varints(sizes), pc.binary_join(lists, b""), b"\0")
    return pc.if_else(pa.array(sizes == 0), b"\0", blocks)


def joined(*parts: Any) -> pa.Array:
    """The bytes of several arrays, or constants, one behind the other."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, b"")


def with_sizes(column: pa.Array) -> pa.Array:
    """Bytes behind their number."""
    import pyarrow.compute as pc

    sizes = pc.binary_length(column).to_numpy(zero_copy_only=False)
    return joined(varints(sizes), column)


def varints(numbers: np.ndarray) -> pa.Array:
    """Whole numbers as Avro writes them: seven bits a byte, the lowest first.

    >>> varints(np.array([-1, 64])).to_pylist()
    [b'\\x01', b'\\x80\\x01']
    """
    numbers = numbers.astype(np.int64)
    # The sign becomes the lowest bit: what is small has few bytes.
    rest = (numbers.view(np.uint64) << np.uint64(1)) ^ (numbers >> 63).view(np.uint64)
    limits = [np.uint64(1 << 7 * size) for size in range(1, 10)]
    sizes = 1 + np.sum([rest >= limit for limit in limits], axis=0)
    places = np.arange(10, dtype=np.uint64)
    data = (rest[:, None] >> (np.uint64(7) * places)) & np.uint64(0x7F)
    last = sizes[:, None] - 1
    data |= np.where(places < last, 0x80, 0).astype(np.uint64)
    return _ragged(data.astype(np.uint8), places <= last)


def varint(number: int) -> bytes:
    """One whole number as Avro writes it.

    >>> varint(64)
    b'\\x80\\x01'
    """
    found: bytes = varints(np.array([number]))[0].as_py()
    return found


def _ragged(data: np.ndarray, kept: np.ndarray) -> pa.Array:
    """The bytes of each row that are kept."""
    import pyarrow as pa

    ends = pa.py_buffer(_ends(kept.sum(axis=1)))
    buffers = [None, ends, pa.py_buffer(np.ascontiguousarray(data[kept]))]
    return pa.Array.from_buffers(pa.binary(), len(data), buffers)


def _ends(sizes: np.ndarray) -> np.ndarray:
    """Where each of some parts begins, and the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
