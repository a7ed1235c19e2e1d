"""What columns without a name of their own are called where a result is shown: as they
were typed. Their names stay those of DataFusion, as Arroyo's are."""

from __future__ import annotations

from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Sink
from arroyo_nb.plan.planner import plan_script

TABLES = Path(__file__).parents[2] / "golden" / "tables.sql"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return plan_script(TABLES.read_text(encoding="utf-8"), Catalog()).catalog


def sink(script: str, catalog: Catalog) -> Sink:
    *_, last = plan_script(script, catalog).sinks
    return last


@pytest.mark.parametrize(
    "item",
    [
        "count(*)",
        "sum(seats) + 3",
        "avg(fare) FILTER (WHERE id > 1)",
        "count(DISTINCT name)",
        "array_agg(id ORDER BY at DESC)",
        "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY fare)",
        "CASE WHEN count(*) > 1 THEN 'many' ELSE 'one' END",
        "CAST(sum(fare) AS TEXT)",
        "sum(fare)::TEXT",
        "-sum(fare)",
        "sum(fare) IS NULL",
        "count(*) IN (1, 2)",
        "NOT bool_and(done)",
        "upper(lower(max(name)))",
    ],
)
def test_an_item_of_an_updating_query_is_shown_as_typed(catalog, item):
    made = sink(f"SELECT id, {item} FROM trips GROUP BY id", catalog)
    assert made.headers == ("id", item)


@pytest.mark.parametrize(
    "item",
    [
        "fare + 3",
        "'it''s'",
        "'x'",
        "TRUE",
        "NULL",
        "1.5",
        "tags[1]",
        "place.at.lat",
        "id::TEXT",
        "CAST(fare AS TEXT)",
        "name || '!' || name",
        "EXTRACT(hour FROM at)",
        "substring(name FROM 1 FOR 2)",
        "fare BETWEEN 1 AND 2",
        "row_time()",
    ],
)
def test_an_item_of_a_plain_query_is_shown_as_typed(catalog, item):
    assert sink(f"SELECT {item}, id FROM trips", catalog).headers == (item, "id")


@pytest.mark.parametrize(
    "window",
    [
        "tumble(INTERVAL '1 minute')",
        "hop(INTERVAL '1 minute', INTERVAL '5 minutes')",
        "session(INTERVAL '1 minute')",
    ],
)
def test_a_window_is_shown_as_typed(catalog, window):
    made = sink(f"SELECT {window}, count(*) FROM trips GROUP BY 1", catalog)
    assert made.headers == (window, "count(*)")


def test_blanks_and_comments_within_are_one_blank(catalog):
    script = "SELECT fare /* a */ +  -- b\n\n 3, seats+1 FROM trips"
    assert sink(script, catalog).headers == ("fare + 3", "seats+1")


@pytest.mark.parametrize(
    "script",
    [
        "SELECT * FROM (SELECT id + 1, upper(name) FROM trips)",
        "SELECT q.* FROM (SELECT id + 1, upper(name) FROM trips) AS q",
        "WITH c AS (SELECT id + 1, upper(name) FROM trips) SELECT * FROM c",
        "CREATE VIEW v AS SELECT id + 1, upper(name) FROM trips; SELECT * FROM v",
        "SELECT id + 1, upper(name) FROM trips UNION ALL SELECT id, name FROM trips",
        "SELECT DISTINCT id + 1, upper(name) FROM trips ORDER BY 1 LIMIT 5",
    ],
)
def test_a_header_goes_through_queries(catalog, script):
    assert sink(script, catalog).headers == ("id + 1", "upper(name)")


def test_a_view_of_an_earlier_cell_has_its_headers(catalog):
    made = plan_script("CREATE VIEW v AS SELECT id + 1 FROM trips", catalog)
    assert sink("SELECT * FROM v", made.catalog).headers == ("id + 1",)


def test_names_of_columns_and_aliases_are_shown_as_they_are(catalog):
    inner = "SELECT CAST(id AS TEXT) FROM (SELECT id FROM trips)"
    script = f'SELECT id, id AS "Int64(1)" FROM ({inner})'
    assert sink(script, catalog).headers == ("id", "Int64(1)")


def test_names_and_state_are_what_they_were(catalog):
    """How an item is typed is no part of what a checkpoint rests on."""
    one = plan_script("SELECT id, count(*)+1 FROM trips GROUP BY id", catalog)
    other = plan_script("SELECT id, count(*)  +  1 FROM trips GROUP BY id", catalog)
    assert one.sinks[0].schema.names == ("id", "count(*) + Int64(1)")
    assert one.sinks[0].headers != other.sinks[0].headers
    assert one.sinks == other.sinks
