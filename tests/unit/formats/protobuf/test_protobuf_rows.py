"""Messages as rows: each kind of field, presence, and what a table may declare."""

from __future__ import annotations

import json
from datetime import datetime

import pyarrow as pa
import pytest
from google.protobuf import any_pb2, struct_pb2
from proto_schemas import FLIGHT, HEAD, compiled, decoder, read, rows, usual_columns

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.formats.protobuf.payloads import MessagePayloads
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DOUBLE,
    INT,
    JSON,
    SMALLINT,
    TEXT,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
)

WELL_KNOWN = """
syntax = "proto3"; package t;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message M {
  google.protobuf.Timestamp at = 1;
  google.protobuf.Duration lasts = 2;
  google.protobuf.Int64Value count = 3;
  google.protobuf.StringValue name = 4;
  google.protobuf.Struct extra = 5;
  google.protobuf.Value any_value = 6;
  google.protobuf.ListValue list = 7;
  google.protobuf.Any any = 8;
  google.protobuf.Empty there = 9;
  repeated google.protobuf.Timestamp times = 10;
  google.protobuf.UInt64Value big = 11;
}
"""


def read_all(text, *payloads, message=None):
    """The rows of messages with all their fields."""
    schema = compiled(text, message)
    return read(MessagePayloads(schema, usual_columns(schema), None), *payloads)


def only(*columns):
    return Schema(tuple(Field(name, type_) for name, type_ in columns))


def written(text, message=None, **fields):
    return compiled(text, message).message_class(**fields).SerializeToString()


def test_a_message_is_a_row():
    leg = StructOf((Field("origin", TEXT), Field("miles", INT)))
    columns = only(("flight", TEXT), ("id", BIGINT), ("leg", leg))
    payload = written(
        FLIGHT, "Flight", flight="AA1", id=7, leg={"origin": "JFK", "miles": 0}
    )
    found = read(decoder(FLIGHT, columns, "t.Flight"), payload, b"")
    assert rows(found) == [
        ("AA1", 7, {"origin": "JFK", "miles": 0}),
        ("", 0, None),
    ]
    assert found.numbers.to_pylist() == [0, 1]
    assert found.bad == ()


def test_some_fields_are_columns_in_any_order():
    columns = only(("id", BIGINT), ("leg", StructOf((Field("miles", INT),))))
    payload = written(FLIGHT, "Flight", flight="x", id=1, leg={"origin": "JFK"})
    assert rows(read(decoder(FLIGHT, columns, "Flight"), payload)) == [
        (1, {"miles": None})
    ]


def test_a_column_may_have_the_name_in_json():
    text = HEAD + "message M { int32 user_id = 1; int32 other = 2 [json_name='o']; }"
    columns = only(("userId", INT), ("o", INT))
    payload = written(text, user_id=1, other=2)
    assert rows(read(decoder(text, columns), payload)) == [(1, 2)]


def test_presence_tells_null_from_a_default():
    text = (
        HEAD
        + """message M {
        int32 plain = 1; optional int32 maybe = 2; string text = 3;
        oneof choice { int32 number = 4; string word = 5; }
    }"""
    )
    found = read_all(
        text, b"", written(text, maybe=0, word=""), written(text, plain=3, number=0)
    )
    assert rows(found) == [
        (0, None, "", None, None),
        (0, 0, "", None, ""),
        (3, None, "", 0, None),
    ]


def test_proto2_has_null_for_what_is_not_set_and_refuses_what_must_be():
    text = """syntax = "proto2"; package t; message M {
        required int32 id = 1; optional int32 n = 2 [default = 5];
        repeated int32 list = 3;
    }"""
    found = read_all(text, written(text, id=1), b"", written(text, id=2, n=5))
    assert rows(found) == [(1, None, []), (2, 5, [])]
    assert found.bad == ((1, "required fields are missing: id"),)


def test_enums_are_names_or_numbers():
    text = HEAD + "enum K { NONE = 0; SOME = 5; } message M { K k = 1; K n = 2; }"
    columns = only(("k", TEXT), ("n", SMALLINT))
    unknown = b"\x08\x09\x10\x09"
    found = read(decoder(text, columns), written(text, k=5, n=5), unknown, b"")
    assert rows(found) == [("SOME", 5), ("9", 9), ("NONE", 0)]


