"""Debezium documents: the envelope that is written (arroyo-semantics c.3), and what
documents that are read tell (c.4); both readers of them agree."""

import base64
import json
from dataclasses import replace
from datetime import date
from datetime import datetime as at
from decimal import Context
from decimal import Decimal as Number10

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import FORMATS
from arroyo_nb.formats.debezium_json import created_sql
from arroyo_nb.formats.debezium_json.documents import (
    DocumentBlocks,
    DocumentReader,
    DocumentRows,
)
from arroyo_nb.formats.json.decimals import (
    DecimalForms,
    decimal_of,
    decimals_of,
    form_of,
)
from arroyo_nb.formats.json.strict import BadRecord
from arroyo_nb.schema import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    TEXT,
    Decimal,
    Field,
    ListOf,
    Schema,
    StructOf,
    Timestamp,
)

SCHEMA = Schema((Field("id", BIGINT), Field("v", TEXT, nullable=False)))


def test_rows_are_created():
    text = created_sql(Schema((Field("n", BIGINT),)), {})
    assert text.startswith("""concat('{"before":null,"after":', concat('{"n":',""")
    assert text.endswith(""", ',"op":"c"}')""")


def test_timestamps_and_decimals_are_what_debezium_has_for_them():
    defaults = {o.name: o.default for o in FORMATS.get("debezium_json").options}
    assert defaults["json.timestamp_format"] == "unix_millis"
    assert defaults["json.decimal_encoding"] == "bytes"
    names = {option.name for option in FORMATS.get("json").options}
    assert defaults.keys() == names - {"json.unstructured"}


def decoder(schema=SCHEMA, keys=("id",), **options):
    return FORMATS.get("debezium_json").decoder(schema, options, None, keys)


def row(id_, v="x"):
    return {"id": id_, "v": v}


def document(op, before=None, after=None, **more):
    return {"before": before, "after": after, "op": op, **more}


def changes(*lines, schema=SCHEMA, keys=("id",), **options):
    """The rows of documents (bytes: lines as they are) with their weights."""
    block = b"\n".join(
        d if isinstance(d, bytes) else json.dumps(d).encode() for d in lines
    )
    found = decoder(schema, keys, **options).decode(block, "f", 1).rows
    assert found["_sequence"].to_pylist() == list(range(2, 2 + len(found)))
    rows = found.drop_columns(["_sequence", "_weight"]).to_pylist()
    return list(zip(found["_weight"].to_pylist(), rows, strict=True))


