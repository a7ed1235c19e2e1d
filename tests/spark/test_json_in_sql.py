"""The reader of JSON in Spark's expressions, against the exact one."""

from __future__ import annotations

import json
from codecs import BOM_UTF8

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from arroyo_nb.codecs.sql_decoder import PAYLOAD, SqlDecoder
from arroyo_nb.engine.query_settings import query_settings
from arroyo_nb.formats import payload_format
from arroyo_nb.formats.json.strict import BadRecord, RecordReader
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    JSON,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Primitive,
    Schema,
    StructOf,
    Timestamp,
    arrow_schema,
)
from arroyo_nb.spark.state_config import REAL_TIME

TYPES = (
    *(BOOLEAN, TEXT, BIGINT, BIGINT_UNSIGNED, Primitive("TINYINT"), DOUBLE, FLOAT),
    *(Decimal(6, 2), Decimal(38, 0), Decimal(38, 10), Decimal(5, 5), DATE),
    *(Timestamp(), Timestamp(0), Timestamp(3), Timestamp(6)),
)
COLUMNS = tuple(Field(f"c{n}", type_) for n, type_ in enumerate(TYPES))
SCHEMA = Schema((*COLUMNS, Field("it's `", TEXT, nullable=False)))


NO_RECORD = ("no record", None)
"""What a payload of blanks is."""


def read_in_sql(engine, payloads, schema=SCHEMA, event_time=None, options=None):
    """Each payload's record, or why there is none."""
    decoder = payload_format("json").sql_decoder(schema, options or {}, event_time)
    assert isinstance(decoder, SqlDecoder)

    def run():
        spark = engine.session
        rows = [(number, bytearray(text)) for number, text in enumerate(payloads)]
        frame = spark.createDataFrame(rows, f"n int, {PAYLOAD} binary")
        values = (f"{value} AS v{n}" for n, value in enumerate(decoder.values))
        with query_settings(spark, REAL_TIME):
            frame = decoder.over(frame).selectExpr(
                "n", *values, f"{decoder.problem} AS why"
            )
            return frame.toArrow().sort_by("n")

    found = engine.worker.call(run)
    values = pa.table(found.columns[1:-1], names=list(schema.names))
    values = values.cast(pa.schema(map(naive, values.schema)))
    read = zip(values.to_pylist(), found["why"].to_pylist(), strict=True)
    records = dict(zip(found["n"].to_pylist(), read, strict=True))
    return [records.get(number, NO_RECORD) for number in range(len(payloads))]


def naive(field):
    type_ = pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
    return pa.field(field.name, type_)


def read_exactly(payload, schema=SCHEMA, event_time=None):
    reader = RecordReader(schema, event_time)
    try:
        record = reader.read(payload.removeprefix(BOM_UTF8))
    except BadRecord as problem:
        return None, str(problem)
    if record is None:
        return NO_RECORD
    rows = reader.table([record])
    held = [
        pa.field(f.name, pa.decimal128(20, 0) if f.type == pa.uint64() else f.type)
        for f in arrow_schema(schema)
    ]
    return rows.cast(pa.schema(held)).to_pylist()[0], None


def assert_alike(engine, payloads, **given):
    found = read_in_sql(engine, payloads, **given)
    unlike = []
    for payload, (values, why) in zip(payloads, found, strict=True):
        wanted, problem = read_exactly(payload, **given)
        same = values == wanted if problem is None else why is not None
        if not same or (why is None) != (problem is None):
            unlike.append((payload, why or values, problem or wanted))
    assert not unlike


numbers = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-300, 300).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(("1e2", "1.50e1", "-1E3", "1e400", "2.0", "0.000010", "1.5e-7")),
)
clocks = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(("2024-02-29", "2023-02-29", "0000-01-01", "9999-12-31", "1-1-1")),
    st.sampled_from(("T", " ", "t", "  ")),
    st.sampled_from(("00:00:00", "23:59:59", "24:00:00", "12:30")),
    st.sampled_from(("", ".5", ".123456789", ".")),
    st.sampled_from(("", "Z", "z", "+02:00", "-0930", "+2")),
)
days = st.sampled_from(("2024-02-29", "2023-02-29", "0000-01-01", "2024-1-1", "x"))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = st.one_of(
    numbers,
    st.one_of(clocks, days, texts, numbers).map(json.dumps),
    st.sampled_from(("true", "false", "null", '"true"', "[1]", '{"a": 1}', "[]")),
)


@st.composite
def records(draw):
    """An object that has a column or two, and what else is needed."""
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2))
    members = [f'"{field.name}": {draw(values)}' for field in names]
    members.append(draw(st.sampled_from((*['"it\'s `": "x"'] * 9, '"y": 1'))))
    return ("{" + ", ".join(members) + "}").encode()


@given(st.lists(records(), min_size=100, max_size=100))
@settings(max_examples=6, phases=[Phase.generate])  # each record is small
def test_records_are_read_as_by_the_exact_reader(engine, payloads):
    assert_alike(engine, payloads)


