"""From a fresh process to the first row of a windowed preview.

Ours, with the class-data archive in place, against PySpark's own getOrCreate() with
all defaults, on the same rows and the same query. The clock starts in this process,
before the measured one, so that importing and the interpreter are in it. The two take
turns, and the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import Report, main

_ROUNDS = 3

_PREVIEW = """
import datetime as dt, os, pathlib, sys, threading, time

def first_row(spark, folder):
    # Three chunks, each a minute: the third moves the watermark past the first window.
    import pyarrow as pa, pyarrow.parquet as pq
    from pyspark.sql import functions as F
    tape = pathlib.Path(folder, "tape")
    tape.mkdir()
    for chunk in range(3):
        start = dt.datetime(2024, 1, 1, 0, chunk, tzinfo=dt.UTC)
        ts = [start + dt.timedelta(seconds=s) for s in range(60)]
        ts = pa.array(ts, pa.timestamp("us", "UTC"))
        rows = {"k": [s % 4 for s in range(60)], "ts": ts}
        path = tape / f"{chunk}.parquet"
        pq.write_table(pa.table(rows), path)
        os.utime(path, (chunk, chunk))
    rows = spark.readStream.schema("k long, ts timestamp").option(
        "maxFilesPerTrigger", 1).parquet(str(tape))
    counts = rows.withWatermark("ts", "1 second").groupBy(
        F.window("ts", "1 minute"), "k").count()
    seen = threading.Event()
    def take(batch, _):
        if batch.toArrow().num_rows:
            seen.set()
    query = counts.writeStream.foreachBatch(take).option(
        "checkpointLocation", str(pathlib.Path(folder, "checkpoint"))).start()
    return query, seen

def report(query, seen):
    assert seen.wait(300), query.exception()
    print(time.time(), flush=True)
"""

_OURS = """
from arroyo_nb.engine import Engine
engine = Engine()
engine.warm_up()
query, seen = engine.worker.call(lambda: first_row(engine.session, sys.argv[1]))
report(query, seen)
engine.close()
"""

_PLAIN = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
query, seen = first_row(spark, sys.argv[1])
report(query, seen)
query.stop()
spark.stop()
"""

_LOAD = """
import time
before = time.thread_time()
from arroyo_nb.engine import Engine
engine = Engine()
engine.warm_up()
print(time.thread_time() - before, flush=True)
engine.close()
"""


def measure(report: Report) -> None:
    """Measure how soon the first window is seen, ours against plain PySpark."""
    _make_archive()
    ours, plain = [], []
    for _ in range(_ROUNDS):
        ours.append(_seconds_to_first_row(_OURS))
        plain.append(_seconds_to_first_row(_PLAIN))
    ours_s, plain_s = statistics.median(ours), statistics.median(plain)
    report.add("plain getOrCreate(): first windowed row", plain_s, "s")
    report.add("arroyo_nb: first windowed row", ours_s, "s", target=6)
    report.add(
        "startup ratio, plain / ours",
        plain_s / ours_s,
        "x",
        target=4,
        at_most=False,
    )
    # In a kernel, which has IPython loaded before any extension.
    in_kernel = "import ipykernel.kernelapp\n" + _LOAD
    cpu_ms = 1000 * min(float(_run(in_kernel)) for _ in "123")
    report.add("warm_up() in the caller's thread", cpu_ms, "ms CPU", target=20)


def _make_archive() -> None:
    command = [sys.executable, "-m", "arroyo_nb.engine.archive"]
    subprocess.run(command, check=True)


def _seconds_to_first_row(script: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.time()
        return float(_run(_PREVIEW + script, folder)) - started


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ARROYO_NB_ARCHIVE": "off"},
        cwd=Path(__file__).parent.parent,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split()[-1]


if __name__ == "__main__":
    sys.exit(main(measure))
