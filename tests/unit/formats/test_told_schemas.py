"""What a record tells of its own schema."""

from __future__ import annotations

from arroyo_nb.formats.json.schema_export import changed, connect_schema, json_schema
from arroyo_nb.schema import (
    BIGINT,
    BYTEA,
    DATE,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
)

ROW = Schema(
    (
        Field("n", BIGINT, nullable=False),
        Field("at", Timestamp(3)),
        Field("price", Decimal(9, 2)),
        Field("tags", ListOf(TEXT)),
        Field("place", StructOf((Field("b", BYTEA),))),
        Field("day", DATE),
        Field("any", JSON),
    )
)
AS_NUMBERS = {
    "json.timestamp_format": "unix_millis",
    "json.decimal_encoding": "bytes",
}


def types(told):
    return {field["field"]: field["type"] for field in told["fields"]}


def test_a_row_in_the_words_of_connect():
    told = connect_schema(ROW, {})
    assert (told["type"], told["name"], told["optional"]) == (
        *("struct", "ArroyoJson"),
        False,
    )
    assert types(told) == {
        "n": "int64",
        "at": "string",
        "price": "double",
        "tags": "array",
        "place": "struct",
        "day": "string",
        "any": "string",
    }
    assert [field["optional"] for field in told["fields"]] == [False] + 6 * [True]
    assert told["fields"][3]["items"] == {"type": "string", "optional": True}
    assert types(told["fields"][4]) == {"b": "bytes"}


def test_times_and_decimals_as_they_are_written():
    _, at, price, *_ = connect_schema(ROW, AS_NUMBERS)["fields"]
    assert (at["type"], at["name"]) == (
        "int64",
        "org.apache.kafka.connect.data.Timestamp",
    )
    assert price["name"] == "org.apache.kafka.connect.data.Decimal"
    assert price["parameters"] == {"scale": "2"}


def test_a_row_as_json_schema():
    told = json_schema(ROW, {})
    assert told["required"] == list(ROW.names)
    members = told["properties"]
    assert members["n"] == {"type": "integer"}
    assert members["at"] == {"oneOf": [{"type": "null"}, {"type": "string"}]}
    assert members["price"]["oneOf"][1] == {"type": "number"}
    assert members["any"] == {}
    numbers = json_schema(ROW, AS_NUMBERS)["properties"]
    assert numbers["at"]["oneOf"][1] == {"type": "integer"}
    assert numbers["price"]["oneOf"][1] == {"type": "string"}


def test_a_change_has_two_rows_and_an_op():
    assert types(connect_schema(changed(ROW), {})) == {
        "before": "struct",
        "after": "struct",
        "op": "string",
    }
