"""The 24 queries of Nexmark over generated events, against DuckDB over the same."""

from __future__ import annotations

import json
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan.nodes import is_updating
from arroyo_nb.plan.planner import plan_script

QUERIES = Path(__file__).parents[2] / "benchmarks" / "nexmark"
# 25 seconds of events: three windows of ten, some auctions that are closed.
NEXMARK = """
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = 400, runtime = 25,
    start_time = '2026-01-01T07:59:50', seed = 7);
CREATE TEMPORARY TABLE side_input (key BIGINT PRIMARY KEY, value TEXT)
WITH (connector = 'single_file', path = '{side}', format = 'json');
"""
UPDATING = (4, 9, 15, 16, 17, 18, 19)
# One of each kind; the others run in the long tests.
QUICK = (3, 4, 6, 8, 9, 16, 21)

TUMBLE = """(SELECT *, {'start': time_bucket(INTERVAL 10 SECOND, datetime),
    'end': time_bucket(INTERVAL 10 SECOND, datetime) + INTERVAL 10 SECOND} AS w
    FROM TABLE)"""
HOT = """SELECT auction, count(*) AS num,
    {'start': s, 'end': s + INTERVAL 10 SECOND} AS w
    FROM (SELECT auction, unnest(generate_series(
        time_bucket(INTERVAL 2 SECOND, datetime) - INTERVAL 8 SECOND,
        time_bucket(INTERVAL 2 SECOND, datetime), INTERVAL 2 SECOND)) AS s FROM bid)
    GROUP BY auction, s"""
OWN = {
    5: f"""SELECT auction, num, w FROM ({HOT}) QUALIFY
        num = max(num) OVER (PARTITION BY w)""",
    6: f"""SELECT w, seller, id, avg(final) OVER (PARTITION BY w, seller
        ORDER BY sold, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
        FROM (SELECT A.w, A.seller, A.id, max(price) AS final, max(B.datetime) AS sold
        FROM {TUMBLE.replace("TABLE", "auction")} AS A
        JOIN {TUMBLE.replace("TABLE", "bid")} AS B ON A.w = B.w AND A.id = B.auction
        WHERE B.datetime BETWEEN A.datetime AND A.expires
        GROUP BY A.w, A.seller, A.id)""",
    7: f"""SELECT DISTINCT auction, price, bidder, datetime, extra
        FROM {TUMBLE.replace("TABLE", "bid")}
        QUALIFY price = max(price) OVER (PARTITION BY w)""",
    8: f"""SELECT DISTINCT P.id, P.name, P.w FROM {TUMBLE.replace("TABLE", "person")}
        AS P JOIN {TUMBLE.replace("TABLE", "auction")} AS A
        ON P.w = A.w AND P.id = A.seller""",
    11: """SELECT {'start': min(datetime), 'end': max(datetime) + INTERVAL 10 SECOND},
        bidder, count(*) FROM (SELECT *, sum(begins) OVER (PARTITION BY bidder
        ORDER BY datetime RANGE UNBOUNDED PRECEDING) AS session FROM (SELECT *,
        CASE WHEN datetime - lag(datetime) OVER (PARTITION BY bidder ORDER BY datetime)
        <= INTERVAL 10 SECOND THEN 0 ELSE 1 END AS begins FROM bid))
        GROUP BY bidder, session""",
    12: f"""SELECT w, bidder, count(*) FROM {TUMBLE.replace("TABLE", "bid")}
        GROUP BY w, bidder""",
}
"""Windows are not DuckDB's: the queries with one, written for it."""

SPELLED = (
    (r"to_char\(", "strftime("),
    (r"regexp_match\((\w+, '[^']*')\)\[2\]", r"nullif(regexp_extract(\1, 2), '')"),
)
"""The others are the same in both, but for these."""


def text(number: int) -> str:
    return (QUERIES / f"q{number}.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> str:
    side = tmp_path_factory.mktemp("nexmark") / "side.json"
    rows = ({"key": n, "value": f"side {n}"} for n in range(0, 10_000, 2))
    side.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables = (QUERIES / "tables.sql").read_text(encoding="utf-8")
    return NEXMARK.replace("{side}", str(side)) + tables


@pytest.fixture(scope="module")
def database(scripts: str) -> duckdb.DuckDBPyConnection:
    """DuckDB with the events of the connector's own recorder."""
    table = plan_script(scripts, Catalog()).catalog.get("nexmark")
    recorder = CONNECTORS.get("nexmark").recorder(table.spec.resolved())
    events = pa.concat_tables([pa.table(c.rows) for c in recorder.chunks(None)])
    assert len(events) == 10_000
    opened = duckdb.connect()
    opened.register("events", events)
    for name in ("person", "auction", "bid"):
        opened.execute(
            f"CREATE TABLE {name} AS SELECT unnest({name}) FROM events "
            f"WHERE {name} IS NOT NULL"
        )
    opened.execute(
        "CREATE TABLE side_input AS SELECT n AS key, 'side ' || n AS value "
        "FROM range(0, 10000, 2) AS t(n)"
    )
    return opened


def expected(database: duckdb.DuckDBPyConnection, number: int) -> pa.Table:
    query = OWN.get(number, text(number).replace(";", ""))
    for pattern, other in SPELLED:
        query = re.sub(pattern, other, query)
    return database.sql(query).to_arrow_table()


def plain(table: pa.Table) -> list[str]:
    """Rows in an order of their own; of a mean all that a DOUBLE holds for sure."""
    rows = ([_naive(v) for v in row.values()] for row in table.to_pylist())
    return sorted(map(repr, rows))


def _naive(value: object) -> object:
    match value:
        case float():
            return f"{value:.9e}"
        # DuckDB's literals with a point, and its sums.
        case Decimal():
            whole = value == value.to_integral() and value.as_tuple().exponent == 0
            return int(value) if whole else f"{float(value):.9e}"
        case dict():
            return [_naive(v) for v in value.values()]
        case datetime():
            return value.replace(tzinfo=None)
    return value


@pytest.mark.parametrize(
    "number",
    [
        n if n in QUICK else pytest.param(n, marks=pytest.mark.long("queries"))
        for n in range(24)
    ],
)
def test_a_query_gives_what_duckdb_gives(session, scripts, database, number) -> None:
    run = session.run(scripts + text(number), wait=True)
    assert is_updating(run.plan.sinks[0]) == (number in UPDATING)
    want = expected(database, number)
    assert len(want) > 0
    assert plain(run.table()) == plain(want)
