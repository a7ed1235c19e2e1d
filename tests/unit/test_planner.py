from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb import functions
from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.errors import ArroyoError, CatalogProblem, SyntaxProblem
from arroyo_nb.plan.expressions.functions import UNSUPPORTED_FUNCTIONS
from arroyo_nb.plan.nodes import Hop, Node, Tumble, WindowAggregate
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.rewrites import PASSES
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.verify import BrokenPlan, expressions, verify
from arroyo_nb.schema import BIGINT, DOUBLE
from arroyo_nb.state.identity import plan_identity

GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def tables() -> Catalog:
    script = (GOLDEN / "tables.sql").read_text(encoding="utf-8")
    return plan_script(script, Catalog()).catalog


def planned(query: str) -> Node:
    return plan_script(query, tables()).sinks[0].input


COLUMNS = [
    *("id", "at", "name", "fare", "seats", "ratio", "price", "done", "tags"),
    *("place", "place.city", '"userId"', "trips.id", "nope"),
]
LEAVES = st.sampled_from(
    [*COLUMNS, "1", "2.5", "'x'", "NULL", "TRUE", "INTERVAL '1 hour'", "row_time()"]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    infix = st.sampled_from(
        ["+", "-", "*", "/", "%", "=", "<", "AND", "OR", "||", "LIKE", "&"]
    )
    types = st.sampled_from(["INT", "TEXT", "DOUBLE", "TIMESTAMP", "DECIMAL(9, 2)"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, infix, inner),
        st.builds("NOT ({})".format, inner),
        st.builds("coalesce({}, {})".format, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("({}) IS NULL".format, inner),
        st.builds("({}) IN ({}, {})".format, inner, inner, inner),
        st.builds("TRY_CAST({} AS {})".format, inner, types),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("sum({})".format, inner),
        st.builds("max({}) FILTER (WHERE {})".format, inner, inner),
        st.builds("array_agg(DISTINCT {0} ORDER BY {0} DESC)".format, inner),
        st.builds("last_value({} ORDER BY {})".format, inner, inner),
        st.just("tumble('1 minute')"),
    )


SCALARS = st.recursive(LEAVES, _grown, max_leaves=8)
WINDOWS = st.sampled_from(
    [
        *("", "GROUP BY tumble('1 minute')", "GROUP BY 1", "GROUP BY name, id"),
        *("GROUP BY session('5 s'), id", "GROUP BY hop('1 s', '3 s'), seats % 2"),
    ]
)


@given(
    st.sampled_from(["", "DISTINCT"]),
    st.lists(SCALARS, min_size=1, max_size=3),
    SCALARS,
    WINDOWS,
)
def test_any_query_is_planned_soundly_or_told(
    distinct: str, items: list[str], where: str, group: str
) -> None:
    """The planner verifies each stage itself: a broken plan is no ArroyoError."""
    listed = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
    problems: tuple[ArroyoError, ...] = ()
    root = None
    try:
        root = planned(f"SELECT {distinct} {listed} FROM trips WHERE {where} {group}")
    except ArroyoError as error:
        problems = error.problems
    assert (root is None) == bool(problems)
    assert all(problem.span for problem in problems)
    for step in PASSES:
        assert root is None or step.rewrite(root, NodeMap()) is root


@pytest.mark.parametrize("path", sorted((GOLDEN / "plans").glob("*.txt")))
def test_passes_are_idempotent(path: Path) -> None:
    script = path.read_text(encoding="utf-8").split("\n---")[0]
    for sink in plan_script(script, tables()).sinks:
        for step in PASSES:
            assert step.rewrite(sink, NodeMap()) is sink


def test_verify_sees_what_is_broken() -> None:
    root = planned("SELECT id + 1 AS a FROM trips WHERE fare > 1")
    (_, expression), *_ = expressions(root)
    del expression.meta["arroyo_type"]
    with pytest.raises(BrokenPlan, match="has no type"):
        verify(root)


def test_windows_are_exact() -> None:
    root = planned("SELECT count(*) FROM clicks GROUP BY hop('1.5 s', '1 minute 3 s')")
    windows = [n.assign for n in walk(root) if isinstance(n, WindowAggregate)]
    assert windows == [Hop(timedelta(seconds=1.5), timedelta(seconds=63))]


def test_the_window_is_sticky() -> None:
    root = planned("SELECT n + 1 AS m FROM (SELECT n FROM hourly) WHERE n > 2")
    assert root.window == Tumble(timedelta(hours=1))
    assert root.window_columns == frozenset()


def test_window_columns_follow_aliases_of_the_whole_struct() -> None:
    root = planned("SELECT w AS v, w.start AS s FROM (SELECT window AS w FROM hourly)")
    assert root.window_columns == {"v"}


def test_decimal_literals_are_doubles_and_integers_stay_integers() -> None:
    root = planned("SELECT 1.5 AS a, seats / 2 AS b FROM trips")
    assert [f.type for f in root.schema] == [DOUBLE, BIGINT]


def test_strict_refuses_what_arroyo_refuses() -> None:
    query = "SELECT count(*) FROM clicks GROUP BY hop('2 s', '5 s')"
    message = "hop() width 5s currently must be a multiple of slide 2s"
    assert plan_script(query, tables()).notes == (
        f"Arroyo would refuse this: {message}",
    )
    with pytest.raises(ArroyoError) as caught:
        plan_script(query, tables(), strict=True)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "own", "arroyos"),
    [
        (
            "CAST(1 AS DECIMAL(10, 2)) + array_length(make_array(1))",
            "DECIMAL",
            "BIGINT UN",
        ),
        ("nvl(CAST(1 AS DECIMAL(10, 2)), 2)", "DECIMAL", "DOUBLE"),
        ("nvl(DATE '2024-01-01', DATE '2024-01-02')", "DATE", "TEXT"),
        ("trunc(1.239, 2)", "DOUBLE", "DOUBLE"),
    ],
)
def test_strict_has_the_type_of_arroyos_value(
    expression: str, own: str, arroyos: str
) -> None:
    query = f"SELECT {expression} AS value FROM trips"
    for strict, wanted in ((False, own), (True, arroyos)):
        (sink,) = plan_script(query, tables(), strict=strict).sinks
        type_ = next(f.type for f in sink.input.schema if f.name == "value")
        assert str(type_).startswith(wanted)


