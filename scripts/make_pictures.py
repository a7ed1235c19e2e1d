"""Draw the pictures of docs/how-to/read-the-panel.md: needs Chromium and playwright.

    python scripts/make_pictures.py
    python scripts/make_pictures.py --all FOLDER

The streams are those that the views are tested with, so the pictures show what the
panel draws of them today. Each file is a PNG of at most 130 kB.

With ``--all`` every view of runs of all kinds is drawn into a folder, for the eye: in
the light and in the dark theme, a PNG each, and contact sheets of them.
"""

from __future__ import annotations

import argparse
import re
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "tests" / "unit" / "views"),
    str(Path(__file__).parent),
]

from time_scenes import TIMES  # noqa: E402

from arroyo_nb.views.panel import body, style  # noqa: E402

CHROMIUM = "/usr/bin/chromium"
FOLDER = ROOT / "docs" / "how-to" / "pictures"
MOST_BYTES = 130_000
PICTURES = {
    "arrivals": ("tumble", "arrivals"),
    "arrivals-8-rows": ("class", "arrivals"),
    "watermark-by-source": ("three sources", "watermark"),
    "late": ("tumble", "late"),
    "windows": ("hop", "windows"),
}
"""File to the stream and the view that it shows."""

HIDDEN = ".arroyo .sources, .arroyo .lesson { display: none }"
"""What is the same in all views."""


THEMES = ("light", "dark")
A_SHEET, SHEET_COLUMNS = 12, 3
"""Pictures of a contact sheet, and side by side in it."""

PAPER = {"light": "#ffffff", "dark": "#111111"}
"""The page of a notebook in a theme."""


def main() -> None:
    """Write all pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="FOLDER", type=Path, dest="folder")
    chosen = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        if chosen.folder is None:
            draw_docs(browser)
        else:
            chosen.folder.mkdir(parents=True, exist_ok=True)
            for theme in THEMES:
                draw_all(browser, chosen.folder, theme)
        browser.close()


def draw_docs(browser: Any) -> None:
    """The pictures of the page of docs."""
    FOLDER.mkdir(exist_ok=True)
    page = browser.new_page(
        viewport={"width": 920, "height": 600}, color_scheme="light"
    )
    for name, (stream, view) in PICTURES.items():
        html = body(TIMES[stream].snapshot(), view=view, keys=True)
        page.set_content(f"<style>{style()}{HIDDEN}</style>{html}")
        file = FOLDER / f"{name}.png"
        page.locator(".arroyo").screenshot(path=str(file))
        size = file.stat().st_size
        assert size <= MOST_BYTES, f"{file.name} has {size:,} bytes"
        print(f"{file.relative_to(ROOT)}: {size:,} bytes")


def draw_all(browser: Any, folder: Path, theme: str) -> None:
    """Every view of every scene in one theme, and the contact sheets."""
    from picture_scenes import live, sheets, static

    page = browser.new_page(viewport={"width": 920, "height": 60}, color_scheme=theme)
    is_light = str(theme == "light").lower()
    top = (
        f"<!doctype html><style>{style()} body {{ margin: 8px; color: CanvasText; "
        f"background: {PAPER[theme]}; font: 13px system-ui, sans-serif; "
        f"color-scheme: {theme} }}</style><body data-jp-theme-light={is_light}>"
    )
    names = []
    for name, html in (*live(), *static()):
        page.set_content(f"{top}{html}")
        file = folder / f"{re.sub('[^a-z0-9A-Z]+', '-', name)}.{theme}.png"
        page.screenshot(path=str(file), full_page=True)
        names.append(name)
    for number, group in enumerate(sheets(names, A_SHEET), 1):
        page.set_viewport_size({"width": 1560, "height": 60})
        page.set_content(sheet(folder, group, theme))
        page.screenshot(
            path=str(folder / f"sheet-{number:02}.{theme}.png"), full_page=True
        )
    print(f"{folder}: {len(names)} pictures, {theme}")
    page.close()


def sheet(folder: Path, names: list[str], theme: str) -> str:
    """A contact sheet: pictures with their names, none higher than a third of a page
    of paper."""
    figures = []
    for name in names:
        file = folder / f"{re.sub('[^a-z0-9A-Z]+', '-', name)}.{theme}.png"
        data = b64encode(file.read_bytes()).decode()
        figures.append(
            f"<figure><figcaption>{name}</figcaption><div>"
            f'<img src="data:image/png;base64,{data}"></div></figure>'
        )
    return (
        "<style>body { margin: 8px; background: #888; display: grid; gap: 8px; "
        f"grid-template-columns: repeat({SHEET_COLUMNS}, 1fr); "
        "font: bold 14px sans-serif } figure { margin: 0 } "
        "div { max-height: 520px; overflow: hidden } "
        f"img {{ width: 100% }}</style>{''.join(figures)}"
    )


if __name__ == "__main__":
    main()
