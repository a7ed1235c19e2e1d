"""Generated event times are computed for the pace as Spark computes them for rows."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.sources.generated_times import GeneratedTimes, event_time_of
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.tape import Chunk

SCRIPT = """
CREATE TABLE clicks (
  ts {type} NOT NULL,
  event_time TIMESTAMP NOT NULL GENERATED ALWAYS AS ({expression}),
  WATERMARK FOR event_time
) WITH (connector = 'single_file', type = 'source', format = 'json', path = '/x');
SELECT ts FROM clicks;
"""
AT = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
SECONDS = int(AT.timestamp())


def expression_of(type_, expression):
    text = SCRIPT.format(type=type_, expression=expression)
    (sink,) = plan_script(text, Catalog()).sinks
    source = next(node for node in walk(sink) if isinstance(node, nodes.Source))
    return source.table.generated[0].expression


@pytest.mark.parametrize(
    ("type_", "expression", "value", "later"),
    [
        ("BIGINT", "to_timestamp_millis(ts)", SECONDS * 1000 + 7, {"milliseconds": 7}),
        ("BIGINT", "to_timestamp_micros(ts)", SECONDS * 10**6 + 7, {"microseconds": 7}),
        ("BIGINT", "to_timestamp_nanos(ts)", SECONDS * 10**9, {}),
        ("INT", "to_timestamp(ts)", SECONDS, {}),
        ("BIGINT", "from_unixtime(ts)", SECONDS, {}),
        ("INT UNSIGNED", "to_timestamp_seconds(CAST(ts AS BIGINT))", SECONDS, {}),
        ("DOUBLE", "to_timestamp(ts)", SECONDS + 0.5, {"milliseconds": 500}),
        ("BIGINT", "to_timestamp(ts / 1000)", SECONDS * 1000 + 7, {}),
        ("BIGINT", "to_timestamp_millis(ts * 1000)", SECONDS, {}),
        ("BIGINT", "CAST(ts AS TIMESTAMP)", SECONDS, {}),
        ("BIGINT", "CAST(ts AS TIMESTAMP(3))", SECONDS * 1000, {}),
        ("BIGINT", "from_unixtime(ts) - INTERVAL '5 minutes'", SECONDS + 300, {}),
        ("BIGINT", "INTERVAL '1 hour' + from_unixtime(ts)", SECONDS - 3600, {}),
        ("TIMESTAMP", "ts + INTERVAL '1 hour'", AT - timedelta(hours=1), {}),
    ],
)
def test_conversions_are_computed(type_, expression, value, later):
    compute = event_time_of(expression_of(type_, expression))
    ((time,),) = [stamped({"ts": [value]}, compute)]
    assert time == AT + timedelta(**later)


@pytest.mark.parametrize(
    ("type_", "expression"),
    [
        ("TIMESTAMP", "date_trunc('minute', ts)"),
        ("TEXT", "to_timestamp(ts)"),
        ("BIGINT", "to_timestamp_millis(1000 / ts)"),
        ("BIGINT", "to_timestamp_millis(abs(ts))"),
    ],
)
def test_what_is_more_is_none(type_, expression):
    assert event_time_of(expression_of(type_, expression)) is None


def test_a_time_that_nothing_can_hold_is_null():
    compute = event_time_of(expression_of("BIGINT", "to_timestamp(ts)"))
    values = [SECONDS, None, SECONDS * 1000, -(2**63), 2**63 - 1]
    assert stamped({"ts": pa.array(values)}, compute) == [AT, None, None, None, None]


def stamped(columns, compute):
    rows = pa.table(columns)
    arrival = pa.repeat(pa.scalar(AT, pa.timestamp("us", "UTC")), rows.num_rows)

    class Recorder:
        bounded, live = True, False

        def chunks(self, after):
            yield Chunk(rows.append_column(TIMESTAMP, arrival), {"chunk": after})

    (chunk,) = GeneratedTimes(Recorder(), compute).chunks(None)
    return chunk.rows[TIMESTAMP].to_pylist()
