"""Every aggregate over a window gives what it gives without one, over the same rows."""

from __future__ import annotations

import json
import math
from random import Random

import pytest

from arroyo_nb.functions.aggregates import FAMILIES
from arroyo_nb.functions.aggregates.row import AggregateFunction

COLUMNS = """at TIMESTAMP NOT NULL, g BIGINT, i BIGINT, n INT, f DOUBLE,
    d DECIMAL(10, 2), u BIGINT UNSIGNED, k TEXT, b BOOLEAN, l BIGINT[],
    s STRUCT<x BIGINT, y TEXT>, m TIMESTAMP"""
CALLS = {
    "approx_distinct": ["approx_distinct({})"],
    "approx_percentile_cont": [
        "approx_percentile_cont(0.3) WITHIN GROUP (ORDER BY {})"
    ],
    "approx_percentile_cont_with_weight": [
        "approx_percentile_cont_with_weight({}, 0.4) WITHIN GROUP (ORDER BY f)"
    ],
    "array_agg": [
        "array_agg({})",
        "array_agg({} ORDER BY k DESC, i)",
        "array_agg(DISTINCT {} ORDER BY {} DESC)",
    ],
    "nth_value": ["nth_value({}, 2)", "nth_value({}, -1 ORDER BY f)"],
    "string_agg": ["string_agg({}, '; ')", "string_agg(DISTINCT {}, ',')"],
}
ARGUMENTS = {
    "a number": "infdu",
    "a BIGINT": "inu",
    "a BOOLEAN": "b",
    "TEXT": "k",
    "a value": "infdukblsm",
    "a whole number or TEXT": "inuk",
}
OFTEN = ("array_agg", "corr", "median", "first_value", "string_agg", "sum", "count")
"""Those with many arguments and clauses; of the others, each in one form."""


def calls_of(row: AggregateFunction, random: Random) -> list[str]:
    """Calls of an aggregate over different columns, some with clauses."""
    made = []
    templates = CALLS.get(row.name, [f"{row.name}({{}})", f"{row.name}(DISTINCT {{}})"])
    if row.arguments == 2 and row.name not in CALLS:
        templates = [f"{row.name}({{}}, f)"]
    for column in ARGUMENTS[row.wants]:
        for template in templates:
            if (
                row.name.startswith("array")
                and column == "s"
                and "DISTINCT" in template
            ):
                continue
            call = template.replace("{}", column)
            made.append(call)
            made.append(f"{call} FILTER (WHERE n > {random.randint(-2, 9)})")
    return random.sample(made, min(3 if row.name in OFTEN else 1, len(made)))


def some_rows(random: Random) -> list[dict[str, object]]:
    """Of three groups; many are equal, some are all NULL."""
    pools = {
        "i": [1, 2, 2**62, -5, None],
        "n": [1, 2, 3, 7, None],
        "f": [0.5, -0.0, 0.0, 1e9, 0.1, None],
        "d": ["1.25", "-0.50", "99999999.99", None],
        "u": [0, 1, 2**64 - 1, None],
        "k": ["a", "", "é", "z", None],
        "b": [True, False, None],
        "l": [[1], [1, None], [], None],
        "s": [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None],
        "m": ["2024-02-29T12:00:00", "1969-12-31T23:59:59.999999", None],
    }
    rows = []
    for number in range(60):
        g = random.choice((1, 1, 1, 2, 3))
        row = {name: random.choice(pool) for name, pool in pools.items()}
        if g == 3:
            row = dict.fromkeys(row)
        rows.append({"at": f"2024-03-01T10:00:{number:02}", "g": g, **row})
    return rows


def comparable(value):
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value + 0.0:.12g}")
    if isinstance(value, list):
        return [comparable(each) for each in value]
    return value


WINDOWS = {
    "tumble": "tumble(INTERVAL '1 hour')",
    "hop": "hop(INTERVAL '30 minutes', INTERVAL '1 hour')",
    "session": "session(INTERVAL '1 minute')",
}


def check(session, tmp_path, kind, seed, most):
    random = Random(seed)
    path = tmp_path / "rows.json"
    rows = some_rows(random)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    families = [row for family in FAMILIES for row in family.AGGREGATES]
    calls = [call for row in families for call in calls_of(row, random)]
    calls = random.sample(calls, min(most, len(calls)))
    named = ", ".join(f"{call} AS c{n}" for n, call in enumerate(calls))
    windowed = session.run(
        f"""CREATE TABLE t ({COLUMNS}, WATERMARK FOR at AS at - INTERVAL '1 hour')
        WITH (connector = 'single_file', path = '{path}', type = 'source',
        format = 'json');
        SELECT {WINDOWS[kind]} AS w, g, {named} FROM t GROUP BY w, g""",
        wait=True,
    )
    plain = session.run(f"SELECT g, {named} FROM t GROUP BY g", wait=True)
    expected = {row.pop("g"): row for row in plain.table().to_pylist()}
    found = windowed.table()
    assert found.select([f"c{n}" for n in range(len(calls))]).schema == (
        plain.table().select([f"c{n}" for n in range(len(calls))]).schema
    )
    assert len(found) == (6 if kind == "hop" else 3)
    for row in found.to_pylist():
        for n, call in enumerate(calls):
            value, other = row[f"c{n}"], expected[row["g"]][f"c{n}"]
            assert comparable(value) == comparable(other), (call, row["g"])


@pytest.mark.parametrize(
    ("kind", "most"), [("tumble", 50), ("hop", 10), ("session", 10)]
)
def test_the_same_with_and_without_a_window(session, tmp_path, kind, most):
    check(session, tmp_path, kind, seed=18, most=most)


@pytest.mark.long("windows")
@pytest.mark.parametrize("kind", [*WINDOWS])
@pytest.mark.parametrize("seed", range(10))
def test_the_same_of_many_calls(session, tmp_path, kind, seed):
    check(session, tmp_path, kind, seed, most=60)


def test_a_filter_of_sessions_sees_them_whole(session, tmp_path):
    """Also in a view that is read more than once: no row is tested by itself."""
    path = tmp_path / "rows.json"
    times = (f"1970-01-01T00:01:{40 + second}" for second in (0, 2, 4, 10, 12))
    path.write_text("".join(f'{{"at": "{time}"}}\n' for time in times))
    run = session.run(
        f"""CREATE TABLE t (at TIMESTAMP NOT NULL, WATERMARK FOR at AS
        at - INTERVAL '5 seconds') WITH (connector = 'single_file', path = '{path}',
        type = 'source', format = 'json');
        CREATE VIEW s AS SELECT session(INTERVAL '3 seconds') AS w, count(*) AS n
        FROM t GROUP BY w;
        SELECT 'ended' AS q, n FROM s WHERE w."end" > TIMESTAMP '1970-01-01 00:01:45'
        UNION ALL
        SELECT 'begun' AS q, n FROM s WHERE w.start < TIMESTAMP '1970-01-01 00:01:41'
        """,
        wait=True,
    )
    found = sorted((row["q"], row["n"]) for row in run.table().to_pylist())
    assert found == [("begun", 3), ("ended", 2), ("ended", 3)]
