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
STATEMENTS, LONG_MS = 200, 100.0
VIEWS = (
    "SELECT a.w, a.k, a.n, b.s FROM g a LEFT JOIN g b ON a.k = b.k AND a.n < b.n",
    "SELECT w, k, n, rank() OVER (PARTITION BY w ORDER BY n DESC) AS r FROM g",
    "SELECT w, k, unnest(l) AS x FROM g WHERE w.start > TIMESTAMP '2020-01-01'",
    "SELECT upper(name) AS k, CASE WHEN seats > 3 THEN 'a' ELSE name END AS c "
    "FROM trips WHERE fare > 2.5",
    "SELECT name, count(*) AS n, avg(fare) AS m FROM trips GROUP BY name",
)
"""What the views of a long script are."""


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
    long = min(_timed_ms(_long_script(), tables) for _ in range(ROUNDS))
    report.add(f"plan, {STATEMENTS} statements", long, "ms", target=LONG_MS)


def _long_script() -> str:
    """Views over one of windows, and one query over the last of each kind."""
    group = (
        "CREATE VIEW g AS SELECT tumble(INTERVAL '1 minute') AS w, name AS k, "
        "count(*) AS n, sum(fare) AS s, array_agg(seats) AS l FROM trips GROUP BY w, k"
    )
    number = STATEMENTS - 1 - len(VIEWS)
    views = (f"CREATE VIEW v{n} AS {VIEWS[n % len(VIEWS)]}" for n in range(number))
    last = (f"SELECT * FROM v{number - 1 - n}" for n in range(len(VIEWS)))
    return ";\n".join([group, *views, *last])


def _timed_ms(script: str, tables: Catalog) -> float:
    start = time.thread_time()
    plan_script(script, tables)
    return (time.thread_time() - start) * 1000


if __name__ == "__main__":
    sys.exit(main(measure))