CREATE = document("c", None, row(1))
READ = [(1, row(1))]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([CREATE], READ),
        ([document("r", None, row(1), ts_ms=7, source={"db": "x"})], READ),
        ([document("u", row(1), row(1, "y"))], [(-1, row(1)), (1, row(1, "y"))]),
        ([document("u", row(1), row(2))], [(-1, row(1)), (1, row(2))]),
        # A database without full replica identity.
        ([document("u", None, row(1, "y"))], [(1, row(1, "y"))]),
        ([{"after": row(1, "y"), "op": "u"}], [(1, row(1, "y"))]),
        ([document("u", {"id": 1}, row(1))], [(-1, row(1, None)), (1, row(1))]),
        ([document("d", {"id": 1})], [(-1, row(1, None))]),
        ([document("d", row(1, None), row(2))], [(-1, row(1, None))]),
        # An image that the op does not need.
        ([document("c", {"v": "z"}, row(1))], READ),
        ([document("d", row(1), {"id": None})], [(-1, row(1))]),
        # Wrapped, tombstones, blank lines.
        ([{"schema": {"type": "struct"}, "payload": CREATE}], READ),
        ([{"payload": CREATE}, CREATE], READ * 2),
        ([CREATE, {"payload": CREATE}], READ * 2),
        ([CREATE | {"payload": None}], READ),
        ([{"schema": None, "payload": None}, CREATE], READ),
        ([b"null", b"null\r", CREATE, b"null", b"", b" null ", b"null"], READ),
        ([b"null"], []),
        ([b""], []),
        (
            [CREATE, document("d", row(1)), b"null", CREATE],
            [*READ, (-1, row(1)), *READ],
        ),
        ([document("c", None, row(1, "\nnull")), b"null"], [(1, row(1, "\nnull"))]),
    ],
)
def test_documents_tell_changes(lines, expected):
    assert changes(*lines) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            document("x", None, row(1)),
            "unexpected op value 'x': it is one of c, r, u, d",
        ),
        (document("t"), "unexpected op value 't'"),
        ({"after": row(1)}, "JSON does not match schema: 'op' is null or missing"),
        ({"op": 7}, "JSON does not match schema: 'op' is TEXT, found 7"),
        ({"payload": {}}, "JSON does not match schema: 'op' is null or missing"),
        ({}, "JSON does not match schema: 'op' is null or missing"),
        (
            document("c", row(1)),
            "JSON does not match schema: 'after' is null or missing, and the op is 'c'",
        ),
        (
            document("u", row(1)),
            "JSON does not match schema: 'after' is null or missing",
        ),
        (document("d"), "JSON does not match schema: 'before' is null or missing"),
        (
            document("d", {"v": "x"}),
            "JSON does not match schema: 'before.id' is the PRIMARY KEY and is null or "
            "missing",
        ),
        (
            document("u", {}, row(1)),
            "JSON does not match schema: 'before.id' is the PRIMARY KEY",
        ),
        (
            document("c", None, row(None)),
            "JSON does not match schema: 'after.id' is the PRIMARY KEY",
        ),
        (
            document("r", None, {"id": 1}),
            "JSON does not match schema: 'after.v' is NOT NULL and is null or missing",
        ),
        (document("c", None, 7), "JSON does not match schema: 'after' is STRUCT<"),
        (
            document("d", {"id": 1, "v": 7}),
            "JSON does not match schema: 'before.v' is TEXT, found 7",
        ),
        (b"{", "invalid JSON: expecting property name"),
        (b"nul", "invalid JSON: expecting value"),
        (b"[]", "JSON does not match schema: a record is an object, found []"),
        (b'{"payload":' + b"[" * 100_000, "invalid JSON: nested too deeply"),
    ],
)
def test_bad_documents_are_named_or_counted(line, reason):
    text = line if isinstance(line, bytes) else json.dumps(line).encode()
    good = json.dumps(CREATE).encode()
    block = good + b"\nnull\n\n" + text + b"\r\n" + good
    with pytest.raises(RunProblem) as failed:
        decoder(bad_data="fail").decode(block, "data.json", 11)
    assert failed.value.message.startswith(f"data.json:14: {reason}")

    found = decoder(bad_data="drop").decode(block, "data.json", 11)
    assert found.rows["id"].to_pylist() == [1, 1]
    assert found.rows["_sequence"].to_pylist() == [22, 23]
    assert found.dropped_rows == 1
    assert (found.bad[0].place, found.bad[0].reason[: len(reason)]) == (
        "data.json:14",
        reason,
    )


def test_a_first_document_that_is_nested_too_deeply_is_bad():
    deep = b'{"payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    block = deep + json.dumps(CREATE).encode()
    found = decoder(bad_data="drop").decode(block, "f", 1)
    assert found.rows["id"].to_pylist() == [1]
    assert found.bad[0].reason == "invalid JSON: nested too deeply"


def test_blocks_tell_their_changes_in_one_sequence():
    update = json.dumps(document("u", row(1), row(2))).encode()
    first = decoder().decode(b"\n".join([update] * 3), "f", 5).rows["_sequence"]
    second = decoder().decode(update, "f", 8).rows["_sequence"]
    assert [*first.to_pylist(), *second.to_pylist()] == [*range(10, 18)]


def bytes_of(number, scale=2, length=None):
    unscaled = int(number.scaleb(scale))
    length = length or unscaled.bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(length, "big", signed=True)).decode()


TYPED = Schema(
    (
        Field("id", BIGINT),
        Field("ms", Timestamp(3)),
        Field("us", Timestamp(6)),
        Field("day", DATE),
        Field("fee", Decimal(10, 2)),
    )
)
NOON = at(2024, 2, 29, 12, 0, 0, 5000)
TYPED_ROW = {
    "id": 1,
    "ms": NOON,
    "us": NOON.replace(microsecond=5001),
    "day": date(2024, 2, 29),
    "fee": Number10("-12.34"),
}
NUMBERS = {"ms": 1709208000005, "us": 1709208000005001, "day": 19782}
TEXTS = {"ms": "2024-02-29T12:00:00.005", "us": "2024-02-29 12:00:00.005001Z"}


