"""How long things may take on a machine that has other tests to do."""

from __future__ import annotations

import os

SLOWEST = 4.0
"""However busy it is, nothing may take so many times longer."""


def allowed(seconds: float) -> float:
    """A bound that holds on a quiet machine, which the benchmarks measure, stretched by
    how many processes each core of this one has to serve."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(load, 1.0), SLOWEST)
