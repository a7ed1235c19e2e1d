"""A windowed query on the sample flights in JupyterLab, as a reader meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lab import SPARK, Lab, Tab, write_notebook
from machine import allowed

LOAD = "%load_ext arroyo_nb"
QUERY = """%%arroyo -n departures --speed 3600 --rows 6
CREATE TABLE flights (
  WATERMARK FOR sched_dep AS sched_dep - INTERVAL '1 hour'
) WITH (connector = 'sample', dataset = 'flights');

SELECT tumble(INTERVAL '1 hour') AS window, origin,
       count(*) AS flights, avg(dep_delay) AS mean_delay
FROM flights GROUP BY window, origin
"""
NOTEBOOK = "quickstart.ipynb"
LIVE = ".arroyo-live"
MARK = f"{LIVE} .watermark text"
STILL = "img[src^='data:image/svg']"
COMMITTED = Path(__file__).parents[2] / "notebooks" / "00_quickstart.ipynb"
OURS = ("arroyo", "Error displaying widget", "anywidget")


@pytest.fixture
def opened(lab: Lab, tab: Tab) -> Tab:
    """The notebook, open, with nothing run yet."""
    write_notebook(lab.folder / NOTEBOOK, [LOAD, QUERY])
    tab.open(lab, NOTEBOOK, SPARK)
    return tab


def ours(tab: Tab) -> list[str]:
    return [error for error in tab.errors if any(word in error for word in OURS)]


def outputs(path: Path) -> list[str]:
    """What each code cell of a saved notebook shows."""
    cells = json.loads(path.read_text())["cells"]
    return [json.dumps(cell["outputs"]) for cell in cells if "outputs" in cell]


def test_the_quickstart_runs_to_its_end(lab: Lab, tab: Tab) -> None:
    path = lab.folder / COMMITTED.name
    shutil.copy(COMMITTED, path)
    tab.open(lab, path.name)
    tab.command("notebook:clear-all-cell-outputs")
    tab.save()
    assert set(outputs(path)) == {"[]"}
    tab.command("notebook:run-all-cells")
    tab.until_all_ran(within_s=allowed(180))
    tab.save()
    load, by_hour, rows, picture, late, wrong, least, explained = outputs(path)
    assert (load, least) == ("[]", "[]")
    assert "the watermark reached 2013-03-05" in by_hour
    assert "mean_delay" in rows
    assert "image/" in picture
    assert "flights left after their window had closed" in late
    assert "did you mean 'origin'" in wrong
    assert "WindowAggregate session" in explained
    tab.shot("quickstart-committed")
    assert ours(tab) == []


def test_moves_is_replaced_stops_and_stays(lab: Lab, opened: Tab) -> None:
    tab = opened
    tab.command("notebook:run-all-cells")
    tab.page.wait_for_selector(MARK, timeout=120_000)
    tab.until_other(MARK, tab.text(MARK), within_s=60)
    tab.page.wait_for_selector(f"{LIVE} [data-key^=w] .bar.closed", timeout=60_000)
    tab.shot("quickstart-live")

    tab.command("notebook:run-cell")  # the last cell is the active one
    tab.page.wait_for_selector("text=replaced departures", timeout=30_000)
    tab.page.wait_for_selector(MARK, timeout=60_000)
    assert tab.page.locator(LIVE).count() == 1

    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    tab.page.wait_for_selector(STILL, timeout=30_000)
    assert tab.page.locator(LIVE).count() == 0
    tab.save()
    saved = json.loads((lab.folder / NOTEBOOK).read_text())["cells"][1]["outputs"]
    assert len(json.dumps(saved)) <= 64_000
    assert "widget" not in json.dumps([list(o.get("data", {})) for o in saved])

    tab.hand_on_kernel(lab)
    for trusted in (True, False):
        lab.end_kernels()
        if trusted:
            tab.load(lab, NOTEBOOK)
        else:
            lab.distrust(NOTEBOOK)
            tab.reopen(lab, NOTEBOOK)
        tab.page.wait_for_selector(STILL, timeout=30_000)
        shown = tab.page.locator(".jp-OutputArea").last.inner_text()
        assert "stopped with its Stop button" in shown
        assert "live view: %arroyo show " in shown
        assert "Error displaying widget" not in tab.page.content()
        tab.shot(f"quickstart-{'trusted' if trusted else 'untrusted'}")
    assert ours(tab) == []