def test_the_last_ttl_of_the_script_counts() -> None:
    script = "SET updating_ttl = '1 h'; SELECT id FROM clicks; SET updating_ttl = '2 h'"
    assert plan_script(script, tables()).options == {"updating_ttl": timedelta(hours=2)}
    plan = plan_script("SELECT id FROM clicks", tables())
    assert (plan.options, plan.updating_ttl) == ({}, timedelta(hours=24))


def test_identity_tells_queries_and_tables_apart_but_not_layout() -> None:
    def identity(script: str) -> str:
        return plan_identity(plan_script(script, tables()))

    query = "SELECT id FROM clicks WHERE id > 1"
    assert identity(query) == identity(f"-- hello\n{query.replace(' ', '  ')};")
    assert identity(query) != identity(query.replace("1", "2"))
    path = "CREATE TABLE f (a INT) WITH (connector = 'single_file', path = '{}', "
    table = path + "type = 'source', format = 'json'); SELECT a FROM f"
    assert identity(table.format("/a")) != identity(table.format("/b"))


def test_a_deep_script_in_a_view_is_an_error_too() -> None:
    nested = "SELECT * FROM " + "(SELECT * FROM " * 2_000 + "t" + ")" * 2_000
    with pytest.raises(SyntaxProblem, match="nested deeper"):
        plan_script(f"CREATE VIEW v AS {nested}", Catalog())


def test_the_deepest_allowed_script_is_planned() -> None:
    nested = "SELECT id FROM " + "(SELECT id FROM " * 60 + "clicks" + ")" * 60
    assert planned(nested).schema.names == ("id",)
    chain = "SELECT id" + " + 1" * 200 + " AS n FROM clicks"
    assert planned(chain).schema.names == ("n",)
    assert plan_script(chain, tables()).explain()


def test_planning_leaves_heavy_libraries_out() -> None:
    script = (
        "import sys\n"
        "from arroyo_nb.plan.planner import plan_script\n"
        "from arroyo_nb.catalog import Catalog\n"
        f"tables = open({str(GOLDEN / 'tables.sql')!r}).read()\n"
        "plan_script(tables + 'SELECT * FROM hourly', Catalog()).explain()\n"
        "heavy = {'pyspark', 'pandas', 'pyarrow', 'numpy', 'altair', 'anywidget'}\n"
        "heavy.add('datafusion')\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_functions_said_to_be_missing_are_missing() -> None:
    assert not UNSUPPORTED_FUNCTIONS.keys() & set(functions.names())


def test_an_inferred_column_is_null_where_one_insert_makes_it_so():
    script = (
        "INSERT INTO log SELECT id FROM trips; SELECT id FROM trips; "
        "INSERT INTO log SELECT id FROM clicks; INSERT INTO log SELECT id FROM trips"
    )
    written = [sink.table for sink in plan_script(script, tables()).sinks if sink.table]
    assert [str(table.physical) for table in written] == ["id BIGINT"] * 3


@pytest.mark.parametrize("type_", ["BIGINT", "BIGINT NOT NULL", "TEXT"])
def test_the_hint_for_an_epoch_column_is_a_table_that_works(type_: str) -> None:
    script = """CREATE TABLE clicks (id BIGINT, {columns}) WITH
        (connector = 'single_file', path = '/r', type = 'source', format = 'json')"""
    columns = f"ts {type_}, WATERMARK FOR ts"
    with pytest.raises(CatalogProblem) as told:
        plan_script(script.format(columns=columns), Catalog())
    columns = str(told.value.hint).removeprefix("write ").partition(";")[0]
    plan = plan_script(script.format(columns=columns), Catalog())
    table = plan.catalog.get("clicks")
    assert isinstance(table, ConnectorTable)
    assert table.watermark.column == "event_time"


@pytest.mark.parametrize(
    ("follows", "delay"),
    [
        ("event_time - INTERVAL '5 seconds'", timedelta(seconds=5)),
        ("to_timestamp_millis(ts) - INTERVAL '5 seconds'", timedelta(seconds=5)),
        ("to_timestamp_millis(ts)", timedelta()),
        ("to_timestamp_millis(ts + 1) - INTERVAL '5 seconds'", None),
        ("date_trunc('minute', event_time)", None),
    ],
)
def test_a_watermark_tells_its_delay_however_it_is_written(
    follows: str, delay: timedelta | None
) -> None:
    catalog = plan_script(
        f"""CREATE TABLE orders (ts BIGINT NOT NULL, event_time TIMESTAMP NOT NULL
        GENERATED ALWAYS AS (to_timestamp_millis(ts)) STORED,
        WATERMARK FOR event_time AS {follows}
        ) WITH (connector = 'single_file', type = 'source', path = '/x',
        format = 'json')""",
        Catalog(),
    ).catalog
    orders = catalog.tables["orders"]
    assert isinstance(orders, ConnectorTable)
    assert orders.watermark.fixed_delay == delay
