"""The watermark by source and the lateness of rows, in a browser."""

from __future__ import annotations

from lab import Lab, Tab
from live_views import LIVE, STILL, both_themes, choose, ours, show, stop


def test_the_source_that_holds_the_watermark_back_is_named(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "watermark.ipynb", picture="sources")
    choose(tab, "watermark")
    held = f"{LIVE} tr:has-text('weather') td:has-text('holds the watermark back')"
    tab.page.wait_for_selector(held, timeout=20_000)
    tab.page.wait_for_selector(f"{held}:has-text('idle for')", timeout=20_000)
    assert tab.page.locator(f"{LIVE} path.source").count() == 3
    assert tab.page.locator(f"{LIVE} .picture").count() == 2
    bar = f"{LIVE} .picture rect.closed"
    assert tab.page.locator(bar).first.is_visible()
    both_themes(tab, "watermark")
    stop(tab)
    assert tab.page.locator(STILL).count() == 3  # and the windows
    tab.shot("watermark-still")
    text = tab.page.locator(".jp-OutputArea").first.inner_text()
    assert "'weather' holds the watermark back" not in text  # it has stopped
    assert "would have kept 99 %" in text
    assert ours(tab) == []