@pytest.mark.parametrize("first", [{}, {"ms": None, "us": None, "fee": None}])
@pytest.mark.parametrize(
    ("row", "options"),
    [
        (NUMBERS | {"fee": bytes_of(Number10("-12.34"))}, {}),
        (NUMBERS | {"fee": bytes_of(Number10("-12.34"), length=16)}, {}),
        (NUMBERS | {"fee": -12.34}, {}),
        (NUMBERS | {"fee": -12.34}, {"json.decimal_encoding": "number"}),
        (NUMBERS | {"fee": "-12.34"}, {"json.decimal_encoding": "string"}),
        (
            TEXTS | {"day": "2024-02-29", "fee": bytes_of(Number10("-12.34"))},
            {"json.timestamp_format": "RFC3339"},
        ),
    ],
)
def test_values_come_in_every_encoding(row, options, first):
    whole = {"id": 1} | row
    lines = [document("c", None, whole | first), document("u", whole, whole)]
    assert changes(*lines, schema=TYPED, **options)[1:] == [
        (-1, TYPED_ROW),
        (1, TYPED_ROW),
    ]


def test_the_usual_documents_take_the_fast_reader():
    fast = DocumentBlocks(DocumentRows(TYPED, ("id",), DecimalForms("bytes"), True))
    row = {"id": 1} | NUMBERS | {"fee": "AA=="}
    null = {"id": 1, "day": 7}
    for wrap in (lambda d: d, lambda d: {"schema": {"type": "struct"}, "payload": d}):
        lines = [
            document("c", None, null),
            document("u", null, row),
            document("d", row),
        ]
        block = "\n".join(json.dumps(wrap(line)) for line in lines).encode()
        found = fast.read(block)
        assert found is not None
        exact = DocumentReader(
            DocumentRows(TYPED, ("id",), DecimalForms("bytes"), True)
        )
        records = [exact.read(line) for line in block.split(b"\n")]
        assert found.equals(exact.table(records))


def test_a_text_of_a_decimal_is_what_the_option_says():
    # "1234" is base64 too: of three bytes.
    line = document("c", None, {"id": 1, "fee": "1234"})
    fees = {
        encoding: changes(line, schema=TYPED, **{"json.decimal_encoding": encoding})[0]
        for encoding in ("bytes", "string", "number")
    }
    assert [change[1]["fee"] for change in fees.values()] == [
        Number10(int.from_bytes(base64.b64decode("1234"), "big", signed=True)) / 100,
        Number10(1234),
        Number10(1234),
    ]


def connect(**columns):
    """The schema that Kafka Connect puts beside documents of such rows."""

    def row(name):
        fields = [{"field": column, **type_} for column, type_ in columns.items()]
        return {"type": "struct", "fields": fields, "field": name}

    return {"type": "struct", "fields": [row("before"), row("after")]}


def as_bytes(scale):
    return {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": str(scale)},
    }


AS_TEXT, AS_DOUBLE = {"type": "string"}, {"type": "double"}
FEE = Schema((Field("id", BIGINT), Field("fee", Decimal(10, 2))))


def fees(*values, told=None, schema=FEE, **options):
    """What is read of a column's values, each of one document."""
    lines = [document("c", None, {"id": 1, "fee": value}) for value in values]
    if told is not None:
        lines = [{"schema": connect(fee=told), "payload": line} for line in lines]
    return [row["fee"] for _, row in changes(*lines, schema=schema, **options)]


@pytest.mark.parametrize("encoding", [None, "bytes", "string", "number"])
@pytest.mark.parametrize(
    ("told", "value", "expected"),
    [
        (AS_TEXT, "1999", "1999"),
        (AS_TEXT, "19.99", "19.99"),
        (AS_DOUBLE, 19.99, "19.99"),
        (as_bytes(2), "1999", "-26297.63"),
        (as_bytes(2), "B88=", "19.99"),
        # The column has another scale than the database's.
        (as_bytes(1), "B88=", "199.90"),
        (as_bytes(0), "B88=", "1999.00"),
        (as_bytes(-1), "B88=", "19990.00"),
        # Kafka Connect's `decimal.format=numeric`.
        (as_bytes(2), 19.99, "19.99"),
    ],
)
def test_the_schema_beside_a_document_says_what_its_texts_are(
    told, value, expected, encoding
):
    options = {} if encoding is None else {"json.decimal_encoding": encoding}
    assert fees(value, told=told, **options) == [Number10(expected)]
    # One document of many, which are read at once.
    many = fees(*[value] * 400, told=told, **options)
    assert many == [Number10(expected)] * 400


