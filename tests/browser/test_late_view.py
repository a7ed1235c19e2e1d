"""Late rows and their reasons, in a browser."""

from __future__ import annotations

from lab import Lab, Tab
from live_views import LIVE, both_themes, choose, ours, show, stop


def test_late_rows_are_listed_with_their_windows(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "late.ipynb")
    choose(tab, "late")
    line = f"{LIVE} .late-rows tbody tr"
    tab.page.wait_for_selector(line, timeout=30_000)
    first = f"{line}:first-child td:first-child"
    tab.until_other(first, tab.text(first))  # the newest comes first
    button = tab.page.locator(f"{line}:first-child button")
    assert str(button.get_attribute("data-do")).startswith("select window 2013-01-01T")
    both_themes(tab, "late")
    # The way back is one click, too.
    choose(tab, "overview")
    tab.page.wait_for_selector(f"{LIVE} .picture .closed")
    assert tab.page.locator(line).count() == 0
    stop(tab)
    folded = tab.page.locator("details:has-text('late rows, with their windows')").last
    assert folded.locator("table").count() == 1
    tab.shot("late-still")
    assert ours(tab) == []
