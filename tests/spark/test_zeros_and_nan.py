"""Both zeros are one value, and all NaN are, to what groups and joins rows: so the
published differences say. To a comparison -0.0 is less than 0.0, as in DataFusion."""

from __future__ import annotations

import json
import math

import pytest

TABLE = """
CREATE TABLE rows (n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at)
WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
CREATE VIEW v AS SELECT n, at, CASE n WHEN 0 THEN 0.0 WHEN 1 THEN -0.0
    WHEN 2 THEN CAST('NaN' AS DOUBLE) WHEN 3 THEN -CAST('NaN' AS DOUBLE)
    ELSE 0.0 / (n - 4) END AS d FROM rows;
"""
WINDOWED = (
    "SELECT tumble(INTERVAL '1 hour') AS w, d, n, count(*) AS c FROM v GROUP BY w, d, n"
)
ZERO, NAN = "zero", "NaN"
QUERIES = {
    "GROUP BY": ("SELECT d, count(*) AS c FROM v GROUP BY d", [(NAN, 3), (ZERO, 2)]),
    "a window": (
        "SELECT d, count(*) AS c FROM v GROUP BY tumble(INTERVAL '1 hour'), d",
        [(NAN, 3), (ZERO, 2)],
    ),
    "DISTINCT": ("SELECT DISTINCT d FROM v", [(NAN,), (ZERO,)]),
    "count of DISTINCT": ("SELECT count(DISTINCT d) AS c FROM v", [(2,)]),
    "OVER": (
        "SELECT n, row_number() OVER (PARTITION BY w, d ORDER BY n) AS place "
        f"FROM ({WINDOWED})",
        [(0, 1), (1, 2), (2, 1), (3, 2), (4, 3)],
    ),
    "a join": (
        "SELECT a.n AS n, b.n AS m FROM v a JOIN v b ON a.d = b.d WHERE a.n < b.n",
        [(0, 1), (2, 3), (2, 4), (3, 4)],
    ),
    "a join of windows": (
        f"SELECT a.n AS n, b.n AS m FROM ({WINDOWED}) a JOIN ({WINDOWED}) b "
        "ON a.w = b.w AND a.d = b.d",
        [
            *((n, m) for n in (0, 1) for m in (0, 1)),
            *((n, m) for n in (2, 3, 4) for m in (2, 3, 4)),
        ],
    ),
    "extremes": ("SELECT min(d) AS a, max(d) AS b FROM v", [(ZERO, NAN)]),
    "comparisons": (
        "SELECT n, d < 0.0 AS a, d > 1e308 AS b, d = CAST('NaN' AS DOUBLE) AS c FROM v",
        [
            *((0, False, False, False), (1, True, False, False)),
            *((n, False, True, True) for n in (2, 3, 4)),
        ],
    ),
}


def told(value):
    if isinstance(value, float):
        return NAN if math.isnan(value) else ZERO if value == 0 else value
    return value


@pytest.mark.parametrize("name", QUERIES)
def test_zeros_are_one_and_nan_is_one(session, tmp_path, name):
    path = tmp_path / "rows.jsonl"
    rows = [{"n": n, "at": f"2024-01-01T00:00:0{n}Z"} for n in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    query, wanted = QUERIES[name]
    run = session.run(TABLE.format(path=path) + query)
    run.wait()
    found = [tuple(map(told, row.values())) for row in run.table().to_pylist()]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_a_function_of_both_zeros_keeps_the_sign_of_each(session):
    """Spark's Python functions take -0.0 and 0.0 for one argument."""
    zeros = (
        *("-0.0", "0.0", "-(-0.0)", "CAST(-0.0 AS FLOAT)", "CAST(0.0 AS FLOAT)"),
        *(f"CAST('{text}' AS {type_})" for text in ("-0.0", "-0", "0.0", "0")
          for type_ in ("FLOAT", "DOUBLE")),
    )  # fmt: skip
    session.rows("one", "x\n1")
    calls = ", ".join(f"sin({zero}) AS c{n}" for n, zero in enumerate(zeros))
    run = session.run(f"SELECT {calls} FROM one")
    run.wait()
    (row,) = run.table().to_pylist()
    signs = dict(zip(zeros, (math.copysign(1, v) for v in row.values()), strict=True))
    wanted = {zero: -1 if "-0" in zero and zero != "-(-0.0)" else 1 for zero in zeros}
    assert signs == wanted
