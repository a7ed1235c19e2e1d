"""Any schema and any values: the readers and fastavro give the same."""

from __future__ import annotations

import json
import math
import string
from itertools import count

import pyarrow as pa
import pytest
from avro_records import RAW, SCHEMA, UNSTRUCTURED, datum, decoder, read, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arroyo_nb.formats.avro.encode import RowEncoder, record_schema
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    FLOAT,
    INT,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
    arrow_type,
)

FEW = settings(max_examples=50)
MANY = settings(
    max_examples=1_000, suppress_health_check=[HealthCheck.too_slow], deadline=None
)

INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SINGLES = st.floats(width=32, allow_nan=False)
DOUBLES = st.floats(allow_nan=False)
SCALARS = [
    ("boolean", BOOLEAN, st.booleans()),
    ("int", INT, INTS),
    ("long", BIGINT, LONGS),
    ("float", FLOAT, SINGLES),
    ("double", DOUBLE, DOUBLES),
    ("string", TEXT, TEXTS),
    ("bytes", BYTEA, st.binary(max_size=20)),
]
NAMES = st.text(string.ascii_letters, min_size=1, max_size=5)


@st.composite
def scalar(draw, names):
    """A schema, the column's type, and a strategy of values: with the value that the
    column has."""
    which = draw(st.integers(0, len(SCALARS) + 1))
    if which < len(SCALARS):
        avro, type_, values = SCALARS[which]
        return avro, type_, values
    name = f"N{next(names)}"
    if which == len(SCALARS):
        symbols = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
        avro = {"type": "enum", "name": name, "symbols": symbols}
        return avro, TEXT, st.sampled_from(symbols)
    size = draw(st.integers(0, 9))
    avro = {"type": "fixed", "name": name, "size": size}
    return avro, BYTEA, st.binary(min_size=size, max_size=size)


@st.composite
def any_type(draw, names, depth):
    """As :func:`scalar`, of any type."""
    kind = draw(st.integers(0, 6 if depth else 2))
    if kind <= 1:
        return draw(scalar(names))
    if kind == 2:
        avro, type_, values = draw(scalar(names))
        branches = ["null", avro] if draw(st.booleans()) else [avro, "null"]
        return branches, type_, st.none() | values
    if kind == 3:
        avro, element, values = draw(any_type(names, depth - 1))
        array = {"type": "array", "items": avro}
        return array, ListOf(element), st.lists(values, max_size=4)
    if kind == 4:
        avro, value, values = draw(any_type(names, depth - 1))
        entry = StructOf((Field("key", TEXT), Field("value", value)))
        pairs = st.dictionaries(TEXTS, values, max_size=3)
        return {"type": "map", "values": avro}, ListOf(entry), pairs
    avro, fields, values = draw(record_type(names, depth - 1))
    if kind == 5:
        return avro, StructOf(fields), values
    return ["null", avro], StructOf(fields), st.none() | values


@st.composite
def record_type(draw, names, depth):
    """A schema of a record, its columns, and a strategy of values."""
    named = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    parts = {name: draw(any_type(names, depth)) for name in named}
    listed = [{"name": name, "type": part[0]} for name, part in parts.items()]
    avro = {"type": "record", "name": f"N{next(names)}", "fields": listed}
    fields = tuple(Field(name, part[1]) for name, part in parts.items())
    return avro, fields, st.fixed_dictionaries({n: p[2] for n, p in parts.items()})


@st.composite
def records(draw):
    """A schema, columns of it in any order and some left out, and values."""
    avro, fields, values = draw(record_type(count(), 2))
    columns = draw(st.permutations(fields))
    kept = columns[: draw(st.integers(1, len(columns)))]
    return avro, kept, draw(st.lists(values, max_size=5))


def as_column(type_, value):
    """A value as a column has it."""
    match type_:
        case ListOf(StructOf((Field("key"), Field("value", inner)))) if isinstance(
            value, dict
        ):
            return [{"key": k, "value": as_column(inner, v)} for k, v in value.items()]
        case ListOf(element) if value is not None:
            return [as_column(element, one) for one in value]
        case StructOf(fields) if value is not None:
            return {f.name: as_column(f.type, value[f.name]) for f in fields}
        case _:
            return value


def check_reading(found):
    avro, columns, values = found
    payloads = [datum(avro, value) for value in values]
    made = decoder(columns, avro)
    read_ = read(made, *payloads)
    assert read_.bad == ()
    assert rows(read_) == [
        tuple(as_column(field.type, value[field.name]) for field in columns)
        for value in values
    ]
    # Each cut at its end is bad, whatever its columns are.
    cut = read(made, *(payload[:-1] for payload in payloads if payload))
    assert cut.rows.num_rows == 0


