"""Rows in Arrow as Spark holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arroyo_nb.schema import Schema, spark_schema

if TYPE_CHECKING:
    import pyarrow as pa


def spark_arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow types that Spark's hold."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    columns: Any = StructType.fromDDL(spark_schema(schema))
    return to_arrow_schema(columns, timezone="UTC")
