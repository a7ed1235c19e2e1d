"""Rows of Python as payloads: what is written is read back as it was."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal as Number10

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.json.payload_writer import (
    json_text,
    plain_payload,
)
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    TEXT,
    TIME,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
)

NOON = datetime(2024, 1, 1, 12, 0, 0, 123_456)


def writer(*fields, format_="json", read=True, **options):
    made = payload_format(format_)
    options = {name.replace("__", "."): value for name, value in options.items()}
    defaults = {o.name: o.default for o in (*made.options, *made.payload_options)}
    given = {"format": format_, **defaults, **options}
    schema = Schema(fields)
    return made.payload_writer("t", schema, given, read=read), schema, given


def read_back(made, rows, key=()):
    write, schema, options = made
    payloads = pa.array(write(rows), pa.binary())
    decoder = payload_format(options["format"]).payload_decoder(
        schema, options, None, key
    )
    found = decoder.decode(payloads)
    assert found.bad == ()
    return [
        {name: row[name] for name in schema.names} for row in found.rows.to_pylist()
    ]


COLUMNS = (
    Field("id", BIGINT, nullable=False),
    Field("odd \"name'", TEXT),
    Field("x", DOUBLE),
    Field("f", FLOAT),
    Field("yes", BOOLEAN),
    Field("day", DATE),
    Field("at", Timestamp(3)),
    Field("price", Decimal(38, 5)),
    Field("list", ListOf(ListOf(INT))),
    Field("inner", StructOf((Field("a", TEXT), Field("at", Timestamp())))),
    Field("any", JSON),
)
ROWS = (
    {"id": 2**63 - 1, "odd \"name'": 'é"\\\n\x00\u2028', "x": 0.1, "f": 0.5,
     "yes": True, "day": date(1969, 2, 3), "at": NOON.replace(microsecond=120_000),
     "price": Number10("-1234567890123456789012345.12345"), "list": [[1, None], None],
     "inner": {"a": "x", "at": NOON}, "any": '{"k":[1.50,null]}'},
    {"id": -1, "odd \"name'": None, "x": 1e300, "f": None, "yes": False, "day": None,
     "at": None, "price": None, "list": [], "inner": {"a": None, "at": None},
     "any": None},
)  # fmt: skip


@pytest.mark.parametrize("format_", ["json", "debezium_json"])
@pytest.mark.parametrize("decimals", ["number", "string", "bytes"])
@pytest.mark.parametrize("times", ["RFC3339", "unix_millis"])
def test_what_is_written_is_read_back(format_, decimals, times):
    options = {"json__decimal_encoding": decimals, "json__timestamp_format": times}
    made = writer(*COLUMNS, format_=format_, **options)
    assert read_back(made, ROWS, ("id",)) == list(ROWS)


def test_a_sink_writes_milliseconds():
    options = {"json__timestamp_format": "unix_millis", "read": False}
    write, *_ = writer(Field("at", Timestamp()), **options)
    assert write([{"at": NOON}]) == [b'{"at":1704110400123}']


@pytest.mark.parametrize(
    ("format_", "value", "expected"),
    [("raw_string", "é", "é".encode()), ("raw_bytes", b"\xff\0", b"\xff\0")],
)
def test_a_raw_value_is_the_record(format_, value, expected):
    type_ = TEXT if format_ == "raw_string" else BYTEA
    write, *_ = writer(Field("value", type_), format_=format_)
    assert write([{"value": value}]) == [expected]
    with pytest.raises(RunProblem, match="it is NULL in a row"):
        write([{}])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"id": 1, "nmae": "x"},
            "no column 'nmae' to be written\n  hint: did you mean",
        ),
        ({"name": "x"}, "the column 'id' of 't' is NOT NULL, and a row has none"),
        ({"id": "x"}, "the column 'id' of 't' is INT: "),
        ({"id": 2**31}, "the column 'id' of 't' is INT: "),
        ({"id": 1, "any": "{no"}, "a text for a column of JSON is invalid JSON: "),
    ],
)
def test_a_row_that_does_not_fit_is_refused(row, said):
    fields = (Field("id", INT, nullable=False), Field("name", TEXT), Field("any", JSON))
    write, *_ = writer(*fields)
    with pytest.raises(RunProblem) as told:
        write([{"id": 1}, row])
    assert said in str(told.value)


@pytest.mark.parametrize(
    "option", ["json__confluent_schema_registry", "json__include_schema"]
)
def test_what_cannot_be_written_is_refused_by_name(option):
    with pytest.raises(RunProblem, match=option.replace("__", ".")):
        writer(Field("id", INT), **{option: True})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), "null"),
        (1e16, "1.0e16"),
        (2.0, "2.0"),
        (Number10("1.50"), "1.50"),
        (Number10("1E+3"), "1000"),
        (Number10("NaN"), "null"),
        (NOON, '"2024-01-01T12:00:00.123456"'),
        (NOON.replace(microsecond=5000), '"2024-01-01T12:00:00.005"'),
        (datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
         '"2024-01-01T10:00:00"'),
        (datetime(1, 1, 1, tzinfo=UTC), '"0001-01-01T00:00:00"'),
        (time(1, 2, 3), '"01:02:03"'),
        (date(2024, 1, 1), '"2024-01-01"'),
        (b"\xff", '"/w=="'),
        (np.int64(5), "5"),
        (np.array([1.5, np.nan]), "[1.5,null]"),
        (pd.Timestamp(NOON), '"2024-01-01T12:00:00.123456"'),
        (pd.NaT, "null"),
        (pd.NA, "null"),
        ((1, None), "[1,null]"),
        ({1: True, 'q"': {}}, '{"1":true,"q\\"":{}}'),
    ],
)  # fmt: skip
def test_a_value_is_written_by_its_own_type(value, text):
    assert json_text(value) == text
    json.loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3536.0, "3536.0"),
        (-0.0, "-0.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0e7"),
        (1.77e12, "1.77e12"),
        (-2.5e300, "-2.5e300"),
        (0.001, "0.001"),
        (9.9e-4, "9.9e-4"),
        ("\x1f\\u001f", r'"\u001F\\u001f"'),
    ],
)
def test_what_spark_writes_is_written(value, text):
    assert json_text(value) == text


def test_what_has_no_form_is_refused():
    with pytest.raises(RunProblem, match="a object has no form in JSON"):
        plain_payload({"a": object()})


def test_texts_and_bytes_are_payloads_as_they_are():
    assert [plain_payload(row) for row in ("é", b"\0")] == ["é".encode(), b"\0"]


def test_a_time_column_is_a_text():
    write, *_ = writer(Field("t", TIME))
    assert write([{"t": time(1, 2, 3, 500_000)}]) == [b'{"t":"01:02:03.500"}']
