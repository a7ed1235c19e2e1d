"""Values in the sentences of the doctor, and what of a plan tells their place."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from arroyo_nb.catalog import Catalog
from arroyo_nb.doctor.probe import _is_of_other_window
from arroyo_nb.doctor.values import key_text, value_text
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("ann", "'ann'"),
        ("x" * 41, f"'{'x' * 40}…'"),
        (True, "true"),
        (Decimal("7.50"), "7.50"),
        (b"ab", "0x6162"),
        (NOON, "2026-01-01 12:00:00"),
        (date(2026, 1, 1), "2026-01-01"),
        (timedelta(seconds=90), "1 min 30 s"),
        (["bob"], "['bob']"),
        (["a", None, "c", "d"], "['a', NULL, 'c', ...]"),
        ([], "[]"),
        ({"start": NOON, "end": NOON + timedelta(seconds=5)},
         "2026-01-01 12:00:00 – 12:00:05"),
        ({"start": NOON, "end": NOON + timedelta(hours=12)},
         "2026-01-01 12:00:00 – 2026-01-02 00:00:00"),
        ({"start": NOON, "end": None}, "{start: 2026-01-01 12:00:00, end: NULL}"),
        ({"a": 1, "b": ["x"]}, "{a: 1, b: ['x']}"),
    ],
)  # fmt: skip
def test_a_value_is_no_python(value: Any, text: str) -> None:
    assert value_text(value) == text


def test_a_key_of_one_column_is_its_value() -> None:
    assert key_text([["ann"]]) == "['ann']"
    assert key_text(["ann", 7]) == "('ann', 7)"


TICKS = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1);\n"
SIDE = "(SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM t GROUP BY w)"


@pytest.mark.parametrize(
    ("on", "is_other"),
    [
        ("a.w.start = b.w.end", True),
        ("a.w.start = b.w.end - INTERVAL '20 seconds'", True),
        ("a.w = b.w AND a.n = b.n", False),
        ("a.w.start = b.w.start", False),
    ],
)
def test_whether_a_join_compares_two_windows(on: str, is_other: bool) -> None:
    query = f"SELECT a.n FROM {SIDE} a JOIN {SIDE} b ON {on}"
    (sink,) = plan_script(f"{TICKS}{query}", Catalog()).sinks
    (join,) = (node for node in walk(sink) if isinstance(node, nodes.Joining))
    assert any(_is_of_other_window(*pair) for pair in join.keys) is is_other
