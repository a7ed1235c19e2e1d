"""What a sample of records is taken for, and the table that is made of it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.formats import payload_format
from arroyo_nb.kafka.peek.create_table import create_table, tape_table
from arroyo_nb.kafka.peek.guess import Guess, guess
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import TEXT, Field
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import parse_all


def of(*documents: Any, keys: tuple[bytes | None, ...] = ()) -> Guess:
    return guess([json.dumps(document).encode() for document in documents], keys)


def columns(*documents: Any) -> list[str]:
    return [f"{field.name} {field.type}" for field in of(*documents).fields]


@pytest.mark.parametrize(
    ("values", "format_"),
    [
        ([b'{"a": 1}', None, b"{}"], "json"),
        ([b'{"a": 1}', b"[1]"], "raw_string"),
        ([b'{"a": 1'], "raw_string"),
        ([b"hello", "straße".encode()], "raw_string"),
        ([b"hello", b"\xff\xfe"], "raw_bytes"),
        ([b"hel\0lo"], "raw_bytes"),
        # A message of Protobuf that is UTF-8 by chance.
        ([b"\x08\x01\x12\x03abc"], "raw_bytes"),
        ([b"\x08\x01", "\x80".encode()], "raw_bytes"),
        ([b"a\tb\r\n", b"\x1b[31mred\x1b[0m"], "raw_string"),
        ([None, None], "raw_bytes"),
        ([], "raw_bytes"),
        ([b"[" * 100_000], "raw_string"),
        ([b'{"op": "c", "before": null, "after": {"a": 1}}'], "debezium_json"),
        ([b'{"op": "c", "price": 1}'], "json"),
        ([b"\0\0\0\0\x07\x02\x04ab"], "avro"),
    ],
)
def test_the_format(values: list[bytes | None], format_: str) -> None:
    assert guess(values).format == format_


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, 2, None], "BIGINT"),
        ([1, 2.5], "DOUBLE"),
        ([True], "BOOLEAN"),
        ([True, 1], "JSON"),
        ([2**63], "JSON"),
        (["a", "2024-01-01"], "TEXT"),
        (["2024-01-01T10:00:00Z", "2024-01-01 10:00:00.123456789"], "TIMESTAMP"),
        (["2024-01-01T10:00:00Z", "soon"], "TEXT"),
        (["2024-13-01T10:00:00Z"], "TEXT"),
        ([1, "a"], "JSON"),
        ([None], "JSON"),
        ([[1], [], [2.5]], "DOUBLE[]"),
        ([[]], "JSON"),
        ([[1, "a"]], "JSON"),
        ([{"a": 1}, {"a": None, "b": "x"}], "STRUCT<a BIGINT, b TEXT>"),
        ([{"a": {"b": [1]}}], "STRUCT<a STRUCT<b BIGINT[]>>"),
        ([{"a": 1}, {"a": "x"}], "JSON"),
        ([{"a": None}], "JSON"),
        ([{}], "JSON"),
        ([{"odd name": 1}], "JSON"),
        ([{"a": 1}, 1], "JSON"),
    ],
)
def test_the_type_of_a_column(values: list[Any], type_: str) -> None:
    assert columns(*({"c": value} for value in values)) == [f"c {type_}"]


def test_columns_come_in_the_order_in_which_they_are_first_seen() -> None:
    found = columns({"b": 1}, {"a": "x", "b": 2})
    assert found == ["b BIGINT", "a TEXT"]


def test_a_name_that_no_column_may_have_is_left_out() -> None:
    assert columns({"_timestamp": 1, "": 2, "a": 3}) == ["a BIGINT"]


def test_a_changelog_has_the_columns_of_its_rows_and_the_key_of_its_records() -> None:
    found = of(
        {"op": "u", "before": {"id": 1, "n": None}, "after": {"id": 1, "n": 2}},
        {"op": "d", "before": {"id": 1, "n": 2}, "after": None},
        keys=(b'{"id": 1}', None),
    )
    assert [str(field) for field in found.fields] == ["id BIGINT", "n BIGINT"]
    assert found.key == {"id"}
    assert found.options == {}


def test_what_kafka_connect_writes_with_its_schema() -> None:
    change = {"op": "c", "before": None, "after": {"id": 1}}
    found = of({"schema": {}, "payload": change})
    assert (found.format, len(found.fields)) == ("debezium_json", 1)
    assert found.options == {"json.include_schema": "true"}


def test_what_a_registry_has_the_schema_of() -> None:
    found = guess([b'\0\0\0\0\x07{"a": 1}'])
    assert [str(field) for field in found.fields] == ["a BIGINT NOT NULL"]
    assert found.options == {"json.confluent_schema_registry": "true"}


NAMES = ("id", "userId", "odd name", 'a"b', "select", "watermark", "primary", "date",
         "straße", "1st", "end", "it's", "order", "metadata", "generated")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_is_one_and_declares_what_was_found(name: str) -> None:
    found = Guess("json", (Field(name, TEXT), Field("other", TEXT)))
    text = create_table("127.0.0.1:9092", name, found)
    parsed = parse_all(ScriptText(text, "<cell>"))
    (statement,) = parsed.statements
    columns = statement.expression.this.expressions
    assert [column.name for column in columns] == [name, "other"]


def bad_of_sample(payloads: list[bytes]) -> tuple[set[int], set[int]]:
    """Which records of a sample the declared table does not read, and which the guess
    calls odd."""
    found = guess(payloads)
    plan = plan_script(create_table("h:1", "t", found), Catalog())
    table = plan.catalog.get("t")
    assert isinstance(table, ConnectorTable)
    spec, format_ = table.spec, payload_format(str(table.format))
    decoder = format_.payload_decoder(
        spec.record, spec.options, spec.event_time, spec.primary_key
    )
    read = decoder.decode(pa.array(payloads, pa.binary()))
    return {number for number, _ in read.bad}, set(found.odd)


GOOD = [b'{"id": %d, "n": 1.5, "s": "x"}' % n for n in range(20)]
CHANGES = [b'{"op": "c", "after": {"id": %d, "s": "x"}}' % n for n in range(20)]


@pytest.mark.parametrize(
    ("others", "usual"),
    [
        ([b'{"id": 99, "n": NaN, "s": "x"}'], GOOD),
        ([b'{"id": 99, "n": 1e400, "s": "x"}'], GOOD),
        ([b'{"id": 99, "n": 1, "s": "\\ud83d"}'], GOOD),
        ([b'\xef\xbb\xbf{"id": 99, "n": 1.5, "s": "x"}'], GOOD),
        (['{"id": 99, "n": 1.5, "s": "x"}'.encode("utf-16")], GOOD),
        ([b'{"id": 99, "n": 1.5, "s": "x", "o": {"select": 1, "not": [1]}}'], GOOD),
        ([b'{"id": 99, "n": 1.5, "s": "x", "o": {"select": {"order": "x"}}}'], GOOD),
        ([b'{"op": "t", "source": {}, "before": null, "after": null}'], CHANGES),
        ([b'{"op": "m", "message": {}, "after": null}'], CHANGES),
        ([b'{"op": "c", "after": {"id": "x", "s": "x"}}'], CHANGES),
        ([b'{"op": [], "after": {"id": 1, "s": "x"}}'], CHANGES),
    ],
)
@pytest.mark.parametrize("times", [1, 30])
def test_the_declared_table_reads_its_own_sample(
    others: list[bytes], usual: list[bytes], times: int
) -> None:
    bad, odd = bad_of_sample([*usual, *others * times])
    assert bad <= odd


DOCUMENTS = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**65), 2**65),
        st.floats(),
        st.text(st.characters(), max_size=3),
        st.sampled_from(["2024-01-01T10:00:00Z", "\ud83d", "1999"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["a", "select", "b c", "end"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), DOCUMENTS), min_size=1))
@settings(max_examples=200)
def test_any_sample_is_read_but_for_what_is_odd(documents: list[Any]) -> None:
    found = guess(payloads := [json.dumps(one).encode() for one in documents])
    if found.format == "json":
        bad, odd = bad_of_sample(payloads)
        assert bad <= odd


def test_the_statement() -> None:
    found = of({"id": 1, "at": "2024-01-01T10:00:00Z"})
    assert create_table("127.0.0.1:9092", "shop.Orders", found) == (
        "CREATE TABLE shop_orders (\n"
        "    id BIGINT NOT NULL,\n"
        "    at TIMESTAMP NOT NULL,\n"
        "    WATERMARK FOR at AS at - INTERVAL '5 seconds'\n"
        ") WITH (\n"
        "    connector = 'kafka',\n"
        "    bootstrap_servers = '127.0.0.1:9092',\n"
        "    topic = 'shop.Orders',\n"
        "    type = 'source',\n"
        "    'source.offset' = 'earliest',\n"
        "    format = 'json',\n"
        "    bad_data = 'drop'\n"
        ");"
    )


def test_the_statement_of_a_changelog_names_its_key() -> None:
    change = {"op": "c", "before": None, "after": {"id": 1}}
    text = create_table("h:1", "1-t", of(change, keys=(b'{"id": 1}',)))
    assert text.startswith("CREATE TABLE _1_t (\n    id BIGINT NOT NULL PRIMARY KEY\n)")


def times(count: int) -> list[str]:
    return [f"2024-01-01T10:00:{n % 60:02}Z" for n in range(count)]


def test_few_records_of_another_kind_are_counted_and_leave_the_guess_as_it_is() -> None:
    rows: list[dict[str, Any]] = [{"id": n, "at": at} for n, at in enumerate(times(98))]
    values = [json.dumps(row).encode() for row in rows]
    values[40:40] = [b"{not json", b"\xff\xfe"]
    values[70] = b'{"id": "seven", "at": "soon"}'
    found = guess([None, *values])
    assert [str(f) for f in found.fields] == [
        "id BIGINT NOT NULL",
        "at TIMESTAMP NOT NULL",
    ]
    assert (found.records, found.odd) == (100, (41, 42, 71))
    assert "bad_data = 'drop'" in create_table("h:1", "t", found)


def test_what_is_known_of_a_column() -> None:
    rows = [{"n": n, "name": None if n % 4 else f"x{n}", "l": []} for n in range(8)]
    number, name, listed = of(*rows).columns
    assert (number.nulls, number.least, number.most) == (0, 0, 7)
    assert (name.nulls, name.least, name.most) == (6, "x0", "x4")
    assert (listed.nulls, listed.least, listed.most) == (0, None, None)


MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("row", "column", "watermark"),
    [
        ({"at": "2024-01-01T10:00:00Z"}, "", "at"),
        ({"ts": MS}, "to_timestamp_millis(ts)", "event_time"),
        ({"ts": MS // 1000}, "to_timestamp_seconds(ts)", "event_time"),
        ({"createdAt": MS * 1000}, 'to_timestamp_micros("createdAt")', "event_time"),
        (
            {"updated_at": "2024-01-01T10:00:00Z", "ts": MS},
            "to_timestamp_millis(ts)",
            "event_time",
        ),
        ({"event_time": MS}, "to_timestamp_millis(event_time)", "event_time_2"),
        ({"id": MS}, "", ""),
        ({"ts": 17}, "", ""),
    ],
)
def test_the_likely_event_time(row: Any, column: str, watermark: str) -> None:
    found = of(row, row)
    text = create_table("h:1", "t", found)
    assert column in text
    if watermark:
        assert f"WATERMARK FOR {watermark} AS {column or watermark} - INTERVAL" in text
        table = plan_script(f"{text} SELECT 1 AS one FROM t", Catalog()).catalog
        assert table.tables["t"].schema
    else:
        assert "WATERMARK" not in text


def test_what_may_be_missing_is_no_event_time() -> None:
    text = create_table("h:1", "t", of({"ts": MS}, {"ts": None}))
    assert "ts BIGINT\n" in text
    assert "WATERMARK" not in text


def test_the_delay_is_no_less_than_the_disorder_of_the_sample() -> None:
    found = of(*({"ts": MS + 1000 * s} for s in (0, 90, 20, 95)))
    assert "(ts) - INTERVAL '5 minutes'" in create_table("h:1", "t", found)


@pytest.mark.parametrize("odd", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_far_off_is_not_what_the_watermark_waits_for(odd: str) -> None:
    rows = [{"at": at} for at in times(40)]
    few = of(*rows[:20], {"at": odd}, *rows[20:])
    assert "WATERMARK FOR at AS at - INTERVAL '5 seconds'" in create_table(
        "h", "t", few
    )
    many = of(*rows[:4], {"at": odd}, *rows[4:8])
    assert "WATERMARK" not in create_table("h", "t", many)
    other = [{**row, "ts": MS} for row in (*rows[:4], {"at": odd}, *rows[4:8])]
    assert "WATERMARK FOR event_time AS to_ti" in create_table("h", "t", of(*other))


def test_records_without_a_column_are_one_themselves() -> None:
    assert columns({"": 1}, {"_timestamp": 2}) == ["value TEXT"]
    assert of({}).format == "raw_string"
    assert guess([b"\0\0\0\0\x07{}"]).format == "raw_bytes"
    avro = create_table("h:1", "t", guess([b"\0\0\0\0\x07\x02\x04ab"]))
    assert "format = 'raw_bytes'" in avro


def test_the_key_of_a_changelog_tells_its_rows_apart() -> None:
    rows = [{"kind": "a", "note": None, "id": n} for n in range(3)]
    changes = [{"op": "c", "before": None, "after": row} for row in rows]
    assert of(*changes).key == {"id"}
    assert of(*changes, keys=(b'{"kind": "a"}',)).key == {"kind"}
    twice = of(*changes, *changes)
    assert (twice.format, twice.key) == ("json", frozenset())


FIELD_NAMES = st.sampled_from(
    [
        *("id", "ts", "at", "event_time", "event_time_2", "event_time_3", "EVENT_TIME"),
        *("updated_at", "_timestamp", "window", "CREATE", "op", "before", "after"),
        *(
            "schema",
            "payload",
            "ü",
            "",
            "a b",
            'q"x',
            "a'b",
            "`",
            "\n",
            "--",
            "/*",
            ";",
        ),
    ]
) | st.text(max_size=5)
NUMBERS = st.sampled_from(
    [0, -1, 2**63, 10**400, 1.5, 1e308, MS, MS // 1000, MS * 1000]
)
TEXTS = st.sampled_from(
    [
        *("c", "r", "2024-01-01T00:00:00Z", "2024-13-45T00:00:00Z"),
        *("2024-01-01 00:00:60", "9999-12-31T23:59:59.999999999Z", "soon", "NaN", ""),
        *("0001-01-01T00:00:00+14:00", "2024-02-30T00:00:00", "\ud800", "٣"),
        *("2024-01-01T00:00:00.123456789", "2024-01-01T00:00:00+0530"),
    ]
)
CONSTANTS = st.sampled_from([None, True, False, float("nan"), float("inf")])
VALUES = st.recursive(
    NUMBERS | TEXTS | CONSTANTS | st.sampled_from("cud"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELD_NAMES, inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def samples(draw: st.DrawFn) -> list[bytes | None]:
    """Records that mostly have the same fields, each with a value of a few."""
    name = draw(st.lists(FIELD_NAMES, min_size=1, max_size=5, unique=True))
    row = st.fixed_dictionaries(
        {}, optional={n: st.sampled_from(draw(st.lists(VALUES, min_size=1, max_size=2)))
                      for n in name},
    )  # fmt: skip
    change = st.fixed_dictionaries(
        {"op": st.sampled_from("cud"), "before": st.none() | row, "after": row}
    )
    document = change if draw(st.booleans()) else row
    junk = st.sampled_from([b"", b"\0\0\0\0\1{}", b"\xff", b"[1]", b"null", None])
    prefix = draw(st.sampled_from([b"", b"", b"\0\0\0\0\1"]))
    record = document.map(lambda made: prefix + json.dumps(made).encode())
    mixed = st.one_of(record, record, record, junk) if draw(st.booleans()) else record
    return draw(st.lists(mixed, max_size=12))


TOPICS = st.from_regex("[a-zA-Z0-9._-]{1,12}", fullmatch=True)


@settings(max_examples=300, deadline=None)
@given(samples(), st.lists(VALUES, max_size=2), TOPICS)
def test_the_statement_of_any_sample_plans(
    sample: list[bytes | None], keys: list[Any], topic: str
) -> None:
    found = guess(sample, [json.dumps(key).encode() for key in keys])
    for text in (create_table("h:1", topic, found), tape_table("t", "p", found)):
        (table,) = plan_script(text, Catalog()).catalog.tables.values()
        assert table.schema
