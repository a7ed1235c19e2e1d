"""A machine that has no time: the first cell of a topic, steps and late rows work, and
each wait says what it waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("overloaded_start.py")


@pytest.mark.long("kills")
@pytest.mark.parametrize("load", [20, 35])
def test_a_first_cell_on_an_overloaded_machine(load: int) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(load)],
        capture_output=True,
        text=True,
        timeout=1_200,
        cwd=SCRIPT.parent,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["state"], said["error"]) == ("running", "")
    assert (said["rows_in"], said["changes"], said["late"]) == (304, 304, 3)
    assert said["silent_s"] < 5
