"""What a sink writes as Avro, read by fastavro and by the format itself."""

from __future__ import annotations

import io
import json
from datetime import date, datetime, time
from decimal import Decimal as Number10

import fastavro
import pyarrow as pa
import pytest
from avro_records import (
    RAW,
    REGISTRY,
    SCHEMA,
    UNSTRUCTURED,
    decoder,
    fields,
    read,
    record,
    rows,
    value_of,
)
from schema_registry import serving

from arroyo_nb.errors import DataProblem, RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.avro.encode import RowEncoder, record_schema
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INT_UNSIGNED,
    INTERVAL,
    JSON,
    NULL,
    SMALLINT,
    TEXT,
    TIME,
    WINDOW_STRUCT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    arrow_type,
)

AT = datetime(2024, 2, 29, 1, 2, 3, 4_000)
VALUES = [
    (BOOLEAN, True),
    (SMALLINT, -5),
    (INT, -(2**31)),
    (BIGINT, -(2**63)),
    (BIGINT, 2**63 - 1),
    (INT_UNSIGNED, 2**32 - 1),
    (BIGINT_UNSIGNED, 2**63 - 1),
    (FLOAT, 1.5),
    (DOUBLE, -0.1),
    (TEXT, "é" * 100),
    (JSON, '{"a":1}'),
    (BYTEA, b"\xff\0"),
    (DATE, date(1969, 12, 31)),
    (TIME, time(1, 2, 3, 4)),
    (Timestamp(), AT),
    (Timestamp(3), AT),
    (Timestamp(), datetime(1, 1, 1)),
    (Decimal(5, 2), Number10("-1.28")),
    (Decimal(38, 0), Number10(10**38 - 1)),
    (Decimal(3, 3), Number10("0.000")),
    (ListOf(INT), [1, None, 3]),
    (ListOf(ListOf(TEXT)), [["a"], None, []]),
    (
        StructOf((Field("a", INT, nullable=False), Field("b", TEXT))),
        {"a": 1, "b": None},
    ),
    (WINDOW_STRUCT, {"start": AT, "end": AT}),
    (ListOf(StructOf((Field("key", TEXT), Field("value", INT)))), []),
]


def encoded(schema, *values):
    columns = [
        pa.array([row[place] for row in values], arrow_type(field.type))
        for place, field in enumerate(schema)
    ]
    return RowEncoder(schema).datums(columns).to_pylist()


@pytest.mark.parametrize(("type_", "value"), VALUES)
def test_a_value_comes_back_and_fastavro_reads_it(type_, value):
    schema = Schema((Field("v", type_), Field("w", type_, nullable=False)))
    text = record_schema(schema)
    datums = encoded(schema, (value, value), (None, value))
    parsed = json.loads(text)
    for payload, first in zip(datums, (value, None), strict=True):
        found = value_of(parsed, payload)
        assert (found["v"] is None) == (first is None)
    # JSON is read of any text, and so of this one as a text of JSON.
    types = {"v": TEXT, "w": TEXT} if type_ == JSON else {"v": type_, "w": type_}
    found = read(decoder(types, parsed), *datums)
    assert rows(found) == [(value, value), (None, value)]


def test_the_schema_of_a_table():
    schema = Schema(
        (
            Field("id", BIGINT, nullable=False),
            Field("a.b c", Timestamp()),
            Field("window", WINDOW_STRUCT, nullable=False),
            Field("n", NULL),
        )
    )
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    inner = {
        "type": "record",
        "name": "ArroyoAvro_window",
        "fields": [{"name": "start", "type": micros}, {"name": "end", "type": micros}],
    }
    assert json.loads(record_schema(schema)) == {
        "type": "record",
        "name": "ArroyoAvro",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "a__b_c", "type": ["null", micros], "default": None},
            {"name": "window", "type": inner},
            {"name": "n", "type": "null"},
        ],
    }


def test_columns_that_avro_has_no_form_or_no_names_for():
    with pytest.raises(RunProblem, match="'i' is INTERVAL, which Avro has no form for"):
        record_schema(fields({"i": INTERVAL}))
    with pytest.raises(RunProblem, match=r"'a b' and 'a_b' are both called 'a_b'"):
        record_schema(fields({"a b": INT, "a_b": INT}))


