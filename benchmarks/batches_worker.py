"""Runs one kind of query several times over chunks of rows, in a process of its own:
as a cell does, or as plain PySpark with all its defaults.

The arguments are ``ours`` or ``plain``, the kind, and the folder of the chunks. The
answer is a line of stdout: for each run the median of what its batches took, in
milliseconds, as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

RUNS, PLAIN_RUNS = 3, 2
"""The first of a process, and those that the JVM is warm for."""

UNTIMED = 2
"""Batches of each run that are not timed: the first of a query opens its state."""

COLUMNS = "k BIGINT, v BIGINT, _timestamp TIMESTAMP"

TABLE = """
CREATE TABLE {name} (k BIGINT, v BIGINT) WITH (
    connector = 'single_file', path = '/-', type = 'source', format = 'json'
);
"""
WINDOWED = (
    "SELECT tumble(INTERVAL '5 seconds') AS w, k, count(*) AS n, sum(v) AS s "
    "FROM {} GROUP BY w, k"
)
QUERIES = {
    "stateless": "SELECT k, v + 1 AS v FROM events WHERE v > 3",
    "windowed": WINDOWED.format("events"),
    "updating": "SELECT k, count(*) AS n, sum(v) AS s FROM events GROUP BY k",
    "joined": f"SELECT a.w, a.k, a.n, b.s FROM ({WINDOWED.format('events')}) AS a "
    f"JOIN ({WINDOWED.format('others')}) AS b ON a.w = b.w AND a.k = b.k",
}


def median_ms(query: StreamingQuery, batches: int) -> float:
    """What the batches of a query took that read rows, the first ones left out."""
    progress = [json.loads(told.json) for told in query.recentProgress]
    took_ms = [p["durationMs"]["triggerExecution"] for p in progress]
    return statistics.median(took_ms[UNTIMED:batches])


def ours(kind: str, folder: Path, batches: int) -> list[float]:
    """A cell with its panel, in an engine that has warmed up meanwhile."""
    from arroyo_nb.catalog import Catalog
    from arroyo_nb.engine.query_settings import query_settings
    from arroyo_nb.plan import nodes
    from arroyo_nb.plan.planner import plan_script
    from arroyo_nb.run.output import Output
    from arroyo_nb.session import Session
    from arroyo_nb.spark.state_config import StateConfig
    from benchmarks.streams import read, warm_up

    tables = "".join(TABLE.format(name=name) for name in ("events", "others"))
    (sink,) = plan_script(tables + QUERIES[kind], Catalog()).sinks

    def run(state: Path) -> Output:
        spark = session.engine.session
        output = Output(sink, keep=True, write=False, traced=True)

        def chunks(_: nodes.Source) -> DataFrame:
            return read(spark, folder, COLUMNS)

        keeping = StateConfig(2)
        with query_settings(spark, output.settings(keeping)):
            output.start(
                chunks,
                checkpoint=state / "checkpoint",
                state=state / "state",
                rows=state / "rows",
                budget_bytes=2**30,
                trigger=None,
                keeping=keeping,
                context=copy_context(),
            )
        return output

    def has_read_all(output: Output) -> bool:
        output.poll()
        if failure := output.failure():
            raise failure
        return output.observation.next_batch >= batches

    def end(output: Output) -> float:
        (query,) = session.engine.session.streams.active
        took_ms = median_ms(query, batches)
        output.stop()
        return took_ms

    took = []
    with Session() as session:
        warm_up(session)
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as state:
                output = session.engine.worker.call(run, Path(state))
                while not session.engine.worker.call(has_read_all, output):
                    time.sleep(0.1)  # as often as a run looks
                took.append(session.engine.worker.call(end, output))
    return took


def plain(kind: str, folder: Path, batches: int) -> list[float]:
    """PySpark with all its defaults, its rows collected as Arrow."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    spark = SparkSession.builder.getOrCreate()

    def stream() -> DataFrame:
        reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        return reader.parquet(folder.as_uri()).withWatermark("_timestamp", "1 second")

    def windowed() -> DataFrame:
        window = F.window("_timestamp", "5 seconds").alias("w")
        totals = (F.count("*").alias("n"), F.sum("v").alias("s"))
        return stream().groupBy(window, "k").agg(*totals)

    made = {
        "stateless": lambda: stream().where("v > 3").selectExpr("k", "v + 1 AS v"),
        "windowed": windowed,
        "updating": lambda: stream().groupBy("k").agg(F.count("*"), F.sum("v")),
    }
    mode = "update" if kind == "updating" else "append"
    took = []
    for _ in range(PLAIN_RUNS):
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = made[kind]().writeStream.outputMode(mode).foreachBatch(_collect)
            query = writer.option("checkpointLocation", checkpoint).start()
            while len(query.recentProgress) < batches:
                if (failure := query.exception()) is not None:
                    raise failure
                time.sleep(0.5)
            took.append(median_ms(query, batches))
            query.stop()
    spark.stop()
    return took


def _collect(batch: DataFrame, _: int) -> None:
    batch.toArrow()


def main(engine: str, kind: str, folder: str, batches: str) -> None:
    """Print what each run took."""
    took_ms = {"ours": ours, "plain": plain}[engine](kind, Path(folder), int(batches))
    print(json.dumps(took_ms), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
