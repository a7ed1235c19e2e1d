"""The columns that a declared schema of Avro gives a table which declares none."""

from __future__ import annotations

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats.avro.schema import (
    AvroField,
    AvroSchema,
    AvroType,
    SchemaFault,
    parse_schema,
)
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    Type,
)

_KINDS: dict[str, Type] = {
    "boolean": BOOLEAN,
    "int": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "string": TEXT,
    "enum": TEXT,
    "bytes": BYTEA,
    "fixed": BYTEA,
}
_DIGITS = {"millis": 3, "micros": 6, "nanos": 9}


def columns_of(text: str) -> Schema:
    """The columns of the records of a schema, in their order.

    Raises
    ------
    CatalogProblem
        When it is none, or none of a record.

    >>> field = '{"name": "id", "type": ["null", "long"]}'
    >>> print(columns_of(f'{{"type": "record", "name": "R", "fields": [{field}]}}'))
    id BIGINT
    """
    try:
        schema = parse_schema(text)
    except SchemaFault as fault:
        raise CatalogProblem(f"the text is no Avro schema: {fault}") from None
    root = schema.resolved(schema.root)
    if root.kind != "record":
        raise CatalogProblem(
            f"the Avro schema is {root}, and of no record",
            hint="declare the column: `value JSON`, or what the records are",
        )
    return Schema(_fields(schema, root, (root.name,)))


def _fields(
    schema: AvroSchema, record: AvroType, inside: tuple[str, ...]
) -> tuple[Field, ...]:
    return tuple(_field(schema, field, inside) for field in record.fields)


def _field(schema: AvroSchema, field: AvroField, inside: tuple[str, ...]) -> Field:
    branches = field.type.inner if field.type.kind == "union" else (field.type,)
    nullable = any(branch.kind == "null" for branch in branches)
    return Field(field.name, _type(schema, field.type, inside), nullable=nullable)


def _type(schema: AvroSchema, avro: AvroType, inside: tuple[str, ...]) -> Type:
    """The type of a value; JSON where SQL has none that takes every one. ``inside`` is
    of which records it is a part."""
    avro = schema.resolved(avro)
    match avro.kind:
        case "union":
            others = [branch for branch in avro.inner if branch.kind != "null"]
            return _type(schema, others[0], inside) if len(others) == 1 else JSON
        case "array":
            return ListOf(_type(schema, avro.inner[0], inside))
        case "map":
            value = Field("value", _type(schema, avro.inner[0], inside))
            return ListOf(StructOf((Field("key", TEXT, nullable=False), value)))
        case "record" if avro.fields and avro.name not in inside:
            return StructOf(_fields(schema, avro, (*inside, avro.name)))
        case _ if avro.logical == "decimal":
            fits = avro.precision <= 38
            return Decimal(avro.precision, avro.scale) if fits else JSON
        case _ if "timestamp-" in avro.logical:
            return Timestamp(_DIGITS[avro.logical.rpartition("-")[2]])
        case _ if avro.logical == "date":
            return Timestamp()
        case _ if avro.logical == "uuid":
            return TEXT
        case kind:
            return _KINDS.get(kind, JSON)
