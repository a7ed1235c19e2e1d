"""Two runs side by side, and other delays, in JupyterLab."""

from __future__ import annotations

import re

from lab import SPARK, Lab, Tab, write_notebook

ROWS = """%%arroyo_rows clicks --watermark "5 seconds"
at       | user | n
10:00:01 | ann  | 1
10:00:04 | bob  | 2
10:00:26 | cyd  | 1
10:00:03 | bob  | 7
10:00:45 | bob  | 3"""
COUNTS = """%%arroyo {name} << --wait
SELECT tumble(INTERVAL '10 seconds') AS window, user, sum(n) AS total
FROM clicks {where} GROUP BY window, user"""


def test_two_runs_and_three_delays(lab: Lab, tab: Tab) -> None:
    cells = [
        "%load_ext arroyo_nb",
        ROWS,
        COUNTS.format(name="all_clicks", where=""),
        COUNTS.format(name="few_clicks", where="WHERE user <> 'cyd'"),
        "%arroyo compare all_clicks few_clicks",
        "%arroyo whatif all_clicks --delay 1s,1m",
    ]
    write_notebook(lab.folder / "compare.ipynb", cells)
    tab.open(lab, "compare.ipynb", SPARK)
    tab.command("notebook:run-all-cells")
    compared = tab.page.get_by_text("all_clicks against few_clicks")
    compared.first.wait_for(timeout=120_000)
    tab.page.get_by_text("all_clicks with 2 delays").first.wait_for(timeout=120_000)
    shown = tab.page.locator(".jp-Notebook").inner_text()
    # The click of cyd is in one of them only.
    assert re.search(r"windows? of \d differ", shown)
    assert "cyd" in shown.partition("against few_clicks")[2]
    assert tab.page.locator("img[src^='data:image/svg']").count() >= 2
    tab.shot("compare")
    assert not [error for error in tab.errors if "arroyo" in error]
