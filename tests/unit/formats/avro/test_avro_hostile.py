"""Bytes that are no records: bad data with a reason, soon, and in little memory."""

from __future__ import annotations

import json
import random
import struct
import time
import tracemalloc
import zlib

import pytest
from avro_records import (
    REGISTRY,
    SYNC,
    UNSTRUCTURED,
    container,
    datum,
    decoder,
    read,
    record,
    rows,
)
from machine import allowed
from schema_registry import serving

from arroyo_nb.formats.avro import budget
from arroyo_nb.formats.avro.schema import SchemaFault, parse_schema
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
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
    Timestamp,
)
from arroyo_nb.schema_registry.prefix import prefix

HOSTILE, WITHIN_S, WITHIN_BYTES = 10_000, 60, 256 * 2**20

FLAT = record(
    id="long",
    name=["null", "string"],
    price={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    at={"type": "long", "logicalType": "timestamp-micros"},
    kind={"type": "enum", "name": "E", "symbols": ["A", "B"]},
    share="double",
)
NESTED = record(
    id="long",
    tags={"type": "array", "items": ["null", "string"]},
    more={"type": "map", "values": {"type": "array", "items": "long"}},
    next=["null", "R"],
)
FLAT_COLUMNS = {
    "id": BIGINT,
    "name": TEXT,
    "price": Decimal(9, 2),
    "at": Timestamp(),
    "kind": TEXT,
    "share": DOUBLE,
}
NESTED_COLUMNS = {"id": BIGINT, "tags": ListOf(TEXT), "more": JSON}


def flat(number):
    from datetime import UTC, datetime
    from decimal import Decimal as Number10

    return datum(
        FLAT,
        {
            "id": number,
            "name": f"name {number}",
            "price": Number10(number).scaleb(-2),
            "at": datetime(2024, 1, 1, tzinfo=UTC),
            "kind": "AB"[number % 2],
            "share": number / 7,
        },
    )


def nested(number):
    inner = {"id": 1, "tags": [], "more": {}, "next": None}
    value = {
        "id": number,
        "tags": [None, "x" * (number % 50)],
        "more": {"a": [1, 2, 3]},
        "next": {**inner, "next": inner},
    }
    return datum(NESTED, value)


def long(number):
    return datum("long", number)


def damaged(payload, chance):
    """A payload that something has happened to."""
    kind = chance.randrange(6)
    at = chance.randrange(len(payload) + 1)
    huge = long(chance.choice([2**31, 2**62, -(2**62), -1, 2**40]))
    match kind:
        case 0:
            return payload[:at]
        case 1:
            return payload + chance.randbytes(chance.randrange(1, 40))
        case 2:
            flipped = bytearray(payload)
            for _ in range(chance.randrange(1, 5)):
                flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 3:
            return payload[:at] + huge + payload[at:]
        case 4:
            return payload[:at] + b"\xff" * chance.randrange(1, 30) + payload[at:]
        case _:
            return chance.randbytes(chance.randrange(60))


@pytest.mark.parametrize(
    ("make", "schema", "columns"),
    [(flat, FLAT, FLAT_COLUMNS), (nested, NESTED, NESTED_COLUMNS)],
)
def test_damaged_payloads_are_bad_and_the_sound_ones_are_not(make, schema, columns):
    chance = random.Random(7)
    payloads, sound = [], []
    for number in range(HOSTILE):
        payload = make(number)
        if number % 4 == 0:
            sound.append(number)
        else:
            payload = damaged(payload, chance)
        payloads.append(payload)
    made = decoder(columns, schema)
    tracemalloc.start()
    begun = time.monotonic()
    found = read(made, *payloads)
    taken_s, (_, peak) = time.monotonic() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken_s < allowed(WITHIN_S)
    assert peak < WITHIN_BYTES
    told = dict(found.bad)
    assert not told.keys() & set(sound)
    read_ = found.numbers.to_pylist()
    assert {*read_} >= set(sound)
    assert sorted([*told, *read_]) == [*range(HOSTILE)]
    assert len(told) > HOSTILE / 2
    assert all(told.values())
    ids = dict(zip(read_, found.rows["id"].to_pylist(), strict=True))
    assert [ids[number] for number in sound] == sound
    found.rows.validate(full=True)


def test_a_payload_is_read_alike_alone_and_among_others():
    chance = random.Random(8)
    payloads = [damaged(flat(number), chance) for number in range(500)]
    made = decoder(FLAT_COLUMNS, FLAT)
    together = read(made, *payloads)
    expected, reasons = [], {}
    for number, payload in enumerate(payloads):
        alone = read(made, payload)
        expected += rows(alone)
        reasons.update((number, why) for _, why in alone.bad)
    assert str(rows(together)) == str(expected)  # NaN is not itself
    assert dict(together.bad) == reasons


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


SIXTEEN = {"type": "fixed", "name": "D", "size": 16}
MANY_TYPES = {
    "small": ("int", SMALLINT),
    "fewer": ("long", INT),
    "whole": ("long", BIGINT_UNSIGNED),
    "single": ("double", FLOAT),
    "ratio": ("long", DOUBLE),
    "date": (logical("int", "date"), DATE),
    "midnight": (logical("int", "date"), Timestamp()),
    "millis": (logical("int", "time-millis"), TIME),
    "micros": (logical("long", "time-micros"), TIME),
    "nanos": (logical("long", "timestamp-nanos"), Timestamp()),
    "local": (logical("long", "local-timestamp-millis"), Timestamp()),
    "seconds": ("long", Timestamp(0)),
    "text": ("bytes", TEXT),
    "wide": (logical("bytes", "decimal", precision=38, scale=2), Decimal(38, 2)),
    "narrow": (logical("bytes", "decimal", precision=38, scale=2), Decimal(4, 2)),
    "fixed": ({**logical("fixed", "decimal", precision=38), **SIXTEEN}, Decimal(38, 0)),
}


@pytest.mark.parametrize("optional", [False, True])
def test_both_readers_agree_on_random_bytes_of_many_types(optional):
    chance = random.Random(11)
    for name, (avro, type_) in MANY_TYPES.items():
        schema = record(v=["null", avro] if optional else avro, id="long")
        columns = [Field("v", type_, nullable=optional), Field("id", BIGINT)]
        made, exact = decoder(columns, schema), decoder(columns, schema)
        assert made._reader._blocks is not None
        exact._reader._blocks = None
        payloads = []
        for _ in range(400):
            size = chance.randrange(18)
            value = chance.choice(
                [
                    datum("long", chance.getrandbits(chance.randrange(1, 64))),
                    datum("long", -chance.getrandbits(chance.randrange(1, 64))),
                    datum("bytes", chance.randbytes(size)),
                    datum("bytes", bytes([chance.choice([0, 255])] * 4 + [size])),
                    chance.randbytes(chance.choice([4, 8, 16, size])),
                    struct.pack("<d", chance.uniform(-1e39, 1e39)),
                ]
            )
            payloads.append((b"\x02" if optional else b"") + value + b"\x04")
        one, other = read(made, *payloads), read(exact, *payloads)
        assert str(rows(one)) == str(rows(other)), name
        assert one.numbers == other.numbers
        assert sorted(one.bad) == sorted(other.bad)
        assert rows(one), name


LINKED = record(next=["null", "R"], id="long")


def test_what_is_nested_without_end_is_bad():
    deep = b"\x02" * 1_000_000
    for columns, given in (
        ({"id": BIGINT}, {}),
        ({"next": JSON}, {}),
        ({"value": JSON}, {UNSTRUCTURED: True}),
    ):
        found = read(decoder(columns, LINKED, **given), deep)
        assert "nested too deeply" in found.bad[0][1]


def many(number, item=b""):
    """An array of so many items, of which one is there."""
    return long(number) + item


BOMBS = [
    ({"type": "array", "items": "null"}, many(2**62)),
    ({"type": "array", "items": "null"}, many(-(2**62)) + long(0)),
    ({"type": "array", "items": {**record(), "name": "None"}}, many(2**40)),
    ({"type": "array", "items": "long"}, many(2**50, b"\x02")),
    ({"type": "map", "values": "null"}, many(2**50, b"\0")),
    ({"type": "array", "items": {"type": "array", "items": "null"}}, b"\x02" * 50),
    ("string", long(2**62)),
    ("string", long(-5)),
    ("bytes", long(-(2**63))),
    ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"abc"),
    ("long", b"\xff" * 1_000_000),
    ("double", struct.pack("<f", 1.0)),
    (["null", "string"], long(2)),
    (["null", "string"], long(-1)),
    ("boolean", b"\x02"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, long(1)),
    ("int", long(2**31)),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        long(100_000) + b"\x7f" * 100_000,
    ),
]


