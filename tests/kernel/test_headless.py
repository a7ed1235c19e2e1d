"""A notebook where nobody looks, run by nbmake: its cells wait, leave their pictures,
and raise what is wrong; a test in a cell that fails makes the whole fail."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
from clicks_notebook import TABLES, TEST, WRONG, notebook, run
from kernels import LOAD

PER_SECOND = """%%arroyo per_second << --rows 3
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '100000',
    event_time_interval = '100000', message_count = 200);
SELECT tumble(INTERVAL '1 second') AS w, :word AS word, count(*) AS n
FROM ticks WHERE counter >= :least GROUP BY w"""
STATE = """first = per_second
words = set(first.table()['word'].to_pylist())
(first.state.value, sum(first.table()['n'].to_pylist()), words)"""
AGAIN = "%%arroyo per_second <<\nSELECT counter FROM ticks WHERE counter >= :least"
ENDLESS = """%%arroyo --for 2s
CREATE TABLE endless WITH (connector = 'impulse', event_rate = '100');
SELECT counter FROM endless"""
NO_PLAN = "%%arroyo\nSELECT nothing FROM ticks"
FAILS = "%%arroyo\nSELECT counter / (counter - counter) AS broken FROM ticks"
RAISING = (NO_PLAN, FAILS)
CELLS = (
    *(LOAD, 'least, word, nobody = 7, "it\'s", "x"', PER_SECOND, STATE, AGAIN),
    "(first is per_second, per_second.table().num_rows)",
    *(ENDLESS, *RAISING, TABLES, TEST, WRONG),
)


def test_its_cells_wait_draw_and_raise(tmp_path: Path) -> None:
    path = notebook(tmp_path / "n.ipynb", *CELLS)
    written = nbformat.read(path, as_version=4)
    for cell in written.cells:
        if cell.source in RAISING:
            cell.metadata["tags"] = ["raises-exception"]
    nbformat.write(written, path)
    command = ("pytest", "-q", "-p", "no:cacheprovider", "--nbmake", "--overwrite")
    made = run(*command, path.name, cwd=tmp_path)
    # The test that fails is the last cell: the one before has passed.
    assert made.returncode == 1, made.stdout + made.stderr
    assert "| 2 → 1" in made.stdout

    written = nbformat.read(path, as_version=4)
    outputs = {cell.source: cell.outputs for cell in written.cells}
    (data,) = (out["data"] for out in outputs[PER_SECOND] if "data" in out)
    assert set(data) == {"text/html", "text/plain"}
    assert "finished: the sources have ended" in data["text/plain"]
    assert "data:image/svg+xml;base64," in data["text/html"]
    assert plain(outputs[STATE]) == "('finished', 193, {\"it's\"})"
    assert "finished" in plain(outputs[AGAIN])
    assert plain(outputs[CELLS[5]]) == "(False, 193)"
    assert "stopped after 2 s" in plain(outputs[ENDLESS])
    assert "nothing" in raised(outputs[NO_PLAN])
    assert "an integer was divided by zero" in raised(outputs[FAILS])
    assert "passed, 2 expectations" in outputs[TEST][-1]["text"]
    assert "| 2 → 1" in raised(outputs[WRONG])
    saved = json.dumps(written)
    assert "widget-view" not in saved
    assert "Traceback" not in saved


def plain(outputs: list[Any]) -> str:
    """The text of the last output."""
    return str(outputs[-1]["data"]["text/plain"])


def raised(outputs: list[Any]) -> str:
    """What a cell has raised, without colours: no traceback, and no file of ours."""
    error = outputs[-1]
    assert error["output_type"] == "error"
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    assert "Traceback" not in shown
    assert ".py" not in shown
    return shown
