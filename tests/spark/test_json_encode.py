"""JSON text written by Spark, against the text that Arroyo writes."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal as Exact

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.formats.json.encode import json_column
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    JSON,
    TEXT,
    WINDOW_STRUCT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    spark_schema,
)

T = Timestamp()
MONEY = Decimal(38, 3)
NESTED = StructOf((Field('a"b', TEXT), Field("list", ListOf(ListOf(T)))))


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# (type, value, text); the column's name is its place
CASES = [
    (BOOLEAN, True, "true"),
    (BIGINT, -(2**63), "-9223372036854775808"),
    (BIGINT_UNSIGNED, Exact(2**64 - 1), "18446744073709551615"),
    (BIGINT, None, "null"),
    (DOUBLE, 3536.0, "3536.0"),
    (DOUBLE, -0.0, "-0.0"),
    (DOUBLE, 1.77e12, "1.77e12"),
    (DOUBLE, 1e-5, "1.0e-5"),
    (DOUBLE, math.nan, "null"),
    (DOUBLE, -math.inf, "null"),
    (FLOAT, 0.5, "0.5"),
    (MONEY, Exact("0.010"), "0.010"),
    (MONEY, Exact("-12345678901234567890.125"), "-12345678901234567890.125"),
    (TEXT, "", '""'),
    (TEXT, "null", '"null"'),
    (TEXT, "[x]", '"[x]"'),
    (TEXT, 'a"b\\c/\n\té😀', r'"a\"b\\c/\n\té😀"'),
    (TEXT, None, "null"),
    (BYTEA, b"\xff\x00a", '"/wBh"'),
    (DATE, date(2023, 2, 3), '"2023-02-03"'),
    (T, at("2023-02-03T04:05:06"), '"2023-02-03T04:05:06"'),
    (T, at("2023-02-03T04:05:06.100"), '"2023-02-03T04:05:06.100"'),
    (T, at("2023-02-03T04:05:06.000001"), '"2023-02-03T04:05:06.000001"'),
    (T, at("1969-12-31T23:59:59.999"), '"1969-12-31T23:59:59.999"'),
    (T, None, "null"),
    (
        WINDOW_STRUCT,
        {"start": at("2023-01-01T00:00"), "end": at("2023-01-01T00:00:05.5")},
        '{"start":"2023-01-01T00:00:00","end":"2023-01-01T00:00:05.500"}',
    ),
    (NESTED, None, "null"),
    (NESTED, {'a"b': None, "list": None}, r'{"a\"b":null,"list":null}'),
    (
        NESTED,
        {'a"b': "x", "list": [[at("2023-01-01T00:00"), None], None, []]},
        r'{"a\"b":"x","list":[["2023-01-01T00:00:00",null],null,[]]}',
    ),
    (JSON, '{"b":1,\n "a":[1.0, null]}', '{"b":1,  "a":[1.0, null]}'),
    (JSON, "null", "null"),
    (JSON, "{oops", "null"),
]


def written(engine, schema, rows, options=None):
    def run():
        spark = engine.session
        frame = spark.createDataFrame(rows, spark_schema(schema))
        column = json_column(schema, options or {})
        return frame.select(column).toArrow().column("value").to_pylist()

    return engine.worker.call(run)


def test_each_type_is_written_as_arroyo_writes_it(engine):
    schema = Schema(tuple(Field(f"c{i}", t) for i, (t, _, _) in enumerate(CASES)))
    (text,) = written(engine, schema, [tuple(value for _, value, _ in CASES)])
    members = ",".join(f'"c{i}":{wanted}' for i, (_, _, wanted) in enumerate(CASES))
    assert text == "{" + members + "}"


@pytest.mark.parametrize("spelling", ["unix_millis", "UnixMillis"])
def test_timestamps_as_unix_millis(engine, spelling):
    schema = Schema((Field("t", T), Field("w", WINDOW_STRUCT)))
    window = {"start": at("1970-01-01T00:00:01"), "end": None}
    rows = [(at("1970-01-01T00:00:01.5"), window)]
    options = {"json.timestamp_format": spelling}
    assert written(engine, schema, rows, options) == [
        '{"t":1500,"w":{"start":1000,"end":null}}'
    ]


@given(
    st.lists(
        st.decimals(Exact("-9e34"), Exact("9e34"), places=3, allow_nan=False),
        min_size=20,
    )
)
@settings(max_examples=3)
def test_decimals_as_text_and_as_bytes(engine, values):
    import base64

    schema = Schema((Field("d", MONEY),))
    rows = [(value,) for value in (Exact(0), Exact("-0.001"), Exact(2**64), *values)]
    texts = written(engine, schema, rows, {"json.decimal_encoding": "string"})
    assert [Exact(json.loads(t)["d"]) for t in texts] == [value for (value,) in rows]
    coded = written(engine, schema, rows, {"json.decimal_encoding": "bytes"})
    for text, (value,) in zip(coded, rows, strict=True):
        unscaled = base64.b64decode(json.loads(text)["d"])
        assert len(unscaled) == 16
        assert int.from_bytes(unscaled, "big", signed=True) == int(
            f"{value:.3f}".replace(".", "")
        )


@given(
    name=st.text(min_size=1),
    rows=st.lists(st.tuples(st.text(), st.floats(allow_nan=False)), min_size=50),
)
@settings(max_examples=4)
def test_any_text_is_read_back(engine, name, rows):
    schema = Schema((Field(name, TEXT), Field(name + "_", DOUBLE)))
    lines = written(engine, schema, rows)
    assert not any("\n" in line for line in lines)
    finite = [
        (text, number if math.isfinite(number) else None) for text, number in rows
    ]
    assert [tuple(json.loads(line).values()) for line in lines] == finite
    assert all(list(json.loads(line)) == [name, name + "_"] for line in lines)


def test_a_schema_without_columns_is_an_empty_object(engine):
    def run():
        frame = engine.session.range(1).select(json_column(Schema(), {}))
        return frame.toArrow().column("value").to_pylist()

    assert engine.worker.call(run) == ["{}"]


def test_arrow_agrees_on_the_column_type(engine):
    def run():
        schema = Schema((Field("a", BIGINT),))
        frame = engine.session.createDataFrame([(1,)], spark_schema(schema))
        return frame.select(json_column(schema, {})).toArrow().schema

    assert engine.worker.call(run).field("value").type == pa.string()
