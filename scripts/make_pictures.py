"""Draw the pictures of docs/how-to/read-the-panel.md: needs Chromium and playwright.

    python scripts/make_pictures.py

The streams are those that the views are tested with, so the pictures show what the
panel draws of them today. Each file is a PNG of at most 130 kB.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "unit" / "views")]

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


def main() -> None:
    """Write all pictures."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
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
        browser.close()


if __name__ == "__main__":
    main()
