"""Notebook 7 shows the same as JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import editor_page
import pytest
from editor_page import LOAD, MARKS, TABLE, TOOLTIP, edit, run_cell, underlined
from lab import Lab, Tab, heard, skip_unless_there, start_lab, wait_for, write_notebook
from live_views import LIVE, STILL, both_themes, choose, ours, show, stop

pytest.importorskip("notebook.app", reason="needs Notebook 7: pip install notebook")


@pytest.fixture(scope="module")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A Notebook 7 of its own."""
    skip_unless_there()
    server = start_lab(tmp_path_factory.mktemp("notebook7"), "notebook")
    try:
        wait_for(server)
        yield server
    finally:
        server.process.terminate()
        server.process.wait(timeout=20)


@pytest.fixture(scope="module")
def alone(notebook7: Lab, browser: Any) -> set[str]:
    """What the console says of a notebook that has nothing of ours."""
    write_notebook(notebook7.folder / "alone.ipynb", ["1"])
    with heard(browser.new_page()) as tab:
        tab.open(notebook7, "alone.ipynb")
        tab.page.wait_for_timeout(1000)
        tab.page.close()
    notebook7.end_kernels()
    return set(tab.errors)


@pytest.fixture(autouse=True)
def no_kernel_goes_on(notebook7: Lab) -> Iterator[None]:
    """End the kernel of each test."""
    yield
    notebook7.end_kernels()


def test_every_view_toggles_steps_and_scrubs(
    notebook7: Lab, tab: Tab, alone: set[str]
) -> None:
    show(notebook7, tab, "views.ipynb")
    for view, sign in (
        ("windows", ".bar.closed"),
        ("arrivals", "path.dot"),
        ("watermark", "rect.over"),
        ("late", ".late-rows"),
        ("table", "tbody tr"),
        ("plan", "[data-do]"),
        ("overview", ".watermark text"),
    ):
        choose(tab, view)
        tab.page.wait_for_selector(f"{LIVE} {sign}", timeout=30_000)
    tab.page.wait_for_function(
        "() => +document.querySelector('.arroyo-live').shadowRoot"
        ".querySelector('.scrubber input').value >= 20"
    )
    tab.page.locator(LIVE).press("PageUp")
    tab.page.wait_for_selector(f"{LIVE} .state.past")
    tab.page.locator(LIVE).press("End")
    tab.page.wait_for_selector(f"{LIVE} .state.running")
    tab.page.locator(LIVE).press("p")
    tab.page.wait_for_selector(f"{LIVE} .state.paused")
    batch = f"{LIVE} .num:has-text('batch') b"
    held = tab.text(batch)
    tab.page.locator(f"{LIVE} button[data-do=step]").click()
    tab.until_other(batch, held)
    both_themes(tab, "notebook7")
    stop(tab)
    assert tab.page.locator(LIVE).count() == 0
    assert set(ours(tab)) <= alone


def test_a_fresh_kernel_shows_the_snapshot(
    notebook7: Lab, tab: Tab, alone: set[str]
) -> None:
    show(notebook7, tab, "ended.ipynb", steps=12, begun=0)
    tab.page.wait_for_selector(f"{LIVE} .state.finished")
    tab.save()
    for trusted in (True, False):
        notebook7.end_kernels()
        if not trusted:
            notebook7.distrust("ended.ipynb")
        tab.open(notebook7, "ended.ipynb")
        tab.page.wait_for_selector(STILL)
        assert not tab.page.get_by_text("Error displaying widget").is_visible()
    assert set(ours(tab)) <= alone


def test_it_has_the_same_editor(notebook7: Lab, tab: Tab, alone: set[str]) -> None:
    cells = [LOAD, TABLE, "%%arroyo"]
    editor_page.show(notebook7, tab, "seven.ipynb", cells, run=2, kind="")
    edit(tab, 2, "\nSELECT prise FROM orders")
    assert underlined(tab) == [["prise", "error"]]
    tab.page.locator(MARKS).hover()
    tab.page.wait_for_selector(f"{TOOLTIP} .arroyo-message")
    tab.page.keyboard.press("F8")
    tab.page.keyboard.press("Control+.")
    underlined(tab, 0)
    tab.page.evaluate(
        "() => window.jupyterapp.shell.activateById('arroyo-nb-side-panel')"
    )
    tab.page.wait_for_selector("#arroyo-nb-side-panel:has-text('orders')")
    tab.shot("editor-notebook7")
    run_cell(tab)
    assert set(tab.errors) <= alone
