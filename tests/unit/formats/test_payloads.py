"""Records that come each by itself: many at once, or one by one, to the same rows."""

from __future__ import annotations

import json
import re
from decimal import Decimal as Number

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_registry import serving

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.formats import framed, payload_format
from arroyo_nb.formats.json import payloads as _payloads
from arroyo_nb.schema import (
    BIGINT,
    BYTEA,
    DOUBLE,
    INT,
    JSON,
    TEXT,
    Decimal,
    Field,
    Schema,
    Timestamp,
)
from arroyo_nb.schema_registry.prefix import prefix

ROW = Schema((Field("id", INT, nullable=False), Field("name", TEXT)))


def decoder(name="json", schema=ROW, key=(), event_time=None, **options):
    options = {k.replace("__", "."): v for k, v in options.items()}
    return payload_format(name).payload_decoder(schema, options, event_time, key)


def read(made, *payloads):
    plain = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in payloads]
    return made.decode(pa.array(plain, pa.binary()))


def rows(found):
    return [tuple(row.values()) for row in found.rows.to_pylist()]


def test_each_payload_is_a_row():
    found = read(decoder(), {"id": 1, "name": "a"}, {"id": 2})
    assert rows(found) == [(1, "a"), (2, None)]
    assert found.numbers.to_pylist() == [0, 1]
    assert found.bad == ()


@pytest.mark.parametrize("inside", [b"\n", b"\t", b"\r", b"\x01"])
@pytest.mark.parametrize("payload", [b'{"id":1,"name":"a%sb"}', b'{"id":1,"na%sme":2}'])
def test_a_control_character_in_a_text_is_bad_data_whatever_stands_beside_it(
    payload, inside
):
    bad, good = payload % inside, {"id": 2, "name": "c"}
    for payloads in ([bad], [bad, good], [good, bad], [good] * 2000 + [bad]):
        found = read(decoder(), *payloads)
        ((number, reason),) = found.bad
        assert payloads[number] == bad
        assert "control character" in reason
        assert len(rows(found)) == len(payloads) - 1


@pytest.mark.parametrize("name", ["json", "debezium_json"])
def test_a_blank_payload_is_no_record(name):
    image = {"id": 1, "name": "a"}
    record = image if name == "json" else {"after": image, "op": "c"}
    for blank in (b"", b" ", b"\r\n\t"):
        for payloads in ([blank], [blank, record], [record, blank, record]):
            found = read(decoder(name, key=("id",)), *payloads)
            there = [n for n, p in enumerate(payloads) if p is record]
            assert (found.numbers.to_pylist(), found.bad) == (there, ())


def test_no_payloads_are_no_rows():
    assert read(decoder()).rows.num_rows == 0


def test_a_payload_of_several_lines_is_one_row():
    found = read(decoder(), b'{"id":\n 1,\n"name": "a"}', {"id": 2})
    assert rows(found) == [(1, "a"), (2, None)]


@pytest.mark.parametrize(
    "bad",
    [
        b"no",
        b'{"id": 1} {"id": 2}',
        b'{"id": 1,',
        b"[]",
        b"\xff",
        b'{"id": "x"}',
        b'{"name": "a"}',
    ],
)
def test_what_is_bad_is_told_by_its_number(bad):
    found = read(decoder(), {"id": 1}, bad, {"id": 3})
    assert found.numbers.to_pylist() == [0, 2]
    assert [number for number, _ in found.bad] == [1]
    assert "JSON" in found.bad[0][1]


def test_halves_of_an_object_are_two_bad_payloads():
    found = read(decoder(), b'{"id": 1,', b'"name": "a"}', b'{"id":', b'{"id": 1}}')
    assert found.rows.num_rows == 0
    assert [number for number, _ in found.bad] == [0, 1, 2, 3]


def test_a_large_batch_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(_payloads, "_LARGE_BYTES", 100)
    monkeypatch.setattr(_payloads, "SMALL_BYTES", 50)
    payloads = [{"id": n, "name": "x" * n} for n in range(40)]
    payloads[17] = {"id": "no"}
    found = read(decoder(), *payloads)
    assert found.numbers.to_pylist() == [n for n in range(40) if n != 17]
    assert [row[0] for row in rows(found)] == found.numbers.to_pylist()
    assert [number for number, _ in found.bad] == [17]


PAYLOADS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(st.integers(-(2**33), 2**33), st.text(max_size=3)),
            "name": st.one_of(st.none(), st.text(max_size=5), st.integers()),
            "other": st.none(),
        },
    ).map(lambda document: json.dumps(document).encode()),
    st.binary(max_size=12),
    st.sampled_from([b"null", b'{"id":1}{"id":2}', b'{"id":', b"1}", b"\n", b"NaN"]),
)


