"""Event time against processing time, in a browser."""

from __future__ import annotations

from lab import Lab, Tab
from live_views import LIVE, both_themes, choose, ours, show, stop


def test_the_picture_moves_and_its_windows_are_pressed(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "arrivals.ipynb")
    choose(tab, "arrivals")
    mark = f"{LIVE} .picture .watermark text"
    tab.page.wait_for_selector(f"{LIVE} path.dot", state="attached")
    tab.page.wait_for_selector(f"{LIVE} path.crosses", state="attached", timeout=20_000)
    tab.page.wait_for_selector(mark)
    tab.until_other(mark, tab.text(mark))
    both_themes(tab, "arrivals")

    tab.page.locator(LIVE).press("p")
    tab.page.wait_for_selector(f"{LIVE} .state.paused")
    band = tab.page.locator(f"{LIVE} .picture .pick").first
    band.focus()  # a mark of a picture takes the keys of a button
    assert band.evaluate("e => e.getRootNode().activeElement === e")
    box = band.bounding_box()
    assert box is not None
    assert box["height"] > 4
    with tab.page.expect_console_message(
        lambda said: said.text.startswith("sent")
    ) as said:
        tab.page.evaluate(
            """() => {
              const root = document.querySelector('.arroyo-live').shadowRoot;
              root.addEventListener('keydown', (event) => {
                const mark = event.target.closest('svg [data-do]');
                console.log('sent', mark.dataset.do, event.defaultPrevented);
              });
            }"""
        )
        band.press("Enter")
    assert "select window 2013-01-01T" in said.value.text
    assert said.value.text.endswith("true")  # the panel has taken the key

    tab.page.locator(f"{LIVE} [data-do=resume]").click()
    stop(tab)
    tab.shot("arrivals-still")
    assert "A dot is a row" in tab.page.locator(".jp-OutputArea").first.inner_text()
    assert ours(tab) == []
