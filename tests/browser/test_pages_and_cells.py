"""Two cells at once, a page that is loaded again, a cell that is run again."""

from __future__ import annotations

from lab import Lab, Tab, write_notebook
from live_views import LIVE, SHOW, STILL, both_themes, choose, ours, show, stop


def batch_of(tab: Tab, cell: int) -> int:
    """The batch that the panel of a cell is at."""
    shown = tab.page.locator(LIVE).nth(cell).locator(".num:has-text('batch') b")
    return int(str(shown.text_content()))


def test_two_cells_at_once(lab: Lab, tab: Tab) -> None:
    """Each has its own panel, view, pause and end."""
    first = SHOW.format(steps=100_000, picture="picture")
    second = SHOW.format(steps=100_000, picture="board")
    write_notebook(lab.folder / "two.ipynb", [first, second])
    tab.open(lab, "two.ipynb")
    tab.command("notebook:run-all-cells")
    panels = tab.page.locator(LIVE)
    panels.nth(1).locator("tr[data-key^=r101-]").wait_for(timeout=30_000)
    assert panels.count() == 2
    panels.nth(0).locator("[data-do='view arrivals']").click()
    panels.nth(0).locator("path.dot").first.wait_for()
    panels.nth(1).press("p")
    panels.nth(1).locator(".state.paused").wait_for()
    held, before = batch_of(tab, 1), batch_of(tab, 0)
    tab.page.wait_for_timeout(1500)
    assert batch_of(tab, 1) == held
    assert batch_of(tab, 0) >= before + 3
    assert panels.nth(1).locator("path.dot").count() == 0
    tab.shot("two-cells")
    panels.nth(0).locator("[data-do=stop]").click()
    tab.page.wait_for_selector(STILL)
    assert panels.count() == 1
    panels.nth(0).locator("[data-do=resume]").click()
    tab.page.wait_for_function(
        "(held) => +document.querySelector('.arroyo-live').shadowRoot"
        ".querySelector('.scrubber input').value > held + 3",
        arg=held,
    )
    assert ours(tab) == []
    lab.end_kernels()


def test_a_page_that_is_loaded_again_goes_on(lab: Lab, tab: Tab) -> None:
    """The run is the kernel's: a page shows it from where it is now. JupyterLab updates
    no output that it has read from a file: what stays is the picture saved with it."""
    show(lab, tab, "reloaded.ipynb")
    choose(tab, "watermark")
    tab.page.wait_for_selector(f"{LIVE} .scrubber input")
    before = batch_of(tab, 0)
    tab.save()
    tab.errors.clear()
    tab.open(lab, "reloaded.ipynb")
    tab.page.wait_for_selector(f"{LIVE} .scrubber input", timeout=30_000)
    after = batch_of(tab, 0)
    assert after >= before
    tab.page.wait_for_function(
        "(at) => +document.querySelector('.arroyo-live').shadowRoot"
        ".querySelector('.scrubber input').value > at + 3",
        arg=after,
    )
    assert tab.page.locator(LIVE).count() == 1
    shown = f"{LIVE} [data-do='view watermark'][aria-pressed=true]"
    assert tab.page.locator(shown).count() == 1
    tab.shot("reloaded")
    stop(tab)
    assert tab.page.locator(LIVE).count() == 0
    assert ours(tab) == []
    lab.end_kernels()


def test_a_cell_that_is_run_again_has_one_panel(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "again.ipynb")
    for _ in range(3):
        tab.command("notebook:run-cell")
        tab.page.wait_for_timeout(700)
    tab.page.wait_for_selector(f"{LIVE} .tabs")
    tab.page.wait_for_function(
        "() => document.querySelectorAll('.arroyo-live').length === 1"
    )
    both_themes(tab, "run-again")
    stop(tab)
    assert ours(tab) == []
    lab.end_kernels()
