"""A result that changes, its outputs, its plan and what is selected, in a browser."""

from __future__ import annotations

from lab import Lab, Tab
from live_views import LIVE, both_themes, choose, ours, show, stop


def test_rows_change_in_their_places_and_have_histories(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "histories.ipynb", picture="board")
    row = f"{LIVE} tr[data-key^=r101-]"
    tab.page.wait_for_selector(f"{row} .spark path", timeout=30_000)
    # The element of a row stays the same one while its values change.
    tab.page.evaluate(
        "(row) => { document.querySelector('.arroyo-live').shadowRoot"
        ".querySelector(row).kept = true }",
        "tr[data-key^=r101-]",
    )
    tab.until_other(f"{row} .history", tab.text(f"{row} .history"))
    assert tab.page.locator(row).evaluate("row => row.kept") is True
    assert tab.page.locator(f"{row} s").count() == 1
    assert "changed" in tab.text(f"{row} .history")
    both_themes(tab, "histories")
    stop_without_picture(tab)
    stayed = tab.page.locator(".jp-OutputArea").inner_text()
    assert "changed" in stayed
    assert "█" in stayed
    tab.shot("histories-still")
    assert ours(tab) == []


def test_a_click_on_a_row_shows_what_belongs_to_it(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "selected.ipynb", picture="board")
    history = f"{LIVE} tr[data-key^=r102-] .history"
    tab.page.wait_for_selector(f"{history} .spark", timeout=30_000)
    rows = tab.page.locator(f"{LIVE} tbody tr")
    tab.page.locator(history).click()
    tab.page.wait_for_selector(f"{LIVE} .chosen:has-text('key B6')")
    assert rows.count() == 1
    choose(tab, "changelog")
    tab.page.wait_for_selector(f"{LIVE} tr.changed")
    named = tab.page.locator(f"{LIVE} tbody td:nth-child(2)").all_inner_texts()
    assert set(named) == {"B6"}
    tab.shot("selected-key")
    # Esc takes it away; Enter on the element selects again.
    tab.page.locator(LIVE).press("Escape")
    tab.page.wait_for_selector(f"{LIVE} .chosen", state="detached")
    choose(tab, "table")
    tab.page.wait_for_selector(history)
    tab.page.locator(history).focus()
    tab.page.locator(history).press("Enter")
    tab.page.wait_for_selector(f"{LIVE} .chosen:has-text('key B6')")
    tab.page.locator(f"{LIVE} [data-do='select none']").click()
    tab.page.wait_for_selector(f"{LIVE} .chosen", state="detached")
    assert ours(tab) == []


def test_a_click_on_a_window_dims_the_others(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "window.ipynb")
    closed = f"{LIVE} svg g.pick:has(.closed)"
    tab.page.wait_for_selector(closed, timeout=30_000)
    tab.page.locator(closed).first.click()
    tab.page.wait_for_selector(f"{LIVE} .chosen:has-text('window 2013-01-01')")
    assert tab.page.locator(f"{LIVE} svg .dim").count() >= 1
    tab.shot("selected-window")
    tab.page.locator(closed).first.click()
    tab.page.wait_for_selector(f"{LIVE} .chosen", state="detached")
    assert tab.page.locator(f"{LIVE} svg .dim").count() == 0
    assert ours(tab) == []


def test_outputs_are_tabs_with_keys(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "outputs.ipynb", picture="both")
    tabs = tab.page.locator(f"{LIVE} [role=tab]")
    assert tabs.all_inner_texts() == ["by_hour", "by_carrier"]
    tabs.nth(1).click()
    tab.page.wait_for_selector(f"{LIVE} tr[data-key^=r101-]")
    both_themes(tab, "outputs")
    tabs.nth(1).press("ArrowLeft")
    tab.page.wait_for_selector(f"{LIVE} .watermark text")
    assert tab.page.locator(f"{LIVE} [aria-selected=true]").inner_text() == "by_hour"
    tabs.nth(0).press("End")
    tab.page.wait_for_selector(f"{LIVE} tr[data-key^=r101-]")
    stop(tab)
    stayed = tab.page.locator(".jp-OutputArea").inner_text()
    assert "by_carrier: " in stayed
    assert "flights_by_carrier" not in stayed
    tab.shot("outputs-still")
    assert ours(tab) == []


def test_a_click_on_an_operator_names_its_line(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "plan.ipynb", picture="board")
    choose(tab, "plan")
    step = tab.page.locator(f"{LIVE} .step:has-text('GROUP BY')")
    step.click()
    tab.page.wait_for_selector(f"{LIVE} .chosen:has-text('line 2: GROUP BY carrier')")
    both_themes(tab, "plan")
    step.focus()
    step.press("Escape")
    tab.page.wait_for_selector(f"{LIVE} p.chosen", state="detached")
    assert ours(tab) == []


def stop_without_picture(tab: Tab) -> None:
    """Stop a run whose result leaves a table and no image."""
    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.get_by_text("stopped with its Stop button").wait_for()
