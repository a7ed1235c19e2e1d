"""The live panel alone, on a scripted run: no Spark in it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from frozen import frozen
from lab import PLAIN, Lab, Tab, write_notebook
from panel_page import live_page
from scripted import picture

from arroyo_nb.views.panel import frame

SHOW = """
import os, pathlib
from IPython import get_ipython
from scripted import ScriptedRun
from arroyo_nb.views import live
from arroyo_nb.views.notebook import NotebookStage
run = ScriptedRun({steps})
panel = live.show(run, NotebookStage(get_ipython()))
pathlib.Path("kernel.pid").write_text(str(os.getpid()))
"""
OFTEN = "from arroyo_nb.views import live; live.STILL_S = 0.5\n"
"""Where the snapshot beside the panel is waited for."""

LIVE = ".arroyo-live"
MARK = f"{LIVE} .watermark text"
STILL = "img[src^='data:image/svg']"
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}
OURS = (
    *("arroyo", "Error displaying widget", "panel.js", "anywidget"),
    "Cannot read properties of undefined",
)


@pytest.fixture
def notebook(lab: Lab, request: pytest.FixtureRequest) -> str:
    """A notebook whose first cell shows the scripted run."""
    name = f"{request.node.name}.ipynb"
    write_notebook(lab.folder / name, [SHOW.format(steps=100_000)])
    return name


def begun(lab: Lab, tab: Tab, notebook: str, kind: str = PLAIN) -> None:
    tab.open(lab, notebook, kind)
    tab.command("notebook:run-all-cells")
    tab.page.wait_for_selector(MARK, timeout=30_000)


def outputs(lab: Lab, notebook: str) -> list[dict[str, object]]:
    """The MIME bundles that are saved in the first cell."""
    cell = json.loads((lab.folder / notebook).read_text())["cells"][0]
    return [output["data"] for output in cell["outputs"]]


def test_a_press_is_heard_though_frames_come(tab: Tab, tmp_path: Path) -> None:
    live_page(tab, tmp_path)
    bring = "(f) => { model.frame = f; for (const call of model.calls) call(); }"
    tab.page.evaluate(bring, "<div><button data-do=stop>stop</button></div>")
    button = tab.page.locator(f"{LIVE} button")
    at = button.bounding_box()
    assert at is not None
    tab.page.mouse.move(at["x"] + 4, at["y"] + 4)
    tab.page.mouse.down()
    # The button would be another element now.
    after = "<p>a note</p><section><button data-do=stop>stop</button></section>"
    tab.page.evaluate(bring, after)
    assert tab.page.locator(f"{LIVE} p").count() == 0
    tab.page.mouse.up()
    tab.page.wait_for_selector(f"{LIVE} p:has-text('a note')")
    assert "stop" in tab.page.evaluate("() => model.sent")
    # Released elsewhere it is no press, and frames go on.
    tab.page.mouse.move(at["x"] + 4, button.bounding_box()["y"] + 4)
    tab.page.mouse.down()
    tab.page.mouse.move(500, 500)
    tab.page.evaluate(bring, "<p>another</p>")
    tab.page.mouse.up()
    tab.page.wait_for_selector(f"{LIVE} p:has-text('another')")
    assert tab.page.evaluate("() => model.sent").count("stop") == 1


def test_moves_pauses_steps_and_stops(lab: Lab, tab: Tab, notebook: str) -> None:
    begun(lab, tab, notebook)
    tab.until_other(MARK, tab.text(MARK))
    assert not tab.page.locator(STILL).is_visible()  # one picture, not two
    tab.shot("live-light")

    tab.page.locator(f"{LIVE} summary").click()
    tab.page.wait_for_selector(f"{LIVE} .rows")  # comes in above the open details
    tab.page.locator(LIVE).press("p")
    tab.page.wait_for_selector(f"{LIVE} .state.paused")
    held = tab.text(f"{LIVE} .num:nth-of-type(4) b")
    assert tab.page.locator(f"{LIVE} details[open]").count() == 1  # frames keep it open
    tab.page.locator(f"{LIVE} button[data-do=step]").click()
    tab.until_other(f"{LIVE} .num:nth-of-type(4) b", held)

    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.wait_for_selector(STILL)
    assert tab.page.locator(LIVE).count() == 0
    assert tab.page.locator(STILL).count() == 1
    tab.shot("stopped-light")
    assert [error for error in tab.errors if any(word in error for word in OURS)] == []


def test_an_updating_result_has_two_sides(lab: Lab, tab: Tab, notebook: str) -> None:
    script = SHOW.format(steps="100_000, board").replace(
        "import ScriptedRun", "import ScriptedRun, board"
    )
    write_notebook(lab.folder / notebook, [script])
    tab.open(lab, notebook, PLAIN)
    tab.command("notebook:run-all-cells")
    count = f"{LIVE} tr:has-text('DL') td.r"
    tab.page.wait_for_selector(count, timeout=30_000)
    tab.until_other(count, tab.text(count))  # in its place
    tab.shot("updating-table")

    tab.page.locator(f"{LIVE} [data-do='view changelog']").click()
    tab.page.wait_for_selector(f"{LIVE} tr.changed s")  # the old value, struck through
    newest = f"{LIVE} tbody tr:first-child td:last-child"
    tab.until_other(newest, tab.text(newest))
    tab.shot("updating-changelog")

    tab.page.locator(f"{LIVE} [data-do='view table']").click()
    tab.page.wait_for_selector(f"{LIVE} tr.changed", state="detached")
    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.get_by_text("stopped with its Stop button").wait_for()
    assert [error for error in tab.errors if any(word in error for word in OURS)] == []


def test_goes_back_ten_batches_and_forth(lab: Lab, tab: Tab, notebook: str) -> None:
    script = SHOW.format(steps="100_000, begun=20")
    write_notebook(lab.folder / notebook, [script])
    begun(lab, tab, notebook)
    told = f"{LIVE} .scrubber .told"
    at = "() => +document.querySelector('.arroyo-live').shadowRoot"
    at += ".querySelector('.scrubber input').value"
    tab.page.wait_for_function(f"() => ({at})() >= 20")
    tab.page.locator(LIVE).press("PageUp")
    tab.page.wait_for_selector(f"{LIVE} .state.past")
    batch = tab.page.evaluate(at)
    assert f"batch {batch} of" in tab.text(told)
    watermark = tab.text(MARK)
    tab.shot("scrubbed-back")
    # The run goes on meanwhile, and the view does not.
    last = tab.text(told)
    tab.until_other(told, last)
    assert tab.text(MARK) == watermark
    for key, there in (("ArrowLeft", batch - 1), ("ArrowRight", batch), ("Home", 0)):
        tab.page.locator(LIVE).press(key)
        tab.page.wait_for_function(f"() => ({at})() === {there}")
    tab.page.locator(LIVE).press(" ")
    tab.page.wait_for_selector(f"{LIVE} [data-do=hold]")
    tab.page.wait_for_function(f"() => ({at})() >= 2")
    tab.page.locator(LIVE).press(" ")
    tab.page.wait_for_selector(f"{LIVE} button[data-do=play]")
    tab.page.locator(f"{LIVE} .scrubber input").fill("4")
    tab.page.wait_for_selector(f"{LIVE} .told:has-text('batch 4 of')")
    # Inside of a batch from row to row; by then the rows before are there, too.
    row = f"{LIVE} .arrival:has-text('Row {{}} of 40 of batch {{}}')"
    for key, number, batch in (
        *(("Alt+ArrowLeft", 39, 4), ("Alt+Home", 1, 4), ("Alt+ArrowLeft", 40, 3)),
        ("Alt+ArrowRight", 1, 4),
    ):
        tab.page.locator(LIVE).press(key)
        tab.page.wait_for_selector(row.format(number, batch))
    tab.page.locator(f"{LIVE} [data-do='row on']").click()
    tab.page.wait_for_selector(row.format(2, 4))
    tab.page.locator(LIVE).press("End")
    tab.page.wait_for_selector(f"{LIVE} .state.running")
    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.wait_for_selector(STILL)
    assert [error for error in tab.errors if any(word in error for word in OURS)] == []


def test_ended_run_stays_readable(lab: Lab, tab: Tab, notebook: str) -> None:
    write_notebook(lab.folder / notebook, [OFTEN + SHOW.format(steps=12)])
    begun(lab, tab, notebook, kind="")
    # Who looks goes back in time, and opens other views, also at the end of the rows.
    tab.page.wait_for_selector(f"{LIVE} .state.finished")
    tab.page.locator(f"{LIVE} [data-do='view arrivals']").click()
    tab.page.wait_for_selector(f"{LIVE} path.dot", state="attached")
    tab.page.locator(f"{LIVE} [data-do='axis clock']").click()
    tab.page.wait_for_selector(f"{LIVE} text:has-text('processing time →')")
    tab.page.locator(f"{LIVE} [data-do='view overview']").click()
    tab.page.locator(f"{LIVE} [data-do=back]").click()
    tab.page.wait_for_selector(f"{LIVE} .state.past")
    tab.shot("ended-live")
    tab.save()
    saved = outputs(lab, notebook)
    assert "data:image/svg" in json.dumps(saved)
    assert len(json.dumps(saved)) <= 64_000

    for trusted in (True, False):
        lab.end_kernels()
        if trusted:
            tab.load(lab, notebook)
        else:
            lab.distrust(notebook)
            tab.reopen(lab, notebook)
        tab.page.wait_for_selector(STILL)
        shown = tab.page.locator(".jp-OutputArea").inner_text()
        assert "snapshot at watermark" in shown
        assert "live view: %arroyo show departures_by_hour" in shown
        assert not tab.page.get_by_text("Error displaying widget").is_visible()
        tab.shot(f"reopened-{'trusted' if trusted else 'untrusted'}")


def test_killed_kernel_leaves_a_snapshot(lab: Lab, tab: Tab, notebook: str) -> None:
    write_notebook(lab.folder / notebook, [OFTEN + SHOW.format(steps=100_000)])
    begun(lab, tab, notebook, kind="")
    tab.page.wait_for_function(
        "() => document.querySelector('[class^=arroyo-still]')"
        "?.innerText.includes('snapshot at watermark')"
    )
    tab.save()
    saved = outputs(lab, notebook)
    assert any("snapshot at watermark" in str(data.get("text/html")) for data in saved)
    os.kill(int((lab.folder / "kernel.pid").read_text()), signal.SIGKILL)
    lab.end_kernels()
    tab.load(lab, notebook)
    tab.page.wait_for_selector(STILL)
    lost = tab.page.get_by_text("Error displaying widget")
    lost.wait_for(state="attached")  # the notebook is trusted, the kernel is gone
    tab.shot("killed")
    assert not lost.is_visible()


RESTART = """async () => {
  await window.jupyterapp.shell.currentWidget.sessionContext.restartKernel();
}"""
LONGER = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
  .filter((e) => e.scrollHeight > e.clientHeight).length"""


