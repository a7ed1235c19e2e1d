"""Which columns are kept of a sampled row."""

from __future__ import annotations

import re

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.nodes import Watermark, WindowAggregate
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.sampled_values import values_in_windows, values_of_table
from arroyo_nb.spark.struct_fields import narrow_watermarks

EVENTS = """
CREATE TABLE events (
    user TEXT, city TEXT, fare DOUBLE, raw BYTEA,
    trip STRUCT<id BIGINT, stop TEXT>, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at
) WITH (connector = '{}', format = 'parquet', type = 'source', {});
"""
FILES = EVENTS.format("filesystem", "path = '/x'")
TOPIC = EVENTS.format("kafka", "topic = 't', bootstrap_servers = 'b:1'")
TOPIC = TOPIC.replace("'parquet'", "'json'").replace("raw BYTEA,", "")
W = "tumble(INTERVAL '1 hour') AS w"


def names(sql: str) -> list[str]:
    """The names of what is kept."""
    return re.findall(r"(?:named_struct\(|\), |END, |, )'([^'…]*)', IF\(", sql)


def kept(query: str, table: str = FILES) -> list[str]:
    (sink,) = plan_script(table + query, Catalog()).sinks
    root = narrow_watermarks(sink.input)
    nodes = [*walk(root)]
    windows = [n for n in nodes if isinstance(n, WindowAggregate)]
    if windows:
        return names(values_in_windows(windows[0]))
    marks = [n for n in nodes if isinstance(n, Watermark)]
    return names(values_of_table(marks[0], root))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (f"SELECT {W}, city, sum(fare) FROM events GROUP BY w, city", ["city", "fare"]),
        (
            f"SELECT {W}, max(fare), user FROM events WHERE city = 'x' "
            "GROUP BY w, user",
            ["user", "fare", "city"],
        ),
        (f"SELECT {W}, upper(user) AS u, count(*) FROM events GROUP BY w, u", ["user"]),
        (
            f"SELECT {W}, trip.stop AS s, max(trip.id) FROM events GROUP BY w, s",
            ["trip.stop", "trip.id"],
        ),
        ("SELECT fare, user FROM events WHERE city = 'x'", ["fare", "user", "city"]),
        ("SELECT city, count(*) FROM events GROUP BY city", ["city"]),
    ],
)
def test_keys_come_first_then_what_is_measured_or_compared(query, wanted):
    for table in (FILES, TOPIC):
        assert kept(query, table) == wanted


def test_a_query_that_reads_no_column_tells_the_first_ones_but_of_a_topic():
    count = f"SELECT {W}, count(*) FROM events GROUP BY w"
    assert kept(count) == ["user", "city"]
    assert kept(count, TOPIC) == []


def test_bytes_are_digits_and_long_names_are_cut():
    table = FILES.replace("raw", "r" * 60)
    (sink,) = plan_script(f"{table}SELECT {'r' * 60} AS x FROM events", Catalog()).sinks
    (mark,) = (node for node in walk(sink.input) if isinstance(node, Watermark))
    sql = values_of_table(mark, sink.input)
    assert names(sql) == ["r" * 40]
    assert "hex(left(" in sql
