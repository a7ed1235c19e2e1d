"""A table written back as text is the table that it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arroyo_nb.kafka.peek.create_table import tape_table_like
from arroyo_nb.session import Session

KAFKA = (
    "connector = 'kafka', bootstrap_servers = 'here:1', topic = 'o''rders', "
    "type = 'source', format = "
)


def declared(script):
    session = Session()
    session.run(script)
    return session.catalog.get("t")


@pytest.mark.parametrize(
    "columns",
    [
        "id INT",
        'id INT NOT NULL, "Odd ""name""" TEXT, "table" BIGINT[], '
        "s STRUCT<a INT, b DECIMAL(5, 2)[]>",
        "at TIMESTAMP(3) NOT NULL, WATERMARK FOR at",
        "at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1500 milliseconds'",
        "at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1 second'",
        "at TIMESTAMP NOT NULL, late BOOLEAN NOT NULL, WATERMARK FOR at AS CASE WHEN "
        "late THEN at ELSE at - INTERVAL '1 hour' END",
        "id INT, p INT METADATA FROM 'partition', twice BIGINT GENERATED ALWAYS AS "
        "(CAST(id * 2 + p AS BIGINT)) STORED",
        "ms BIGINT NOT NULL, at TIMESTAMP NOT NULL GENERATED ALWAYS AS "
        "(from_unixtime(ms * 1000000)) STORED, WATERMARK FOR at",
    ],
)
def test_columns_and_watermarks_are_written_as_they_were(columns):
    table = declared(f"CREATE TABLE t ({columns}) WITH ({KAFKA} 'json')")
    again = declared(tape_table_like(table, "it's/here"))
    assert again.connector == "tape"
    assert again.spec.options["path"] == "it's/here"
    same = replace(again, connector=table.connector)
    assert replace(same, spec=replace(same.spec, options=table.spec.options)) == table


def test_an_event_time_that_may_be_null_is_one_again():
    table = declared(
        f"CREATE TABLE t (at TIMESTAMP) WITH ({KAFKA} 'json', event_time_field = 'at')"
    )
    assert declared(tape_table_like(table, "here")).watermark == table.watermark


def test_options_of_the_format_are_written_and_no_others():
    table = declared(
        "CREATE TABLE t (id INT PRIMARY KEY) WITH (" + KAFKA + "'debezium_json', "
        "'json.confluent_schema_registry' = 'true', 'json.decimal_encoding' = 'string',"
        " bad_data = 'drop', 'auth.type' = 'sasl', 'auth.mechanism' = 'PLAIN', "
        "'auth.protocol' = 'SASL_SSL', 'auth.username' = 'u', "
        "'auth.password' = '{{ WORD }}')"
    )
    written = tape_table_like(table, "here")
    assert "auth" not in written
    of_bytes = (
        "CREATE TABLE t (id INT PRIMARY KEY) WITH (" + KAFKA + "'debezium_json'{})"
    )
    for given in ("", ", 'json.decimal_encoding' = 'bytes'"):
        text = tape_table_like(declared(of_bytes.format(given)), "here")
        assert ("decimal_encoding" in text) is bool(given)
    again = declared(written)
    for name in ("json.confluent_schema_registry", "json.decimal_encoding", "bad_data"):
        assert again.spec.options[name] == table.spec.options[name]
    assert again.spec.primary_key == ("id",)


def test_options_that_say_what_holds_anyway_are_not_written():
    options = "'json.confluent_schema_registry' = 'false', bad_data = 'fail'"
    plain, told = (
        tape_table_like(
            declared(f"CREATE TABLE t (id INT) WITH ({KAFKA} 'json'{o})"), "x"
        )
        for o in ("", f", {options}")
    )
    assert plain == told
    assert "json." not in told
    assert "bad_data" not in told
    assert "format = 'json'" in told
