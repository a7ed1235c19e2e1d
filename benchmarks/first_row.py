"""Seconds from ``run`` to the first row that a reader sees, in an engine that is warm.

Stateless, windowed and updating queries over a tape whose first chunks hold 100 rows,
each run to its first row: as the first run of a process that has loaded the extension,
and in an engine that has run such a query before.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arroyo_nb.session import Session
from benchmarks.report import Report, main

ROUNDS, PROCESSES = 9, 3
TABLE = """
CREATE TABLE events (
    k BIGINT, ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts - INTERVAL '1 second'
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
QUERIES = {
    "stateless": ("SELECT k FROM events WHERE k >= 0", 0.3),
    "windowed": (
        "SELECT tumble(INTERVAL '1 second') AS window, k, count(*) AS n "
        "FROM events GROUP BY window, k",
        0.35,
    ),
    "updating": ("SELECT k, count(*) AS n FROM events GROUP BY k", 0.5),
}


FIRST = """
import sys
from arroyo_nb.session import Session
from benchmarks.first_row import first_row_s
from benchmarks.streams import warm_up
with Session() as session:
    warm_up(session)
    print(first_row_s(session, sys.argv[1]))
"""


def write_events(path: Path) -> None:
    """A hundred events within ten seconds."""
    with path.open("w") as file:
        for number in range(100):
            ts = f"2024-01-01T00:00:{number // 10:02d}"
            file.write(json.dumps({"k": number % 4, "ts": ts}) + "\n")


def first_row_s(session: Session, sql: str) -> float:
    """Seconds from ``run`` to the first row in the preview."""
    began = time.perf_counter()
    run = session.run(sql, name="first row")
    assert run is not None
    preview = run.outputs[0].preview
    assert preview is not None
    while not preview.total_rows:
        if run.state.ended:
            run.wait()
            raise RuntimeError("the run ended without a row")
        time.sleep(0.002)
    took = time.perf_counter() - began
    run.stop().wait(30)
    return took


def first_row_of_process_s(sql: str) -> float:
    """The same for the first run of a process, whose engine has warmed up."""
    command = [sys.executable, "-c", FIRST, sql]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[-1])


def measure(report: Report) -> None:
    """Measure each kind of query."""
    with tempfile.TemporaryDirectory() as folder, Session() as session:
        path = Path(folder) / "events.json"
        write_events(path)
        for kind, (query, target) in QUERIES.items():
            sql = TABLE.format(path=path) + query
            first = [first_row_of_process_s(sql) for _ in range(PROCESSES)]
            report.add(f"{kind}, first run", statistics.median(first), "s")
            for _ in range(3):
                first_row_s(session, sql)
            times = [first_row_s(session, sql) for _ in range(ROUNDS)]
            median = statistics.median(times)
            report.add(f"{kind}, warm first row (median)", median, "s", target=target)
            report.add(f"{kind}, warm first row (worst)", max(times), "s")


if __name__ == "__main__":
    sys.exit(main(measure))
