"""Two cells at once, a page that is loaded again, a cell that is run again."""

from __future__ import annotations

from lab import PLAIN, Lab, Tab, write_notebook
from live_views import LIVE, SHOW, STILL, both_themes, choose, ours, show, stop


def batch_of(tab: Tab, cell: int) -> int:
    """The batch that the panel of a cell is at."""
    shown = tab.page.locator(LIVE).nth(cell).locator(".num:has-text('batch') b")
    return int(str(shown.text_content()))


def until_batch(tab: Tab, batch: int) -> None:
    """Wait until the first panel is there."""
    tab.page.wait_for_function(
        "(batch) => +document.querySelector('.arroyo-live').shadowRoot"
        ".querySelector('.scrubber input').value >= batch",
        arg=batch,
    )


def test_two_cells_at_once(lab: Lab, tab: Tab) -> None:
    """Each has its own panel, view, pause and end."""
    first = SHOW.format(steps=100_000, picture="picture", begun=0)
    second = SHOW.format(steps=100_000, picture="board", begun=0)
    write_notebook(lab.folder / "two.ipynb", [first, second])
    tab.open(lab, "two.ipynb", PLAIN)
    tab.command("notebook:run-all-cells")
    panels = tab.page.locator(LIVE)
    panels.nth(1).locator("tr[data-key^=r101-]").wait_for(timeout=30_000)
    assert panels.count() == 2
    panels.nth(0).locator("[data-do='view arrivals']").click()
    panels.nth(0).locator("path.dot").first.wait_for()
    panels.nth(1).press("p")
    panels.nth(1).locator(".state.paused").wait_for()
    held, before = batch_of(tab, 1), batch_of(tab, 0)
    until_batch(tab, before + 5)
    assert batch_of(tab, 1) == held
    assert panels.nth(1).locator("path.dot").count() == 0
    tab.shot("two-cells")
    panels.nth(0).locator("[data-do=stop]").click()
    tab.page.wait_for_selector(STILL)
    assert panels.count() == 1
    panels.nth(0).locator("[data-do=resume]").click()
    until_batch(tab, held + 4)
    assert ours(tab) == []


def test_a_page_that_is_loaded_again_goes_on(lab: Lab, tab: Tab) -> None:
    """The run is the kernel's: a page shows it from where it is now. JupyterLab updates
    no output that it has read from a file: what stays is the picture saved with it."""
    show(lab, tab, "reloaded.ipynb")
    choose(tab, "watermark")
    tab.page.wait_for_selector(f"{LIVE} .scrubber input")
    before = batch_of(tab, 0)
    tab.save()
    tab.errors.clear()
    tab.load(lab, "reloaded.ipynb")
    tab.page.wait_for_selector(f"{LIVE} .scrubber input", timeout=30_000)
    after = batch_of(tab, 0)
    assert after >= before
    until_batch(tab, after + 4)
    assert tab.page.locator(LIVE).count() == 1
    shown = f"{LIVE} [data-do='view watermark'][aria-pressed=true]"
    assert tab.page.locator(shown).count() == 1
    tab.shot("reloaded")
    stop(tab)
    assert tab.page.locator(LIVE).count() == 0
    assert ours(tab) == []


def test_a_cell_that_is_run_again_has_one_panel(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "again.ipynb")
    for _ in range(3):
        shown = tab.page.locator(LIVE).element_handle()
        tab.command("notebook:run-cell")
        tab.page.wait_for_function("(shown) => !shown.isConnected", arg=shown)
        tab.page.wait_for_selector(f"{LIVE} .tabs")
    tab.page.wait_for_function(
        "() => document.querySelectorAll('.arroyo-live').length === 1"
    )
    both_themes(tab, "run-again")
    stop(tab)
    assert ours(tab) == []
