"""Rows a second of expressions: those that Spark evaluates and those of DataFusion.

An expression of the Spark way is measured beside the same query written by hand for
Spark; one of the DataFusion way beside a function over Arrow batches that returns its
argument (which is what handing batches to a worker costs), and beside the query that
comes closest in Spark, for colour. All read the same Parquet chunks in the same engine,
in turn, and write to a sink that discards them. At last: how much longer one batch of a
few rows takes, and whether a filter by a plain pattern is still Spark's own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.catalog import Catalog
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.user_functions import knowing_functions
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks.report import Report, main
from benchmarks.streams import in_turn, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNKS, CHUNK_ROWS = 4, 1_000_000
COLUMNS = "k BIGINT, v DOUBLE, s STRING, at TIMESTAMP, _timestamp TIMESTAMP"
FEW, BATCHES = 50, 15

TABLE = """
CREATE TABLE events (k BIGINT, v DOUBLE, s TEXT, at TIMESTAMP(6)) WITH (
    connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
LEAST_SPARK, LEAST_DATAFUSION, MOST_MS = 0.9, 0.8, 10.0

SPARK_WAY = (
    ("arithmetic", "v * 2.0 + 1.0", "v * 2D + 1D"),
    ("text", "upper(s)", "upper(s)"),
    ("plain pattern", "s ~ '[0-9]+7$'", "s RLIKE '[0-9]+7$'"),
    ("time", "date_trunc('hour', at)", "date_trunc('HOUR', at)"),
    ("condition", "CASE WHEN k > 5 THEN s END", "CASE WHEN k > 5 THEN s END"),
)
"""A family, its expression, and the same for Spark."""

DATAFUSION_WAY = (
    ("pattern with a class", r"s ~ '\w+7$'", r"s RLIKE '\\w+7$'"),
    ("replacement", "regexp_replace(s, '1?', 'X')", "replace(s, '1', 'X')"),
    ("two in one", r"s ~ '\w+7$' AND s ~ '^\w'", r"s RLIKE '^\\w+7$'"),
)
"""A family, its expression over the text, and the nearest of Spark."""


def make_chunks(folder: Path, chunks: int, rows: int) -> None:
    """Rows without NULLs."""
    random = np.random.default_rng(7)
    for number in range(chunks):
        ts = pa.array(np.arange(rows) * 1_000_000).cast(pa.timestamp("us", "UTC"))
        k = random.integers(0, 1_000_000, rows)
        table = pa.table(
            {
                "k": k,
                "v": random.random(rows),
                "s": pc.binary_join_element_wise(
                    "key-", pa.array(k).cast(pa.string()), ""
                ),
                "at": ts,
                "_timestamp": ts,
            }
        )
        write_chunk(folder, number, Chunk(table, {}), Totals())


def itself(values: pa.Array) -> pa.Array:
    """What a batch costs that nothing is done with."""
    return values


def compare(report: Report, session: Session, folder: Path, few: Path) -> None:
    """Measure each expression beside what it is compared with, in turn."""
    from pyspark.sql.pandas.functions import arrow_udf

    spark = session.engine.session

    def rows() -> DataFrame:
        return read(spark, folder, COLUMNS)

    def kept() -> DataFrame:
        # As rows of a source are: those that have an event time.
        return rows().where("_timestamp < TIMESTAMP '9999-01-01'")

    def planned(
        query: str, source: Callable[[], DataFrame], where: str = ""
    ) -> Callable[[], DataFrame]:
        script = TABLE.format(path=folder) + f"SELECT {query} FROM events {where}"
        node = plan_script(script, Catalog()).sinks[0].input
        reader = knowing_functions(lambda _: source(), node)
        return lambda: visible(lower(node, reader), node)

    def by_hand(text: str) -> Callable[[], DataFrame]:
        return lambda: kept().selectExpr(f"{text} AS y")

    for family, ours, plain in SPARK_WAY:
        ratio = in_turn(planned(f"{ours} AS y", rows), by_hand(plain))
        name = f"Spark: {family}, to Spark by hand"
        report.add(name, ratio, "x", target=LEAST_SPARK, at_most=False)
    identity = arrow_udf(itself, "string")
    for family, ours, nearest in DATAFUSION_WAY:
        evaluated = planned(f"{ours} AS y", rows)
        ratio = in_turn(evaluated, lambda: kept().select(identity("s").alias("y")))
        name = f"DataFusion: {family}, to an identity"
        report.add(name, ratio, "x", target=LEAST_DATAFUSION, at_most=False)
        ratio = in_turn(evaluated, by_hand(nearest))
        report.add(f"DataFusion: {family}, to Spark's nearest", ratio, "x")
    few_rows = spark.read.parquet(few.as_uri())
    queries = {
        "plain": "s ~ '[0-9]+7$' AS y",
        "evaluated": r"s ~ '\w+7$' AS y",
    }
    frames = {name: planned(q, lambda: few_rows)() for name, q in queries.items()}
    took = {name: list[float]() for name in frames}
    for _ in range(BATCHES):
        for name, frame in frames.items():
            began = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            took[name].append((time.perf_counter() - began) * 1000)
    more = median(took["evaluated"]) - median(took["plain"])
    report.add(f"DataFusion: {FEW} rows, longer", more, "ms", target=MOST_MS)
    filtered = planned("k", lambda: few_rows, where="WHERE s ~ '[0-9]+7$'")()
    tree = filtered._jdf.queryExecution().optimizedPlan().toString()
    called = tree.count("_df_") + tree.count("ArrowEvalPython")
    name = "calls of Python in a filter by a plain pattern"
    report.add(name, called, "", target=0)


def measure(report: Report) -> None:
    """Make the rows, then measure."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder, few = Path(name, "many"), Path(name, "few")
        folder.mkdir(), few.mkdir()
        make_chunks(folder, CHUNKS, CHUNK_ROWS)
        make_chunks(few, 1, FEW)
        session.engine.worker.call(compare, report, session, folder, few)


if __name__ == "__main__":
    sys.exit(main(measure))