def test_bytes_that_do_not_fit_the_column_are_bad_data():
    with pytest.raises(RunProblem, match=r"'after.fee' is DECIMAL\(10, 2\), found"):
        fees("B88=", told=as_bytes(3))


def test_documents_of_a_changed_schema_are_read_by_their_own():
    one = {
        "schema": connect(fee=AS_TEXT),
        "payload": document("c", None, row_of("1999")),
    }
    other = one | {"schema": connect(fee=as_bytes(2))}
    later = {"payload": one["payload"], "schema": one["schema"]}
    plain = document("c", None, row_of("19.99"))
    found = changes(one, other, one, later, plain, schema=FEE)
    expected = [1999, Number10("-26297.63"), 1999, 1999, Number10("19.99")]
    assert [row["fee"] for _, row in found] == expected


def row_of(fee):
    return {"id": 1, "fee": fee}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["19.99"], ["19.99"]),
        (["-1999"], ["-1999"]),
        (["199"], ["199"]),
        (["1.0E+3"], ["1000"]),
        (["B88="], ["19.99"]),
        (["B88=", "19.99", None, 3.5], ["19.99", "19.99", None, "3.5"]),
    ],
)
def test_without_a_schema_a_text_is_what_it_can_be(values, expected):
    expected = [None if one is None else Number10(one) for one in expected]
    assert fees(*values) == expected
    assert fees(*values * 200) == expected * 200


@pytest.mark.parametrize("text", ["1999", "00000000", "1E+3", "1e04"])
def test_a_text_that_may_be_both_is_bad_data_and_its_hint_says_what_to_type(text):
    assert form_of(text, 2) is None
    for values in ([text], ["19.99", text], ["B88=", text]):
        with pytest.raises(RunProblem) as problem:
            fees(*values)
        assert f"the text \"{text}\" of 'after.fee' may be a number" in str(
            problem.value
        )
        assert "write 'json.decimal_encoding' = 'string'" in problem.value.hint
    dropped = decoder(FEE, bad_data="drop")
    line = json.dumps(document("c", None, row_of(text))).encode()
    (bad,) = dropped.decode(line, "f", 1).bad
    assert "'json.decimal_encoding' = 'string'" in bad.reason
    assert fees(text, **{"json.decimal_encoding": "string"}) == [Number10(text)]


@given(st.lists(st.decimals(-(10**8) + 1, 10**8 - 1, places=2), min_size=1, max_size=5))
def test_numbers_are_themselves_or_bad_data_but_never_others(numbers):
    for number in numbers:
        if form_of(str(number), 2) is not None:
            assert fees(str(number)) == [number]
    assert fees(*map(str, numbers), told=AS_TEXT) == numbers


@pytest.mark.parametrize("first", [1, "AA==", None])
def test_a_text_of_a_decimal_does_not_depend_on_the_line_before(first):
    line = document("c", None, {"id": 2, "fee": "1234"})
    of_bytes = {"json.decimal_encoding": "bytes"}
    alone = changes(line, schema=TYPED, **of_bytes)
    before = document("c", None, {"id": 1, "fee": first})
    assert changes(before, line, schema=TYPED, **of_bytes)[1:] == alone


WIDE = pa.decimal128(38, 4)
numbers = st.integers(-(10**38) + 1, 10**38 - 1)
base64_texts = st.one_of(
    st.builds(lambda n, k: written(n, k), numbers, st.integers(0, 3)),
    st.binary(max_size=20).map(lambda b: base64.b64encode(b).decode()),
    st.text("AB/+=é9", max_size=9),
)


def written(number, more=0):
    length = number.bit_length() // 8 + 1 + more
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


