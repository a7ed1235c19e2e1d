"""What a record of JSON tells of its own schema: as Kafka Connect does, in the document
beside the row, and as JSON Schema, for a registry.

Both say how a value is written (:mod:`arroyo_nb.formats.json.encode`), which depends on
the options of the table: a TIMESTAMP is a text or a number. Source: arroyo-semantics
c.2; Kafka Connect's JsonConverter; JSON Schema, draft 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT
from arroyo_nb.formats.json.told_decimals import CONNECT, DECIMAL_NAME
from arroyo_nb.schema import (
    BIGINT,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
)

_NAME = "ArroyoJson"

_CONNECT_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT": "int32",
    "BIGINT": "int64",
    "TINYINT UNSIGNED": "int16",
    "SMALLINT UNSIGNED": "int32",
    "INT UNSIGNED": "int64",
    "BIGINT UNSIGNED": "int64",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BYTEA": "bytes",
}
"""Any other is written as a text, or, of JSON, is what Connect has no word for."""

_TEXTS = ("TEXT", "JSON VALUE", "BYTEA", "DATE", "TIME", "INTERVAL")
_JSON_TYPES = {
    "BOOLEAN": "boolean",
    "FLOAT": "number",
    "DOUBLE": "number",
    "NULL": "null",
    **dict.fromkeys(_TEXTS, "string"),
}
"""Any other is a whole number."""


def changed(schema: Schema) -> Schema:
    """The columns of a document that tells of a change of a row."""
    row = StructOf(schema.fields)
    op = Field("op", TEXT, nullable=False)
    return Schema((Field("before", row), Field("after", row), op))


def connect_schema(schema: Schema, options: Mapping[str, object]) -> dict[str, Any]:
    """The schema of a row in Kafka Connect's words.

    Parameters
    ----------
    schema
        Its columns.
    options
        Of the table.
    """
    made = _connect(StructOf(schema.fields), options)
    return {**made, "optional": False, "name": _NAME}


def _connect(type_: Type, options: Mapping[str, object]) -> dict[str, Any]:
    match type_:
        case StructOf(fields):
            members = [
                {
                    **_connect(field.type, options),
                    "optional": field.nullable,
                    "field": field.name,
                }
                for field in fields
            ]
            return {"type": "struct", "fields": members}
        case ListOf(element):
            items = {**_connect(element, options), "optional": True}
            return {"type": "array", "items": items}
        case Timestamp() if _is_counted(options):
            return {"type": "int64", "name": f"{CONNECT}Timestamp", "version": 1}
        case Decimal(_, scale) if _decimals(options) == "bytes":
            return {
                "type": "bytes",
                "name": DECIMAL_NAME,
                "version": 1,
                "parameters": {"scale": str(scale)},
            }
        case Decimal() if _decimals(options) == "number":
            return {"type": "double"}
        case Primitive(name):
            return {"type": _CONNECT_TYPES.get(name, "string")}
        case _:
            return {"type": "string"}


def json_schema(schema: Schema, options: Mapping[str, object]) -> dict[str, Any]:
    """The schema of a row as JSON Schema; parameters as of :func:`connect_schema`."""
    return {"title": _NAME, **_json(StructOf(schema.fields), options)}


def _json(type_: Type, options: Mapping[str, object]) -> dict[str, Any]:
    match type_:
        case StructOf(fields):
            members = {f.name: _json_field(f, options) for f in fields}
            return {
                "type": "object",
                "properties": members,
                "required": [field.name for field in fields],
            }
        case ListOf(element):
            return {"type": "array", "items": _or_null(_json(element, options))}
        case Timestamp():
            return _json(BIGINT if _is_counted(options) else TEXT, options)
        case Decimal():
            is_number = _decimals(options) == "number"
            return {"type": "number" if is_number else "string"}
        case Primitive("JSON"):
            return {}
        case Primitive(name):
            return {"type": _JSON_TYPES.get(name, "integer")}


def _json_field(field: Field, options: Mapping[str, object]) -> dict[str, Any]:
    made = _json(field.type, options)
    return _or_null(made) if field.nullable else made


def _or_null(made: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, made]} if made else made


def _is_counted(options: Mapping[str, object]) -> bool:
    return options.get(TIMESTAMP_FORMAT, "RFC3339") != "RFC3339"


def _decimals(options: Mapping[str, object]) -> object:
    return options.get(DECIMAL_ENCODING, "number")
