"""Draw the pictures of docs/how-to/edit-a-cell.md in a real JupyterLab: needs Chromium,
playwright and jupyterlab.

    python scripts/make_editor_pictures.py
    python scripts/make_editor_pictures.py side-panel

Each file is a PNG of at most 130 kB.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from editor_page import LOAD, TOOLTIP, edit, run_cell, underlined  # noqa: E402
from lab import (  # noqa: E402
    CHROMIUM,
    Lab,
    Tab,
    start_lab,
    wait_for,
    write_notebook,
)

FOLDER = ROOT / "docs" / "how-to" / "pictures"
MOST_BYTES = 130_000
NOTEBOOK = "flights.ipynb"
TABLE = """%%arroyo
CREATE TABLE flights (
    WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes'
) WITH (connector = 'sample', dataset = 'flights');"""
RUN = """%%arroyo -n by_hour --speed 3600
SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS flights
FROM flights
GROUP BY window;"""
WRONG = """%%arroyo
-- how late do flights leave?
SELECT tumble(INTERVAL '1 hour') AS window, orign,
       count(*) AS flights, avg(dep_delay) AS mean_delay
FROM flights
GROUP BY window, origin;"""
BEGUN = "%%arroyo\nCREATE TABLE "
UNFINISHED = """%%arroyo
SELECT tumble(INTERVAL '1 hour') AS window, count(*)
FROM flights WHERE dep"""
ARROYO_CELL = ".jp-Cell:has(.arroyo-cell) >> nth=-1"
ROUND = {"x": -12, "y": -70, "width": 24, "height": 84}
"""What of the page is shown around an element: a tooltip is above it."""

COMPLETER = "@jupyterlab/completer-extension/manager.jupyterlab-settings"
COLUMN = "() => window.jupyterapp.shell.collapseLeft()"
SEEN_S = 180


def main() -> None:
    """Write all pictures."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        lab = start_lab(Path(home))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        try:
            wait_for(lab)
            for name in sys.argv[1:] or PICTURES:
                draw = PICTURES[name]
                context = browser.new_context(viewport={"width": 860, "height": 640})
                save(name, draw(lab, Tab(context.new_page())))
                context.close()
                # The next one's cells run for the first time too.
                lab.end_kernels()
        finally:
            lab.end_kernels()
            browser.close()
            lab.process.terminate()
            lab.process.wait(timeout=20)


def save(name: str, picture: bytes) -> None:
    """Write a picture, which must not be large."""
    assert len(picture) <= MOST_BYTES, f"{name} has {len(picture):,} bytes"
    file = FOLDER / f"{name}.png"
    file.write_bytes(picture)
    print(f"{file.relative_to(ROOT)}: {len(picture):,} bytes")


def opened(lab: Lab, tab: Tab, *cells: str) -> None:
    """Open a notebook, load the extension and run the cell of the table."""
    write_notebook(lab.folder / NOTEBOOK, [LOAD, TABLE, *cells])
    tab.open(lab, NOTEBOOK)
    tab.page.evaluate(COLUMN)
    run_cell(tab)
    run_cell(tab)


def around(tab: Tab, selector: str) -> bytes:
    """A picture of an element and of what floats above and below it."""
    tab.page.mouse.wheel(0, 0)
    tab.page.wait_for_timeout(500)
    box: Any = tab.page.locator(selector).bounding_box()
    clip = {side: box[side] + more for side, more in ROUND.items()}
    for floating in tab.page.locator(".cm-tooltip, .jp-Completer").all():
        inner: Any = floating.bounding_box()
        if inner is None:
            continue
        bottom = max(clip["y"] + clip["height"], inner["y"] + inner["height"] + 8)
        clip["y"] = min(clip["y"], inner["y"] - 8)
        clip["height"] = bottom - clip["y"]
        right = max(clip["x"] + clip["width"], inner["x"] + inner["width"] + 8)
        clip["width"] = right - clip["x"]
    clip["y"] = max(0, clip["y"])
    return bytes(tab.page.screenshot(clip=clip))


def problem(lab: Lab, tab: Tab) -> bytes:
    """Highlighting, an underline, what it says, and its fix."""
    opened(lab, tab, WRONG)
    edit(tab, 2)
    underlined(tab)
    tab.page.locator(".arroyo-mark").first.hover()
    tab.page.wait_for_selector(f"{TOOLTIP} .arroyo-fix")
    return around(tab, ARROYO_CELL)


def explanation(lab: Lab, tab: Tab) -> bytes:
    """What is known of a function under the pointer."""
    opened(lab, tab, WRONG.replace("orign", "origin"))
    edit(tab, 2)
    underlined(tab, 0)
    word = tab.page.locator(".arroyo-cell span", has_text="tumble").last
    word.hover()
    tab.page.wait_for_selector(f"{TOOLTIP}.arroyo-explanation")
    return around(tab, ARROYO_CELL)


def completion(lab: Lab, tab: Tab) -> bytes:
    """Columns that fit at the cursor."""
    opened(lab, tab, UNFINISHED)
    edit(tab, 2)
    tab.page.keyboard.press("Tab")
    tab.page.wait_for_selector(".jp-Completer:visible .jp-Completer-item")
    return around(tab, ARROYO_CELL)


def snippets(lab: Lab, tab: Tab) -> bytes:
    """Tables to begin with, and JupyterLab's panel that documents each."""
    tab.page.set_viewport_size({"width": 1000, "height": 640})
    settings = lab.folder.parent / "settings" / COMPLETER
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"showDocumentationPanel": true}')
    try:
        opened(lab, tab, BEGUN)
        edit(tab, 2)
        tab.page.keyboard.press("Tab")
        tab.page.wait_for_selector(".jp-Completer-docpanel:has-text('WATERMARK')")
        return around(tab, ARROYO_CELL)
    finally:
        settings.unlink()


def side_panel(lab: Lab, tab: Tab) -> bytes:
    """Tables with their columns, and a run with its rate."""
    tab.page.set_viewport_size({"width": 1120, "height": 760})
    opened(lab, tab, RUN)
    tab.page.evaluate(
        "() => window.jupyterapp.shell.activateById('arroyo-nb-side-panel')"
    )
    edit(tab, 2)
    tab.command("notebook:run-cell")
    row = ".arroyo-panel .arroyo-item"
    tab.page.locator(row, has_text="behind").last.wait_for(timeout=SEEN_S * 1000)
    tab.page.locator(f"{row}[aria-level='2'] .arroyo-twisty").first.click()
    tab.page.wait_for_timeout(15_000)
    return bytes(tab.page.screenshot())


PICTURES: Mapping[str, Callable[[Lab, Tab], bytes]] = {
    "editor-problem": problem,
    "editor-explanation": explanation,
    "editor-completion": completion,
    "editor-snippets": snippets,
    "side-panel": side_panel,
}


if __name__ == "__main__":
    main()