def test_a_restarted_kernel_leaves_no_panel_that_runs(
    lab: Lab, tab: Tab, notebook: str
) -> None:
    begun(lab, tab, notebook, kind="")
    assert tab.page.evaluate(LONGER) == 0  # no output has a scroll bar of its own
    tab.page.evaluate(RESTART)
    tab.page.wait_for_selector(f"{LIVE} .state:has-text('ended with its kernel')")
    assert "run the cell again" in tab.page.locator(f"{LIVE} .note").inner_text()
    assert tab.page.locator(f"{LIVE} button").count() == 0
    assert tab.page.locator(f"{LIVE} .pace").count() == 0
    tab.shot("restarted")


@pytest.mark.own_page
def test_a_kernel_that_says_nothing_is_told(lab: Lab, tab: Tab, notebook: str) -> None:
    tab.page.clock.install()
    begun(lab, tab, notebook)
    pid = int((lab.folder / "kernel.pid").read_text())
    with frozen(pid):
        tab.page.clock.run_for(30_000)
        tab.page.wait_for_selector(f"{LIVE} .state.lost:has-text('no answer')")
        assert tab.page.locator(f"{LIVE} button").count() == 0
    tab.page.wait_for_selector(f"{LIVE} .state.running", timeout=15_000)
    assert tab.page.locator(f"{LIVE} [data-do=stop]").count() == 1


