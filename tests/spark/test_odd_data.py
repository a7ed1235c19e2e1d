"""Data at the edges of types and of time, from a file through Spark to an answer."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from arroyo_nb.errors import RunProblem

LARGEST = 2**64 - 1
EVENTS = "ts TIMESTAMP, v BIGINT, WATERMARK FOR ts"
COUNTS = "SELECT tumble('5 seconds') AS w, count(*) AS n FROM t GROUP BY 1"
BEFORE_1970 = [
    {"ts": "1969-12-31T23:59:58", "v": 1},
    {"ts": "1970-01-01T00:00:04", "v": 2},
]
NUMBERS = "u BIGINT UNSIGNED, u4 INT UNSIGNED, i INT, f FLOAT, d DOUBLE, b BIGINT"
NUMBER = {"u": LARGEST, "u4": 2**32 - 1, "i": -5, "f": 0.1, "d": 1.5e9, "b": 7}


@pytest.fixture
def answer(session, tmp_path):
    """The rows of a query over a table ``t`` of these columns and records."""

    def run(columns, records, query, options=""):
        path = tmp_path / "t.json"
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        table = (
            f"CREATE TABLE t ({columns}) WITH (connector = 'single_file', "
            f"path = '{path}', type = 'source', format = 'json'{options});"
        )
        made = session.run(table + query, wait=True)
        return made.table().to_pylist()

    return run


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("v INT", "abc", "'v' is INT, found \"abc\""),
        ("v INT", 2**31, "'v' is INT, found 2147483648"),
        ("v TIMESTAMP", "yesterday", "'v' is TIMESTAMP, found \"yesterday\""),
        ("v TEXT", {"a": 1}, "'v' is TEXT, found {\"a\":1}"),
        ("v STRUCT<a INT>", [1], "'v' is STRUCT<a INT>, found [1]"),
        ("v STRUCT<a INT>", {"a": "x"}, "'v.a' is INT, found \"x\""),
        ("v STRUCT<a INT>[]", [{"a": True}], "'v[].a' is INT, found true"),
        ("v INT NOT NULL", None, "'v' is NOT NULL and is null"),
    ],
)
def test_a_record_of_another_type_ends_the_run_with_field_type_value_and_record(
    answer, column, value, reason
):
    records = [{"id": 1}, {"id": 2, "v": value, "note": "x" * 300}]
    first = {"v": 1} if "NOT" in column else {}
    with pytest.raises(RunProblem) as ended:
        answer(
            f"id BIGINT, {column}", [records[0] | first, records[1]], "SELECT * FROM t"
        )
    message, hint = ended.value.message, ended.value.hint
    assert f"t.json:2: JSON does not match schema: {reason}, in the record " in message
    record = message.partition("in the record ")[2]
    assert record == json.dumps(records[1])[:199] + "…"
    assert "declare the column as the records have it" in hint
    assert "bad_data = 'drop'" in hint


def test_windows_before_1970_are_told_to_be_impossible(answer):
    with pytest.raises(RunProblem, match="the event time of 't' lies before 1970"):
        answer(EVENTS, BEFORE_1970, COUNTS)


def test_dropped_rows_from_before_1970_are_counted(session, answer):
    (row,) = answer(EVENTS, BEFORE_1970, COUNTS, ", bad_data = 'drop'")
    assert (row["w"]["start"], row["n"]) == (datetime(1970, 1, 1), 1)
    (run,) = session.runs.values()
    (source,) = run.snapshot().sources
    assert source.dropped_rows == 1
    assert "lies before 1970" in source.bad[0]


@pytest.mark.parametrize("time", ["ts AS ts - INTERVAL '36500 days'", "made"])
@pytest.mark.parametrize(
    "window", ["tumble('36500 days')", "session('36500 days')", "tumble('1 second')"]
)
def test_the_last_rows_of_windows_come_out(answer, time, window):
    columns = (
        "ts TIMESTAMP NOT NULL, made TIMESTAMP NOT NULL GENERATED ALWAYS AS (ts) "
        f"STORED, WATERMARK FOR {time}"
    )
    query = f"SELECT {window} AS w, count(*) AS n FROM t GROUP BY 1"
    (row,) = answer(columns, [{"ts": "9699-12-31T23:59:59"}], query)
    assert row["n"] == 1
    with pytest.raises(RunProblem, match="after the year 9699, where windows cannot"):
        answer(columns, [{"ts": "9700-01-01T00:00:00"}], query)


def test_without_a_window_1969_is_a_year_like_any_other(answer):
    assert [r["v"] for r in answer(EVENTS, BEFORE_1970, "SELECT v FROM t")] == [1, 2]


# What DataFusion 48 answers.
EXACT = {
    "u > b": True,
    "u = b": False,
    "u - 1": Decimal(LARGEST - 1),
    "coalesce(u, b)": Decimal(LARGEST),
    "u / u": 1,
    "u / u4": LARGEST // (2**32 - 1),
    "u4 + i": 2**32 - 6,
    "u4 > i": True,
    "f + i": pytest.approx(-4.9, abs=1e-6),
    "CAST(b AS TIMESTAMP)": datetime(1970, 1, 1, 0, 0, 7),
    "TRY_CAST(d AS TIMESTAMP)": datetime(1970, 1, 1, 0, 0, 1, 500_000),
    "CAST(to_timestamp(b) AS DOUBLE)": 7e9,
    "TRY_CAST(to_timestamp(b) AS INT)": None,
    "date_part('epoch', to_timestamp_millis(b))": 0.007,
    "b - i || ' ' || d || ' ' || f": "12 1500000000.0 0.1",
    "CAST(d * 1e7 AS TEXT)": "1.5e16",
    "CAST(-d / 1e15 AS TEXT)": "-1.5e-6",
    "CAST(d / 1e13 AS TEXT)": "0.00015",
    "CAST(u / -1e10 AS TEXT)": "-1844674407.3709552",
    "concat(0.0 / 0, -1 / 0.0, -0.0)": "NaN-inf-0.0",
    "to_timestamp(b) - to_timestamp(i)": timedelta(seconds=12),
    r"'a\d' LIKE '%\d'": True,
    r"'\d' LIKE concat('\', 'd')": False,
    r"'a%' LIKE concat('a', '\%')": True,
    r"'ab' LIKE 'a\%'": False,
    r"'a\' LIKE 'a\'": True,
}


def test_numbers_and_patterns_are_those_of_data_fusion(answer):
    items = ", ".join(f"{text} AS x{i}" for i, text in enumerate(EXACT))
    (row,) = answer(NUMBERS, [NUMBER], f"SELECT {items} FROM t")
    assert dict(zip(EXACT, row.values(), strict=True)) == EXACT


def test_what_leaves_an_unsigned_type_wraps_around(answer):
    (row,) = answer(
        NUMBERS,
        [NUMBER],
        "SELECT u + u AS a, u4 + u4 AS b, u4 * u4 AS c, u - u - u AS d FROM t",
    )
    assert row == {"a": 2**64 - 2, "b": 2**32 - 2, "c": 1, "d": 1}


def test_a_windowed_sum_of_unsigned_numbers_wraps_around(answer):
    records = [{**NUMBER, "u": u} for u in (LARGEST, 5, None)]
    query = "SELECT sum(u) AS s FROM t GROUP BY tumble('1 second')"
    assert answer(NUMBERS, records, query) == [{"s": 4}]


def test_without_a_window_a_sum_of_unsigned_numbers_wraps_around(answer):
    records = [{**NUMBER, "u": u} for u in (LARGEST, 5, None)]
    query = "SELECT sum(u) AS s, sum(u4) AS s4, avg(u) AS m FROM t"
    (row,) = answer(NUMBERS, records, query)
    assert row == {"s": 4, "s4": 3 * (2**32 - 1), "m": 2.0**63}


def test_a_mean_of_unsigned_numbers_is_a_double(answer):
    records = [{**NUMBER, "u": u} for u in (1, 1, 2)]
    query = "SELECT avg(u) AS m FROM t GROUP BY tumble('1 second')"
    assert answer(NUMBERS, records, query) == [{"m": 4 / 3}]


def test_text_that_is_no_regular_expression(answer):
    with pytest.raises(RunProblem, match="is not a regular expression: unclosed group"):
        answer(NUMBERS, [NUMBER], "SELECT b::TEXT ~ concat('(', b::TEXT) AS x FROM t")


def test_nested_operands_do_not_double_the_query(answer):
    chain = " / ".join(["d"] * 30)
    casts = "u4" + "::BIGINT::INT UNSIGNED" * 15
    query = f"SELECT {chain} AS x, {casts} AS y FROM t"
    (row,) = answer(NUMBERS, [{**NUMBER, "d": 1.0}], query)
    assert row == {"x": 1.0, "y": 2**32 - 1}
