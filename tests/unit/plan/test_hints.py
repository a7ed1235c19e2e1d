"""A table with a timestamp and without WATERMARK: windows by arrival are told."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script

TABLE = """
CREATE TABLE trips (k BIGINT, {columns}) WITH (
    connector = 'single_file', path = '/x.json', type = 'source', format = 'json'
);
"""
WINDOWED = "SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM {} GROUP BY w;"
BARE, MARKED = "ts TIMESTAMP NOT NULL", "ts TIMESTAMP NOT NULL, WATERMARK FOR ts"


def hints(sql: str) -> list[str]:
    return plan_script(sql, Catalog()).hints


def test_windows_by_arrival_are_told_once_with_the_column_that_could_be_meant() -> None:
    twice = WINDOWED.format("trips") + WINDOWED.format("(SELECT k FROM trips)")
    sql = TABLE.format(columns=BARE) + twice
    (hint,) = hints(sql)
    assert hint.startswith("trips has no WATERMARK")
    assert "WATERMARK FOR ts" in hint
    assert f"  {hint}\n" in plan_script(sql, Catalog()).explain()


@pytest.mark.parametrize(
    ("columns", "query"),
    [
        (MARKED, WINDOWED.format("trips")),
        ("v BIGINT", WINDOWED.format("trips")),
        (BARE, "SELECT k FROM trips"),
        (BARE, "SELECT k, count(*) AS n FROM trips GROUP BY k"),
    ],
)
def test_nothing_is_told_where_nothing_was_forgotten(columns: str, query: str) -> None:
    assert not hints(TABLE.format(columns=columns) + query)


def test_changes_have_no_event_time_to_forget() -> None:
    table = TABLE.format(columns=BARE).replace("'json'", "'debezium_json'")
    table = table.replace("k BIGINT", "k BIGINT PRIMARY KEY")
    assert not hints(table + WINDOWED.format("trips"))


def test_a_watermark_of_its_own_column_is_one() -> None:
    marked = TABLE.format(columns=BARE).replace(
        "type =", "watermark_field = 'ts', type ="
    )
    assert not hints(marked + WINDOWED.format("trips"))


@pytest.mark.parametrize(
    "options",
    [
        "connector = 'impulse', event_rate = '1'",
        "connector = 'sample', dataset = 'flights'",
    ],
)
def test_a_source_whose_rows_have_a_time_of_their_own_forgets_nothing(
    options: str,
) -> None:
    assert not hints(f"CREATE TABLE t WITH ({options});" + WINDOWED.format("t"))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("v > '2026-01-01'", "write to_timestamp_millis(v) for milliseconds"),
        ("v BETWEEN '5' AND '7'", "write 5 without quotes"),
        ("v IN ('x')", "the number v is compared as text, as in Arroyo, with 'x'"),
        ("v = name", "cast the text to a number, as in TRY_CAST(name AS BIGINT)"),
    ],
)
def test_a_number_that_is_compared_as_text_is_told(condition: str, said: str) -> None:
    table = TABLE.format(columns="v BIGINT, name TEXT")
    (hint,) = hints(f"{table} SELECT k FROM trips WHERE {condition};")
    assert said in hint


@pytest.mark.parametrize(
    "expression",
    ["CAST(v AS TEXT) > '5'", "v > 5", "CASE WHEN k > 1 THEN v ELSE 'x' END = 'x'"],
)
def test_a_cast_that_was_written_is_meant(expression: str) -> None:
    table = TABLE.format(columns="v BIGINT")
    assert hints(f"{table} SELECT k FROM trips WHERE {expression};") == []
