"""The fast reader and the exact one: which reads what, to the same rows."""

from __future__ import annotations

import pytest
from avro_records import datum, decoder, read, record, rows

from arroyo_nb.formats.avro import datums
from arroyo_nb.formats.avro import payloads as _payloads
from arroyo_nb.schema import BIGINT, INT, JSON, TEXT, Decimal, Field, ListOf, StructOf

ARRAY = {"type": "array", "items": "int"}


def is_fast(columns, schema):
    return decoder(columns, schema)._reader._blocks is not None


@pytest.mark.parametrize(
    ("columns", "schema", "expected"),
    [
        ({"a": INT}, record(a="int", b=["null", "string"]), True),
        ({"a": ListOf(INT)}, record(a=ARRAY), True),
        ({"a": INT}, record(a="int", more={"type": "map", "values": ARRAY}), True),
        ({"a": JSON}, record(a="int"), False),
        ({"a": BIGINT}, record(a=["int", "long"]), False),
        ({"a": INT}, record(a="int", next=["null", "R"]), False),
        ({"a": Decimal(9, 2)}, record(a="int"), False),
    ],
)
def test_which_schemas_are_read_at_once(columns, schema, expected):
    assert is_fast(columns, schema) is expected


def test_lists_of_different_lengths():
    schema = record(a={"type": "array", "items": ["null", "string"]}, b="int")
    values = [{"a": ["x", None] * (n % 5), "b": n} for n in range(50)]
    made = decoder({"a": ListOf(TEXT), "b": INT}, schema)
    found = read(made, *(datum(schema, value) for value in values))
    assert rows(found) == [tuple(value.values()) for value in values]


def test_blocks_that_tell_their_size():
    # Two items in a block of two bytes, then one in a block without a size.
    payload = b"\x03\x04\x02\x04" + b"\x02\x06" + b"\0"
    found = read(decoder({"a": ListOf(INT)}, record(a=ARRAY)), payload, payload)
    assert rows(found) == [([1, 2, 3],)] * 2


def test_few_long_lists_are_left_to_the_exact_reader(monkeypatch):
    monkeypatch.setattr(datums, "MAX_TURNS", 10)
    schema = record(a=ARRAY)
    values = [[1] * 9, [2] * 50, []]
    payloads = [datum(schema, {"a": value}) for value in values]
    found = read(decoder({"a": ListOf(INT)}, schema), *payloads)
    assert rows(found) == [(value,) for value in values]
    assert found.numbers.to_pylist() == [0, 1, 2]


def test_maps_and_records_in_lists():
    inner = {"type": "record", "name": "I", "fields": [{"name": "n", "type": "long"}]}
    schema = record(m={"type": "map", "values": {"type": "array", "items": inner}})
    entry = StructOf(
        (
            Field("key", TEXT),
            Field("value", ListOf(StructOf((Field("n", BIGINT, nullable=False),)))),
        )
    )
    made = decoder({"m": ListOf(entry)}, schema)
    value = {"m": {"a": [{"n": 1}, {"n": 2}], "b": []}}
    found = read(made, datum(schema, value), datum(schema, {"m": {}}))
    assert rows(found) == [
        ([{"key": "a", "value": [{"n": 1}, {"n": 2}]}, {"key": "b", "value": []}],),
        ([],),
    ]


def test_a_large_batch_is_read_in_parts(monkeypatch):
    monkeypatch.setattr(_payloads, "BLOCK_BYTES", 100)
    schema = record(id="int", name="string")
    values = [(n, "x" * (n % 90)) for n in range(200)]
    payloads = [datum(schema, {"id": n, "name": x}) for n, x in values]
    payloads[7] = payloads[7][:-1]
    found = read(decoder({"id": INT, "name": TEXT}, schema), *payloads)
    assert rows(found) == [*values[:7], *values[8:]]
    assert [number for number, _ in found.bad] == [7]
    assert found.numbers.to_pylist() == [*range(7), *range(8, 200)]


def test_a_slice_of_a_larger_array_is_read():
    import pyarrow as pa

    schema = record(id="int")
    array = pa.array([datum(schema, {"id": n}) for n in range(10)], pa.binary())
    found = decoder({"id": INT}, schema).decode(array.slice(3, 4))
    assert rows(found) == [(n,) for n in range(3, 7)]
