"""The doctor in JupyterLab, on a real run that stays silent: unasked, and asked."""

from __future__ import annotations

import pytest
from lab import SPARK, Lab, Tab, write_notebook

SILENT = """%%arroyo silent << --view watermark
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);
SELECT tumble(INTERVAL '100 days') AS w, count(*) AS n FROM ticks GROUP BY w"""
LIVE = ".arroyo-live"


@pytest.fixture
def notebook(lab: Lab) -> str:
    name = "doctor.ipynb"
    write_notebook(
        lab.folder / name, ["%load_ext arroyo_nb", SILENT, "%arroyo doctor silent"]
    )
    return name


def test_a_silent_run_says_why(lab: Lab, tab: Tab, notebook: str) -> None:
    tab.open(lab, notebook, SPARK)
    tab.command("notebook:run-all-cells")
    found = tab.page.locator(f"{LIVE} .doctor li")
    found.wait_for(timeout=120_000)
    assert "the first window ends at" in str(found.text_content())
    assert "or later in 'ticks' moves it there" in str(found.text_content())
    tab.shot("doctor-unasked")
    # The third cell asked while the run was starting; asked again it knows more.
    tab.command("notebook:run-cell")
    asked = tab.page.locator(".jp-RenderedHTMLCommon > ol li")
    asked.filter(has_text="the first window ends at").wait_for(timeout=60_000)
    tab.shot("doctor-asked")
    tab.page.locator(f"{LIVE} [data-do=stop]").click()
    # The last picture has the cause too, and no widget.
    tab.page.get_by_text("was stopped with 1 window open").first.wait_for()
    assert not [error for error in tab.errors if "arroyo" in error]