@pytest.mark.parametrize(("avro", "payload"), BOMBS)
@pytest.mark.parametrize("wanted", [True, False])
def test_a_bomb_is_bad_at_once(avro, payload, wanted):
    schema = record(v=avro, id="long")
    columns = {"v": JSON, "id": BIGINT} if wanted else {"id": BIGINT}
    begun = time.monotonic()
    found = read(decoder(columns, schema), payload, payload + b"\x02")
    assert time.monotonic() - begun < allowed(5)
    assert 0 in dict(found.bad)
    if avro != "double" and "bytes" not in str(avro):
        assert 1 in dict(found.bad)


def test_types_that_double_at_each_level_are_bad_soon():
    types = [{"type": "record", "name": "R0", "fields": []}]
    for level in range(1, 50):
        inner = f"R{level - 1}"
        listed = [{"name": name, "type": inner} for name in "ab"]
        types.append({"type": "record", "name": f"R{level}", "fields": listed})
    fields = [
        {"name": f"f{n}", "type": ["null", type_]} for n, type_ in enumerate(types)
    ]
    schema = {
        "type": "record",
        "name": "Top",
        "fields": [*fields, {"name": "id", "type": "long"}],
    }
    payload = b"\0" * 49 + b"\x02" + b"\x02"
    found = read(decoder({"id": BIGINT}, schema), payload)
    assert "more values than its bytes can hold" in found.bad[0][1]


