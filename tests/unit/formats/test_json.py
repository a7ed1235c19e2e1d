"""Reading JSON: the rules of arroyo-semantics c.5, and that both readers agree."""

import json
from datetime import date
from datetime import datetime as at
from decimal import Decimal as Number10

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from arroyo_nb.codecs.bad_records import MISMATCH_HINT, refusal
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import FORMATS
from arroyo_nb.formats.json.strict import MOST_LEVELS, BadRecord, RecordReader
from arroyo_nb.formats.json.vectorized import _EXPONENT, BlockReader
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
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
    Primitive,
    Schema,
    StructOf,
    Timestamp,
)
from arroyo_nb.tape import BadRow, shown_text

NESTED = StructOf((Field("x", INT), Field("y", ListOf(TEXT))))


def decoder(schema, *, event_time=None, **options):
    return FORMATS.get("json").decoder(schema, options, event_time)


def one(type_, text, *, nullable=True):
    """The value of column ``a`` in one record, read by the exact reader."""
    reader = RecordReader(Schema((Field("a", type_, nullable),)), None)
    record = reader.read(b'{"a": ' + text + b"}")
    return reader.table([record])["a"][0].as_py()


BAD = object()


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        (INT, b"7", 7),
        (INT, b'"7"', 7),
        (INT, b"7.0", 7),
        (INT, b"7e2", 700),
        (INT, b"-0", 0),
        (INT, b"7.5", BAD),
        (INT, b'" 7"', BAD),
        (INT, b'"0x7"', BAD),
        (INT, b"2147483647", 2147483647),
        (INT, b"2147483648", BAD),
        (INT, b"1e999999999", BAD),
        (INT, b"true", BAD),
        (Primitive("TINYINT UNSIGNED"), b"255", 255),
        (Primitive("TINYINT UNSIGNED"), b"256", BAD),
        (Primitive("SMALLINT"), b"-32769", BAD),
        (BIGINT_UNSIGNED, b"18446744073709551615", 2**64 - 1),
        (BIGINT_UNSIGNED, b"-1", BAD),
        (DOUBLE, b"1e308", 1e308),
        (DOUBLE, b"1e309", BAD),
        (DOUBLE, b'"1.5"', 1.5),
        (DOUBLE, b'"NaN"', BAD),
        (DOUBLE, b"NaN", BAD),
        (FLOAT, b"0.1", 0.10000000149011612),
        (FLOAT, b"1e39", BAD),
        (Decimal(5, 2), b"1.5", Number10("1.50")),
        (Decimal(5, 2), b'"123.45"', Number10("123.45")),
        (Decimal(5, 2), b"1.555", BAD),
        (Decimal(5, 2), b"1234.5", BAD),
        (Decimal(38, 0), b'"9e37"', Number10("9e37")),
        (Decimal(38, 0), b"3.5e38", BAD),
        (Decimal(38, 0), b"1e-39", BAD),
        (Decimal(10, 2), b"1e-77", BAD),
        (Decimal(10, 2), b"1e-999999999", BAD),
        (Decimal(10, 2), b'"1e-999999999"', BAD),
        (Decimal(10, 2), b'"1e-9999999999999999999"', BAD),
        (INT, b'"1e-9999999999999999999"', BAD),
        (Decimal(10, 2), b"1.25e1", Number10("12.5")),
        (Decimal(38, 0), b'"3.5e38"', BAD),
        (TEXT, b'"h\\u00e9\\n"', "h\u00e9\n"),
        (TEXT, b"7", BAD),
        (TEXT, b"true", BAD),
        (TEXT, b'"\\ud800"', BAD),
        (BOOLEAN, b"true", True),
        (BOOLEAN, b"1", BAD),
        (BOOLEAN, b'"true"', BAD),
        (BYTEA, b'"aGk="', BAD),
        (BYTEA, b"null", None),
        (TIME, b'"10:00:00"', BAD),
        (DATE, b'"2024-02-29"', date(2024, 2, 29)),
        (DATE, b'"2023-02-29"', BAD),
        (Timestamp(), b'"2023-01-02T03:04:05"', at(2023, 1, 2, 3, 4, 5)),
        (
            Timestamp(),
            b'"2023-01-02 03:04:05.25Z"',
            at(2023, 1, 2, 3, 4, 5, 250000),
        ),
        (Timestamp(), b'"2023-01-02T03:04:05+02:00"', at(2023, 1, 2, 1, 4, 5)),
        (
            Timestamp(),
            b'"2023-01-02T03:04:05.123456789z"',
            at(2023, 1, 2, 3, 4, 5, 123456),
        ),
        # As arrow-json does: a day is its midnight, and an offset may have hours alone.
        (Timestamp(), b'"2023-01-02"', at(2023, 1, 2)),
        (Timestamp(), b'"2023-01-02T03:04:05+00"', at(2023, 1, 2, 3, 4, 5)),
        (Timestamp(), b'"2023-01-02 03:04:05.5-03"', at(2023, 1, 2, 6, 4, 5, 500_000)),
        (Timestamp(), b'"2023-01-02Z"', BAD),
        (Timestamp(), b'"2023-01-02T03"', BAD),
        (Timestamp(), b'"2023-02-30T00:00:00"', BAD),
        (Timestamp(), b'"2023-01-02T03:04:60"', BAD),
        (Timestamp(), b'"1672531200"', BAD),
        (Timestamp(), b"1672531200000000000", at(2023, 1, 1)),
        (Timestamp(0), b"1672531200", at(2023, 1, 1)),
        (Timestamp(3), b"1672531200001", at(2023, 1, 1, 0, 0, 0, 1000)),
        (Timestamp(6), b"-1", at(1969, 12, 31, 23, 59, 59, 999999)),
        (Timestamp(9), b"-1", at(1969, 12, 31, 23, 59, 59, 999999)),
        (Timestamp(0), b"1.5", BAD),
        (Timestamp(0), b"999999999999", BAD),
        (
            JSON,
            b'{ "b" : [1.00, 1e400, "\\u00e9", null] }',
            '{"b":[1.00,1e400,"\u00e9",null]}',
        ),
        (JSON, b"7", "7"),
        (JSON, b"null", None),
        (NESTED, b'{"x": 1, "z": 2}', {"x": 1, "y": None}),
        (NESTED, b'{"y": ["p", null]}', {"x": None, "y": ["p", None]}),
        (NESTED, b'{"x": "p"}', BAD),
        (NESTED, b"[]", BAD),
        (
            ListOf(Timestamp()),
            b'["1970-01-01T00:00:01"]',
            [at(1970, 1, 1, 0, 0, 1)],
        ),
    ],
)
def test_values(type_, text, expected):
    if expected is BAD:
        with pytest.raises(BadRecord):
            one(type_, text)
    else:
        assert one(type_, text) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "invalid JSON: expecting property name"),
        (b'{"a": 1} {"a": 2}', "invalid JSON: extra data at column 10"),
        (b"null", "JSON does not match schema: a record is an object, found null"),
        (b"[1]", "JSON does not match schema: a record is an object, found [1]"),
        (b'{"b": 1}', "JSON does not match schema: 'a' is NOT NULL and is missing"),
        (b'{"a": null}', "JSON does not match schema: 'a' is NOT NULL and is null"),
        (b'{"A": 1}', "JSON does not match schema: 'a' is NOT NULL and is missing"),
        (b'{"a": "x"}', "JSON does not match schema: 'a' is INT, found \"x\""),
        (b'{"a": 1, "b": "\xff"}', "invalid JSON: not UTF-8 at byte 16"),
        (b'{"a": 1}\0', "invalid JSON: extra data at column 9"),
        (b'{"a": NaN}', "invalid JSON: NaN is not a JSON value"),
        (b'{"a":' + b"[" * 100_000, "invalid JSON: nested too deeply"),
    ],
)
def test_bad_records_are_named_or_counted(line, reason):
    schema = Schema((Field("a", INT, nullable=False),))
    block = b'{"a": 1}\n\n' + line + b'\r\n{"a": 3}'
    with pytest.raises(RunProblem) as failed:
        decoder(schema, bad_data="fail").decode(block, "data.json", 11)
    assert failed.value.message.startswith(f"data.json:13: {reason}")
    assert ", in the record " in failed.value.message
    by_type = "declare the column" in failed.value.hint
    assert by_type == reason.startswith("JSON does not match")

    found = decoder(schema, bad_data="drop").decode(block, "data.json", 11)
    assert found.rows["a"].to_pylist() == [1, 3]
    assert found.dropped_rows == 1
    assert (found.bad[0].place, found.bad[0].reason[: len(reason)]) == (
        "data.json:13",
        reason,
    )