def test_without_anywidget(lab: Lab, tab: Tab, notebook: str) -> None:
    """Its buttons are ipywidgets' own, its frames are the same."""
    script = SHOW.format(steps="100_000, both").replace(
        "import ScriptedRun", "import ScriptedRun, both"
    )
    missing = "import sys; sys.modules['anywidget'] = None\n"
    write_notebook(lab.folder / notebook, [missing + script])
    tab.open(lab, notebook)
    tab.command("notebook:run-all-cells")
    mark = ".widget-html .watermark text"
    tab.page.wait_for_selector(mark, timeout=30_000)
    tab.until_other(mark, tab.text(mark))
    assert not tab.page.locator(STILL).is_visible()
    tab.shot("core-light")

    def press(name: str) -> None:
        tab.page.get_by_role("button", name=name, exact=True).click()

    press("Pause")
    tab.page.wait_for_selector(".state.paused")
    batch = ".num:nth-of-type(4) b"
    held = tab.text(batch)
    press("Step")
    tab.until_other(batch, held)
    press("Resume")
    tab.page.wait_for_selector(".state.running")
    press("by_carrier")
    tab.page.wait_for_selector(".widget-html tr[data-key^=r101-] .spark")
    tab.shot("core-outputs")
    press("Stop")
    tab.page.wait_for_selector(STILL)
    assert tab.page.locator(".widget-html").count() == 0
    assert tab.page.locator(STILL).count() == 1
    assert [error for error in tab.errors if any(word in error for word in OURS)] == []