def test_lists_and_maps():
    text = (
        HEAD
        + """message P { int32 x = 1; } message M {
        repeated int32 list = 1; map<string, int32> by_name = 2;
        map<int64, P> by_id = 3; repeated P points = 4;
    }"""
    )
    payload = written(
        text,
        "M",
        list=[3, 1],
        by_name={"b": 2, "a": 1},
        by_id={7: {"x": 1}},
        points=[{"x": 1}, {}],
    )
    found = read_all(text, payload, b"", message="M")
    assert rows(found) == [
        (
            [3, 1],
            [{"key": "a", "value": 1}, {"key": "b", "value": 2}],
            [{"key": 7, "value": {"x": 1}}],
            [{"x": 1}, {"x": 0}],
        ),
        ([], [], [], []),
    ]


def test_well_known_types():
    cls = compiled(WELL_KNOWN).message_class
    made = cls(
        count={"value": 0}, name={"value": ""}, there={}, big={"value": 2**64 - 1}
    )
    made.at.FromJsonString("2024-02-03T04:05:06.123456789Z")
    made.lasts.FromJsonString("-1.5s")
    made.extra.update({"a": [1, None], "b": {"c": "x"}})
    made.any_value.number_value = 2.5
    made.list.extend([1, "x"])
    made.any.Pack(struct_pb2.Value(string_value="x"))
    made.times.add(seconds=1)
    found = read_all(WELL_KNOWN, made.SerializeToString(), b"")
    first, second = found.rows.to_pylist()
    assert first["at"] == datetime(2024, 2, 3, 4, 5, 6, 123456)
    assert first["lasts"] == -1_500_000
    assert (first["count"], first["name"], first["there"]) == (0, "", True)
    assert json.loads(first["extra"]) == {"a": [1, None], "b": {"c": "x"}}
    assert (first["any_value"], json.loads(first["list"])) == ("2.5", [1, "x"])
    packed = any_pb2.Any()
    packed.Pack(struct_pb2.Value(string_value="x"))
    assert first["any"] == {"type_url": packed.type_url, "value": packed.value}
    assert first["times"] == [datetime(1970, 1, 1, 0, 0, 1)]
    assert first["big"] == 2**64 - 1
    assert {v for k, v in second.items() if k != "times"} == {None}


def test_a_table_may_want_other_types():
    cls = compiled(WELL_KNOWN).message_class
    made = cls(count={"value": 3}, at={"seconds": 5, "nanos": 7})
    at = StructOf((Field("seconds", BIGINT), Field("nanos", INT)))
    columns = only(("count", DOUBLE), ("at", at))
    assert rows(read(decoder(WELL_KNOWN, columns), made.SerializeToString())) == [
        (3.0, {"seconds": 5, "nanos": 7})
    ]
    columns = only(("at", Timestamp(3)), ("extra", JSON), ("there", BOOLEAN))
    assert rows(read(decoder(WELL_KNOWN, columns), made.SerializeToString())) == [
        (datetime(1970, 1, 1, 0, 0, 5), None, None)
    ]


def test_a_message_may_be_json_and_must_be_where_it_contains_itself():
    text = HEAD + "message T { int32 n = 1; T left = 2; repeated T more = 3; }"
    payload = written(text, n=1, left={"n": 2, "left": {"n": 3}}, more=[{}, {"n": 4}])
    found = read_all(text, payload)
    ((n, left, more),) = rows(found)
    assert (n, json.loads(left)) == (1, {"n": 2, "left": {"n": 3}})
    assert more == ["{}", '{"n":4}']
    inner = StructOf((Field("n", INT), Field("left", StructOf((Field("n", INT),)))))
    found = read(decoder(text, only(("left", inner))), payload)
    assert rows(found) == [({"n": 2, "left": {"n": 3}},)]


def test_a_number_that_does_not_fit_its_column_is_bad():
    text = HEAD + "message M { int64 n = 1; uint64 u = 2; }"
    columns = only(("n", SMALLINT), ("u", BIGINT_UNSIGNED))
    payloads = [written(text, n=n, u=2**64 - 1) for n in (1, 40_000, -5)]
    found = read(decoder(text, columns), *payloads)
    assert rows(found) == [(1, 2**64 - 1), (-5, 2**64 - 1)]
    assert found.bad == ((1, "'n': 40000 is no int16"),)


@pytest.mark.parametrize(("nullable", "event_time"), [(False, None), (True, "at")])
def test_what_a_column_needs_must_be_set(nullable, event_time):
    columns = Schema((Field("at", Timestamp(), nullable), Field("name", TEXT)))
    made = decoder(WELL_KNOWN, columns, event_time=event_time)
    there = written(WELL_KNOWN, at={"seconds": 1})
    found = read(made, b"", there, b"", there)
    assert found.numbers.to_pylist() == [1, 3]
    assert [number for number, _ in found.bad] == [0, 2]
    assert "'at': it is not set" in found.bad[0][1]


