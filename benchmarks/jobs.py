"""Rows a second of a promoted job against the cell that it was made of, and how many
more a standalone cluster of two workers takes than one of a single worker.

The cell and the job run in turn on one Spark, ``local[2]``: the cell with the counts of
rows that a panel shows, the job as ``arroyo-nb run job.yaml`` runs it, with its own
state folder and what watches over it. The cluster is one of the tests, each worker a
process with one core, and the job is submitted by its own script. Each is timed from
when its query runs to its end, a job by its log.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arroyo_nb import cli
from arroyo_nb.engine.config import CORES
from arroyo_nb.jobs.folder import promote
from arroyo_nb.session import Session
from benchmarks.report import Report, main

TESTS = Path(__file__).parents[1] / "tests"
FILES, FILE_ROWS = 16, 250_000
WARM_UP, ROUNDS = 2, 7
NAME, MOST_S = "counts", 600.0

SCRIPT = """
CREATE TABLE events (
    k BIGINT, v BIGINT, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '10 seconds'
) WITH (connector = 'filesystem', path = '{folder}', type = 'source',
    format = 'parquet');
CREATE TABLE answers WITH (connector = 'single_file', path = '{{{{ ANSWERS }}}}',
    type = 'sink', format = 'json');
INSERT INTO answers
SELECT tumble(INTERVAL '10 seconds') AS window, k, count(*) AS n, sum(v) AS total
FROM events GROUP BY window, k;
"""


def make_events(folder: Path) -> None:
    """Ten minutes of 1,000 keys, up to five seconds out of order."""
    random = np.random.default_rng(7)
    total = FILES * FILE_ROWS
    base = np.datetime64("2024-01-01T00:00:00", "us").astype("int64")
    for number in range(FILES):
        order = np.arange(FILE_ROWS) + number * FILE_ROWS
        late = random.integers(0, 5_000_000, FILE_ROWS)
        ts = base + order * 600_000_000 // total - late
        table = pa.table(
            {
                "k": random.integers(0, 1000, FILE_ROWS),
                "v": random.integers(0, 1000, FILE_ROWS),
                "ts": pa.array(ts, pa.timestamp("us")),
            }
        )
        pq.write_table(table, folder / f"{number:03}.parquet")


def fresh(work: Path) -> Path:
    """A folder for the state of one run."""
    return Path(tempfile.mkdtemp(dir=work))


def compare(report: Report, session: Session, job: Path, script: str) -> None:
    """Measure the cell and the job, in turn."""
    work = job.parent

    def cell() -> float:
        run = session.run(script, name=NAME, state_dir=fresh(work), wait=True)
        assert run is not None
        return run.running_s

    def alone() -> float:
        state, told = ["--state-dir", str(fresh(work))], io.StringIO()
        with redirect_stderr(told):
            status = cli.main(["run", str(job / "job.yaml"), "--log", "json", *state])
        assert status == 0, told.getvalue()
        return running_s(told.getvalue())

    for _ in range(WARM_UP):
        cell(), alone()
    cells, jobs = [], []
    for turn in range(ROUNDS):
        pair = [(cell, cells), (alone, jobs)]
        for run, times in pair if turn % 2 else reversed(pair):
            times.append(run())
    rows = FILES * FILE_ROWS
    report.add("cell on local[2]", rows / min(cells), "rows/s")
    report.add("job on local[2]", rows / min(jobs), "rows/s")
    ratio = min(cells) / min(jobs)
    report.add("job against cell", ratio, "x", target=0.97, at_most=False)
    report.add("cell against job", 1 / ratio, "x", target=0.97, at_most=False)


def scale(report: Report, job: Path) -> None:
    """Measure the job on clusters of one worker, and of two."""
    sys.path.append(str(TESTS))
    from standalone import cluster

    took = []
    for workers in (1, 2):
        with cluster(fresh(job.parent), workers) as started:
            state = str(fresh(job.parent))
            with started.submit(job, "--log", "json", STATE=state) as submitted:
                status = submitted.ended(MOST_S)
                assert status == 0, submitted.logged[-2000:]
                took.append(running_s(submitted.said))
        rate = FILES * FILE_ROWS / took[-1]
        report.add(f"job on a cluster, workers: {workers}", rate, "rows/s")
    report.add("two workers against one", took[0] / took[1], "x")


def running_s(said: str) -> float:
    """How long a job's query ran, as its log has it."""
    first, last = events(said)
    return (last - first).total_seconds()


def events(said: str) -> Iterator[datetime]:
    """When a job's query began to run, and when it had ended."""
    for line in said.splitlines():
        if line.startswith('{"time"'):
            event = json.loads(line)
            if event["event"] in ("running", "job_ended"):
                yield datetime.fromisoformat(event["time"])


def measure(report: Report) -> None:
    """Make the events and the job, then measure."""
    os.environ[CORES] = "2"
    with tempfile.TemporaryDirectory() as name, Session() as session:
        work, folder = Path(name), Path(name) / "events"
        folder.mkdir()
        make_events(folder)
        os.environ["ANSWERS"] = str(work / "answers.json")
        script = SCRIPT.format(folder=folder)
        plan = session.plan(script)
        job = promote(plan, NAME, work / "job", target="spark-submit").folder
        session.engine.worker.call(lambda: session.engine.session)
        compare(report, session, job, script)
        session.close()
        scale(report, job)


if __name__ == "__main__":
    sys.exit(main(measure))
