"""Long cells, many cells, many keys."""

from __future__ import annotations

import pytest
from editor_page import LOAD, TABLE, show, text, wait_underlined
from lab import Lab, Tab

from benchmarks.editor import TYPE
from benchmarks.views import percentile

LINES, COSTS_MS = 500, 5
LEFT = {"JSHeapUsedSize": 3e6, "Nodes": 200, "JSEventListeners": 50}
"""What may stay of 10,000 keys, beyond what stays of them in a plain cell."""
KEYS = """async ([number, count]) => {
  const view = window.jupyterapp.shell.currentWidget.content.widgets[number].editor
    .editor;
  for (let i = 0; i < count; i++) {
    const at = view.state.doc.length;
    const insert = i % 60 ? 'x' : '\\n';
    view.dispatch({ changes: { from: at, insert }, userEvent: 'input.type' });
    if (i % 10 === 0) await new Promise(requestAnimationFrame);
    if (i % 200 === 0) await new Promise((go) => setTimeout(go, 400));
  }
}"""
ACTIVATE = """async (number) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = number;
  await notebook.scrollToItem(number);
  // A cell gets its editor once it is seen.
  await notebook.widgets[number].ready;
  notebook.mode = 'edit';
  notebook.activeCell.editor.focus();
}"""


@pytest.mark.long("notebooks")
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


@pytest.mark.long("notebooks")
def test_each_of_two_hundred_cells_is_checked_where_one_works(
    lab: Lab, tab: Tab
) -> None:
    cells = [f"%%arroyo\nSELECT id, prise + {n} AS p FROM orders;" for n in range(198)]
    show(lab, tab, "cells.ipynb", [LOAD, TABLE, *cells], run=2)
    for number in (2, 100, 199, 50):
        tab.page.evaluate(ACTIVATE, number)
        # The first one may have been checked while the cell before it still ran.
        wait_underlined(tab, [["prise", "error"]])
        assert f"+ {number - 2} " in text(tab)
    tab.command("arroyo-nb:next-problem")
    tab.page.wait_for_timeout(300)
    tab.command("arroyo-nb:quick-fix")
    tab.page.wait_for_function(
        "() => !document.querySelector('.jp-mod-active .arroyo-mark')"
    )
    assert text(tab) == cells[48].replace("prise", "price")
    found = tab.page.evaluate(
        "() => [...window.jupyterapp.shell.currentWidget.content.widgets]"
        ".map((cell) => cell.model.sharedModel.getSource())"
    )
    assert [*found[2:50], *found[51:]] == [*cells[:48], *cells[49:]]
    assert tab.errors == []


@pytest.mark.long("notebooks")
def test_ten_thousand_keys_leave_no_more_than_in_a_plain_cell(
    lab: Lab, tab: Tab
) -> None:
    line = "SELECT id, price + 1 AS p FROM orders"
    show(lab, tab, "keys.ipynb", [LOAD, TABLE, f"%%arroyo\n{line}", line], run=2)
    page = tab.page.context.new_cdp_session(tab.page)
    page.send("Performance.enable")

    def held() -> dict[str, float]:
        tab.page.wait_for_timeout(2000)
        page.send("HeapProfiler.collectGarbage")
        found = page.send("Performance.getMetrics")["metrics"]
        return {metric["name"]: metric["value"] for metric in found}

    more: dict[int, dict[str, float]] = {}
    for number in (3, 2):
        tab.page.evaluate(KEYS, [number, 1000])
        before = held()
        for _ in range(10):
            tab.page.evaluate(KEYS, [number, 1000])
        after = held()
        more[number] = {name: after[name] - before[name] for name in LEFT}
    print(more)
    for name, most in LEFT.items():
        assert more[2][name] - more[3][name] <= most, (name, more)
    assert tab.errors == []
