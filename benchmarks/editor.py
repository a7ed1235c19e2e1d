"""How soon the editor of a cell answers, and what it costs who types.

The kernel's answers are timed in this process, against a session with tables, for a
cell of 200 statements. What a person sees is timed by the page itself, in Chromium with
JupyterLab: from a key to the underline, and from a key to the frame that shows it, in a
cell of ours and in a plain one of as many lines.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from arroyo_nb.editor.connection import EditorConnection
from arroyo_nb.session import Session
from benchmarks.report import Report, main
from benchmarks.views import percentile

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

STATEMENTS, ASKED, WARM_UP = 200, 100, 5
LINES, KEYS, MISTAKES = 500, 300, 30
ANSWER_MS, UNDERLINE_MS, TYPING_MS = 30, 400, 5

TABLE = """CREATE TABLE orders (
    id BIGINT, price DOUBLE, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '5 seconds'
) WITH (connector = 'single_file', path = '/tmp/orders.json', format = 'json',
    type = 'source');"""
VIEW = """CREATE VIEW v{number} AS SELECT id, upper('a') AS a, price FROM orders
WHERE price > {number};"""
FROM_KEY_TO_UNDERLINE = """async (count) => {
  const view = window.jupyterapp.shell.currentWidget.content.activeCell.editor.editor;
  const next = () => new Promise(requestAnimationFrame);
  const marks = () => view.dom.querySelectorAll('.arroyo-mark').length;
  const took = [];
  for (let i = 0; i < count; i++) {
    const at = view.state.doc.length;
    const begun = performance.now();
    view.dispatch({ changes: { from: at, insert: 'x' }, userEvent: 'input.type' });
    while (!marks() && performance.now() - begun < 5000) await next();
    took.push(performance.now() - begun);
    view.dispatch({ changes: { from: at, to: at + 1 }, userEvent: 'delete' });
    while (marks()) await next();
  }
  return took;
}"""
TYPE = """async ([number, count]) => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets;
  const view = cells[number].editor.editor;
  const took = [];
  for (let i = 0; i < count; i++) {
    const at = view.state.doc.lineAt(view.state.doc.length >> 1).to;
    const begun = performance.now();
    view.dispatch({ changes: { from: at, insert: 'x' }, userEvent: 'input.type',
      scrollIntoView: false });
    view.measure();
    took.push(performance.now() - begun);
    await new Promise((go) => setTimeout(go, 20));
  }
  return took;
}"""


def time_answers(report: Report) -> None:
    """What the kernel takes for a question, at a cell of many statements."""
    with Session() as session:
        session.run(TABLE)
        views = "\n".join(VIEW.format(number=n) for n in range(STATEMENTS))
        connection = EditorConnection(session, lambda: False, {})
        for kind in ("check", "hover", "signature"):
            took = []
            for turn in range(WARM_UP + ASKED):
                # Each time another text: somebody types in the middle of the cell.
                old = f"price > {STATEMENTS // 2};"
                text = f"%%arroyo\n{views}".replace(old, f"price > {turn} + 1;")
                at = text.index("'a'", len(text) // 2)
                question = {"ask": kind, "text": text, "at": at}
                begun = time.perf_counter()
                answer = connection.answer(question)
                took.append((time.perf_counter() - begun) * 1000)
                assert "error" not in answer, answer
            at_size = f"{kind} at {STATEMENTS} statements"
            report.add(f"{at_size}, first", took[0], "ms")
            report.add(f"{at_size} p95", percentile(took[WARM_UP:], 95), "ms",
                       target=ANSWER_MS)  # fmt: skip


def time_page(report: Report) -> None:
    """What a person waits for in the page."""
    from editor_page import LOAD, edit, show
    from lab import CHROMIUM, Tab, start_lab, wait_for
    from playwright.sync_api import sync_playwright

    lines = "\n".join(f"SELECT id, price + {n} AS p FROM orders" for n in range(LINES))
    cells = [
        LOAD,
        f"%%arroyo\n{TABLE}",
        "%%arroyo\nSELECT price FROM orders",
        f"%%arroyo\n{lines}",
        lines,
    ]
    with tempfile.TemporaryDirectory() as home:
        server = start_lab(Path(home))
        try:
            wait_for(server)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox"]
                )
                tab = Tab(browser.new_page())
                show(server, tab, "editor.ipynb", cells, run=2)
                edit(tab, 2)
                tab.page.wait_for_timeout(3000)
                took = tab.page.evaluate(FROM_KEY_TO_UNDERLINE, MISTAKES)
                report.add("from key to underline p50", percentile(took, 50), "ms")
                report.add("from key to underline p95", percentile(took, 95), "ms",
                           target=UNDERLINE_MS)  # fmt: skip
                report_typing(report, tab)
                server.end_kernels()
                browser.close()
        finally:
            server.process.terminate()
            server.process.wait(timeout=20)


def report_typing(report: Report, tab: Any) -> None:
    """A key in a cell of ours against one in a plain cell, in turns."""
    took: dict[int, list[float]] = {3: [], 4: []}
    for _ in range(3):
        for number in took:
            took[number] += tab.page.evaluate(TYPE, [number, KEYS // 3])
    ours, plain = (percentile(took[number], 95) for number in (3, 4))
    report.add(f"a key at {LINES} lines, plain cell p95", plain, "ms")
    report.add(f"a key at {LINES} lines, cell of SQL p95", ours, "ms")
    report.add("a key in a cell of SQL costs more, p95", ours - plain, "ms",
               target=TYPING_MS)  # fmt: skip


def measure(report: Report) -> None:
    """The kernel's answers, then the page."""
    time_answers(report)
    time_page(report)


if __name__ == "__main__":
    sys.exit(main(measure))
