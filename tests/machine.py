"""How long things may take on a machine that has other tests to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SLOWEST = 4.0
"""However busy it is, nothing may take so many times longer."""


def allowed(seconds: float) -> float:
    """A bound that holds on a quiet machine, which the benchmarks measure, stretched by
    how many processes each core of this one has to serve."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(load, 1.0), SLOWEST)


@contextmanager
def overloaded(load: int) -> Iterator[None]:
    """So many processes that do nothing but work: the machine of a class, or of a CI
    runner."""
    # None outlives who began it.
    code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    works = [sys.executable, "-c", code]
    burning = [subprocess.Popen(works) for _ in range(load)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()
