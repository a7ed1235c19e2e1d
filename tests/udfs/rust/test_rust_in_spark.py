"""Rust functions in SQL: called by Spark's workers, which have no compiler."""

from __future__ import annotations

import pytest
from rust_functions import rust

from arroyo_nb.errors import ArroyoError

TICKS = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1000',
                         message_count = 100);
"""

PLUS_ONE = """\
use arroyo_udf_plugin::udf;
#[udf]
fn plus_one_(x: i64) -> i64 {
    if x == 13 { panic!("unlucky {x}") }
    x + 1
}
"""
SMALL = rust('fn small_(x: u8) -> Option<String> { (x > 1).then(|| format!("{x}!")) }')
RANGE = rust(
    "fn range_(x: Vec<i64>) -> i64 {\n"
    "    x.iter().max().unwrap() - x.iter().min().unwrap()\n}"
)
LATER = rust(
    "async fn later_(x: i64) -> f64 { x as f64 / 2.0 }",
    attribute="#[udf(allowed_in_flight = 9)]",
)


@pytest.fixture
def rows(session, cargo):
    for source in (PLUS_ONE, SMALL, RANGE, LATER):
        session.register_source(source, "rust")

    def run(query):
        return session.run(TICKS + query, wait=True).table().to_pylist()

    return run


def test_functions_of_rows_of_groups_and_async(rows):
    query = "SELECT counter, plus_one_(counter + 20) AS x, small_(counter) AS s, "
    query += "plus_one_(CASE WHEN counter > 1 THEN counter + 12 END) AS n FROM ticks"
    found = sorted(rows(query), key=lambda row: row["counter"])
    assert [row["x"] for row in found] == list(range(21, 121))
    assert [row["s"] for row in found[:3]] == [None, None, "2!"]
    assert [row["n"] for row in found[:3]] == [None, None, 15]
    found = rows("SELECT later_(counter) AS y FROM ticks")
    assert sorted(row["y"] for row in found) == [i / 2 for i in range(100)]
    found = rows(
        "SELECT tumble(INTERVAL '1 hour') AS w, range_(counter) AS r FROM ticks "
        "GROUP BY 1"
    )
    assert sum(row["r"] for row in found) in (99, 98)  # an hour may end meanwhile


def test_a_panic_fails_the_run_and_the_next_one_runs(rows):
    with pytest.raises(ArroyoError) as caught:
        rows("SELECT plus_one_(counter) AS x FROM ticks")
    assert "'plus_one_': panicked at line 4: unlucky 13" in str(caught.value)
    assert len(rows("SELECT plus_one_(counter + 20) AS x FROM ticks")) == 100
