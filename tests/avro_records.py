"""Records of Avro as fastavro writes them, and as the format reads them."""

from __future__ import annotations

import io
import json
import zlib
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader, schemaless_writer, writer

from arroyo_nb.formats import DecodedPayloads, payload_format
from arroyo_nb.schema import Field, Schema

RAW, REGISTRY = "avro.raw_datums", "avro.confluent_schema_registry"
SCHEMA, UNSTRUCTURED = "avro.schema", "avro.into_unstructured_json"


def datum(schema: Any, value: Any) -> bytes:
    """A value as fastavro writes it."""
    out = io.BytesIO()
    schemaless_writer(out, parse_schema(schema), value)
    return out.getvalue()


def value_of(schema: Any, data: bytes) -> Any:
    """A value as fastavro reads it."""
    return schemaless_reader(io.BytesIO(data), parse_schema(schema), None)


def container(schema: Any, *values: Any, codec: str = "null") -> bytes:
    """A container with values, as fastavro writes it; in some codecs it cannot."""
    if codec in PACKED:
        return _packed(schema, values, codec)
    out = io.BytesIO()
    writer(out, parse_schema(schema), values, codec=codec)
    return out.getvalue()


def _packed(schema: Any, values: Any, codec: str) -> bytes:
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    block = b"".join(datum(schema, value) for value in values)
    parts = (
        *(b"Obj\x01", datum({"type": "map", "values": "bytes"}, meta), SYNC),
        *(datum("long", len(values)), datum("bytes", PACKED[codec](block)), SYNC),
    )
    return b"".join(parts)


SYNC = bytes(16)
PACKED = {
    "snappy": lambda block: (
        pa.compress(block, "snappy", asbytes=True)
        + zlib.crc32(block).to_bytes(4, "big")
    ),
    "zstandard": lambda block: pa.compress(block, "zstd", asbytes=True),
}


def record(**fields: Any) -> dict[str, Any]:
    """A schema of a record."""
    listed = [{"name": name, "type": type_} for name, type_ in fields.items()]
    return {"type": "record", "name": "R", "fields": listed}


def decoder(columns: Any, schema: Any = None, event_time: str | None = None, **given):
    """The reader of payloads; without options of datums of the schema."""
    if schema is not None:
        given = {RAW: True, SCHEMA: json.dumps(schema), **given}
    return payload_format("avro").payload_decoder(fields(columns), given, event_time)


def fields(columns: Any) -> Schema:
    """Columns by their types, or as fields."""
    if isinstance(columns, dict):
        return Schema(tuple(Field(name, type_) for name, type_ in columns.items()))
    return Schema(tuple(columns))


def read(made: Any, *payloads: bytes) -> DecodedPayloads:
    """What it makes of payloads."""
    return made.decode(pa.array(payloads, pa.binary()))


def rows(found: DecodedPayloads) -> list[tuple[Any, ...]]:
    """The rows as tuples."""
    found.rows.validate(full=True)
    assert len(found.numbers) == found.rows.num_rows
    return [tuple(row.values()) for row in found.rows.to_pylist()]