def test_thousands_of_types_each_within_the_next():
    types = ["null"]
    for level in range(5_000):
        inner = "long" if level == 0 else f"R{level - 1}"
        listed = [{"name": "a", "type": inner}]
        types.append({"type": "record", "name": f"R{level}", "fields": listed})
    schema = record(v=types, last="R4999")
    found = read(decoder({"last": JSON}, schema), b"\0\2")
    assert "the schema is nested too deeply" in found.bad[0][1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '{"type": ' * 200 + '"int"' + "}" * 200,
        '{"type": "array", "items": ' * 100 + '"int"' + "}" * 100,
        "5",
        "[]",
        '["int", "int"]',
        '[["int"]]',
        '{"type": "record", "name": "R"}',
        '{"type": "record", "name": "R", "fields": [{"name": "a"}]}',
        '{"type": "record", "name": "R", "fields": [5]}',
        '{"type": "record", "name": "1", "fields": []}',
        '{"type": "fixed", "name": "F", "size": -1}',
        '{"type": "fixed", "name": "F", "size": "1"}',
        '{"type": "enum", "name": "E"}',
        '{"type": "enum", "name": "E", "symbols": [1]}',
        '{"type": "array"}',
        '{"type": "map", "values": 5}',
        '{"type": null}',
        '{"name": "R"}',
        '"R"',
        '[{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F"}]',
    ],
)
def test_a_text_that_is_no_schema(text):
    with pytest.raises(SchemaFault):
        parse_schema(text)


def test_a_decimal_of_a_billion_digits_is_bytes():
    digits = 10**9
    number = {"type": "bytes", "logicalType": "decimal", "precision": digits}
    schema = record(v={**number, "scale": digits})
    found = read(decoder({"v": Decimal(9, 2)}, schema), b"\x02\x01")
    assert "'v' is DECIMAL(9, 2), the schema has bytes" in found.bad[0][1]
    assert rows(read(decoder({"v": JSON}, schema), b"\x02\x01")) == [('"AQ=="',)]


def test_wrong_ids_and_bytes_that_are_no_records():
    chance = random.Random(9)
    schema = record(id="long")
    with serving() as (url, registry):
        good = registry.add(json.dumps(schema))
        made = decoder(
            {"id": BIGINT}, **{REGISTRY: True, "schema_registry.endpoint": url}
        )
        payloads = [
            chance.choice(
                [
                    prefix(good) + b"\x02",
                    prefix(chance.randrange(2**32)) + b"\x02",
                    chance.randbytes(chance.randrange(12)),
                    b"",
                ]
            )
            for _ in range(2_000)
        ]
        found = read(made, *payloads)
        assert len(registry.asked) < 200
    assert set(found.rows["id"].to_pylist()) == {1}
    assert len(found.bad) + found.rows.num_rows == len(payloads)


def test_damaged_containers_are_bad():
    chance = random.Random(10)
    schema = record(id="long", name="string")
    values = [{"id": n, "name": "x" * n} for n in range(20)]
    made = decoder({"id": BIGINT, "name": TEXT})
    whole = {codec: container(schema, *values, codec=codec) for codec in CODECS}
    payloads = [
        damaged(whole[CODECS[number % len(CODECS)]], chance) for number in range(1_000)
    ]
    begun = time.monotonic()
    found = read(made, *payloads)
    assert time.monotonic() - begun < allowed(WITHIN_S)
    told = dict(found.bad)
    assert len(told) > 500
    assert all(told.values())
    assert not told.keys() & set(found.numbers.to_pylist())


