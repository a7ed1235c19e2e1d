"""The side panel in JupyterLab, as somebody works with it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from hostile import LISTENS, PAYLOADS, audit
from lab import PLAIN, SPARK, Lab, Tab, write_notebook

LOAD = "%load_ext arroyo_nb"
TABLE = """%%arroyo
CREATE TABLE flights (
  WATERMARK FOR sched_dep AS sched_dep - INTERVAL '1 hour'
) WITH (connector = 'sample', dataset = 'flights');
CREATE VIEW delays AS SELECT carrier, dep_delay FROM flights
"""
RUN = """%%arroyo -n departures --speed 3600
SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS flights
FROM flights GROUP BY window
"""
NOTEBOOK = "panel.ipynb"
PANEL = "#arroyo-nb-side-panel"
COUNTED = """() => {
  window.asked = 0;
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
    if (text.includes('"ask":"overview"')) window.asked++;
    return send.call(this, data);
  };
}"""


class SidePanel:
    """The panel of a page."""

    def __init__(self, tab: Tab) -> None:
        self.page = tab.page

    def open(self) -> None:
        """Show it, by its tab at the left."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.activateById('arroyo-nb-side-panel')"
        )
        self.page.wait_for_selector(f"{PANEL}:visible")

    def collapse(self) -> None:
        """Hide all panels at the left."""
        self.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        self.page.wait_for_selector(PANEL, state="hidden")

    def row(self, name: str) -> Any:
        """The row of that name."""
        exact = self.page.locator(".arroyo-name").get_by_text(name, exact=True)
        return self.page.locator(f"{PANEL} .arroyo-item").filter(has=exact).last

    def line(self, name: str) -> Any:
        """The row's own line, without those under it."""
        return self.row(name).locator("> .arroyo-line")

    def text(self, name: str) -> str:
        """The words of a row."""
        return str(self.line(name).inner_text())

    def until(self, name: str, *words: str, within_s: float = 60) -> None:
        """Wait until a row's line has all these words."""
        for word in words:
            found = self.line(name).filter(has_text=word)
            found.wait_for(timeout=within_s * 1000)

    def click(self, name: str, action: str) -> None:
        """Press a button of a row."""
        self.line(name).get_by_role("button", name=action).click()

    def says(self, text: str, within_s: float = 60) -> None:
        """Wait for what it says instead of rows."""
        found = self.page.locator(f"{PANEL} .arroyo-message-text").filter(has_text=text)
        found.wait_for(timeout=within_s * 1000)


Opened = Callable[..., SidePanel]


@pytest.fixture
def opened(lab: Lab, tab: Tab) -> Opened:
    """Opens a notebook of such cells, on a kernel of that kind, and the panel."""

    def open_(*cells: str, run: bool = True, kind: str = PLAIN) -> SidePanel:
        write_notebook(lab.folder / NOTEBOOK, list(cells))
        tab.open(lab, NOTEBOOK, kind)
        panel = SidePanel(tab)
        panel.open()
        if run:
            tab.command("notebook:run-all-cells")
        return panel

    return open_


def cell_texts(tab: Tab) -> list[str]:
    """The source of each cell."""
    found: list[str] = tab.page.evaluate(
        """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
          .map((cell) => cell.sharedModel.getSource())"""
    )
    return found


def ours(tab: Tab) -> list[str]:
    return [error for error in tab.errors if "arroyo" in error.lower()]


def test_tables_appear_and_open_and_insert_their_names(
    tab: Tab, opened: Opened
) -> None:
    panel = opened(LOAD, run=False)
    panel.says("run %load_ext arroyo_nb")
    panel.page.locator(f"{PANEL} .arroyo-message button").click()
    panel.until("Tables and views", "Tables and views")
    assert cell_texts(tab) == [LOAD, LOAD]
    panel.page.evaluate(
        """(text) => {
          const { content } = window.jupyterapp.shell.currentWidget;
          content.activeCell.model.sharedModel.setSource(text);
        }""",
        TABLE,
    )
    tab.command("notebook:run-cell")
    panel.until("flights", "sample source", "watermark sched_dep - 1 h")
    panel.until("delays", "view")
    assert panel.row("carrier").count() == 0

    panel.line("flights").locator(".arroyo-twisty").click()
    panel.until("sched_dep", "TIMESTAMP", "event time")
    tab.command("notebook:insert-cell-below")
    panel.page.keyboard.press("Escape")
    panel.row("flights").locator("> .arroyo-line .arroyo-name").click()
    panel.page.keyboard.type(", ")
    panel.row("carrier").locator("> .arroyo-line .arroyo-name").click()
    panel.page.wait_for_timeout(200)
    assert cell_texts(tab)[-1] == "flights, carrier"
    tab.shot("panel-tables")
    panel.line("flights").locator(".arroyo-twisty").click()  # a page remembers it
    assert ours(tab) == []