def test_times_out_of_range_are_bad_each_by_itself():
    columns = only(("at", Timestamp()), ("lasts", BIGINT))
    payloads = [
        written(WELL_KNOWN, at={"seconds": 2**62}),
        written(WELL_KNOWN, at={"nanos": -1}),
        written(WELL_KNOWN, lasts={"seconds": 2**62}),
        written(WELL_KNOWN, at={"seconds": -62135596800}),
    ]
    found = read(decoder(WELL_KNOWN, columns), *payloads)
    assert rows(found) == [(datetime(1, 1, 1), None)]
    assert [number for number, _ in found.bad] == [0, 1, 2]
    assert found.bad[0][1].endswith("are no Timestamp")


def test_a_newer_producer_is_read_and_counted():
    newer = (
        HEAD
        + """
        message Leg { string origin = 1; optional int32 miles = 2; int32 gate = 9; }
        message Flight { string flight = 1; int64 id = 2; Leg leg = 3; bool new = 8; }
    """
    )
    columns = only(("flight", TEXT), ("id", BIGINT))
    made = decoder(FLIGHT, columns, "Flight")
    payloads = [
        written(newer, "Flight", flight="a", id=1, new=True),
        written(newer, "Flight", flight="b", id=2, leg={"gate": 1}),
        written(newer, "Flight", flight="c", id=3, leg={"origin": "JFK"}),
    ]
    found = read(made, *payloads)
    assert rows(found) == [("a", 1), ("b", 2), ("c", 3)]
    assert found.counts.unknown == 2


def test_an_older_producer_lacks_fields_and_another_type_is_unknown():
    older = HEAD + "message Flight { string flight = 1; reserved 3; string id = 2; }"
    columns = only(("flight", TEXT), ("id", BIGINT), ("leg", JSON))
    found = read(
        decoder(FLIGHT, columns, "Flight"),
        written(older, flight="a"),
        written(older, flight="b", id="x"),
    )
    assert rows(found) == [("a", 0, None), ("b", 0, None)]
    assert found.counts.unknown == 1


def refused(text, *columns, message=None):
    with pytest.raises(CatalogProblem) as told:
        decoder(text, only(*columns), message)
    return f"{told.value.message} / {told.value.hint}"


def test_a_column_without_a_field_is_refused():
    said = refused(FLIGHT, ("flihgt", TEXT), message="Flight")
    assert "the message 't.Flight' has no field for the column 'flihgt'" in said
    assert "did you mean 'flight'?" in said
    inner = ("leg", StructOf((Field("orign", TEXT),)))
    said = refused(FLIGHT, inner, message="Flight")
    assert "the message 't.Leg' has no field for the column 'leg.orign'" in said


@pytest.mark.parametrize(
    ("column", "usual"),
    [
        (("flight", INT), "TEXT"),
        (("id", TEXT), "BIGINT"),
        (("id", ListOf(BIGINT)), "BIGINT"),
        (("leg", TEXT), "STRUCT<origin TEXT, miles INT>"),
        (("id", Timestamp()), "BIGINT"),
    ],
)
def test_a_column_of_another_type_is_refused(column, usual):
    said = refused(FLIGHT, column, message="Flight")
    assert f"the column '{column[0]}' is {column[1]}" in said
    assert f"declare it {usual}" in said


def test_lists_and_maps_of_another_type_are_refused():
    text = HEAD + "message M { repeated int32 a = 1; map<string, int32> b = 2; }"
    assert "declare it INT[]" in refused(text, ("a", INT))
    assert "declare it STRUCT<key TEXT, value INT>[]" in refused(text, ("b", JSON))


def test_no_payloads_are_no_rows():
    found = read(decoder(FLIGHT, only(("id", BIGINT)), "Flight"))
    assert found.rows.num_rows == 0
    assert found.rows.schema == pa.schema([("id", pa.int64())])


def test_text_that_is_no_utf_8_is_bad_in_either_syntax():
    columns = only(
        ("s", TEXT),
    )
    payload = b"\x0a\x02\xff\xfe"
    for syntax, label in (("proto3", ""), ("proto2", "optional ")):
        text = f'syntax = "{syntax}"; message M {{ {label}string s = 1; }}'
        found = read(decoder(text, columns), payload, b"\x0a\x01x")
        assert rows(found) == [("x",)]
        assert [number for number, _ in found.bad] == [0]
