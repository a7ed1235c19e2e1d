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

_ROUNDS = 5

_EVENTS = """
import datetime as dt, json, pathlib, sys, time

# Three files, each a minute: the third moves the watermark past the first window.
events = pathlib.Path(sys.argv[1], "events")
events.mkdir()
for minute in range(3):
    with (events / f"{minute}.json").open("w") as file:
        for second in range(60):
            ts = dt.datetime(2024, 1, 1, 0, minute, second).isoformat()
            file.write(json.dumps({"k": second % 4, "ts": ts}) + chr(10))
"""

_OURS = """
from arroyo_nb import Session
files = sorted(events.iterdir())
path = pathlib.Path(sys.argv[1], "events.json")
path.write_text("".join(file.read_text() for file in files))
session = Session()
session.warm_up()  # as %load_ext does
run = session.run(f'''
    CREATE TABLE events (
        k BIGINT, ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts - INTERVAL '1 second'
    ) WITH (
        connector = 'single_file', path = '{path}', type = 'source', format = 'json'
    );
    SELECT tumble(INTERVAL '1 minute') AS window, k, count(*) AS n
    FROM events GROUP BY window, k
''')
while not run.outputs[0].preview.total_rows:
    run.wait(0.01)
print(time.time(), flush=True)
session.close()
"""

_PLAIN = """
import threading
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("k long, ts timestamp").option(
    "maxFilesPerTrigger", 1).json(str(events))
counts = rows.withWatermark("ts", "1 second").groupBy(
    F.window("ts", "1 minute"), "k").count()
seen = threading.Event()
def take(batch, _):
    if batch.toArrow().num_rows:
        seen.set()
query = counts.writeStream.foreachBatch(take).option(
    "checkpointLocation", str(pathlib.Path(sys.argv[1], "checkpoint"))).start()
assert seen.wait(300), query.exception()
print(time.time(), flush=True)
query.stop()
spark.stop()
"""

_WARM_UP = """
import time
before = time.thread_time()
from arroyo_nb.engine import Engine
engine = Engine()
engine.warm_up()
print(time.thread_time() - before, flush=True)
engine.close()
"""

_LOAD_EXT = """
import time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = time.thread_time()
shell.run_line_magic("load_ext", "arroyo_nb")
print(time.thread_time() - before, flush=True)
shell.run_line_magic("unload_ext", "arroyo_nb")
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
    for name, script, most_ms in (
        ("warm_up() in the caller's thread", _WARM_UP, 20),
        ("%load_ext arroyo_nb", _LOAD_EXT, 60),
    ):
        # In a kernel, which has IPython loaded before any extension.
        in_kernel = "import ipykernel.kernelapp\n" + script
        cpu_ms = 1000 * min(float(_run(in_kernel)) for _ in "123")
        report.add(name, cpu_ms, "ms CPU", target=most_ms)


def _make_archive() -> None:
    command = [sys.executable, "-m", "arroyo_nb.engine.archive"]
    subprocess.run(command, check=True)


def _seconds_to_first_row(script: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.time()
        return float(_run(_EVENTS + script, folder)) - started


def _run(script: str, *arguments: str) -> str:
    environment = os.environ | {"ARROYO_NB_ARCHIVE": "off"}
    # An installed package is compiled, and so is this one once it was imported.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=Path(__file__).parent.parent,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split()[-1]


if __name__ == "__main__":
    sys.exit(main(measure))
