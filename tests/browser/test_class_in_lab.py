"""What a lecturer uses: filter, presentation, delay slider, kinds of windows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lab import SPARK, Lab, Tab, write_notebook
from live_views import LIVE, both_themes, ours, show, stop
from scripted import ScriptedRun, picture

from arroyo_nb.run.observe.snapshot import Snapshot
from arroyo_nb.run.results.hand_out import HandOut
from arroyo_nb.views.replay_page import page

FIELD = f"{LIVE} input[type=search]"
OUTPUT = f"{LIVE} .delays output"
ROWS = """%%arroyo_rows clicks --watermark "1 second"
at       | user
10:00:00 | ann
10:00:04 | bob
10:00:11 | ann
10:00:13 | bob
10:00:09 | cyd
10:00:31 | ann"""
KINDS = """%%arroyo kinds << --compare windows
SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n
FROM clicks GROUP BY w"""


def test_the_filter_takes_letters_and_the_notebook_does_not(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "filter.ipynb")
    tab.page.wait_for_selector(f"{LIVE} td:has-text('JFK')")
    cells = tab.page.locator(".jp-Cell").count()
    tab.page.locator(FIELD).click()
    # In command mode two d would delete the cell, and P would pause the run.
    tab.page.keyboard.type("ddp")
    tab.page.wait_for_selector(f"{LIVE} p:has-text('No row has every word')")
    assert tab.page.locator(FIELD).input_value() == "ddp"
    assert tab.page.locator(".jp-Cell").count() == cells
    tab.page.locator(FIELD).fill("jfk")
    tab.page.wait_for_selector(f"{LIVE} td.hit:has-text('JFK')")
    assert tab.page.locator(f"{LIVE} td:has-text('LGA')").count() == 0
    both_themes(tab, "class-filter")
    stop(tab)
    assert ours(tab) == []


def test_the_presentation_has_one_big_figure(lab: Lab, tab: Tab) -> None:
    show(lab, tab, "present.ipynb", steps=60, begun=0)
    tab.page.wait_for_selector(f"{LIVE} .rows")
    small = tab.page.locator(f"{LIVE} svg.picture").first.bounding_box()
    tab.page.locator(f"{LIVE} [data-page=present]").click()
    tab.page.wait_for_selector(f"{LIVE}.present")
    tab.page.wait_for_timeout(300)
    big = tab.page.locator(f"{LIVE} svg.picture").first.bounding_box()
    assert small is not None
    assert big is not None
    assert big["width"] > small["width"]
    assert not tab.page.locator(f"{LIVE} .rows").first.is_visible()
    tab.shot("class-present")
    tab.page.keyboard.press("f")
    tab.page.wait_for_selector(f"{LIVE}:not(.present)")
    assert tab.page.locator(f"{LIVE} .rows").first.is_visible()
    assert ours(tab) == []


def test_the_delay_slider_works_without_a_kernel(tab: Tab, tmp_path: Path) -> None:
    run = ScriptedRun(40)
    run._at, run._paused = 40.0, True
    file = tmp_path / "run.html"
    text = "A row is late when its window had closed.\n\nWhich delay keeps all rows?"
    hand_out = HandOut("Late flights", text, "SELECT tumble(INTERVAL '1 hour') ...")
    file.write_text(page(run, hand_out=hand_out))
    tab.page.goto(file.as_uri())
    tab.page.wait_for_selector(f"{LIVE} .tabs")
    assert tab.page.locator("h1").inner_text() == "Late flights"
    tab.shot("class-hand-out")
    tab.page.locator(f"{LIVE} [data-do='view delays']").click()
    slider = tab.page.locator(f"{LIVE} .delays input")
    slider.wait_for()
    said = tab.page.locator(OUTPUT).inner_text()
    assert "the delay of this run" in said
    slider.press("Home")
    assert "With a delay of 0 s" in tab.page.locator(OUTPUT).inner_text()
    slider.press("End")
    last = tab.page.locator(OUTPUT).inner_text()
    assert " 0 of " in last
    # Another batch keeps the place of the slider.
    tab.page.locator(f"{LIVE} [data-do='back']").click()
    tab.page.wait_for_timeout(200)
    assert "the delay of this run" not in tab.page.locator(OUTPUT).inner_text()
    tab.shot("class-delays")
    assert ours(tab) == []


def few_rows(step: int) -> Snapshot:
    """Eight rows of each of eight micro-batches, with their values."""
    made = picture(step)
    lines = tuple(f'{{"user":"u{n}","fare":"{n}.50"}}' for n in range(8))
    few = (
        replace(batch, rows=8, times=batch.times[4::5], lines=lines)
        for batch in made.arrivals[-8:]
    )
    return replace(made, arrivals=tuple(few))


def test_a_dot_says_its_row_to_the_pointer_and_to_a_screen_reader(
    tab: Tab, tmp_path: Path
) -> None:
    run = ScriptedRun(40, few_rows)
    run._at, run._paused = 40.0, True
    file = tmp_path / "run.html"
    file.write_text(page(run))
    tab.page.goto(file.as_uri())
    tab.page.locator(f"{LIVE} [data-do='view arrivals']").click()
    drawn = tab.page.locator(f"{LIVE} svg.picture").first
    drawn.locator("path.dot").first.wait_for(state="attached")
    read = drawn.aria_snapshot()
    on_time = re.findall(r"img \"user u\d, fare \d.50, event time [^\"]*\"", read)
    assert len(on_time) == 64
    assert sum(said.endswith(', late"') for said in on_time) >= 1
    # The pointer is on what says it.
    box = drawn.locator("g[role=img] path.dot").first.bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.shot("class-dots")
    assert ours(tab) == []


def test_three_kinds_of_windows_lie_under_each_other(lab: Lab, tab: Tab) -> None:
    changed = ROWS.replace("cyd", "dan")
    cells = ["%load_ext arroyo_nb", ROWS, KINDS,
             "%%arroyo plain << --wait\nSELECT * FROM clicks", changed]  # fmt: skip
    write_notebook(lab.folder / "kinds.ipynb", cells)
    tab.open(lab, "kinds.ipynb", SPARK)
    tab.command("notebook:run-all-cells")
    tab.page.get_by_text("session 5.0 s").or_(
        tab.page.get_by_text("session 5 s")
    ).first.wait_for(timeout=150_000)
    assert tab.page.locator("img[src^='data:image/svg']").count() >= 3
    # Beside the panel its picture is hidden.
    said = tab.page.get_by_text("stale: clicks was changed").locator("visible=true")
    said.first.wait_for(timeout=60_000)
    both_themes(tab, "class-kinds")
