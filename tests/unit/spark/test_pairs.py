"""Conditions of outer joins in Arrow: the same as DataFusion's."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import product

import pyarrow as pa
import pytest
from datafusion import SessionContext

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import Unsupported
from arroyo_nb.plan.nodes import UpdatingJoin
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.queries.join_conditions import is_one_sided
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.join_conditions import pair_condition

NAMES = {"l": "abcdefg", "r": "hijklmn"}
TYPES = ("BIGINT", "INT", "DOUBLE", "TEXT", "BOOLEAN", "TIMESTAMP", "DECIMAL(10, 2)")
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC).replace(tzinfo=None)
VALUES = (
    (None, 1, -2, 3),
    (None, 0, 2, -2),
    (None, math.nan, -0.0, 0.0, 1.5, math.inf),
    (None, "", "é", "z"),
    (None, True, False),
    (None, NOON, NOON + timedelta(minutes=5), NOON - timedelta(microseconds=1)),
    (None, Decimal("1.00"), Decimal("2.00")),
)
CONDITIONS = [
    "a < h",
    "NOT a >= h AND b <> i",
    "a + h * 2 - b > -(i - a)",
    "NOT c = j",
    "c <> j OR c < j AND d = k",
    "c <= j",
    "(c > j) IS NULL",
    "(c >= j) IS TRUE",
    "(d < k) IS FALSE",
    "d IS DISTINCT FROM k",
    "c IS NOT DISTINCT FROM j",
    "c = j OR a = h",
    "c < j",
    "c BETWEEN j AND j",
    "c IN (j, 1.5)",
    "e = l OR e IS NULL",
    "e AND l",
    "NOT (e OR l)",
    "f BETWEEN m - INTERVAL '5 minutes' AND m",
    "f - m < INTERVAL '5 minutes'",
    "a IN (h, i, 3)",
    "a NOT IN (h, 1)",
    "b + i > 1.5",
    "c * (i + 3) > 0",
    "g >= n",
    "f <> m AND upper(d) < lower(k)",
    "e > l",
]


@cache
def tables() -> Catalog:
    script = ""
    for name, letters in NAMES.items():
        columns = ", ".join(f"{c} {t}" for c, t in zip(letters, TYPES, strict=True))
        script += (
            f"CREATE TABLE {name} (key INT, {columns}) WITH (connector = "
            f"'single_file', path = '/{name}', type = 'source', format = 'json');"
        )
    return plan_script(script, Catalog()).catalog


def join(condition: str) -> UpdatingJoin:
    query = f"SELECT a FROM l FULL JOIN r ON l.key = r.key AND ({condition})"
    (sink,) = plan_script(query, tables()).sinks
    (found,) = (n for n in walk(sink) if isinstance(n, UpdatingJoin))
    return found


ARROW = (
    *(pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.bool_()),
    *(pa.timestamp("us"), pa.decimal128(10, 2)),
)


@cache
def database() -> SessionContext:
    """All pairs of values of each type, as a table ``pairs``."""
    crossed = [list(product(values, values)) for values in VALUES]
    rows = range(max(map(len, crossed)))
    columns = {
        name: pa.array([pairs[row % len(pairs)][side] for row in rows], type_)
        for side, letters in enumerate(NAMES.values())
        for name, type_, pairs in zip(letters, ARROW, crossed, strict=True)
    }
    context = SessionContext()
    context.register_record_batches("pairs", [[pa.record_batch(columns)]])
    return context


def asked(items: str) -> pa.Table:
    return pa.Table.from_batches(database().sql(f"SELECT {items} FROM pairs").collect())


def as_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spark's intervals are durations."""
    if not pa.types.is_interval(column.type):
        return column
    lengths = [value and value.nanoseconds // 1000 for value in column.to_pylist()]
    return pa.chunked_array([pa.array(lengths, pa.duration("us"))])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_what_it_is_in_sql(condition: str) -> None:
    node = join(condition)
    columns: dict[str, str] = {}

    def one_sided(expression: object) -> str | None:
        if not any(is_one_sided(expression, side.schema) for side in node.inputs):
            return None
        text = expression.sql(dialect="postgres")
        return columns.setdefault(text, f"v{len(columns)}")

    test = pair_condition(node.condition, one_sided)
    pairs = asked(", ".join(f"{text} AS {name}" for text, name in columns.items()))
    expected = asked(f"({condition}) AS value")["value"].to_pylist()
    found = test(
        pa.table({n: as_spark(pairs[n]) for n in columns.values()})
    ).to_pylist()
    assert found == expected
    assert len(set(found)) > 1


@pytest.mark.parametrize(
    ("condition", "expected"), [("a + h < 0", True), ("a * h = 1", True)]
)
def test_an_overflow_wraps_around_as_in_spark(condition: str, expected: bool) -> None:
    names = {'"a"': "x", '"h"': "y", "1": "z", "0": "n"}
    test = pair_condition(join(condition).condition, lambda e: names.get(e.sql()))
    most = pa.array([2**63 - 1])
    pairs = pa.table({"x": most, "y": most, "z": pa.array([1]), "n": pa.array([0])})
    assert test(pairs).to_pylist() == [expected]


@pytest.mark.parametrize(
    "condition",
    [
        "a / h > 1",
        "a % h = 1",
        "concat(d, k) = 'x'",
        "g + n > 1",
        "d LIKE k",
        "CASE WHEN e THEN l ELSE e END",
        "CAST(a + h AS TEXT) = '1'",
    ],
)
def test_what_arrow_does_otherwise_is_refused_at_its_place(condition: str) -> None:
    with pytest.raises(Unsupported, match="over both sides of an outer join") as caught:
        join(condition)
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("condition", "place", "message", "mended"),
    [
        (
            "c + j < g",
            "c + j",
            "DOUBLE computed from both sides of an outer join is not compared or "
            "combined with another type, here as DECIMAL",
            "c + j < CAST(g AS DOUBLE)",
        ),
        (
            "a * h > n",
            "a * h",
            "BIGINT computed from both sides of an outer join is not compared or "
            "combined with another type, here as DECIMAL",
            "a * h > CAST(n AS BIGINT)",
        ),
    ],
)
def test_types_that_are_brought_to_one_are_named_and_no_cast(
    condition: str, place: str, message: str, mended: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        join(condition)
    assert caught.value.message.startswith(message)
    span = caught.value.span
    assert span is not None
    query = f"SELECT a FROM l FULL JOIN r ON l.key = r.key AND ({condition})"
    assert query[span.start : span.end] == place
    join(mended)
