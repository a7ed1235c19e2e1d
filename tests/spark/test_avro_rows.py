"""Rows of Spark as Avro: what its types become, whatever the columns are called."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal as Number10

import pyarrow as pa
from avro_records import RAW, decoder, read, rows

from arroyo_nb.formats import payload_format
from arroyo_nb.formats.avro.encode import record_schema
from arroyo_nb.schema import (
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    FLOAT,
    INT_UNSIGNED,
    TEXT,
    TIME,
    WINDOW_STRUCT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    arrow_schema,
    quoted,
)
from arroyo_nb.spark.arrow_schema import spark_arrow_schema

AT = datetime(2024, 2, 29, 1, 2, 3, 4)
PAIR = StructOf((Field("x y", FLOAT), Field("b", BYTEA)))
VALUES = {
    "a.b `c`": (BIGINT_UNSIGNED, 2**63 - 1),
    "few": (INT_UNSIGNED, 2**32 - 1),
    "window": (WINDOW_STRUCT, {"start": AT, "end": AT}),
    "at": (Timestamp(), AT),
    "day": (DATE, date(1969, 12, 31)),
    "time": (TIME, time(1, 2, 3, 4)),
    "tags": (ListOf(TEXT), ["é", None]),
    "pairs": (ListOf(PAIR), [{"x y": 1.5, "b": b"\xff"}, None]),
    "price": (Decimal(38, 2), Number10("-0.01")),
    "ok": (BOOLEAN, True),
}
SCHEMA = Schema(tuple(Field(name, type_) for name, (type_, _) in VALUES.items()))


def encoded(engine, table):
    """The payloads of some rows."""

    def work():
        spark = engine.session  # types are read by it, too
        held = spark_arrow_schema(SCHEMA)
        columns = [
            column.cast(field.type)
            for column, field in zip(table.columns, held, strict=True)
        ]
        rows = spark.createDataFrame(pa.Table.from_arrays(columns, schema=held))
        named = rows.select(*(quoted(name) for name in SCHEMA.names))
        made = payload_format("avro").encoded(SCHEMA, {RAW: True})
        return named.select(made).toArrow()["value"].to_pylist()

    return engine.worker.call(work)


def test_rows_come_back(engine):
    full = {name: value for name, (_, value) in VALUES.items()}
    empty = dict.fromkeys(VALUES)
    table = pa.Table.from_pylist([full, empty, full], arrow_schema(SCHEMA))
    payloads = encoded(engine, table)
    made = decoder(SCHEMA, json.loads(record_schema(SCHEMA)))
    assert rows(read(made, *payloads)) == [
        tuple(full.values()),
        tuple(empty.values()),
        tuple(full.values()),
    ]
