"""Payloads with several records, each behind its length."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from arroyo_nb.formats import framed, payload_format
from arroyo_nb.schema import INT, Field, Schema

ROW = Schema((Field("id", INT, nullable=False),))


def read(*payloads):
    made = payload_format("json").payload_decoder(ROW, {}, None)
    options = {"framing": "length"}
    return framed(made, options).decode(pa.array(payloads, pa.binary()))


def records(*ids):
    documents = [json.dumps({"id": number}).encode() for number in ids]
    return b"".join(bytes([len(text)]) + text for text in documents)


def test_a_payload_has_as_many_rows_as_lengths():
    found = read(records(1, 2), b"", records(3))
    assert found.rows["id"].to_pylist() == [1, 2, 3]
    assert found.numbers.to_pylist() == [0, 0, 2]
    assert found.bad == ()


def test_a_length_may_have_several_bytes():
    text = json.dumps({"id": 1, "more": "x" * 300}).encode()
    size = bytes([len(text) & 0x7F | 0x80, len(text) >> 7])
    assert read(size + text + records(2)).rows["id"].to_pylist() == [1, 2]


def test_a_bad_record_is_told_with_its_payload():
    found = read(records(1), bytes([2]) + b"no" + records(2))
    assert found.numbers.to_pylist() == [0, 1]
    assert [number for number, _ in found.bad] == [1]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"\x05{}", "a record of 5 bytes begins at byte 2, and 2 are left"),
        (b"\xff\xff\xff\xff\x7f", "a record of 34,359,738,367 bytes begins at byte 6"),
        (b"\x80", "the length at byte 1 does not end"),
        (b"\x80" * 12, "the length at byte 1 does not end"),
    ],
)
def test_a_payload_whose_lengths_are_wrong_is_bad_as_a_whole(payload, why):
    found = read(records(1), payload, records(2) + payload, records(3))
    assert found.rows["id"].to_pylist() == [1, 3]
    assert [number for number, _ in found.bad] == [1, 2]
    assert why in found.bad[0][1]
