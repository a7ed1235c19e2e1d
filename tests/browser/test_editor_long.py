"""The editor in large notebooks and cells, and after many keys."""

from __future__ import annotations

import pytest
from editor_page import LOAD, TABLE, edit, show, underlined
from lab import Lab, Tab

from benchmarks.editor import TYPE
from benchmarks.views import percentile

LINES, COSTS_MS = 500, 5
KEYS = 10_000
GROWTH = 4_000_000
"""Bytes: what a page gains without us, too, of so many steps that can be undone."""

KEY_BY_KEY = """async ([number, count]) => {
  const view = window.jupyterapp.shell.currentWidget.content.widgets[number].editor
    .editor;
  view.focus();
  for (let i = 0; i < count; i++) {
    const at = view.state.doc.length;
    view.dispatch(i % 2
      ? { changes: { from: at - 1, to: at }, userEvent: 'delete' }
      : { changes: { from: at, insert: 'x' }, userEvent: 'input.type' });
    // Now and then a pause that is long enough for a check.
    if (i % 500 === 0) await new Promise((go) => setTimeout(go, 500));
    else if (i % 20 === 0) await new Promise(requestAnimationFrame);
  }
}"""


@pytest.mark.long
def test_two_hundred_cells(lab: Lab, tab: Tab) -> None:
    cells = [LOAD, TABLE]
    cells += [f"%%arroyo\nSELECT price + {n} AS p FROM orders" for n in range(100)]
    cells += [f"x{n} = {n}" for n in range(100)]
    show(lab, tab, "many.ipynb", cells, run=2)
    edit(tab, 2, ", nowhere")
    assert underlined(tab) == [["nowhere", "error"]]
    assert tab.errors == []


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


@pytest.mark.long
def test_memory_is_flat_after_many_keys(lab: Lab, tab: Tab) -> None:
    query = "SELECT price FROM orders"
    show(lab, tab, "keys.ipynb", [LOAD, TABLE, f"%%arroyo\n{query}", query], run=2)
    devtools = tab.page.context.new_cdp_session(tab.page)

    def used() -> float:
        devtools.send("HeapProfiler.collectGarbage")
        return float(devtools.send("Runtime.getHeapUsage")["usedSize"])

    grown = {}
    for number in (3, 2):
        tab.page.evaluate(KEY_BY_KEY, [number, 1000])
        tab.page.wait_for_timeout(1500)
        before = used()
        tab.page.evaluate(KEY_BY_KEY, [number, KEYS])
        tab.page.wait_for_timeout(1500)
        grown[number] = used() - before
    assert grown[2] - grown[3] <= GROWTH, grown
    assert tab.errors == []
