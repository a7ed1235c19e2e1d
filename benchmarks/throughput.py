"""Rows a second of planned queries against the same queries written by hand.

Both read the same Parquet chunks in the same engine, one after the other in turn, and
write to a sink that discards them; so what is compared is the plan alone: not the
recorder, the conductor, or the counting of rows for the trace.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks.report import Report, main
from benchmarks.streams import read, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNKS, CHUNK_ROWS = 20, 500_000
# The best of so many turns, as timeit does: what disturbs a turn only makes it longer,
# and the median of the turns' ratios still differed by 2 % from run to run.
WARM_UP, ROUNDS = 3, 11
COLUMNS = "k BIGINT, v BIGINT, ts TIMESTAMP, _timestamp TIMESTAMP"

TABLE = """
CREATE TABLE events (
    k BIGINT, v BIGINT, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '10 seconds'
) WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
QUERIES = {
    "filter": "SELECT k, v * 2 AS w FROM events WHERE v > 500",
    "tumble count": (
        "SELECT tumble(INTERVAL '10 seconds') AS window, k, count(*) AS n "
        "FROM events GROUP BY window, k"
    ),
    "hop count": (
        "SELECT hop(INTERVAL '10 seconds', INTERVAL '30 seconds') AS window, k, "
        "count(*) AS n FROM events GROUP BY window, k"
    ),
    "session": (
        "SELECT session(INTERVAL '1 second') AS window, k, count(*) AS n "
        "FROM events GROUP BY window, k"
    ),
}


def by_hand(name: str, stream: DataFrame) -> DataFrame:
    """The query as an experienced PySpark author writes it."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = stream.withWatermark("ts", "10 seconds")
    match name:
        case "filter":
            return rows.where("v > 500").select("k", (F.col("v") * 2).alias("w"))
        case "tumble count":
            window = F.window("ts", "10 seconds")
        case "hop count":
            window = F.window("ts", "30 seconds", "10 seconds")
        case _:
            window = F.session_window("ts", "1 second")
    return rows.groupBy(window.alias("window"), "k").agg(F.count("*").alias("n"))


def make_chunks(folder: Path) -> None:
    """Events of ten minutes: 1,000 keys, up to five seconds out of order."""
    random = np.random.default_rng(7)
    total = CHUNKS * CHUNK_ROWS
    base = np.datetime64("2024-01-01T00:00:00", "us").astype("int64")
    for number in range(CHUNKS):
        order = np.arange(CHUNK_ROWS) + number * CHUNK_ROWS
        ts = base + order * 600_000_000 // total
        ts = ts - random.integers(0, 5_000_000, CHUNK_ROWS)
        ts = pa.array(ts, pa.int64()).cast(pa.timestamp("us", "UTC"))
        table = pa.table(
            {
                "k": random.integers(0, 1000, CHUNK_ROWS),
                "v": random.integers(0, 1000, CHUNK_ROWS),
                "ts": ts,
                "_timestamp": ts,
            }
        )
        write_chunk(folder, number, Chunk(table, {}), Totals())


def compare(report: Report, session: Session, folder: Path) -> None:
    """Measure each query both ways, in turn."""
    spark = session.engine.session
    table = TABLE.format(path=folder)
    for name, query in QUERIES.items():
        plan = plan_script(table + query, Catalog())
        sink = plan.sinks[0]

        def planned(sink=sink):  # type: ignore[no-untyped-def]
            rows = lower(sink.input, lambda _: read(spark, folder, COLUMNS))
            return visible(rows, sink.input)

        def handwritten(name: str = name) -> DataFrame:
            return by_hand(name, read(spark, folder, COLUMNS))

        for _ in range(WARM_UP):
            seconds(planned), seconds(handwritten)
        ours, theirs = [], []
        for turn in range(ROUNDS):
            pair = [(planned, ours), (handwritten, theirs)]
            for make, times in pair if turn % 2 else reversed(pair):
                times.append(seconds(make))
        rows = CHUNKS * CHUNK_ROWS
        ratio = min(theirs) / min(ours)
        report.add(f"{name}: planned", rows / min(ours), "rows/s")
        report.add(f"{name}: by hand", rows / min(theirs), "rows/s")
        report.add(f"{name}: ratio", ratio, "x", target=0.97, at_most=False)


def measure(report: Report) -> None:
    """Make the events, then measure."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_chunks(folder)
        session.engine.worker.call(compare, report, session, folder)


if __name__ == "__main__":
    sys.exit(main(measure))
