"""A run as one page, in a browser and without a kernel: its views and its batches."""

from __future__ import annotations

from pathlib import Path

from lab import Tab
from live_views import LIVE, ours
from scripted import ScriptedRun

from arroyo_nb.views.replay_page import page

ROW = f"{LIVE} .scrubber .arrival"
BATCH = f"{LIVE} .num:has-text('batch') b"


def test_the_page_shows_each_view_of_each_batch(tab: Tab, tmp_path: Path) -> None:
    run = ScriptedRun(40)
    run._at, run._paused = 40.0, True
    file = tmp_path / "run.html"
    file.write_text(page(run))
    tab.page.goto(file.as_uri())
    tab.page.wait_for_selector(f"{LIVE} .tabs")
    assert tab.page.locator(f"{LIVE} [data-do='view plan']").count() == 0
    # Its keys work before anything is clicked.
    newest = tab.text(BATCH)
    tab.page.keyboard.press("ArrowLeft")
    tab.until_other(BATCH, newest)
    tab.page.keyboard.press("End")
    for view, sign in (
        ("arrivals", "path.dot"),
        ("watermark", "rect.over"),
        ("late", ".late-rows"),
        ("windows", ".bar.closed"),
        ("overview", "table"),
    ):
        tab.page.locator(f"{LIVE} [data-do='view {view}']").click()
        tab.page.wait_for_selector(f"{LIVE} [data-do='view {view}'][aria-pressed=true]")
        assert tab.page.locator(f"{LIVE} {sign}").count() > 0, view
        tab.shot(f"replay-{view}")
    # The view stays where one moves to another batch.
    tab.page.locator(f"{LIVE} [data-do='view arrivals']").click()
    before = tab.text(BATCH)
    tab.page.locator(f"{LIVE} [data-do='back']").click()
    tab.until_other(BATCH, before)
    assert tab.page.locator(f"{LIVE} path.dot").count() > 0
    assert tab.page.locator(f"{LIVE} .by-row").count() == 0, "there are too many rows"
    assert ours(tab) == []


def test_the_page_of_few_rows_goes_from_row_to_row(tab: Tab, tmp_path: Path) -> None:
    run = ScriptedRun(2)
    run._at, run._paused = 2.0, True
    batches = [b for b, _ in run.moments().times if run.moments().arrivals(b)]
    file = tmp_path / "run.html"
    file.write_text(page(run))
    tab.page.goto(file.as_uri())
    tab.page.wait_for_selector(f"{LIVE} .tabs")
    tab.page.locator(f"{LIVE} [data-do='view arrivals']").click()
    last = batches[-1]
    for press, told in (
        ("Alt+ArrowLeft", f"Row 39 of 40 of batch {last}:"),
        ("Alt+ArrowLeft", f"Row 38 of 40 of batch {last}:"),
        ("Alt+Home", f"Row 1 of 40 of batch {last}:"),
        ("Alt+ArrowLeft", f"Row 40 of 40 of batch {batches[-2]}:"),
        ("Alt+ArrowRight", f"Row 1 of 40 of batch {last}:"),
        ("ArrowLeft", f"Row 40 of 40 of batch {batches[-2]}:"),
        ("End", f"Row 40 of 40 of batch {last}:"),
    ):
        tab.page.locator(LIVE).press(press)
        tab.page.wait_for_selector(f"{ROW}:has-text('{told}')")
        assert tab.page.locator(f"{LIVE} circle.arrived").count() == 1, press
    tab.page.locator(f"{LIVE} [data-do='row back']").click()
    tab.page.wait_for_selector(f"{ROW}:has-text('Row 39 of 40')")
    tab.shot("replay-row")
    assert ours(tab) == []