def check_documents(found):
    avro, _, values = found
    payloads = [datum(avro, value) for value in values]
    given = {RAW: True, SCHEMA: json.dumps(avro), UNSTRUCTURED: True}
    from arroyo_nb.schema import JSON

    made = decoder({"value": JSON}, **given)
    texts = [text for (text,) in rows(read(made, *payloads))]
    assert len(texts) == len(values)
    for text, value in zip(texts, values, strict=True):
        assert json.loads(text).keys() == value.keys()


@FEW
@given(records())
def test_records_of_some_schemas(found):
    check_reading(found)


@FEW
@given(records())
def test_documents_of_some_schemas(found):
    check_documents(found)


@pytest.mark.long("formats")
@MANY
@given(records())
def test_records_of_a_thousand_schemas(found):
    check_reading(found)
    check_documents(found)


DAMAGE = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 2), st.integers(0, 255)), max_size=3
)


def changed(payload, damage):
    """A payload with bytes changed, put in and taken out."""
    made = bytearray(payload)
    for at, kind, byte in damage:
        where = at % (len(made) + 1)
        made[where : where + (kind != 1)] = bytes([byte] if kind != 2 else [])
    return bytes(made)


def check_damaged(found, damages):
    avro, columns, values = found
    payloads = [
        changed(datum(avro, value), damage)
        for value, damage in zip(values, damages, strict=False)
    ]
    made, exact = decoder(columns, avro), decoder(columns, avro)
    exact._reader._blocks = None
    one, other = read(made, *payloads), read(exact, *payloads)
    assert str(rows(one)) == str(rows(other))  # NaN is not itself
    assert one.numbers == other.numbers
    assert sorted(one.bad) == sorted(other.bad)


@FEW
@given(records(), st.lists(DAMAGE, min_size=5, max_size=5))
def test_damaged_records_of_some_schemas(found, damages):
    check_damaged(found, damages)


@pytest.mark.long("formats")
@MANY
@given(records(), st.lists(DAMAGE, min_size=5, max_size=5))
def test_damaged_records_of_a_thousand_schemas(found, damages):
    check_damaged(found, damages)


INSTANTS = st.datetimes()
NUMBERS = st.decimals(-999, 999, places=2, allow_nan=False)
WRITTEN = st.sampled_from(
    [
        *((type_, values) for _, type_, values in SCALARS),
        (Timestamp(), INSTANTS),
        (Decimal(5, 2), NUMBERS),
    ]
)


@st.composite
def written_type(draw, depth):
    """A type that a sink may have, and a strategy of its values."""
    kind = draw(st.integers(0, 3 if depth else 0))
    if kind <= 1:
        return draw(WRITTEN)
    if kind == 2:
        element, values = draw(written_type(depth - 1))
        return ListOf(element), st.lists(st.none() | values, max_size=3)
    fields, values = draw(written_fields(depth - 1))
    return StructOf(fields), values


@st.composite
def written_fields(draw, depth):
    """Columns of a sink, and a strategy of rows."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    fields, values = [], {}
    for name in names:
        type_, found = draw(written_type(depth))
        nullable = draw(st.booleans())
        fields.append(Field(name, type_, nullable=nullable))
        values[name] = st.none() | found if nullable else found
    return tuple(fields), st.fixed_dictionaries(values)


@st.composite
def sinks(draw):
    """Columns and rows."""
    fields, values = draw(written_fields(2))
    return fields, draw(st.lists(values, max_size=5))


def check_writing(found):
    columns, values = found
    schema = Schema(columns)
    arrays = [
        pa.array([value[f.name] for value in values], arrow_type(f.type))
        for f in columns
    ]
    datums = RowEncoder(schema).datums(arrays).to_pylist()
    avro = json.loads(record_schema(schema))
    made = decoder(columns, avro)
    expected = [tuple(value[f.name] for f in columns) for value in values]
    assert rows(read(made, *datums)) == expected
    if "TIMESTAMP" in str(schema):  # which fastavro takes for local times
        return
    for value, payload in zip(values, datums, strict=True):
        assert datum(avro, value) == payload


@FEW
@given(sinks())
def test_rows_of_some_sinks(found):
    check_writing(found)


@pytest.mark.long("formats")
@MANY
@given(sinks())
def test_rows_of_a_thousand_sinks(found):
    check_writing(found)


def test_numbers_that_are_none():
    avro = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "d", "type": "double"}, {"name": "f", "type": "float"}],
    }
    payload = datum(avro, {"d": math.nan, "f": -math.inf})
    ((first, second),) = rows(read(decoder({"d": DOUBLE, "f": FLOAT}, avro), payload))
    assert math.isnan(first)
    assert second == -math.inf