@given(st.lists(PAYLOADS, max_size=12), st.sampled_from(["plain", "wrapped"]))
def test_a_payload_is_read_alike_in_any_batch(payloads, kind):
    if kind == "wrapped":
        payloads = [b'{"schema": {}, "payload": ' + p + b"}" for p in payloads]
    made = decoder(json__include_schema=kind == "wrapped")
    found = read(made, *payloads)
    alone = [read(made, payload) for payload in payloads]
    assert rows(found) == [row for one in alone for row in rows(one)]
    assert found.numbers.to_pylist() == [
        n for n, one in enumerate(alone) if one.rows.num_rows
    ]
    assert dict(found.bad) == {
        n: one.bad[0][1] for n, one in enumerate(alone) if one.bad
    }
    blank = sum(not payload.strip(b" \t\r\n") for payload in payloads)
    assert len(found.numbers) + len(found.bad) + blank == len(payloads)


WRAPPED = {"schema": {"type": "struct"}, "payload": {"id": 1, "name": "a"}}


def test_a_row_lies_in_the_payload_beside_its_schema():
    made = decoder(json__include_schema=True)
    bare = {"id": 2}
    found = read(made, WRAPPED, {"payload": {"id": 2}}, bare, {"payload": {}}, b"[]")
    assert rows(found) == [(1, "a"), (2, None)]
    assert [number for number, _ in found.bad] == [2, 3, 4]
    assert "'payload' is missing" in found.bad[0][1]
    assert "'id' is NOT NULL and is missing" in found.bad[1][1]
    at_once = read(made, WRAPPED, WRAPPED)
    assert rows(at_once) == [(1, "a")] * 2


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("name", ["json", "debezium_json", "unstructured"])
def test_the_mark_of_utf_8_is_skipped_once_at_the_begin_of_a_payload(name):
    body = b'{"id": 1}'
    made = (
        decoder(name=name, key=("id",))
        if name != "unstructured"
        else decoder(schema=Schema((Field("value", JSON),)), json__unstructured=True)
    )
    if name == "debezium_json":
        body = b'{"op": "c", "after": {"id": 1}}'
    found = read(made, MARK + body, body, MARK, MARK + b" \n")
    assert found.rows.num_rows == 2
    assert found.counts.empty == 2
    first, second = found.rows.to_pylist()
    assert first == second
    if name != "unstructured":
        assert read(made, MARK + MARK + body).bad


def test_the_id_of_a_schema_before_a_record_is_told_as_such():
    for body in (b'{"id": 1}', b" [1]"):
        ((_, why),) = read(decoder(), b"\0\0\0\1\5" + body).bad
        assert why.startswith("invalid JSON: it begins with the id of a schema")
        assert "write 'json.confluent_schema_registry' = 'true'" in why


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_told_as_such(encoding):
    ((_, why),) = read(decoder(), '{"id": 1}'.encode(encoding)).bad
    assert why == "invalid JSON: it is UTF-16; to read it, let it be written as UTF-8"


@pytest.mark.parametrize("payload", [b'{"name": "a\tb"}', b'{"name": "a'])
def test_a_place_is_told_with_one_at(payload):
    ((_, why),) = read(decoder(), payload).bad
    assert re.fullmatch(r"invalid JSON: [a-z ]+ at column \d+", why)
    assert "at at" not in why


def priced(kind, value):
    schema = {"type": "struct", "fields": [{"field": "price", **kind}]}
    return {"schema": schema, "payload": {"price": value}}


def test_the_schema_beside_a_row_says_what_texts_of_its_decimals_are():
    schema = Schema((Field("price", Decimal(10, 2)),))
    made = payload_format("json").payload_decoder(
        schema, {"json.include_schema": True, "json.decimal_encoding": "number"}, None
    )
    of_bytes = {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2"},
    }
    text, bytes_ = priced({"type": "string"}, "1999"), priced(of_bytes, "1999")
    assert rows(read(made, text, bytes_)) == [(Number(1999),), (Number("-26297.63"),)]
    assert rows(read(made, *[bytes_] * 300)) == [(Number("-26297.63"),)] * 300
    assert rows(read(made, *[text] * 300)) == [(Number(1999),)] * 300


def test_the_number_of_a_schema_is_passed_over():
    made = decoder(json__confluent_schema_registry=True)
    framed = b"\0\0\0\0\x07" + b'{"id": 1}'
    found = read(made, framed, b'{"id": 2}', b"\0\0", framed, b"\0\0\0\0\x07no")
    assert rows(found) == [(1, None), (1, None)]
    assert found.numbers.to_pylist() == [0, 3]
    told = dict(found.bad)
    assert set(told) == {1, 2, 4}
    assert "the number of a schema" in told[1]
    assert "invalid JSON" in told[4]


