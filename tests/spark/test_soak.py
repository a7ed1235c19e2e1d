"""What many short runs leave behind: nothing, once the newest are all that is kept.

A process of its own does them, under the soft limit of descriptors that macOS has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import linear_regression, mean
from typing import NamedTuple

import pytest

from arroyo_nb.run.runs import KEPT_RUNS

SOAKING = Path(__file__).with_name("soaking.py")


class Bound(NamedTuple):
    """By how much one more run may raise something, in a short soak and in a long one.

    Each leak that was found here raised its number by a quarter of one or more with
    each run. None: there is not enough to tell it from noise.
    """

    held: str
    short: float | None
    long: float


BOUNDS = (
    Bound("python_threads", 0.05, 0.001),
    Bound("python_descriptors", 0.05, 0.001),
    Bound("jvm_threads", 0.8, 0.01),
    Bound("jvm_descriptors", 0.6, 0.01),
    Bound("state_files", None, 0.05),
    Bound("processes", None, 0.01),
    Bound("files", None, 0.05),
    Bound("python_mib", 0.5, 0.01),
    Bound("heap_mib", None, 0.01),
    Bound("jvm_mib", None, 0.05),
)

SLOWER = 1.2
"""How much more of the processors a run of the last third may take than one of the
third before it."""


def soak(folder: Path, runs: int, every: int) -> list[dict[str, float]]:
    """The lines of a soak."""
    arguments = [str(folder), str(runs), str(every)]
    done = subprocess.run(
        [sys.executable, str(SOAKING), *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["runs"] == runs
    return lines


def rises(lines: list[dict[str, float]], held: str) -> float:
    """By how much each further run raises something: a fitted line's slope."""
    slope, _ = linear_regression(
        [line["runs"] for line in lines], [line[held] for line in lines]
    )
    return slope


@pytest.mark.long("soaks")
def test_short_runs_leave_nothing_behind(tmp_path: Path) -> None:
    lines = [line for line in soak(tmp_path, 24, 3) if line["runs"] > 9]
    risen = {b.held: rises(lines, b.held) for b in BOUNDS if b.short is not None}
    assert not {b: risen[b.held] for b in BOUNDS if b.short and risen[b.held] > b.short}


@pytest.mark.long("soaks")
def test_two_thousand_short_runs_leave_nothing_behind(tmp_path: Path) -> None:
    # Every other run has a name of its own: by then as many are there as are kept. What
    # Java and Python allocate for good has been by then, too.
    settled = 8 * KEPT_RUNS
    lines = [line for line in soak(tmp_path, 2_000, 20) if line["runs"] > settled]
    assert not {b: r for b in BOUNDS if (r := rises(lines, b.held)) > b.long}
    third = len(lines) // 3
    *_, before, last = (
        mean(line["cpu_seconds"] for line in lines[start : start + third])
        for start in (0, third, 2 * third)
    )
    assert last < before * SLOWER