@settings(max_examples=300)
@given(st.lists(st.none() | base64_texts, min_size=1, max_size=3))
@example([written(-(10**38) + 1), written(10**38 - 1), written(-1), written(255)])
@example([written(10**38)])
@example([written(-1, 17)])
@example(["AB=="])
@example(["A==="])
@example(["9999="])
@example([""])
def test_the_two_readers_of_base64_agree(texts):
    exact = [None if text is None else decimal_of(text, WIDE, 4) for text in texts]
    refused = any(
        value is None and text is not None
        for value, text in zip(exact, texts, strict=True)
    )
    try:
        found = decimals_of(pa.array(texts, pa.string()), WIDE).to_pylist()
    except pa.ArrowInvalid:
        assert refused
    else:
        assert not refused
        assert found == exact


@given(numbers, st.integers(0, 1))
def test_a_number_in_base64_is_that_number(number, more):
    text = written(number, more)
    expected = Number10(number).scaleb(-4, Context(prec=60))
    assert decimal_of(text, WIDE, 4) == expected
    assert decimals_of(pa.array([text]), WIDE).to_pylist() == [expected]


# The two readers of documents.

ODD = Schema(
    (
        Field("id", BIGINT),
        Field("k", TEXT),
        Field("d", DOUBLE, nullable=False),
        Field("f", FLOAT),
        Field("t", Timestamp(3)),
        Field("day", DATE),
        Field("m", Decimal(6, 2)),
        Field("l", ListOf(Decimal(6, 2))),
        Field("s", StructOf((Field("x", Timestamp()), Field("m", Decimal(3, 1))))),
    )
)
small = st.integers(-300, 300)
values = st.one_of(
    st.none(),
    small,
    st.integers(-(10**13), 10**13),
    st.sampled_from(["AAE=", "1.5", "x", "2024-02-29", "2024-02-30", "0000-01-01"]),
    st.sampled_from(["2024-02-29T00:00:00", 1e39, 0.5, True, "AP///w=="]),
    st.lists(small | st.sampled_from(["AQ==", None]), max_size=2),
)
rows = st.fixed_dictionaries(
    {"id": st.sampled_from([1, 2, 2, "3", None]), "k": st.sampled_from(["a", None])},
    optional={
        "d": st.floats(allow_nan=False, allow_infinity=False) | values,
        "f": values,
        "t": small | values,
        "day": small | values,
        "m": st.sampled_from(["AAE=", "/w==", 1.5]) | values,
        "l": values,
        "s": st.fixed_dictionaries({}, optional={"x": values, "m": values}),
        "unknown": values,
    },
)
plain_rows = st.fixed_dictionaries(
    {"id": small, "k": st.just("a"), "d": st.floats(0, 1)},
    optional={"t": small, "m": st.sampled_from(["AAE=", "/w=="]), "day": small},
)
images = st.none() | rows | plain_rows | plain_rows
documents = st.fixed_dictionaries(
    {"op": st.sampled_from("ccrud") | st.sampled_from(["x", None])},
    optional={"before": images, "after": images, "ts_ms": small, "payload": st.none()},
)
lines = st.lists(
    (documents | documents.map(lambda d: {"payload": d, "schema": None})).map(
        lambda d: json.dumps(d).encode()
    )
    | st.sampled_from([b"null", b"", b"7", b'{"payload":null}', b'{"op":"c"} null']),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("decimals", ["bytes", "number"])
@settings(max_examples=300)
@example(found=[b'{"op":"c","after":{"id":1,"k":"a","d":0.0,"m":10000}}'])
@example(found=[b'{"op":"c","after":{"id":1,"k":"a","d":0.0,"l":[10000]}}'])
@given(found=lines)
def test_both_readers_agree(decimals, found):
    of = DocumentRows(ODD, ("id",), DecimalForms(decimals), True)
    suited = replace(of, schema=Schema(tuple(f for f in ODD if f.name != "l")))
    for rows_ in (of, suited):
        block = b"\n".join(found)
        reader = DocumentReader(rows_)
        good, bad = [], 0
        for line in block.split(b"\n"):
            try:
                record = reader.read(line) if line.strip() else None
            except BadRecord:
                bad += 1
                continue
            good += [] if record is None else [record]
        expected = reader.table(good)
        fast = DocumentBlocks(rows_).read(block) if block.strip() else None
        if fast is not None:
            assert bad == 0
            assert fast.equals(expected)
        decoded = FORMATS.get("debezium_json").decoder(
            rows_.schema,
            {"bad_data": "drop", "json.decimal_encoding": decimals},
            None,
            ("id",),
        )
        assert decoded.decode(block, "f", 1).dropped_rows == bad