def test_a_record_of_many_lines_and_any_text_is_shown_on_one_line():
    schema = Schema((Field("a", INT),))
    payload = pa.array([b'{\n  "a": "x"\n}'])
    made = FORMATS.get("json").payload_decoder(schema, {}, None)
    ((_, reason),) = made.decode(payload).bad
    bad = BadRow("t[0] offset 3", shown_text(payload[0].as_py()), reason)
    assert str(refusal(bad)).split("\n") == [
        "t[0] offset 3: JSON does not match schema: 'a' is INT, found \"x\", in the "
        'record { "a": "x" }',
        f"  hint: {MISMATCH_HINT}",
    ]


@pytest.mark.parametrize(
    "shape",
    [b"[%s]", b'{"x":%s}', b'[1, "]]]\\"]", %s]', b'{"\\\\": %s}'],
    ids=range(4),
)
@pytest.mark.parametrize(("more", "is_read"), [(-1, 1), (0, 0), (2_000, 0)])
def test_how_deep_a_record_may_be_does_not_depend_on_its_neighbours(
    shape, more, is_read
):
    inner, levels = b"7", MOST_LEVELS + more
    for _ in range(levels):
        inner = shape.replace(b"%s", inner)
    deep = b'{"a": 1, "b": ' + inner + b"}"
    wide = b'{"a": 2, "b": [' + b"[]," * 2 * MOST_LEVELS + b"7]}"
    schema = Schema((Field("a", INT),))
    for others in ([], [wide], [b"bad"], [b'{"a": "3"}', wide, b"bad"]):
        block = b"\n".join([*others, deep])
        found = decoder(schema, bad_data="drop").decode(block, "f", 1)
        count = len(others) - others.count(b"bad") + is_read
        assert found.rows.num_rows == count
        reasons = [bad.reason for bad in found.bad if bad.line == len(others) + 1]
        assert reasons == ["invalid JSON: nested too deeply"] * (1 - is_read)
    columns = Schema((Field("b", JSON),))
    found = decoder(columns, bad_data="drop").decode(deep, "f", 1)
    assert found.rows.num_rows == is_read


