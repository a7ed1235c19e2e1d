"""What is read of a record of Avro: its schema's types as a table's columns."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal as Number10
from uuid import UUID

import pytest
from avro_records import (
    RAW,
    REGISTRY,
    SCHEMA,
    UNSTRUCTURED,
    container,
    datum,
    decoder,
    read,
    record,
    rows,
)
from schema_registry import serving

from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.formats.avro.columns import fitting_type, misfit
from arroyo_nb.formats.avro.containers import MAX_BYTES, MAX_RECORDS
from arroyo_nb.formats.avro.schema import parse_schema
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    SMALLINT,
    TEXT,
    TIME,
    Decimal,
    Field,
    ListOf,
    StructOf,
    Timestamp,
)
from arroyo_nb.schema_registry.prefix import prefix

AT = datetime(1969, 12, 31, 23, 59, 59, 999_000)
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
INNER = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}
NUMBER = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


SCALARS = [
    ("boolean", BOOLEAN, True, True),
    ("int", INT, -(2**31), -(2**31)),
    ("int", SMALLINT, 7, 7),
    ("long", BIGINT, -(2**63), -(2**63)),
    ("long", BIGINT, 2**63 - 1, 2**63 - 1),
    ("long", INT, 2**31 - 1, 2**31 - 1),
    ("long", BIGINT_UNSIGNED, 5, 5),
    ("int", BIGINT, 5, 5),
    ("long", DOUBLE, 5, 5.0),
    ("int", FLOAT, 5, 5.0),
    ("float", FLOAT, 1.5, 1.5),
    ("float", DOUBLE, 1.5, 1.5),
    ("double", DOUBLE, float("inf"), float("inf")),
    ("double", FLOAT, 1.5, 1.5),
    ("string", TEXT, "é", "é"),
    ("bytes", TEXT, "é".encode(), "é"),
    ("bytes", BYTEA, b"\xff", b"\xff"),
    ("string", BYTEA, "é", "é".encode()),
    (FIXED, BYTEA, b"ab", b"ab"),
    (ENUM, TEXT, "B", "B"),
    (logical("string", "uuid"), TEXT, UUID(int=5), str(UUID(int=5))),
    (NUMBER, Decimal(6, 2), Number10("-1.50"), Number10("-1.50")),
    (NUMBER, Decimal(8, 4), Number10("1.5"), Number10("1.5000")),
    (NUMBER, Decimal(4, 1), Number10("1.50"), Number10("1.5")),
    (
        {**FIXED, "size": 16, "logicalType": "decimal", "precision": 38, "scale": 0},
        Decimal(38, 0),
        Number10(-(10**38) + 1),
        Number10(-(10**38) + 1),
    ),
    ("long", Decimal(5, 2), 12, Number10("12.00")),
    (logical("int", "date"), DATE, date(2024, 2, 29), date(2024, 2, 29)),
    (logical("int", "date"), Timestamp(), date(1969, 1, 1), datetime(1969, 1, 1)),
    ("int", DATE, 1, date(1970, 1, 2)),
    (logical("int", "time-millis"), TIME, time(1, 2, 3, 4000), time(1, 2, 3, 4000)),
    (logical("long", "time-micros"), TIME, time(1, 2, 3, 4), time(1, 2, 3, 4)),
    (logical("long", "timestamp-millis"), Timestamp(), -1, AT),
    (logical("long", "timestamp-micros"), Timestamp(3), -1_000, AT),
    (logical("long", "timestamp-nanos"), Timestamp(), -1_000_000, AT),
    (logical("long", "timestamp-nanos"), Timestamp(), -999_999, AT),
    (logical("long", "local-timestamp-millis"), Timestamp(), -1, AT),
    (logical("long", "local-timestamp-micros"), Timestamp(), -1_000, AT),
    (logical("long", "timestamp-millis"), BIGINT, -1, -1),
    ("long", Timestamp(3), -1, AT),
    ("long", Timestamp(0), 60, datetime(1970, 1, 1, 0, 1)),
    (["null", "long"], BIGINT, None, None),
    (["long", "null"], BIGINT, 5, 5),
    (["null", "int", "long"], BIGINT, 2**40, 2**40),
    ("null", TEXT, None, None),
    ({"type": "array", "items": ["null", "int"]}, ListOf(INT), [1, None], [1, None]),
    ({"type": "array", "items": "int"}, ListOf(BIGINT), [], []),
    (INNER, StructOf((Field("b", TEXT), Field("a", BIGINT))), {"a": 1}, None),
    (
        {"type": "map", "values": "long"},
        ListOf(StructOf((Field("key", TEXT), Field("value", BIGINT)))),
        {"x": 1, "y": 2},
        [{"key": "x", "value": 1}, {"key": "y", "value": 2}],
    ),
]


@pytest.mark.parametrize(("avro", "type_", "value", "expected"), SCALARS)
def test_a_value_as_a_column(avro, type_, value, expected):
    if expected is None and isinstance(type_, StructOf):
        expected = {"b": None, "a": 1}
    schema = record(v=avro, after="int")
    payload = datum(schema, {"v": value, "after": 3})
    found = read(decoder({"after": INT, "v": type_}, schema), payload, payload)
    assert rows(found) == [(3, expected)] * 2
    assert found.bad == ()
    # With a column of JSON the record is read by the exact reader.
    exact = read(decoder({"v": type_, "after": JSON}, schema), payload)
    assert rows(exact) == [(expected, "3")]


MISFITS = [
    ("string", INT, "'v' is INT, the schema has string"),
    ("double", BIGINT, "'v' is BIGINT, the schema has double"),
    ("long", BOOLEAN, "'v' is BOOLEAN, the schema has long"),
    (NUMBER, TEXT, r"'v' is TEXT, the schema has bytes \(decimal\)"),
    (INNER, TEXT, "'v' is TEXT, the schema has record I"),
    ({"type": "array", "items": "int"}, INT, "the schema has array of int"),
    ({"type": "array", "items": "int"}, ListOf(TEXT), r"'v\[\]' is TEXT"),
    (["int", "string"], BOOLEAN, "'v' is BOOLEAN, the schema has int"),
    (INNER, StructOf((Field("a", TEXT),)), r"'v\.a' is TEXT, the schema has int"),
]


@pytest.mark.parametrize(("avro", "type_", "why"), MISFITS)
def test_a_schema_that_never_has_the_columns_makes_every_record_bad(avro, type_, why):
    found = read(decoder({"v": type_}, record(v=avro)), b"", b"\x02")
    assert rows(found) == []
    assert [number for number, _ in found.bad] == [0, 1]
    assert {reason for _, reason in found.bad} == {found.bad[0][1]}
    import re

    assert re.search(f"Avro does not match schema: .*{why}", found.bad[0][1])


UNFIT = [
    ("long", INT, 2**31, "'v' is INT, found 2147483648"),
    ("long", BIGINT_UNSIGNED, -1, "'v' is BIGINT UNSIGNED, found -1"),
    ("double", FLOAT, 1e39, "'v' is FLOAT, found 1e+39"),
    ("bytes", TEXT, b"\xff", "a string is not UTF-8 at byte 1"),
    (NUMBER, Decimal(4, 1), Number10("1.55"), "'v' is DECIMAL(4, 1), found"),
    (NUMBER, Decimal(3, 2), Number10("99.99"), "'v' is DECIMAL(3, 2), found"),
    (logical("long", "timestamp-millis"), Timestamp(), 2**62, "'v' is TIMESTAMP"),
    (logical("int", "date"), DATE, 2**31 - 1, "'v' is DATE, found 2147483647"),
    (["int", "string"], INT, "x", "'v' is INT, the schema has string"),
]


@pytest.mark.parametrize(("avro", "type_", "value", "why"), UNFIT)
def test_a_value_that_does_not_fit_is_bad_and_the_others_are_not(
    avro, type_, value, why
):
    schema = record(w="int", v=["null", avro] if not isinstance(avro, list) else avro)
    good = None if "null" in schema["fields"][1]["type"] else 5
    payloads = [datum(schema, {"w": 1, "v": one}) for one in (good, value, good)]
    found = read(decoder({"v": type_, "w": INT}, schema), *payloads)
    assert rows(found) == [(good, 1)] * 2
    assert found.numbers.to_pylist() == [0, 2]
    ((number, reason),) = found.bad
    assert number == 1
    assert why in reason


def test_what_no_column_wants_is_passed_over():
    every = {
        "a": {"type": "array", "items": ["null", "string"]},
        "b": {"type": "map", "values": INNER},
        "c": ["null", ENUM, "double"],
        "d": FIXED,
        "e": "boolean",
        "f": "float",
        "g": "I",
    }
    schema = record(**every, id="long")
    value = {
        "a": ["x", None],
        "b": {"k": {"a": 1}},
        "c": 1.5,
        "d": b"ab",
        "e": True,
        "f": 1.0,
        "g": {"a": 2},
        "id": 2**40,
    }
    assert rows(read(decoder({"id": BIGINT}, schema), datum(schema, value))) == [
        (2**40,)
    ]
    flat = record(**{name: every[name] for name in "cdef"}, id="long")
    found = read(decoder({"id": BIGINT}, flat), datum(flat, value), datum(flat, value))
    assert rows(found) == [(2**40,)] * 2


def test_a_column_that_the_schema_lacks_is_null_or_bad():
    schema = record(a="int")
    payload = datum(schema, {"a": 1})
    assert rows(read(decoder({"a": INT, "b": TEXT}, schema), payload)) == [(1, None)]
    strict = decoder([Field("a", INT), Field("b", TEXT, nullable=False)], schema)
    ((_, why),) = read(strict, payload).bad
    assert why == "Avro does not match schema: 'b' is NOT NULL and is missing"


def test_a_null_in_a_column_that_is_not_null_is_bad():
    schema = record(a=["null", "int"])
    payloads = [datum(schema, {"a": value}) for value in (1, None)]
    for columns in (
        [Field("a", INT, nullable=False)],
        [Field("a", INT, nullable=False), Field("j", JSON)],  # read one by one
    ):
        found = read(decoder(columns, schema), *payloads)
        assert [row[0] for row in rows(found)] == [1]
        assert found.bad == (
            (1, "Avro does not match schema: 'a' is NOT NULL and is null"),
        )


def test_a_missing_event_time_is_bad():
    schema = record(at=["null", logical("long", "timestamp-micros")])
    payloads = [datum(schema, {"at": value}) for value in (5, None)]
    made = decoder({"at": Timestamp()}, schema, event_time="at")
    found = read(made, *payloads)
    assert rows(found) == [(datetime(1970, 1, 1, 0, 0, 0, 5),)]
    assert found.bad == (
        (1, "Avro does not match schema: the event time 'at' is missing"),
    )


def test_a_union_as_json_and_as_a_column():
    schema = record(v=["null", "string", "double", INNER, ENUM, "bytes"])
    values = [None, 'a"b', 1.5, {"a": 1}, ("E", "B"), b"\xff"]
    payloads = [datum(schema, {"v": value}) for value in values]
    found = rows(read(decoder({"v": JSON}, schema), *payloads))
    assert [json.loads(v) if v else v for (v,) in found] == [
        *(None, 'a"b', 1.5, {"a": 1}, "B", "/w=="),
    ]
    found = read(decoder({"v": TEXT}, schema), *payloads[:5])
    assert rows(found) == [(None,), ('a"b',), ("B",)]
    assert [number for number, _ in found.bad] == [2, 3]


def test_a_whole_record_as_json():
    schema = record(
        id="long",
        price=NUMBER,
        at=logical("long", "timestamp-millis"),
        tags={"type": "map", "values": {"type": "array", "items": "int"}},
    )
    value = {"id": 1, "price": Number10("1.50"), "at": 5, "tags": {"a": [1, 2]}}
    made = decoder({"value": JSON}, schema, **{UNSTRUCTURED: True})
    found = read(made, datum(schema, value), b"\x02")
    assert rows(found) == [('{"id":1,"price":1.50,"at":5,"tags":{"a":[1,2]}}',)]
    assert [number for number, _ in found.bad] == [1]


def test_a_type_that_holds_itself():
    schema = record(id="int", next=["null", "R"])
    value = {"id": 1, "next": {"id": 2, "next": None}}
    next_ = StructOf((Field("id", INT),))
    found = read(decoder({"id": INT, "next": next_}, schema), datum(schema, value))
    assert rows(found) == [(1, {"id": 2})]
    found = read(decoder({"next": JSON}, schema), datum(schema, value))
    assert rows(found) == [('{"id":2,"next":null}',)]


def test_a_union_of_records():
    other = {"type": "record", "name": "O", "fields": [{"name": "x", "type": "string"}]}
    schema = [record(id="int"), other]
    payloads = [datum(schema, value) for value in ({"id": 1}, {"x": "y"})]
    found = read(decoder({"id": INT, "x": TEXT}, schema), *payloads)
    assert rows(found) == [(1, None), (None, "y")]


def test_a_column_is_read_by_the_name_that_a_sink_writes():
    schema = record(a__b="int", c_d="int")
    payload = datum(schema, {"a__b": 1, "c_d": 2})
    found = read(decoder({"a.b": INT, "c d": INT}, schema), payload)
    assert rows(found) == [(1, 2)]


@pytest.mark.parametrize("names", [["a.b", "a_b"], ["a_b", "a.b"]])
def test_a_field_is_first_the_column_of_its_own_name(names):
    schema = record(a__b="int", a_b="int")
    payload = datum(schema, {"a__b": 1, "a_b": 2})
    found = read(decoder(dict.fromkeys(names, INT), schema), payload)
    assert found.rows.to_pylist() == [{"a.b": 1, "a_b": 2}]


@pytest.mark.parametrize("names", [("a__b", "a.b"), ("a.b", "a__b"), ("a-_b", "a.b")])
def test_a_field_that_two_columns_would_be_is_refused(names):
    schema = record(a__b="int")
    columns = dict.fromkeys(names, INT)
    found = read(decoder(columns, schema), datum(schema, {"a__b": 1}))
    assert rows(found) == []
    assert "are one field, 'a__b'" in found.bad[0][1]
    assert all(f"'{name}'" in found.bad[0][1] for name in names)


def test_each_record_is_read_by_the_schema_whose_id_it_begins_with():
    old, new = record(id="int"), record(id="long", name=["null", "string"])
    with serving() as (url, registry):
        ids = [registry.add(json.dumps(schema)) for schema in (old, new)]
        made = decoder(
            {"name": TEXT, "id": BIGINT},
            **{REGISTRY: True, "schema_registry.endpoint": url},
        )
        one = prefix(ids[0]) + datum(old, {"id": 1})
        two = prefix(ids[1]) + datum(new, {"id": 2**40, "name": "b"})
        found = read(made, one, two, one, b"", b"\0\0\0\0", b"\1" + one, prefix(9), two)
        assert rows(read(made)) == []
        asked = len(registry.asked)
        assert rows(read(made, one, two)) == [(None, 1), ("b", 2**40)]
        assert len(registry.asked) == asked
    assert rows(found) == [(None, 1), ("b", 2**40), (None, 1), ("b", 2**40)]
    assert found.numbers.to_pylist() == [0, 1, 2, 7]
    told = dict(found.bad)
    assert set(told) == {3, 4, 5, 6}
    assert "does not begin with the number of a schema" in told[3]
    assert "knows no schema 9" in told[6]


def test_schemas_that_are_none_or_use_others():
    inner = json.dumps(INNER)
    outer = record(i="I")
    with serving() as (url, registry):
        registry.add(inner, subject="inner")
        uses = [{"name": "I", "subject": "inner", "version": 1}]
        good = registry.add(json.dumps(outer), references=uses)
        others = [
            registry.add('{"type": "nothing"}'),
            registry.add('"x"', "JSON"),
            registry.add('"I"', references=[{**uses[0], "subject": "gone"}]),
        ]
        struct = StructOf((Field("a", INT),))
        made = decoder(
            {"i": struct}, **{REGISTRY: True, "schema_registry.endpoint": url}
        )
        found = read(made, prefix(good) + b"\x04", *map(prefix, others))
    assert rows(found) == [({"a": 2},)]
    first, second, third = [why for _, why in sorted(found.bad)]
    assert "is none of Avro: the type 'nothing' is not known" in first
    assert second.endswith("is JSON")
    assert "uses another one" in third


def test_a_registry_that_is_away_ends_the_run_and_makes_nothing_bad():
    from redis_server import free_port

    url = f"http://127.0.0.1:{free_port()}"
    made = decoder({"a": INT}, **{REGISTRY: True, "schema_registry.endpoint": url})
    with pytest.raises(Unreached):
        read(made, prefix(1) + b"\x02")


def test_a_declared_schema_in_place_of_a_registry():
    schema = record(id="int")
    made = decoder({"id": INT}, **{REGISTRY: True, SCHEMA: json.dumps(schema)})
    found = read(made, prefix(77) + b"\x02", b"\x02", prefix(5) + b"\x04")
    assert rows(found) == [(1,), (2,)]
    assert [number for number, _ in found.bad] == [1]


def test_a_declared_schema_that_is_none():
    with pytest.raises(RunProblem, match=r"'avro\.schema' is no Avro schema"):
        decoder({"id": INT}, **{RAW: True, SCHEMA: "{"})


@pytest.mark.parametrize(
    "codec", ["null", "deflate", "bzip2", "xz", "snappy", "zstandard"]
)
def test_a_message_that_is_a_container(codec):
    schema = record(id="int", name="string")
    values = [{"id": n, "name": "x" * n} for n in range(3)]
    payload = container(schema, *values, codec=codec)
    made = decoder({"name": TEXT, "id": INT})
    found = read(made, payload, b"no", payload[:-1], container(schema, values[1]))
    assert rows(found) == [("", 0), ("x", 1), ("xx", 2), ("x", 1)]
    assert found.numbers.to_pylist() == [0, 0, 0, 3]
    assert [number for number, _ in sorted(found.bad)] == [1, 2]


def test_a_container_that_would_be_gigabytes():
    schema = record(name="bytes")
    bomb = container(schema, {"name": bytes(MAX_BYTES)}, codec="deflate")
    many = container(record(), *[{}] * (MAX_RECORDS + 1))
    assert len(bomb) < 100_000
    found = read(decoder({"name": BYTEA}), bomb, many)
    assert rows(found) == []
    first, second = [why for _, why in sorted(found.bad)]
    assert "of the container become too many bytes" in first
    assert "a container of over 100,000 records" in second


@pytest.mark.parametrize(
    ("avro", "wanted"),
    [
        ({"type": "int", "logicalType": "time-millis"}, "INT"),
        ({"type": "long", "logicalType": "time-micros"}, "BIGINT"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "TIMESTAMP"),
        ({"type": "int", "logicalType": "date"}, "TIMESTAMP"),
        ("boolean", "BOOLEAN"),
        ("float", "FLOAT"),
        ({"type": "array", "items": "int"}, "JSON"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            "DECIMAL(9, 2)",
        ),
        ({"type": "fixed", "name": "F", "size": 3}, "BYTEA"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "TEXT"),
    ],
)
def test_a_misfit_names_a_type_that_fits(avro, wanted):
    found = parse_schema(json.dumps(avro)).root
    assert str(fitting_type(found)) == wanted
    assert f"declare it {wanted}" in str(misfit(found, BIGINT, "x"))
