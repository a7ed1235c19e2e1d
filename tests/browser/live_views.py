"""A scripted run in the live panel, seen through one of its views. It has windows that
are closed, late rows and histories when it is first seen."""

from __future__ import annotations

from lab import PLAIN, Lab, Tab, write_notebook

SHOW = """
from IPython import get_ipython
from scripted import ScriptedRun, {picture}
from arroyo_nb.views import live
from arroyo_nb.views.notebook import NotebookStage
run = ScriptedRun({steps}, {picture}, begun={begun})
panel = live.show(run, NotebookStage(get_ipython()))
"""
LIVE = ".arroyo-live"
STILL = "img[src^='data:image/svg']"
OURS = ("arroyo", "panel.js", "anywidget", "Cannot read properties")


def show(
    lab: Lab,
    tab: Tab,
    notebook: str,
    *,
    picture: str = "picture",
    steps: int = 100_000,
    begun: int = 20,
) -> None:
    """Open a notebook whose first cell shows a scripted run."""
    cell = SHOW.format(picture=picture, steps=steps, begun=begun)
    write_notebook(lab.folder / notebook, [cell])
    tab.open(lab, notebook, "" if lab.pages == "notebooks" else PLAIN)
    tab.command("notebook:run-all-cells")
    tab.page.wait_for_selector(f"{LIVE} .tabs", timeout=30_000)


def choose(tab: Tab, view: str) -> None:
    """Press the tab of a view, and wait until it is shown."""
    tab.page.locator(f"{LIVE} [data-do='view {view}']").click()
    tab.page.wait_for_selector(f"{LIVE} [data-do='view {view}'][aria-pressed=true]")


def both_themes(tab: Tab, name: str) -> None:
    """A picture of the page in the light and in the dark theme, for the eye."""
    tab.shot(f"{name}-light")
    change = (
        "(theme) => { jupyterapp.commands.execute('apputils:change-theme', { theme }) }"
    )
    tab.page.evaluate(change, "JupyterLab Dark")
    tab.page.wait_for_selector(f"{LIVE}[data-theme=dark]")
    tab.shot(f"{name}-dark")
    tab.page.evaluate(change, "JupyterLab Light")
    tab.page.wait_for_selector(f"{LIVE}[data-theme=light]")


def stop(tab: Tab) -> None:
    """Stop the run, and wait for what stays of its panel."""
    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.wait_for_selector(STILL)


def ours(tab: Tab) -> list[str]:
    """What the console said is an error of the panel's."""
    return [error for error in tab.errors if any(word in error for word in OURS)]
