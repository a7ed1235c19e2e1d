"""What a sample of records is taken for, and the table that is made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arroyo_nb.kafka.guess import Guess, create_table, guess
from arroyo_nb.schema import TEXT, Field
from arroyo_nb.source import Source
from arroyo_nb.sql.parse import parse_all


def of(*documents: Any, keys: tuple[bytes | None, ...] = ()) -> Guess:
    return guess([json.dumps(document).encode() for document in documents], keys)


def columns(*documents: Any) -> list[str]:
    return [str(field) for field in of(*documents).fields]


@pytest.mark.parametrize(
    ("values", "format_"),
    [
        ([b'{"a": 1}', None, b"{}"], "json"),
        ([b'{"a": 1}', b"[1]"], "raw_string"),
        ([b'{"a": 1'], "raw_string"),
        ([b"hello", "straße".encode()], "raw_string"),
        ([b"hello", b"\xff\xfe"], "raw_bytes"),
        ([b"hel\0lo"], "raw_bytes"),
        ([None, None], "raw_bytes"),
        ([], "raw_bytes"),
        ([b"[" * 100_000], "raw_string"),
        ([b'{"op": "c", "before": null, "after": {"a": 1}}'], "debezium_json"),
        ([b'{"op": "c", "price": 1}'], "json"),
        ([b"\0\0\0\0\x07\x02\x04ab"], "avro"),
    ],
)
def test_the_format(values: list[bytes | None], format_: str) -> None:
    assert guess(values).format == format_


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, 2, None], "BIGINT"),
        ([1, 2.5], "DOUBLE"),
        ([True], "BOOLEAN"),
        ([True, 1], "JSON"),
        ([2**63], "JSON"),
        (["a", "2024-01-01"], "TEXT"),
        (["2024-01-01T10:00:00Z", "2024-01-01 10:00:00.123456789"], "TIMESTAMP"),
        (["2024-01-01T10:00:00Z", "soon"], "TEXT"),
        (["2024-13-01T10:00:00Z"], "TEXT"),
        ([1, "a"], "JSON"),
        ([None], "JSON"),
        ([[1], [], [2.5]], "DOUBLE[]"),
        ([[]], "JSON"),
        ([[1, "a"]], "JSON"),
        ([{"a": 1}, {"a": None, "b": "x"}], "STRUCT<a BIGINT, b TEXT>"),
        ([{"a": {"b": [1]}}], "STRUCT<a STRUCT<b BIGINT[]>>"),
        ([{"a": 1}, {"a": "x"}], "JSON"),
        ([{"a": None}], "JSON"),
        ([{}], "JSON"),
        ([{"odd name": 1}], "JSON"),
        ([{"a": 1}, 1], "JSON"),
    ],
)
def test_the_type_of_a_column(values: list[Any], type_: str) -> None:
    assert columns(*({"c": value} for value in values)) == [f"c {type_}"]


def test_columns_come_in_the_order_in_which_they_are_first_seen() -> None:
    found = columns({"b": 1}, {"a": "x", "b": 2})
    assert found == ["b BIGINT", "a TEXT"]


def test_a_name_that_no_column_may_have_is_left_out() -> None:
    assert columns({"_timestamp": 1, "": 2, "a": 3}) == ["a BIGINT"]


def test_a_changelog_has_the_columns_of_its_rows_and_the_key_of_its_records() -> None:
    found = of(
        {"op": "u", "before": {"id": 1, "n": None}, "after": {"id": 1, "n": 2}},
        {"op": "d", "before": {"id": 1, "n": 2}, "after": None},
        keys=(b'{"id": 1}', None),
    )
    assert [str(field) for field in found.fields] == ["id BIGINT", "n BIGINT"]
    assert found.key == {"id"}
    assert found.options == {}


def test_what_kafka_connect_writes_with_its_schema() -> None:
    change = {"op": "c", "before": None, "after": {"id": 1}}
    found = of({"schema": {}, "payload": change})
    assert (found.format, len(found.fields)) == ("debezium_json", 1)
    assert found.options == {"json.include_schema": "true"}


def test_what_a_registry_has_the_schema_of() -> None:
    found = guess([b'\0\0\0\0\x07{"a": 1}'])
    assert [str(field) for field in found.fields] == ["a BIGINT"]
    assert found.options == {"json.confluent_schema_registry": "true"}


NAMES = ("id", "userId", "odd name", 'a"b', "select", "watermark", "primary", "date",
         "straße", "1st", "end", "it's", "order", "metadata", "generated")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_is_one_and_declares_what_was_found(name: str) -> None:
    found = Guess("json", (Field(name, TEXT), Field("other", TEXT)))
    text = create_table("127.0.0.1:9092", name, found)
    parsed = parse_all(Source(text, "<cell>"))
    (statement,) = parsed.statements
    columns = statement.expression.this.expressions
    assert [column.name for column in columns] == [name, "other"]


def test_the_statement() -> None:
    found = of({"id": 1, "at": "2024-01-01T10:00:00Z"})
    assert create_table("127.0.0.1:9092", "shop.Orders", found) == (
        "CREATE TABLE shop_orders (\n"
        "    id BIGINT,\n"
        "    at TIMESTAMP\n"
        ") WITH (\n"
        "    connector = 'kafka',\n"
        "    bootstrap_servers = '127.0.0.1:9092',\n"
        "    topic = 'shop.Orders',\n"
        "    type = 'source',\n"
        "    'source.offset' = 'earliest',\n"
        "    format = 'json'\n"
        ");"
    )


def test_the_statement_of_a_changelog_names_its_key() -> None:
    change = {"op": "c", "before": None, "after": {"id": 1}}
    text = create_table("h:1", "1-t", of(change, keys=(b'{"id": 1}',)))
    assert text.startswith("CREATE TABLE _1_t (\n    id BIGINT NOT NULL PRIMARY KEY\n)")