def test_the_first_rows_of_a_table_are_shown_in_a_cell_below(
    tab: Tab, opened: Opened
) -> None:
    panel = opened(LOAD, TABLE, kind=SPARK)
    panel.until("flights", "sample source")
    panel.click("flights", "rows")
    panel.page.wait_for_selector(".jp-OutputArea-output table", timeout=60_000)
    assert cell_texts(tab)[-1] == "%arroyo head flights"
    # A view has none to show.
    assert panel.line("delays").get_by_role("button").count() == 0


def test_a_run_has_its_rate_and_its_lag_and_is_stopped(
    tab: Tab, opened: Opened
) -> None:
    panel = opened(LOAD, TABLE, RUN, kind=SPARK)
    panel.until("departures", "running", "rows/s", "behind", within_s=120)
    tab.shot("panel-run")
    panel.click("departures", "show")
    panel.page.wait_for_function(
        "() => document.querySelectorAll('.arroyo-live').length === 2", timeout=60_000
    )
    assert cell_texts(tab)[-1] == "%arroyo show departures"
    panel.click("departures", "stop")
    panel.until("departures", "stopped")
    assert panel.page.locator(f"{PANEL} .arroyo-said").inner_text() == (
        "stopping departures"
    )
    buttons = panel.line("departures").get_by_role("button")
    assert buttons.all_inner_texts() == ["show"]
    assert ours(tab) == []


def test_a_run_is_stopped_while_its_own_cell_waits_for_it(
    tab: Tab, opened: Opened
) -> None:
    waiting = RUN.replace("--speed", "--wait --speed")
    panel = opened(LOAD, TABLE, waiting, kind=SPARK)
    panel.until("departures", "running", "rows/s", within_s=120)
    panel.click("departures", "stop")
    panel.until("departures", "stopped", within_s=30)


@pytest.mark.own_page
def test_the_keyboard_does_all_of_it(tab: Tab, opened: Opened) -> None:
    panel = opened(LOAD, TABLE)
    panel.until("flights", "sample source")
    page = panel.page
    tab.command("notebook:insert-cell-below")

    def focused() -> str:
        return str(page.evaluate("() => document.activeElement.ariaLabel"))

    panel.open()
    page.wait_for_function("() => document.activeElement.role === 'treeitem'")
    assert focused().startswith("Tables and views")
    page.keyboard.press("ArrowRight")
    assert focused().startswith("delays, view")
    page.keyboard.press("ArrowDown")
    assert focused().startswith("flights, sample source")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    first_column = focused()
    # Asked again meanwhile: nothing of this is lost.
    page.wait_for_timeout(4500)
    assert focused() == first_column
    page.keyboard.press("ArrowLeft")
    assert focused().startswith("flights")
    page.keyboard.press("ArrowLeft")
    assert panel.row("flights").get_attribute("aria-expanded") == "false"
    page.keyboard.press("Tab")
    assert focused() == "rows flights"
    page.keyboard.press("Shift+Tab")
    assert focused().startswith("flights")
    page.keyboard.press("End")
    assert focused().startswith("none yet")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert cell_texts(tab)[-1] == "flights"
    page.keyboard.type(" f")
    assert cell_texts(tab)[-1] == "flights f"


