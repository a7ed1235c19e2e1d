"""OVER without a window: which ranks there are, and what limits them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import PlanProblem
from arroyo_nb.plan.nodes import (
    Filter,
    Limit,
    Number,
    Sink,
    UpdatingRank,
    WindowOver,
    is_updating,
)
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.queries.over import with_over
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import BrokenPlan, verify
from arroyo_nb.schema import BIGINT_UNSIGNED

TABLES = Path(__file__).parents[2] / "golden" / "tables.sql"
RANKED = (
    "SELECT id, at, row_number() OVER (PARTITION BY at ORDER BY id) AS n, "
    "rank() OVER (PARTITION BY at ORDER BY id) AS r FROM clicks"
)


@cache
def tables() -> Catalog:
    return plan_script(TABLES.read_text(encoding="utf-8"), Catalog()).catalog


def planned(query: str) -> Sink:
    return plan_script(query, tables()).sinks[-1]


def ranks(query: str) -> list[UpdatingRank]:
    return [node for node in walk(planned(query)) if isinstance(node, UpdatingRank)]


PREDICATES = {
    "n <= 3": ("row_number", 3, 0),
    "n < 3": ("row_number", 2, 0),
    "3 >= n": ("row_number", 3, 0),
    "3 > n": ("row_number", 2, 0),
    "n = 1": ("row_number", 1, 0),
    "1 = n": ("row_number", 1, 0),
    "n = 2": ("row_number", 2, 1),
    "n BETWEEN 1 AND 2": ("row_number", 2, 0),
    "n BETWEEN 0 AND 2": ("row_number", 2, 0),
    "n BETWEEN 2 AND 4": ("row_number", 4, 1),
    "n <= 3 AND 2 >= n AND n <= 4": ("row_number", 2, 0),
    "r <= 2 AND id > 1": ("rank", 2, 1),
    "id > 1 AND (n <= 2 AND at IS NOT NULL)": ("row_number", 2, 1),
    "n <= 3 AND r <= 2": ("row_number", 3, 1),
    "CAST(n AS BIGINT) <= 3": ("row_number", 3, 0),
    "n <= 2 AND n > 1": ("row_number", 2, 1),
    "n > 3": None,
    "n >= 1": None,
    "3 <= n": None,
    "n <> 1": None,
    "n <= 0": None,
    "n < 1": None,
    "n = 0": None,
    "n <= 3 OR id = 1": None,
    "NOT n <= 3": None,
    "n <= id": None,
    "n + 1 <= 3": None,
    "CAST(n AS TINYINT) <= 3": None,
    "id <= 3": None,
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_what_is_compared_with_a_constant_limits(predicate: str) -> None:
    query = f"SELECT * FROM ({RANKED}) AS q WHERE {predicate}"
    (rank,) = ranks(query)
    filters = [node for node in walk(planned(query)) if isinstance(node, Filter)]
    limit = PREDICATES[predicate]
    assert (rank.limit, len(filters)) == (
        (Limit(*limit[:2]), limit[2]) if limit else (None, 1)
    )


def test_a_limit_passes_select_lists_and_filters() -> None:
    query = f"SELECT m FROM (SELECT n AS m, id FROM ({RANKED}) AS a WHERE id > 1) AS b "
    (rank,) = ranks(query + "WHERE m <= 2")
    assert rank.limit == Limit("row_number", 2)
    (rank,) = ranks(query.replace("n AS m", "n + 1 AS m") + "WHERE m <= 2")
    assert rank.limit is None


def test_a_limit_stays_above_another_rank() -> None:
    again = f"SELECT *, rank() OVER (ORDER BY id) AS s FROM ({RANKED}) AS q"
    below, above = ranks(f"SELECT * FROM ({again}) AS p WHERE n <= 2 AND s <= 3")
    assert (below.limit, above.limit) == (None, Limit("rank", 3))


def test_a_limit_is_of_its_reader_alone() -> None:
    view = f"CREATE VIEW v AS {RANKED};"
    query = "SELECT n FROM v WHERE n <= 2 UNION ALL SELECT n FROM v"
    assert [rank.limit for rank in ranks(view + query)] == [
        Limit("row_number", 2),
        None,
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM ({}) AS q WHERE n <= 2", ("n", "r")),
        ("SELECT id FROM ({}) AS q WHERE n <= 2", ()),
        ("SELECT id FROM ({}) AS q WHERE n = 2", ("n",)),
        ("SELECT id, r + 1 AS p FROM ({}) AS q", ("r",)),
        ("SELECT r, count(*) AS c FROM ({}) AS q WHERE n <= 2 GROUP BY r", ("r",)),
        ("SELECT count(*) AS c FROM ({}) AS q WHERE n <= 2", ()),
        ("SELECT id FROM (SELECT * FROM ({}) AS p) AS q WHERE r < 2 AND n > 1", ("n",)),
    ],
)
def test_numbers_are_made_where_they_are_read(
    query: str, names: tuple[str, ...]
) -> None:
    (rank,) = ranks(query.format(RANKED))
    assert tuple(number.name for number in rank.numbers) == names


def test_calls_of_one_order_share_a_rank() -> None:
    same = "OVER (PARTITION BY at ORDER BY id)"
    query = f"SELECT rank() {same} AS a, dense_rank() {same} AS b, rank() {same} AS c, "
    query += "rank() OVER (PARTITION BY at ORDER BY id DESC) AS d FROM clicks"
    first, second = ranks(query)
    assert first.numbers == (Number("a", "rank"), Number("b", "dense_rank"))
    assert second.numbers == (Number("d", "rank"),)
    assert {field.type for field in planned(query).schema} == {BIGINT_UNSIGNED}


def test_numbered_rows_are_updating_and_of_no_window() -> None:
    query = "SELECT *, rank() OVER (PARTITION BY name ORDER BY n) AS r FROM hourly"
    (rank,) = ranks(query)
    assert is_updating(planned(query))
    assert rank.input.window is not None
    assert (rank.window, rank.window_columns) == (None, frozenset())
    json = "CREATE TABLE out WITH (connector = 'stdout', format = 'json');"
    with pytest.raises(PlanProblem, match="input is updating"):
        plan_script(json + "INSERT INTO out " + RANKED, tables())


def test_a_select_list_without_over_is_left_alone() -> None:
    sink = planned("SELECT id FROM clicks")
    items = sink.input.items  # type: ignore[attr-defined]
    assert with_over(sink, items) == (sink, items)


def test_verify_sees_a_number_that_is_no_column() -> None:
    (rank,) = ranks(RANKED)
    with pytest.raises(BrokenPlan, match="repeats a column"):
        verify(UpdatingRank(rank.input, (), (), (Number("id", "rank"),)))


WINDOWED = (
    "SELECT *, row_number() OVER (PARTITION BY window ORDER BY n) AS a, "
    "sum(n) OVER (PARTITION BY window ORDER BY n) AS s, "
    "rank() OVER (PARTITION BY window ORDER BY name) AS b FROM hourly"
)


@pytest.mark.parametrize(
    ("predicate", "limits"),
    [
        # Of the two orders the second is above: only it may leave rows out.
        ("a <= 2", [None, None]),
        ("b <= 2", [None, Limit("rank", 2)]),
        ("b < 18446744073709551615", [None, Limit("rank", 2**64 - 2)]),
        ("s <= 2", [None, None]),
    ],
)
def test_a_number_limits_the_rows_of_a_window(
    predicate: str, limits: list[Limit | None]
) -> None:
    sink = planned(f"SELECT * FROM ({WINDOWED}) AS q WHERE {predicate}")
    over = [node for node in walk(sink) if isinstance(node, WindowOver)]
    assert [node.limit for node in over] == limits
    assert not is_updating(sink)
