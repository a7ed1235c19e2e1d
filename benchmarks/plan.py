"""How long planning a script takes: every golden script, over and over.

Run as ``python -m benchmarks.plan``. No JVM is started. Times are CPU times of the
planning thread: planning waits for nothing, and what else the machine does is not the
planner's.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from pathlib import Path

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from benchmarks.report import Report, main

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
ROUNDS = 20
P50_MS, P99_MS = 5.0, 30.0


def measure(report: Report) -> None:
    """CPU time of ``plan_script`` over the golden scripts, in milliseconds."""
    tables = plan_script((GOLDEN / "tables.sql").read_text(), Catalog()).catalog
    files = sorted((GOLDEN / "plans").glob("*.txt"))
    scripts = [path.read_text(encoding="utf-8").split("\n---")[0] for path in files]
    for script in scripts:
        plan_script(script, tables)
    gc.collect()
    times = [_timed_ms(script, tables) for _ in range(ROUNDS) for script in scripts]
    cuts = statistics.quantiles(times, n=100)
    report.add("plan, p50", cuts[49], "ms", target=P50_MS)
    report.add("plan, p99", cuts[98], "ms", target=P99_MS)
    report.add("plan, slowest", max(times), "ms")


def _timed_ms(script: str, tables: Catalog) -> float:
    start = time.thread_time()
    plan_script(script, tables)
    return (time.thread_time() - start) * 1000


if __name__ == "__main__":
    sys.exit(main(measure))