@pytest.mark.own_page
def test_the_kernel_is_asked_only_while_somebody_looks(
    tab: Tab, opened: Opened
) -> None:
    tab.page.clock.install()
    panel = opened(LOAD, TABLE)
    panel.until("flights", "sample source")
    page = panel.page
    # Its socket is there already: its next message goes by the counting one.
    page.evaluate(COUNTED)

    def asked_in(seconds: float) -> tuple[int, float]:
        """How often it asks in that time of the page's clock, or in a little more."""
        look = "() => [window.asked, Date.now() / 1000]"
        before, since = page.evaluate(look)
        for _ in range(round(2 * seconds)):
            page.clock.run_for(500)
            page.wait_for_timeout(100)  # what was asked is answered
        asked, now = page.evaluate(look)
        return asked - before, now - since

    asked, took_s = asked_in(6.5)
    assert 2 <= asked <= took_s / 2 + 1
    panel.collapse()
    page.wait_for_timeout(500)
    assert asked_in(5)[0] == 0
    panel.open()
    assert asked_in(3)[0] >= 1
    hide = """(state) => {
      Object.defineProperty(document, 'visibilityState',
        { value: state, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, "hidden")
    page.wait_for_timeout(500)
    assert asked_in(5)[0] == 0
    page.evaluate(hide, "visible")
    assert asked_in(3)[0] >= 1


def test_a_restart_a_death_and_another_notebook_are_told(
    lab: Lab, tab: Tab, opened: Opened
) -> None:
    panel = opened(LOAD, TABLE, kind="")
    panel.until("flights", "sample source")
    page = panel.page
    page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.sessionContext
          .session.kernel.restart()"""
    )
    panel.says("run %load_ext arroyo_nb")
    tab.command("notebook:run-all-cells")
    panel.until("flights", "sample source")
    page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"""
    )
    panel.says("no kernel")

    write_notebook(lab.folder / "other.ipynb", [LOAD])
    page.evaluate(
        """() => window.jupyterapp.commands.execute('docmanager:open',
          { path: 'other.ipynb' })"""
    )
    panel.says("run %load_ext arroyo_nb")
    assert page.locator(f"{PANEL} .arroyo-of").inner_text() == "other.ipynb"
    page.evaluate(
        "() => [...window.jupyterapp.shell.widgets('main')].map((one) => one.dispose())"
    )
    panel.says("Open a notebook")
    assert ours(tab) == []


def test_what_it_says_instead_of_rows_does_not_flicker(
    tab: Tab, opened: Opened
) -> None:
    panel = opened("1", run=False)
    panel.says("run %load_ext arroyo_nb")
    changes = panel.page.evaluate(
        """async (panel) => {
          let changes = 0;
          const watcher = new MutationObserver((all) => { changes += all.length; });
          watcher.observe(document.querySelector(panel),
            { subtree: true, childList: true, attributes: true, characterData: true });
          await new Promise((go) => setTimeout(go, 5000));
          watcher.disconnect();
          return changes;
        }""",
        PANEL,
    )
    assert changes == 0


def test_a_kernel_that_is_killed_leaves_no_rows_behind(
    tab: Tab, opened: Opened
) -> None:
    panel = opened(LOAD, TABLE, "import os; print('pid', os.getpid())", kind="")
    panel.until("flights", "sample source")
    said = panel.page.locator(".jp-OutputArea-output", has_text="pid").last
    os.kill(int(said.inner_text().split()[1]), signal.SIGKILL)
    # Jupyter starts it again.
    panel.says("run %load_ext arroyo_nb")
    assert panel.row("flights").count() == 0 or not panel.row("flights").is_visible()


@pytest.mark.own_page
def test_hostile_names_are_texts(tab: Tab, opened: Opened) -> None:
    columns = ", ".join(f'"{name}" INT' for name in _quoted(PAYLOADS[::7]))
    tables = "".join(
        f"CREATE TABLE \"{name}\" (a INT, {columns}) WITH (connector = 'kafka', "
        f"type = 'sink', bootstrap_servers = '127.0.0.1:1', topic = 't', "
        f"format = 'json');\n"
        for name in _quoted(PAYLOADS[:40])
    )
    run = json.dumps(PAYLOADS[0])
    panel = opened(LOAD, run=False, kind=SPARK)
    page = panel.page
    page.evaluate(LISTENS)
    page.evaluate(
        """(text) => {
          const { content } = window.jupyterapp.shell.currentWidget;
          content.activeCell.model.sharedModel.setSource(text);
        }""",
        "\n".join(
            (
                "%load_ext arroyo_nb",
                "import arroyo_nb",
                "session = arroyo_nb.active_session()",
                f"session.run({tables!r})",
                "session.run(\"CREATE TABLE ticks WITH (connector = 'impulse', "
                'event_rate = 5)")',
                f"session.run('SELECT counter FROM ticks', name={run})",
            )
        ),
    )
    hits: list[str] = []
    page.on("console", lambda said: hits.append(said.text) if "HIT" in said.text else 0)
    tab.command("notebook:run-cell")
    panel.until("ticks", "impulse source")
    panel.until(PAYLOADS[0], "running", within_s=120)
    names = page.locator(f"{PANEL} .arroyo-item[aria-level='2'] > .arroyo-line")
    assert names.count() > 40
    rows = page.locator(f"{PANEL} [aria-level='2'] > .arroyo-line .arroyo-twisty")
    for number in range(3):
        rows.nth(number).click()
    assert page.locator(f"{PANEL} [aria-level='3']").count() > 3 * 60
    page.mouse.move(60, 400)
    page.wait_for_timeout(1000)
    assert page.evaluate(audit("h2"), page.query_selector(PANEL)) == []
    assert hits == []
    panel.click(PAYLOADS[0], "stop")
    panel.until(PAYLOADS[0], "stopped")
    assert hits == []


def _quoted(names: tuple[str, ...]) -> list[str]:
    """As identifiers are quoted; no name of a table has a line end or a NUL."""
    return [name.replace('"', '""') for name in names if name.isprintable()]


def test_dark_looks_like_the_rest_of_the_page(tab: Tab, opened: Opened) -> None:
    panel = opened(LOAD, TABLE, RUN, kind=SPARK)
    panel.until("departures", "running", "rows/s", within_s=120)
    panel.line("flights").locator(".arroyo-twisty").click()
    tab.shot("panel-light")
    tab.page.evaluate(
        """() => window.jupyterapp.commands.execute('apputils:change-theme',
          { theme: 'JupyterLab Dark' })"""
    )
    tab.page.wait_for_selector(
        "body[data-jp-theme-light=false]", state="attached", timeout=30_000
    )
    tab.page.wait_for_timeout(1000)
    found = tab.page.evaluate(
        """(panel) => {
          const style = getComputedStyle(document.querySelector(panel));
          return [style.backgroundColor, style.color];
        }""",
        PANEL,
    )
    tab.shot("panel-dark")
    panel.line("flights").locator(".arroyo-twisty").click()
    background, text = (sum(_rgb(color)[:3]) / 3 for color in found)
    assert background < 60 < 180 < text


def _rgb(color: str) -> list[float]:
    return [float(part) for part in color.split("(")[1].rstrip(")").split(",")]
