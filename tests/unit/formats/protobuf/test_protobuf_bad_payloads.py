"""Payloads that are damaged, or made to do harm: bad data with a reason, no crash."""

from __future__ import annotations

import random
import struct

import pytest
from google.protobuf.message import DecodeError
from proto_schemas import HEAD, compiled, decoder, read, usual_columns

from arroyo_nb.formats.protobuf.confluent import head
from arroyo_nb.schema import FLOAT, Field, Schema
from arroyo_nb.schema_registry.prefix import NO_PREFIX

TEXT = (
    HEAD
    + """
import "google/protobuf/timestamp.proto";
message Node { Node next = 1; string name = 2; }
message M {
  string name = 1; int64 id = 2; repeated int32 list = 3; map<string, M> inner = 4;
  google.protobuf.Timestamp at = 5; bytes raw = 6; Node node = 7; double x = 8;
}
"""
)
MESSAGE = compiled(TEXT, "M")
SCHEMA = usual_columns(MESSAGE)
HEADED = {"protobuf__confluent_schema_registry": True}


def valid(rng):
    cls = MESSAGE.message_class
    made = cls(name="é" * rng.randrange(5), id=rng.randrange(-5, 2**40), x=rng.random())
    made.list.extend(range(rng.randrange(4)))
    made.at.seconds, made.raw = rng.randrange(10**9), rng.randbytes(rng.randrange(5))
    made.inner["k"].name = "inner"
    made.node.next.next.name = "deep"
    return made.SerializeToString()


def damaged(rng):
    """A message with bits turned, cut off, a huge length, or nested too deeply."""
    payload = bytearray(valid(rng))
    match rng.randrange(5):
        case 0:
            for _ in range(rng.randrange(1, 4)):
                payload[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
        case 1:
            del payload[rng.randrange(len(payload)) :]
        case 2:
            payload += b"\x32" + b"\xff" * rng.randrange(1, 12) + b"\x7f"
        case 3:
            # Field 7 holds field 1, which holds field 1, ...
            inner = b""
            for _ in range(rng.choice([3, 90, 150, 300])):
                inner = b"\x0a" + _varint(len(inner)) + inner
            payload += b"\x3a" + _varint(len(inner)) + inner
        case _:
            payload = bytearray(rng.randbytes(rng.randrange(40)))
    return bytes(payload)


def _varint(number):
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*made, number))


def check(count, wrap, **options):
    """Damage messages, and read them; the wrapping is damaged too."""
    rng = random.Random(count)
    made = decoder(TEXT, SCHEMA, "M", **options)
    seen = 0
    for _ in range(0, count, 500):
        payloads = [wrap(rng, damaged(rng)) for _ in range(500)]
        found = read(made, *payloads)
        found.rows.validate(full=True)
        numbers, bad = set(found.numbers.to_pylist()), dict(found.bad)
        assert all(bad.values())
        assert bad
        assert set(bad) | numbers <= set(range(500))
        if not options.get("framing"):
            assert sorted([*numbers, *bad]) == [*range(500)]
        seen += len(bad)
    assert count // 10 < seen < count


def plain(rng, payload):
    return payload


def with_head(rng, payload):
    start = bytearray(head(rng.randrange(1, 2**31), MESSAGE))
    if rng.random() < 0.3:
        start[rng.randrange(len(start))] = rng.randrange(256)
    return bytes(start[: rng.choice([len(start)] * 9 + [3])]) + payload


def with_lengths(rng, payload):
    size = len(payload) if rng.random() < 0.8 else rng.randrange(2**34)
    return (_varint(size) + payload) * rng.randrange(1, 3)


CASES = [
    pytest.param(plain, {}, id="plain"),
    pytest.param(with_head, HEADED, id="confluent"),
    pytest.param(with_lengths, {"framing": "length"}, id="length"),
]


@pytest.mark.parametrize(("wrap", "options"), CASES)
def test_damaged_payloads_are_bad_data(wrap, options):
    check(1000, wrap, **options)


@pytest.mark.long("formats")
@pytest.mark.parametrize(("wrap", "options"), CASES)
def test_ten_thousand_damaged_payloads_are_bad_data(wrap, options):
    check(10_000, wrap, **options)


def test_what_google_reads_is_read_and_what_it_refuses_is_not():
    rng = random.Random(7)
    payloads = [damaged(rng) for _ in range(1000)]
    found = read(decoder(TEXT, SCHEMA, "M"), *payloads)
    for number, why in found.bad:
        if "it is no message" in why:
            with pytest.raises(DecodeError):
                MESSAGE.message_class.FromString(payloads[number])


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", NO_PREFIX),
        (b"\0\0\0\0", NO_PREFIX),
        (b"\0\0\0\0\x07", "the place of its message is cut off"),
        (b"\x01\0\0\0\x07\0", NO_PREFIX),
        (b"\0\0\0\0\0\0", "0, which is the id of no schema"),
        (b"\0\0\0\0\x07\x80", "the place of its message is cut off"),
        (b"\0\0\0\0\x07\xff\xff\xff\xff\x0f", "has -2147483648 numbers"),
        (b"\0\0\0\0\x07\x80\x10", "has 1024 numbers"),
        (b"\0\0\0\0\x07\x02\0", "its message is 't.Node', and not 't.M'"),
        (b"\0\0\0\0\x07\0", "its message is 't.Node', and not 't.M'"),
        (b"\0\0\0\0\x07\x02\x08", "none of its schema: [4]"),
        (b"\0\0\0\0\x07\x02\x01", "none of its schema: [-1]"),
        (b"\0\0\0\0\x07\x04\x02\0", "its message is 't.M.InnerEntry'"),
    ],
)
def test_what_stands_before_a_message_is_checked(payload, why):
    good = head(7, MESSAGE)
    found = read(decoder(TEXT, SCHEMA, "M", **HEADED), good, payload, good)
    assert found.numbers.to_pylist() == [0, 2]
    ((number, said),) = found.bad
    assert number == 1
    assert why in said


def test_one_bad_message_among_many_costs_no_look_at_each():
    # Halving a batch reads it twice: with a look at every record this takes minutes.
    bad = compiled(TEXT, "M").message_class(at={"seconds": 2**60}).SerializeToString()
    payloads = [b""] * 20_000
    payloads[12_345] = bad
    found = read(decoder(TEXT, SCHEMA, "M"), *payloads)
    assert [number for number, _ in found.bad] == [12_345]
    assert found.rows.num_rows == 19_999
    assert found.numbers.to_pylist()[12_344:12_346] == [12_344, 12_346]


def test_odd_floats_stay_what_they_are():
    text = HEAD + "message M { double d = 1; float f = 2; }"
    payload = (
        b"\x09" + struct.pack("<d", float("nan")) + b"\x15" + struct.pack("<f", -0.0)
    )
    found = read(decoder(text, usual_columns(compiled(text))), payload)
    ((d, f),) = [tuple(row.values()) for row in found.rows.to_pylist()]
    assert d != d
    assert str(f) == "-0.0"


@pytest.mark.parametrize("number", [1e300, -3.5e38])
def test_a_double_that_no_float_can_be_is_bad_and_not_infinite(number):
    text = HEAD + "message M { double d = 1; }"
    made = decoder(text, Schema((Field("d", FLOAT),)))

    def payload(number):
        return b"\x09" + struct.pack("<d", number)

    found = read(made, *map(payload, (1.5, number, float("inf"))))
    assert found.rows["d"].to_pylist() == [1.5, float("inf")]
    assert found.bad == ((1, f"'d': {number} is no float"),)