def test_a_first_line_that_is_nested_too_deeply_is_a_bad_record():
    deep = b'{"a": 1, "b": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    schema = Schema((Field("a", INT),))
    found = decoder(schema, bad_data="drop").decode(deep + b'\n{"a": 2}', "f", 1)
    assert found.rows["a"].to_pylist() == [2]
    assert found.bad[0].reason == "invalid JSON: nested too deeply"


def test_event_time_may_be_neither_null_nor_at_the_end_of_time():
    schema = Schema((Field("t", Timestamp()),))
    block = b'{"t": null}\n{"t": "9999-01-01T00:00:00"}\n{"t": "9998-12-31T23:59:59"}\n'
    found = decoder(schema, event_time="t", bad_data="drop").decode(block, "f", 1)
    assert found.dropped_rows == 2
    assert "is missing" in found.bad[0].reason
    assert "past the year 9998" in found.bad[1].reason
    assert decoder(schema).decode(block, "f", 1).rows.num_rows == 3


def test_one_bad_line_does_not_make_the_others_slow():
    schema = Schema((Field("a", INT),))
    lines = [b'{"a": %d}' % n for n in range(50_000)]
    lines[33_333] = b'{"a": "x"}'
    reader = decoder(schema, bad_data="drop")
    read = []
    exact = reader._records.read
    reader._records.read = lambda text: read.append(text) or exact(text)
    found = reader.decode(b"\n".join(lines), "f", 1)
    assert found.rows["a"].to_pylist() == [n for n in range(50_000) if n != 33_333]
    assert found.bad[0].place == "f:33334"
    assert 0 < len(read) < 2_000


def test_the_sample_of_bad_records_is_bounded_and_their_text_cut():
    found = decoder(Schema((Field("a", INT),)), bad_data="drop").decode(
        (b'{"a": "' + b"x" * 5_000 + b'"}\n') * 1_100, "f", 1
    )
    assert found.dropped_rows == 1_100
    assert len(found.bad) == 1_000
    assert {(len(row.text), row.text[-1]) for row in found.bad} == {(200, "…")}
    assert [row.line for row in found.bad] == list(range(1, 1_001))


# The two readers. Whenever the block reader answers, the exact reader gives the same
# rows and finds nothing bad; and on plain data the block reader does answer.

SCHEMA = Schema(
    (
        Field("n", BIGINT),
        Field("u", Primitive("TINYINT UNSIGNED")),
        Field("d", DOUBLE),
        Field("f", FLOAT),
        Field("s", TEXT, nullable=False),
        Field("b", BOOLEAN),
        Field("m", Decimal(6, 2)),
        Field("t", Timestamp()),
        Field("q", Timestamp(3)),
        Field("l", ListOf(DOUBLE)),
        Field("r", NESTED),
    )
)

