"""Rows in Arrow as Spark holds them."""

from __future__ import annotations

from typing import Any

from arroyo_nb.lazy_imports import pa
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    NULL,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    Type,
    arrow_type,
    spark_schema,
)


def spark_arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow types that Spark's hold."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    columns: Any = StructType.fromDDL(spark_schema(schema))
    return to_arrow_schema(columns, timezone="UTC")


def spark_arrow_type(type_: Type) -> pa.DataType:
    """What Spark takes for a value of a type: times have a zone, and what is unsigned
    is wider."""
    match type_:
        case Timestamp():
            return pa.timestamp("us", "UTC")
        case Primitive("TINYINT UNSIGNED"):
            return pa.int16()
        case Primitive("SMALLINT UNSIGNED"):
            return pa.int32()
        case Primitive("INT UNSIGNED" | "TIME"):
            return pa.int64()
        case ListOf(element):
            held = pa.string() if element == NULL else spark_arrow_type(element)
            return pa.list_(held)
        case StructOf(fields):
            return pa.struct(
                [pa.field(f.name, spark_arrow_type(f.type), f.nullable) for f in fields]
            )
    return pa.decimal128(20, 0) if type_ == BIGINT_UNSIGNED else arrow_type(type_)
