"""Cells of SQL in a page: type into them, and see what the page shows."""

from __future__ import annotations

from typing import Any

from lab import PLAIN, Lab, Tab, write_notebook

LOAD = "%load_ext arroyo_nb"
TABLE = """%%arroyo
CREATE TABLE orders (
  id BIGINT, price DOUBLE, ts TIMESTAMP NOT NULL,
  WATERMARK FOR ts AS ts - INTERVAL '5 seconds'
) WITH (connector = 'single_file', path = 'orders.json', format = 'json',
  type = 'source');"""
MARKS = ".cm-content .arroyo-mark"
TOOLTIP = ".cm-tooltip .arroyo-tooltip"

# What a mark stands under, put together again where the highlighting cuts it.
UNDERLINED = """() => {
  const view = window.jupyterapp.shell.currentWidget.content.activeCell.editor.editor;
  const found = new Map();
  for (const span of view.dom.querySelectorAll('.arroyo-mark')) {
    const from = view.posAtDOM(span);
    const severity = span.className.match(/arroyo-(error|warning|hint)/)[1];
    found.set(from, [span.textContent, severity]);
  }
  return [...found.entries()].sort((a, b) => a[0] - b[0]).map(([_, what]) => what);
}"""


def show(
    lab: Lab, tab: Tab, name: str, cells: list[str], run: int = 1, kind: str = PLAIN
) -> None:
    """Open a notebook of these cells, on a kernel of that kind, and run the first
    ones."""
    write_notebook(lab.folder / name, cells)
    tab.open(lab, name, kind)
    for _ in range(run):
        run_cell(tab)


def run_cell(tab: Tab) -> None:
    """Run the active cell, wait for its end, and go to the next one."""
    tab.page.evaluate(
        """async () => {
          const notebook = window.jupyterapp.shell.currentWidget.content;
          const cell = notebook.activeCell;
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session
            .kernel;
          window.jupyterapp.commands.execute('notebook:run-cell-and-select-next');
          const begun = Date.now();
          while (cell.model.executionCount === null || kernel.status !== 'idle') {
            if (Date.now() - begun > 60000) throw new Error('the cell does not end');
            await new Promise((go) => setTimeout(go, 20));
          }
        }"""
    )


def cell(tab: Tab, number: int) -> Any:
    """The editable part of a cell."""
    return tab.page.locator(
        f".jp-Cell[data-windowed-list-index='{number}'] .cm-content"
    ).first


def edit(tab: Tab, number: int, typed: str = "") -> None:
    """Put the cursor at the end of a cell and type."""
    cell(tab, number).click()
    tab.page.keyboard.press("Control+End")
    if typed:
        tab.page.keyboard.type(typed)


def text(tab: Tab) -> str:
    """The text of the active cell."""
    return str(
        tab.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.activeCell.model"
            ".sharedModel.getSource()"
        )
    )


def underlined(tab: Tab, count: int = 1, within_s: float = 15) -> list[list[str]]:
    """What is underlined in the active cell and how severe, once it is so many."""
    for _ in range(int(within_s * 20)):
        found: list[list[str]] = tab.page.evaluate(UNDERLINED)
        if len(found) == count:
            return found
        tab.page.wait_for_timeout(50)
    raise AssertionError(f"not {count} marks: {tab.page.evaluate(UNDERLINED)}")


def wait_underlined(tab: Tab, wanted: list[list[str]], within_s: float = 15) -> None:
    """Wait until exactly this is underlined in the active cell."""
    for _ in range(int(within_s * 20)):
        found = tab.page.evaluate(UNDERLINED)
        if found == wanted:
            return
        tab.page.wait_for_timeout(50)
    raise AssertionError(f"{found}, not {wanted}")


def ask(tab: Tab, code: str) -> None:
    """Run code in the kernel behind the notebook, outside of its cells."""
    tab.page.evaluate(
        """async (code) => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session
            .kernel;
          await kernel.requestExecute({ code }).done;
        }""",
        code,
    )
