"""Errors of queries say what to type, and what they say plans."""

from __future__ import annotations

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError
from arroyo_nb.plan.planner import plan_script

TABLE = """CREATE TABLE flights (
    sched_dep TIMESTAMP NOT NULL, dep TIMESTAMP, ms BIGINT, origin TEXT, tags TEXT[],
    WATERMARK FOR sched_dep
) WITH (connector = 'single_file', path = 'a', type = 'source', format = 'json');
"""
HOURS = "tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM flights"


def plan(query: str) -> None:
    plan_script(TABLE + query, Catalog())


@pytest.mark.parametrize(
    ("query", "hint", "mended"),
    [
        (
            "SELECT origin FROM flights WHERE tumble(INTERVAL '1 hour')",
            "write SELECT tumble(INTERVAL '1 hour') AS w, count(*) AS n FROM ... GROUP "
            "BY w;",
            f"SELECT {HOURS} GROUP BY w",
        ),
        (
            f"SELECT {HOURS} WHERE w.start > '2013-03-04' GROUP BY w",
            "write the condition on 'w' as HAVING, behind GROUP BY",
            f"SELECT {HOURS} GROUP BY w HAVING w.start > '2013-03-04'",
        ),
        (
            f"SELECT {HOURS} WHERE n > 3 GROUP BY w",
            "write the condition on 'n' as HAVING, behind GROUP BY",
            f"SELECT {HOURS} GROUP BY w HAVING n > 3",
        ),
        (
            "SELECT ms / 1000 AS s FROM flights WHERE s > 3",
            "write ms / 1000 in its place",
            "SELECT ms / 1000 AS s FROM flights WHERE ms / 1000 > 3",
        ),
        (
            "SELECT unnest(tags) AS tag FROM flights WHERE tag = 'x'",
            "write SELECT * FROM (SELECT ...) WHERE tag ...",
            "SELECT * FROM (SELECT unnest(tags) AS tag FROM flights) WHERE tag = 'x'",
        ),
        (
            "SELECT origin FROM flights WHERE dep - sched_dep > 30",
            "write INTERVAL '30 minutes' in place of 30",
            "SELECT origin FROM flights WHERE dep - sched_dep > INTERVAL '30 minutes'",
        ),
        (
            "SELECT origin FROM flights WHERE dep - sched_dep > -5",
            "write INTERVAL '-5 minutes' in place of -5",
            "SELECT origin FROM flights WHERE dep - sched_dep > INTERVAL '-5 minutes'",
        ),
        (
            "SELECT origin FROM flights WHERE dep - sched_dep > ms",
            "is compared with an INTERVAL, as in INTERVAL '30 minutes'",
            "SELECT origin FROM flights WHERE dep - sched_dep > INTERVAL '30 minutes'",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep > 20130304",
            "write '2013-03-04' in place of 20130304",
            "SELECT origin FROM flights WHERE sched_dep > '2013-03-04'",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep > 20130304101500",
            "write '2013-03-04 10:15:00' in place",
            "SELECT origin FROM flights WHERE sched_dep > '2013-03-04 10:15:00'",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep >= 2013",
            "write '2013-01-01' in place of 2013",
            "SELECT origin FROM flights WHERE sched_dep >= '2013-01-01'",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep BETWEEN 20130304 AND 20130305",
            "write '2013-03-04' in place of 20130304",
            "SELECT origin FROM flights WHERE sched_dep BETWEEN '2013-03-04' AND "
            "'2013-03-05'",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep IN (20130304)",
            "write '2013-03-04' in place of 20130304",
            "SELECT origin FROM flights WHERE sched_dep IN ('2013-03-04')",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep > 1362355200000",
            "write to_timestamp_millis(1362355200000)",
            "SELECT origin FROM flights WHERE sched_dep > "
            "to_timestamp_millis(1362355200000)",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep > ms",
            "make a time of the number: to_timestamp_millis(ms)",
            "SELECT origin FROM flights WHERE sched_dep > to_timestamp_millis(ms)",
        ),
        (
            "SELECT origin FROM flights WHERE sched_dep > 7",
            "write a time as a text, as in '2024-01-31 12:30:00'",
            "SELECT origin FROM flights WHERE sched_dep > '2024-01-31 12:30:00'",
        ),
        (
            "SELECT sched_dep AT TIME ZONE 'UTC' AS x FROM flights",
            "write sched_dep alone: all times are in UTC",
            "SELECT sched_dep AS x FROM flights",
        ),
        (
            "SELECT sched_dep AT TIME ZONE 'Europe/Berlin' AS x FROM flights",
            "write sched_dep + INTERVAL '1 hour' for the time of Europe/Berlin, + "
            "INTERVAL '2 hours' in July",
            "SELECT sched_dep + INTERVAL '1 hour' AS x FROM flights",
        ),
        (
            "SELECT sched_dep AT TIME ZONE 'Asia/Kolkata' AS x FROM flights",
            "write sched_dep + INTERVAL '330 minutes' for the time of Asia/Kolkata",
            "SELECT sched_dep + INTERVAL '330 minutes' AS x FROM flights",
        ),
        (
            "SELECT sched_dep AT TIME ZONE '../etc' AS x FROM flights",
            "all times are in UTC: add the distance, as in sched_dep + INTERVAL",
            "SELECT sched_dep + INTERVAL '1 hour' AS x FROM flights",
        ),
        (
            "SELECT * FROM unnest(make_array(1, 2))",
            "write unnest(make_array(1, 2)) AS x in the select list",
            "SELECT unnest(make_array(1, 2)) AS x FROM flights",
        ),
        (
            "SELECT origin, y FROM flights CROSS JOIN unnest(make_array(1, 2)) AS t(y)",
            "write unnest(make_array(1, 2)) AS y in the select list",
            "SELECT origin, unnest(make_array(1, 2)) AS y FROM flights",
        ),
        (
            "SELECT origin, avg(dep - sched_dep) AS x FROM flights GROUP BY origin",
            "as in avg(date_part('epoch', b) - date_part('epoch', a))",
            "SELECT origin, avg(date_part('epoch', dep) - date_part('epoch', "
            "sched_dep)) AS x FROM flights GROUP BY origin",
        ),
        (
            "SELECT origin FROM flights WHERE ms",
            "compare the number, as in x <> 0",
            "SELECT origin FROM flights WHERE ms <> 0",
        ),
    ],
)
def test_an_error_says_what_to_type(query: str, hint: str, mended: str) -> None:
    with pytest.raises(ArroyoError) as failed:
        plan(query)
    hints = [problem.hint or "" for problem in failed.value.problems]
    assert any(hint in one for one in hints), hints
    plan(mended)


def test_a_name_that_select_gives_is_no_column_in_where_of_another_query() -> None:
    """Only the select list of the same query is meant."""
    with pytest.raises(ArroyoError) as failed:
        plan("SELECT n FROM (SELECT origin FROM flights WHERE n > 3)")
    assert "HAVING" not in str(failed.value)
