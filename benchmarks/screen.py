"""A live cell in a real browser: how soon it shows an event, how much it grows.

JupyterLab runs on loopback with a headless Chromium. An event is on the screen when the
page has drawn a frame that knows its time. What a live cell adds to its notebook is the
size of the saved file after ten minutes.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import Report, main
from benchmarks.views import percentile
from tests.browser import lab as jupyter

WARM_UP_S, SHOWN_S, GROWN_MINUTES = 15.0, 30.0, 10
SAVED_BYTES = 64_000
LOAD = "%load_ext arroyo_nb"
CELL = """
%%arroyo -n live
CREATE TABLE events WITH (connector = 'impulse', event_rate = '10000');
SELECT tumble(INTERVAL '1 second') AS window, counter % 10 AS k, count(*) AS n
FROM events GROUP BY window, k;
""".strip()
WATCH = """
() => {
  const lags = window.lags = [];
  const roots = (of) => [of, ...[...of.querySelectorAll('*')]
    .filter((at) => at.shadowRoot).flatMap((at) => roots(at.shadowRoot))];
  let last = '';
  const look = () => {
    for (const root of roots(document)) {
      const shown = root.querySelector('.arroyo .sources')?.textContent ?? '';
      const found = shown.match(/newest (\\d+):(\\d+):(\\d+(?:\\.\\d+)?)/);
      if (found && found[0] !== last) {
        last = found[0];
        const now = new Date();
        const at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(),
          +found[1], +found[2]) + found[3] * 1000;
        lags.push(Date.now() - at);
      }
    }
    requestAnimationFrame(look);
  };
  look();
}
"""


def time_events(report: Report, tab: jupyter.Tab) -> None:
    """From the time of an event to the first drawn page that knows of it."""
    tab.page.wait_for_timeout(WARM_UP_S * 1000)
    tab.page.evaluate(WATCH)
    tab.page.wait_for_timeout(SHOWN_S * 1000)
    lags = tab.page.evaluate("() => window.lags")
    assert len(lags) > SHOWN_S, "the page was not drawn again"
    report.add("event to screen p50", statistics.median(lags), "ms")
    report.add("event to screen p99", percentile(lags, 99), "ms")


def grow(report: Report, tab: jupyter.Tab, notebook: Path, empty: int) -> None:
    """What the live cell adds to the saved file, minute by minute."""
    for minute in range(1, GROWN_MINUTES + 1):
        tab.page.wait_for_timeout(60_000)
        tab.save()
        added = notebook.stat().st_size - empty
        last = minute == GROWN_MINUTES
        report.add(f"added to the notebook, {minute} min", added, "bytes",
                   target=SAVED_BYTES if last else None)  # fmt: skip


def measure(report: Report) -> None:
    """Both, in one page."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name:
        lab = jupyter.start_lab(Path(name))
        try:
            jupyter.wait_for(lab)
            notebook = lab.folder / "live.ipynb"
            jupyter.write_notebook(notebook, [LOAD, CELL])
            with sync_playwright() as playwright:
                browser: Any = playwright.chromium.launch(
                    executable_path=jupyter.CHROMIUM, args=["--no-sandbox"]
                )
                tab = jupyter.Tab(browser.new_page())
                tab.page.on("console", tab.heard)
                tab.open(lab, notebook.name)
                tab.save()
                empty = notebook.stat().st_size
                tab.command("notebook:run-all-cells")
                tab.page.wait_for_selector(".arroyo .sources", timeout=120_000)
                time_events(report, tab)
                grow(report, tab, notebook, empty)
                report.add("errors in the console", len(tab.errors), "", target=0)
                browser.close()
            lab.end_kernels()
        finally:
            lab.process.terminate()
            lab.process.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main(measure))