CODECS = ["null", "deflate", "bzip2", "xz", "snappy", "zstandard"]


def foreign(schema, *blocks):
    """A container that says itself how it was written: blocks of a count and bytes."""
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"deflate"}
    parts = [b"Obj\x01", datum({"type": "map", "values": "bytes"}, meta), SYNC]
    for count, data in blocks:
        packer = zlib.compressobj(9, wbits=-15)
        packed = packer.compress(data) + packer.flush()
        parts += [long(count), datum("bytes", packed), SYNC]
    return b"".join(parts)


@pytest.mark.parametrize("type_", [JSON, Decimal(9, 2), Decimal(38, 38)])
@pytest.mark.parametrize("digits", [101, 1_000, 10**6, 10**9])
def test_the_schema_of_a_container_makes_no_long_numbers_of_short_ones(type_, digits):
    scales = {"precision": digits, "scale": digits}
    schema = record(v=[logical("bytes", "decimal", **scales), "long"])
    payload = foreign(schema, (20_000, b"\0\x02\x01" * 20_000))
    begun = time.monotonic()
    found = read(decoder({"v": type_}), payload)
    assert time.monotonic() - begun < allowed(5)
    assert found.rows.nbytes < 2**20
    assert [text for (text,) in rows(found)] == ['"AQ=="'] * found.rows.num_rows
    assert bool(found.rows.num_rows) == (type_ == JSON)


def test_tiny_containers_do_not_become_rows_without_end(monkeypatch):
    monkeypatch.setattr(budget, "SPARE_ROWS", 50_000)
    usual = container(record(id="long"), {"id": 1})
    tiny = foreign(record(id="null"), (900, b""))
    large = foreign(record(id="long"), (20_000, b"\0" * 20_000))
    payloads = [large, tiny, usual] * 100
    assert max(map(len, payloads)) < 300
    found = read(decoder({"id": BIGINT}), *payloads)
    assert 50_000 < found.rows.num_rows <= 50_000 + sum(map(len, payloads))
    told = dict(found.bad)
    assert {number % 3 for number in told} == {0, 1}
    assert all("too many rows or bytes for its size" in why for why in told.values())
    assert found.rows["id"].to_pylist().count(1) == 100


def test_a_damaged_container_costs_as_much_as_a_sound_one(monkeypatch):
    monkeypatch.setattr(budget, "SPARE_ROWS", 50_000)
    cut = foreign(record(id="long"), (20_000, b"\0" * 20_000 + b"\0"))
    found = read(decoder({"id": BIGINT}), *[cut] * 10)
    why = [why for _, why in found.bad]
    assert len(why) == 10
    assert "is damaged" in why[0]
    assert "too many rows or bytes for its size" in why[-1]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "enum", "name": "E", "symbols": ["n" * 10_000]},
        {**record(**{"n" * 10_000: "null"}), "name": "I"},
    ],
)
def test_names_that_are_repeated_make_no_text_without_end(item):
    schema = record(v={"type": "array", "items": item})
    bomb = many(10_000, b"\0" * 10_000) + b"\0"
    for made in (
        decoder({"v": JSON}, schema),
        decoder({"value": JSON}, schema, **{UNSTRUCTURED: True}),
    ):
        found = read(made, bomb)
        assert "the names in it become too long a text" in found.bad[0][1]


def test_symbols_in_lists_are_texts_too(monkeypatch):
    monkeypatch.setattr(budget, "SPARE_BYTES", 2**20)
    symbols = {"type": "enum", "name": "E", "symbols": ["n" * 1_000]}
    schema = record(v={"type": "array", "items": symbols})
    payload = foreign(schema, (1, many(10_000, b"\0" * 10_001)))
    found = read(decoder({"v": ListOf(TEXT)}), payload)
    assert "too many rows or bytes for its size" in found.bad[0][1]


@pytest.mark.parametrize("type_", [TEXT, JSON])
def test_the_names_in_a_schema_make_no_long_texts(monkeypatch, type_):
    monkeypatch.setattr(budget, "SPARE_BYTES", 2**20)
    name = "n" * 1_000
    schema = record(v={"type": "enum", "name": "E", "symbols": [name]})
    payload = foreign(schema, (10_000, b"\0" * 10_000))
    made = decoder({"v": type_})
    found = read(made, payload)
    assert "too many rows or bytes for its size" in found.bad[0][1]
    assert rows(read(made, foreign(schema, (1, b"\0")))) == [
        (json.dumps(name) if type_ == JSON else name,)
    ]