texts = st.text(max_size=4)
numbers = st.one_of(
    st.integers(-300, 300),
    st.integers(-(2**65), 2**65),
    st.floats(width=64),
    st.sampled_from([1e39, 1.5, 0.125, -0.0, 5e-324, 12.34]),
)
instants = st.one_of(
    st.datetimes().map(lambda t: t.isoformat()),
    st.datetimes(at(1960, 1, 1), at(2100, 1, 1)).map(str),
    st.sampled_from(
        [
            "2023-01-02T03:04:05.123456789+02:00",
            "2023-01-02 03:04:05Z",
            "2023-01-02T03:04:05-0330",
            "2023-01-02T03:04:05+02",
            "2023-01-02",
            "2023-01-02T25:00:00",
        ]
    ),
    st.integers(-(10**12), 10**12),
)
values = st.one_of(
    st.none(),
    st.booleans(),
    texts,
    numbers,
    numbers.map(str),
    instants,
    st.lists(numbers | st.none(), max_size=2),
    st.fixed_dictionaries(
        {}, optional={"x": numbers, "y": st.lists(texts, max_size=2)}
    ),
)
fitting = st.fixed_dictionaries(
    {"s": texts},
    optional={
        "n": st.integers(-(2**63), 2**63 - 1),
        "u": st.integers(0, 255),
        "d": st.floats(allow_nan=False, allow_infinity=False),
        "f": st.floats(width=32, allow_nan=False, allow_infinity=False),
        "b": st.booleans(),
        "m": st.integers(-(10**5), 10**5).map(lambda n: str(n / 100)),
        "t": st.datetimes(at(1900, 1, 1), at(2100, 1, 1)).map(str),
        "q": st.integers(-(10**12), 10**12),
        "l": st.lists(st.integers(-5, 5), max_size=2),
        "r": st.fixed_dictionaries({"x": st.integers(0, 9)}),
        "unknown": texts,
    },
)
records = fitting | st.dictionaries(
    st.sampled_from([*SCHEMA.names, "unknown"]), values, max_size=6
)
oddities = st.sampled_from(
    [
        b"",
        b" \t\r",
        b"null",
        b"7",
        b"[]",
        b'{"s": "x"} null',
        b'{"s": "x"}{"s": "y"}',
        b'{"s": "x", "n": NaN}',
        b'{"s": "x", "unknown": -Infinity}',
        b'{"s": "x", "s": "y"}',
        b'{"s": "\xff"}',
        b'{"s": "\\ud800"}',
        b'{"s": "x",',
        b'"n": 1}',
        b'{"s": "x", "m": "+1.5"}',
        b'{"s": "x", "d": 1e999}',
        b'{"s": "} {"}',
    ]
)
lines = st.lists(
    records.map(lambda record: json.dumps(record).encode())
    | records.map(lambda record: json.dumps(record, ensure_ascii=False).encode())
    | oddities,
    min_size=1,
    max_size=6,
)


def exact_rows(block):
    """The exact reader's rows and how many records it refuses."""
    reader = RecordReader(SCHEMA, None)
    good, bad = [], 0
    for line in block.split(b"\n"):
        if line.strip(b" \t\r"):
            try:
                good.append(reader.read(line))
            except BadRecord:
                bad += 1
    return reader.table(good), bad


@settings(max_examples=400, deadline=None)
@given(lines)
@example([b'{"s": "", "t": -1, "n": "1"}', b'{"s": "", "t": -1000}', b'{"s": ""}'])
@example([b'{"s": "", "t": 1, "d": "1e3"}', b'{"s": "", "t": "2000-01-01"}'])
@example([b'{"s": "", "t": -9223372036854775808}'])
@example([b'{"s": "", "m": "+1.5", "u": "-0"}'])
@example([b'{"s": "", "f": 1e39}', b'{"s": "", "f": "1e39"}'])
def test_both_readers_agree(found):
    block = b"\n".join(found)
    fast = BlockReader(SCHEMA, None).read(block) if block.strip() else None
    rows, bad = exact_rows(block)
    if fast is not None:
        assert bad == 0
        assert fast.equals(rows)
    decoded = decoder(SCHEMA, bad_data="drop").decode(block, "f", 1)
    assert decoded.dropped_rows == bad
    assert decoded.rows.equals(rows)


@settings(max_examples=100, deadline=None)
@given(st.lists(fitting, min_size=1, max_size=4))
def test_plain_data_takes_the_fast_reader(found):
    # The first record decides how m and t are read, so all must have them.
    filled = [
        {"m": "1.5", "t": "2000-01-01 00:00:00", "q": 0} | record for record in found
    ]
    block = "\n".join(json.dumps(record) for record in filled).encode()
    # A very small number may end Arrow where there are decimals.
    assume(_EXPONENT.search(block) is None)
    fast = BlockReader(SCHEMA, None).read(block)
    assert fast is not None
    assert fast.equals(exact_rows(block)[0])
