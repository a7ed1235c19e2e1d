"""Rows are written as messages and read again by Spark's Python workers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from arroyo_nb.connectors import CONNECTORS, TableSpec, decoding_options
from arroyo_nb.formats import payload_format
from arroyo_nb.records import Records
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    spark_schema,
)
from arroyo_nb.spark.arrow_schema import spark_arrow_schema

TEXT_OF_SCHEMA = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Leg { string a = 1; google.protobuf.Timestamp at = 2; }
message M {
  optional int32 i = 1; optional int64 l = 2; optional uint64 u = 3;
  optional float f = 4; optional double d = 5; optional bool b = 6;
  optional string s = 7; optional bytes y = 8; google.protobuf.Timestamp at = 9;
  Leg leg = 10; repeated Leg legs = 11; map<string, double> rates = 12;
}
"""
LEG = StructOf((Field("a", TEXT), Field("at", Timestamp())))
RATES = ListOf(StructOf((Field("key", TEXT), Field("value", DOUBLE))))
SCHEMA = Schema(
    tuple(
        Field(name, type_)
        for name, type_ in {
            "i": INT,
            "l": BIGINT,
            "u": BIGINT_UNSIGNED,
            "f": FLOAT,
            "d": DOUBLE,
            "b": BOOLEAN,
            "s": TEXT,
            "y": BYTEA,
            "at": Timestamp(),
            "leg": LEG,
            "legs": ListOf(LEG),
            "rates": RATES,
        }.items()
    )
)
OPTIONS = {
    "format": "protobuf",
    "protobuf.schema": TEXT_OF_SCHEMA,
    "protobuf.message": "M",
}
AT = datetime(2024, 2, 3, 4, 5, 6, 7, UTC)
ROWS = [
    (
        *(1, 2**40, Decimal(2**64 - 1), 0.5, -0.25, False, "é", b"\xff", AT),
        *(("x", AT), [("y", None), ("", AT)], [("k", 1.5)]),
    ),
    (*[None] * 10, [], []),
]


def test_rows_come_back_from_their_messages(engine):
    def found():
        spark, spec = engine.session, TableSpec("t", SCHEMA, OPTIONS)
        reader = Records(
            "t",
            "protobuf",
            SCHEMA,
            spark_arrow_schema(SCHEMA),
            decoding_options(CONNECTORS.get("kafka"), spec),
            None,
            (),
            {},
            (TIMESTAMP,),
            windowed=False,
        )
        written = payload_format("protobuf").encoded(SCHEMA, OPTIONS)
        frame = spark.createDataFrame(ROWS, spark_schema(SCHEMA))
        records = frame.select(written).selectExpr(
            "value",
            "current_timestamp() AS timestamp",
            "0 AS partition",
            "0L AS offset",
        )
        types = [field.dataType.simpleString() for field in frame.schema]
        columns = ", ".join(
            f"{name} {type_}"
            for name, type_ in zip(reader.names, [*types, "timestamp"], strict=True)
        )
        return records.mapInArrow(reader, columns).drop(TIMESTAMP).collect()

    def plain(row):
        return tuple(map(_plain, row))

    made = engine.worker.call(found)
    assert list(map(plain, made)) == list(map(plain, ROWS))


def _plain(value):
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        made = [_plain(one) for one in value]
        return made if isinstance(value, list) else tuple(made)
    return value
