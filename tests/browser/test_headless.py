"""Where nobody looks: a cell waits, leaves its picture, and raises when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import write_notebook

nbclient = pytest.importorskip("nbclient", reason="headless tests need nbclient")

FLIGHTS = """
CREATE TABLE flights (
  WATERMARK FOR sched_dep AS sched_dep - INTERVAL '1 hour'
) WITH (connector = 'sample', dataset = 'flights');
"""
GOOD = f"""%%arroyo by_day << --rows 3
{FLIGHTS}
SELECT tumble(INTERVAL '1 day') AS window, count(*) AS flights
FROM flights GROUP BY window
"""
ENDLESS = """%%arroyo --for 2s
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '100');
SELECT counter FROM ticks
"""
BAD = "%%arroyo\nSELECT nothing FROM flights"


def executed(path: Path, cells: list[str]) -> Any:
    write_notebook(path, cells)
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3")
    try:
        client.execute(cwd=str(Path(__file__).parents[2]))
    finally:
        executed.notebook = notebook  # type: ignore[attr-defined]
    return notebook


def test_waits_draws_and_raises(tmp_path: Path) -> None:
    cells = ["%load_ext arroyo_nb", GOOD, "by_day.state.value", ENDLESS, BAD]
    with pytest.raises(nbclient.exceptions.CellExecutionError) as caught:
        executed(tmp_path / "headless.ipynb", cells)
    _, good, state, endless, _ = executed.notebook.cells  # type: ignore[attr-defined]
    assert "Traceback" not in str(caught.value.traceback)
    assert "nothing" in str(caught.value)
    assert state.outputs[0]["data"]["text/plain"] == "'finished'"
    (picture,) = (out["data"] for out in good.outputs if "data" in out)
    assert set(picture) == {"text/html", "text/plain"}
    assert "finished: the sources have ended" in picture["text/plain"]
    assert "data:image/svg+xml;base64," in picture["text/html"]
    assert "stopped after 2 s" in endless.outputs[-1]["data"]["text/plain"]
