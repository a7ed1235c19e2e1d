"""Runs without descriptors: an error within seconds that says what to type."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from machine import allowed

from arroyo_nb.engine.descriptors import SPARE
from arroyo_nb.file_errors import RAISE

STARVING = Path(__file__).with_name("starving.py")
WITHIN_S = 10
ERROR = (
    "no file or connection can be opened any more: "
    f"this Python process has reached its limit of 256 / {RAISE}"
)


def test_a_run_without_descriptors_fails_soon_and_the_next_one_works(
    tmp_path: Path,
) -> None:
    spares = [0, 1, 2, 3, SPARE - 1, SPARE]
    done = subprocess.run(
        [sys.executable, str(STARVING), str(tmp_path), *map(str, spares)],
        capture_output=True,
        text=True,
        timeout=allowed(200),
    )
    assert (done.returncode, done.stderr) == (0, "")
    *lines, running = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["spare"] for line in lines] == spares
    for line in lines:
        assert line["seconds"] < WITHIN_S
        assert line["error"] == ERROR
        assert line["rows"] == 6
    assert (running["ended"], running["held"], running["error"]) == (True, None, ERROR)
    assert running["seconds"] < WITHIN_S