def test_values_that_do_not_fit():
    schema = Schema((Field("n", BIGINT_UNSIGNED, nullable=False),))
    with pytest.raises(DataProblem, match="has 9223372036854775808 in the column 'n'"):
        encoded(schema, (2**63,))
    with pytest.raises(DataProblem, match="'n' is NOT NULL"):
        encoded(schema, (None,))


def test_what_spark_holds_is_written_as_well():
    schema = fields({"n": BIGINT_UNSIGNED, "at": Timestamp(), "t": TIME, "s": INT})
    columns = [
        pa.array([Number10(7)], pa.decimal128(20, 0)),
        pa.array([AT], pa.timestamp("us", "UTC")),
        pa.array([1_000_000], pa.int64()),
        pa.array([3], pa.int32()),
    ]
    found = value_of(
        json.loads(record_schema(schema)),
        *RowEncoder(schema).datums(columns).to_pylist(),
    )
    assert (found["n"], found["t"], found["s"]) == (7, time(0, 0, 1), 3)
    assert found["at"].replace(tzinfo=None) == AT


def writer(columns, **options):
    made = {name.replace("__", "."): value for name, value in options.items()}
    return payload_format("avro").payload_writer("t", fields(columns), made, read=False)


def test_rows_of_python_as_containers():
    made = writer({"id": INT, "name": TEXT})
    payloads = made([{"id": 1, "name": "a"}, {"id": 2}])
    assert made.names == ("id", "name")
    found = [list(fastavro.reader(io.BytesIO(payload))) for payload in payloads]
    assert found == [[{"id": 1, "name": "a"}], [{"id": 2, "name": None}]]
    assert rows(read(decoder({"name": TEXT, "id": INT}), *payloads)) == [
        ("a", 1),
        (None, 2),
    ]


def test_rows_of_python_as_datums():
    (payload,) = writer({"id": INT}, avro__raw_datums=True)([{"id": 1}])
    assert payload == b"\x02\x02"


def test_rows_of_python_with_the_id_of_their_schema():
    with serving() as (url, registry):
        given = {
            REGISTRY: True,
            "topic": "clicks",
            "schema_registry.endpoint": url,
        }
        format_ = payload_format("avro")
        columns = fields({"id": INT})
        made = format_.payload_writer("t", columns, given, read=True)
        (payload,) = made([{"id": 1}])
        assert payload == b"\0\0\0\0\x01\x02\x02"
        assert [*registry.subjects] == ["clicks-value"]
        assert json.loads(registry.schemas[0]["schema"])["name"] == "ArroyoAvro"
        assert rows(read(decoder({"id": INT}, **given), payload)) == [(1,)]


def test_rows_cannot_be_emitted_by_another_schema():
    for other in ('"int"', "{", json.dumps(record(id="long"))):
        with pytest.raises(RunProblem, match=r"are not those of 'avro\.schema'"):
            writer({"id": INT}, avro__raw_datums=True, **{SCHEMA: other})
    with pytest.raises(RunProblem, match="are only read"):
        writer({"value": JSON}, avro__raw_datums=True, **{UNSTRUCTURED: True})
    with pytest.raises(RunProblem, match=r"it names no 'schema_registry\.endpoint'"):
        writer({"id": INT}, topic="t", **{REGISTRY: True})


def test_rows_are_emitted_by_the_schema_that_the_columns_have():
    given = json.dumps(record(id="long", name=["null", "string"]))
    columns = [Field("id", BIGINT, nullable=False), Field("name", TEXT)]
    (payload,) = writer(columns, avro__raw_datums=True, **{SCHEMA: given})([{"id": 1}])
    assert payload == b"\x02\0"


def test_the_envelope_of_a_sink():
    format_, schema = payload_format("avro"), fields({"id": INT})
    asked = []

    def register(schema_type, text):
        asked.append((schema_type, text))
        return 66051

    head = format_.envelope(schema, {REGISTRY: True}, register)
    assert head == (b"\0\0\x01\x02\x03", b"")
    assert asked == [("AVRO", record_schema(schema))]
    assert format_.envelope(schema, {RAW: True}, register) == (b"", b"")
    first, last = format_.envelope(schema, {}, register)
    (datum,) = (
        RowEncoder(schema, embedded=True)
        .datums([pa.array([1], pa.int32())])
        .to_pylist()
    )
    found = list(fastavro.reader(io.BytesIO(first + datum + last)))
    assert found == [{"id": 1}]