def test_the_number_of_a_schema_is_looked_up_where_there_is_a_registry():
    with serving() as (url, registry):
        good, other = registry.add("{}", "JSON"), registry.add('"int"')
        given = {"schema_registry__endpoint": url}
        made = decoder(json__confluent_schema_registry=True, **given)
        payloads = [prefix(number) + b'{"id": 1}' for number in (good, other, 9, good)]
        found = read(made, *payloads, prefix(good) + b"no")
        asked = len(registry.asked)
        assert rows(read(made, payloads[0])) == [(1, None)]
        assert len(registry.asked) == asked
    assert rows(found) == [(1, None), (1, None)]
    assert found.numbers.to_pylist() == [0, 3]
    told = dict(found.bad)
    assert told[1].endswith("is AVRO, and not JSON")
    assert told[2].endswith("knows no schema 9")
    assert "invalid JSON" in told[4]


def test_a_text_is_the_value():
    value = Schema((Field("value", TEXT),))
    found = read(decoder("raw_string", value), b"a\nb", b"", "é".encode())
    assert rows(found) == [("a\nb",), ("",), ("é",)]
    found = read(decoder("raw_string", value), b"a", b"\xff", b"b")
    assert rows(found) == [("a",), ("b",)]
    assert found.numbers.to_pylist() == [0, 2]
    assert found.bad == ((1, "not UTF-8 at byte 1"),)


def test_bytes_are_the_value():
    value = Schema((Field("value", BYTEA),))
    found = read(decoder("raw_bytes", value), b"\xff\0", b"")
    assert rows(found) == [(b"\xff\0",), (b"",)]


@pytest.mark.parametrize(
    ("name", "columns", "fits"),
    [
        ("raw_string", (Field("value", TEXT),), True),
        ("raw_string", (Field("value", TEXT, nullable=False),), True),
        ("raw_string", (Field("text", TEXT),), False),
        ("raw_string", (Field("value", BYTEA),), False),
        ("raw_bytes", (Field("value", BYTEA), Field("n", INT)), False),
        ("raw_bytes", (Field("value", BYTEA),), True),
        ("json", (Field("value", DOUBLE),), True),
    ],
)
def test_raw_formats_have_one_column(name, columns, fits):
    problem = payload_format(name).column_problem(Schema(columns), {})
    assert (problem is None) == fits
    assert fits or problem[0] == "format"
    assert fits or "requires a schema with a single field called `value`" in problem[1]


ACCOUNT = Schema((Field("id", BIGINT), Field("at", Timestamp(3))))


def change(op, before=None, after=None):
    return {"before": before, "after": after, "op": op, "source": {"x": 1}}


def test_changes_are_told_with_their_weights_and_numbers():
    first, second = {"id": 1, "at": 1000}, {"id": 1, "at": 2000}
    found = read(
        decoder("debezium_json", ACCOUNT, ("id",)),
        change("c", after=first),
        b"null",
        {"schema": {}, "payload": change("u", first, second)},
        change("x"),
        change("d", second),
    )
    assert found.numbers.to_pylist() == [0, 2, 2, 4]
    assert found.rows[WEIGHT].to_pylist() == [1, -1, 1, -1]
    assert found.rows.column_names == ["id", "at", WEIGHT]
    assert [number for number, _ in found.bad] == [3]
    assert "unexpected op value 'x'" in found.bad[0][1]


def lines(*payloads, longest=None, **options):
    given = {"framing": "newline"}
    if longest is not None:
        given["framing.newline.max_length"] = longest
    return read(framed(decoder(**options), given), *payloads)


def test_a_payload_of_lines_holds_a_record_a_line() -> None:
    found = lines(b'{"id": 1}\n{"id": 2}\r\n\n', b"", b'{"id": 3}', b"\n")
    assert [row[0] for row in rows(found)] == [1, 2, 3]
    assert found.numbers.to_pylist() == [0, 0, 2]
    assert found.bad == ()


def test_a_bad_line_is_told_with_its_payload_and_the_others_are_read() -> None:
    found = lines(b'{"id": 1}', b'{"id": 2}\n{"id": "x"}\n{"id": 4}', b"\xff\n{}")
    assert [row[0] for row in rows(found)] == [1, 2, 4]
    assert found.numbers.to_pylist() == [0, 1, 1]
    assert [number for number, _ in found.bad] == [1, 2, 2]


def test_a_long_line_is_cut_off() -> None:
    value = Schema((Field("value", TEXT),))
    found = lines(b"abcdef\nab\r\nabc", name="raw_string", schema=value, longest=3)
    assert rows(found) == [("abc",), ("ab",), ("abc",)]


def test_without_framing_a_payload_is_one_record() -> None:
    value = Schema((Field("value", TEXT),))
    made = framed(decoder("raw_string", value), {})
    assert rows(read(made, b"a\nb")) == [("a\nb",)]