def choose_theme(tab: Tab, theme: str) -> None:
    change = "jupyterapp.commands.execute('apputils:change-theme', { theme })"
    tab.page.evaluate(f"(theme) => {{ {change} }}", theme)


def test_dark(lab: Lab, tab: Tab, notebook: str) -> None:
    begun(lab, tab, notebook)
    choose_theme(tab, "JupyterLab Dark")
    tab.page.wait_for_selector(f"{LIVE}[data-theme=dark]")
    paper = tab.page.locator(f"{LIVE} .picture").evaluate(
        "element => getComputedStyle(element).backgroundColor"
    )
    assert paper == "rgb(17, 17, 17)"
    tab.until_other(MARK, tab.text(MARK))
    tab.shot("live-dark")
    choose_theme(tab, "JupyterLab Light")
    tab.page.wait_for_selector(f"{LIVE}[data-theme=light]")


@pytest.mark.parametrize(
    ("body", "scheme"),
    [
        ("", "light dark"),  # an unknown front end: as the browser prefers
        ("data-jp-theme-light=true", "light"),
        ("data-jp-theme-light=false", "dark"),
        ("data-vscode-theme-kind=vscode-light", "light"),
        ("data-vscode-theme-kind=vscode-dark", "dark"),
        ("data-vscode-theme-kind=vscode-high-contrast", "dark"),
        ("data-vscode-theme-kind=vscode-high-contrast-light", "light"),
    ],
)
def test_without_a_module_the_style_sheet_follows_the_front_end(
    tab: Tab, body: str, scheme: str
) -> None:
    tab.page.set_content(f"<body {body}>{frame(picture(30))}</body>")
    panel = tab.page.locator(".arroyo")
    assert panel.evaluate("e => getComputedStyle(e).colorScheme") == scheme
    if paper := PAPER.get(scheme):
        assert panel.evaluate("e => getComputedStyle(e).backgroundColor") == paper
