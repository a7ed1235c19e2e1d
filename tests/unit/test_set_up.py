"""The set-up of a clone: it tells what it does."""

from __future__ import annotations

import re
import runpy
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

ROOT = Path(__file__).parents[2]
SLOW = """
import time
for line in ("Collecting ibex", "  Downloading ibex-1.0.whl (430 MB)"):
    print(line, flush=True)
    time.sleep(0.4)
print("Installing collected packages: pip, ibex-nobody-has", flush=True)
time.sleep(0.4)
"""


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "install.py"))


def test_a_slow_installation_tells_its_step(script, capfd):
    assert script["install"]([sys.executable, "-c", SLOW], every_s=0.1) == 0
    out, err = capfd.readouterr()
    steps = {re.sub(r"^ +\d+ s: ", "", line) for line in out.splitlines()}
    assert {
        "Collecting ibex",
        "Downloading ibex-1.0.whl (430 MB)",
        "unpacking packages, 1 of 2 are there",
    } <= steps
    assert err == ""


def test_a_failed_installation_shows_the_end_of_what_was_said(script, capfd):
    code = "print('no matching distribution'); raise SystemExit(3)"
    assert script["install"]([sys.executable, "-c", code]) == 3
    out, err = capfd.readouterr()
    assert (out, err) == ("", "no matching distribution\n")


def test_the_set_up_uses_it():
    assert " scripts/install.py " in (ROOT / "scripts" / "setup.sh").read_text()


def test_a_slow_cell_of_the_demo_tells_its_seconds(capfd):
    notebooks = runpy.run_path(str(ROOT / "scripts" / "run_notebooks.py"))
    progress = notebooks["Progress"](2, every_s=0.05)
    progress.begin(SimpleNamespace(source="%load_ext arroyo_nb\nmore"))
    time.sleep(0.3)
    progress.end()
    told = capfd.readouterr().out
    line = r"  cell 1 of 2: %load_ext arroyo_nb(  0 s){2,}  \[0\.\d s\]\n"
    assert re.fullmatch(line, told)
    time.sleep(0.1)
    assert capfd.readouterr().out == ""


def test_how_long_it_took_is_not_saved_in_a_notebook():
    notebooks = runpy.run_path(str(ROOT / "scripts" / "run_notebooks.py"))
    outputs = [
        new_output("display_data", {"text/plain": text})
        for text in ("took 15.2 s", "took 15.2 s, and 3 rows")
    ]
    made = new_notebook(
        cells=[new_code_cell("late()", outputs=outputs), new_markdown_cell("took 1 s")],
        metadata={
            "kernelspec": {"name": "x", "display_name": "x", "language": "python"}
        },
    )
    code, text = notebooks["lasting"](made).cells
    assert [o["data"]["text/plain"] for o in code.outputs] == [
        "took 15.2 s, and 3 rows"
    ]
    assert text.source == "took 1 s"
