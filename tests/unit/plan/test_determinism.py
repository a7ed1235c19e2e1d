"""Which columns are the same whenever a batch is computed again."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.determinism import deterministic_columns
from arroyo_nb.plan.planner import plan_script

TABLE = """CREATE TABLE t (k TEXT, n INT, x DOUBLE, d DECIMAL(9, 2),
at TIMESTAMP NOT NULL, WATERMARK FOR at) WITH (
connector = 'single_file', path = '/t', type = 'source', format = 'json');
"""
WINDOW = "tumble(INTERVAL '1 minute') AS w"


@pytest.mark.parametrize(
    ("query", "settled"),
    [
        ("SELECT k, x, n + 1 AS m FROM t WHERE n > 1", "k x m"),
        ("SELECT k, uuid() AS u, random() + n AS r FROM t", "k"),
        ("SELECT md5(u) AS m, n FROM (SELECT uuid() AS u, n FROM t) AS a", "n"),
        (
            f"SELECT {WINDOW}, k, count(*) AS n, sum(x) AS s, max(x) AS m, avg(n) AS a,"
            " sum(d) AS sd FROM t GROUP BY w, k",
            "w k n m sd",
        ),
        (
            f"SELECT {WINDOW}, u, count(*) AS n FROM (SELECT uuid() AS u, at FROM t) "
            "AS a GROUP BY w, u",
            "w n",
        ),
        (
            "SELECT k, x AS a FROM t UNION ALL SELECT uuid() AS k, x FROM t",
            "a",
        ),
        ("SELECT k, count(*) AS n FROM t GROUP BY k", "k n"),
        (
            "SELECT *, rank() OVER (PARTITION BY w ORDER BY n) AS r, avg(m) OVER ("
            f"PARTITION BY w) AS a FROM (SELECT {WINDOW}, k, count(*) AS n, max(x) AS "
            "m FROM t GROUP BY w, k)",
            "w k n m r a",
        ),
        # Peers come in the order of a sum that may have other last digits.
        (
            "SELECT *, row_number() OVER (PARTITION BY w ORDER BY n) AS r FROM ("
            f"SELECT {WINDOW}, k, count(*) AS n, sum(x) AS s FROM t GROUP BY w, k)",
            "w k n",
        ),
        ("SELECT a.k, a.n, b.x FROM t AS a JOIN t AS b ON a.n = b.n", "k n x"),
        (
            "SELECT a.k, b.u FROM t AS a JOIN (SELECT n, uuid() AS u FROM t) AS b "
            "ON a.n = b.n",
            "k",
        ),
    ],
)
def test_deterministic_columns(query, settled):
    (sink,) = plan_script(TABLE + query, Catalog()).sinks
    assert " ".join(deterministic_columns(sink)) == settled
