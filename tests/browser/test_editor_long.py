"""Typing in a long cell."""

from __future__ import annotations

import pytest
from editor_page import LOAD, TABLE, show
from lab import Lab, Tab

from benchmarks.editor import TYPE
from benchmarks.views import percentile

LINES, COSTS_MS = 500, 5


@pytest.mark.long
def test_typing_in_a_long_cell_is_as_quick_as_in_a_plain_one(
    lab: Lab, tab: Tab
) -> None:
    lines = "\n".join(f"SELECT id, price + {n} AS p FROM orders" for n in range(LINES))
    show(lab, tab, "lines.ipynb", [LOAD, TABLE, f"%%arroyo\n{lines}", lines], run=2)
    took: dict[int, list[float]] = {2: [], 3: []}
    for _ in range(4):
        for number in took:
            took[number] += tab.page.evaluate(TYPE, [number, 50])
    ours, plain = (percentile(took[number], 95) for number in (2, 3))
    assert ours - plain <= COSTS_MS
    assert tab.errors == []