@pytest.mark.parametrize("field", COLUMNS, ids=lambda field: str(field.type))
def test_values_of_a_type_are_read_as_by_the_exact_reader(engine, field):
    found = (
        *("null", "true", '"true"', '""', '" 1"', "[1]", "{}", '"a\\n"', '"a\\u00e9"'),
        *("0", "1", "-1", '"1"', '"01"', '"+1"', "127", "128", "-129", "1.5", "1.0"),
        *("255", "256", "18446744073709551615", "18446744073709551616", "1e18"),
        *("9223372036854775807", "9223372036854775808", "-9223372036854775808"),
        *("99999999999999999999999999999999999999", "1e400", '"1e400"', '"1e2"', "1e2"),
        *("9999.99", "10000", "0.005", "0.00001", "0.999995", "1.10", '"1.10"'),
        *("1.0000000000000000000001", "0.1", "3.4e38", "3.5e38", "16777217", "1e-50"),
        *('"NaN"', '"Infinity"', '"2024-02-29"', '"2024-02-30"', '"0000-01-01"'),
        *("19000", "-719162", "-719163", "2932896", "2932897", "1.7e9"),
        *("1700000000", "1700000000123", "1700000000123456", "1700000000123456789"),
        *("-1", "-999", "-1000", "253402300799", "253402300800", "-62135596801"),
        *('"2024-02-29T12:30:00"', '"2024-02-29 12:30:00.5Z"', '"2024-02-29"'),
        *('"2024-02-29T12:30:00.123456789+05:30"', '"2024-02-29t12:30:00z"'),
        *('"9999-12-31T23:59:59.999999"', '"9999-12-31T23:59:59-01:00"'),
        *('"0001-01-01T00:00:00"', '"0001-01-01T00:00:00+01:00"', '"12:30:00"'),
        *("12345678901234567.89e0", "1234567890123456789e0", "9007199254740993e0"),
        *("123456789012345678901e-5", '"100000000000000000000.12345678901e0"'),
        *("4503599627370497.5e0", "1.00000000000000000001e0", "1e-400", "0e-5", "-0.0"),
        *("9007199254740991.4e0", '"9007199254740993e0"', "1E+3", "12300e-2"),
        *(
            "1e99999999999",
            "1e22",
            "1E22",
            "-1.5e27",
            "1e28",
            "9.99e37",
            "1e999999999",
            '"1e999999999"',
            "1e-999999999",
        ),
        '"1e-9223372036854775808"',
        *('"2024-02-29T12:30:00+00"', '"2024-02-29 12:30:00.5-03"', '"2024-02-29Z"'),
        *('"2024-02-29T12:30:60"', '"2024-02-29T12:30"', '"2024-02-29T12:30:00 "'),
    )
    schema = Schema((field,))
    payloads = [f'{{"{field.name}": {text}}}'.encode() for text in found]
    # The last places of what is written with an exponent are rounded away.
    rounded = (b"1.00000000000000000001e0", b"1e-400")
    payloads = [p for p in payloads if not any(number in p for number in rounded)]
    timed = isinstance(field.type, Timestamp)
    for event_time in (None, field.name) if timed else (None,):
        assert_alike(engine, payloads, schema=schema, event_time=event_time)


def test_what_is_no_record_is_bad(engine):
    member = b'"it\'s `": "x"'
    payloads = [
        *(b"", b" ", b"null", b"3", b"[]", b"\xff", b'{"a": "\xff"}', b"{"),
        *(b"{" + member, b"{" + member + b"} x", b"{" + member + b"}]"),
        *(b"{" + member + b"}}", b"{" + member + b"},", b"{" + member + b"}, {}]"),
        *(b"{" + member + b"},{" + member + b"}", b"{" + member + b'}, "a": {}}'),
        *(
            b"\xef\xbb\xbf{" + member + b"}",
            b"{'a': 1}",
            b'{"a": NaN, ' + member + b"}",
        ),
        *(b'{"a": 01, ' + member + b"}", b'{"a": 1,}', b'{"c0": true}', b'{"c0" true}'),
        *(b" {" + member + b"}\n", b'{"c2": 1, "c2": 2, ' + member + b"}"),
        b'{"deep": ' + b"[" * 200 + b"]" * 200 + b", " + member + b"}",
    ]
    assert_alike(engine, payloads)
    for payload, (_, why) in zip(payloads, read_in_sql(engine, payloads), strict=True):
        assert why is None or "JSON" in why, payload


def test_why_a_record_is_bad(engine):
    schema = Schema((Field("a", BIGINT, nullable=False), Field("t", Timestamp())))
    found = read_in_sql(
        engine,
        [
            b'{"a": "x' + b"y" * 99 + b'", "t": 1}',
            *(b'{"t": 1}', b'{"a": null}', b'{"a": 1}', b"[1]"),
        ],
        schema=schema,
        event_time="t",
    )
    said = "JSON does not match schema: "
    assert [why for _, why in found] == [
        said + "'a' is BIGINT, found \"x" + "y" * 58,
        said + "'a' is NOT NULL and is missing",
        said + "'a' is NOT NULL and is null",
        said + "the event time 't' is missing",
        said + "a record is an object, found [1]",
    ]


@pytest.mark.parametrize(
    ("type_", "options", "why"),
    [
        (JSON, {}, "'x' is JSON"),
        (ListOf(TEXT), {}, "'x' is TEXT[]"),
        (StructOf((Field("y", TEXT),)), {}, "'x' is STRUCT<y TEXT>"),
        (Decimal(5, 2), {"json.decimal_encoding": "bytes"}, "'x' is DECIMAL(5, 2)"),
        (TEXT, {"json.include_schema": True}, "'json.include_schema' is set"),
    ],
    ids=str,
)
def test_what_is_read_in_python_only_is_told(type_, options, why):
    schema = Schema((Field("x", type_),))
    assert payload_format("json").sql_decoder(schema, options, None) == why
