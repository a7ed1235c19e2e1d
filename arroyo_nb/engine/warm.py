"""A small streaming job that touches what a user's first cell will touch.

The engine runs it after the start, so that classes are loaded and compiled; a
class-data archive is made while it runs, so that they load quickly. It yields
between steps of at most about a second: whoever drives it can let others go first.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.arrow_sink import ArrowSink, Receive
from arroyo_nb.engine.paths import spark_path, spark_pattern

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_SCHEMA = "k string, n long, ts timestamp"
_CHUNKS = 3


def steps(session: SparkSession, folder: Path) -> Generator[None, None, None]:
    """What a windowed preview needs.

    Parameters
    ----------
    folder
        Gets the job's input and checkpoint; the caller deletes it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    _write_chunks(folder / "tape")
    yield
    stream = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    rows = stream.parquet(spark_pattern(folder / "tape")).withWatermark(
        "ts", "1 second"
    )
    window = F.window("ts", "1 minute").alias("window")
    counts = rows.groupBy(window, "k").agg(
        F.count(F.lit(1)).alias("n"), F.sum("n"), F.min("n"), F.max("n"), F.avg("n")
    )
    yield
    yield from _run(counts.select("window.start", "window.end", "k", "n"), folder / "w")


def more_steps(session: SparkSession, folder: Path) -> Generator[None, None, None]:
    """What else belongs into an archive: JSON, sessions, hops, Python workers."""
    from pyspark.sql import functions as F  # noqa: N812

    yield from steps(session, folder)
    rows = session.read.schema(_SCHEMA).parquet(spark_pattern(folder / "tape"))
    rows.write.json(spark_path(folder / "json"))
    rows.groupBy("k").count().orderBy("k").toArrow()
    yield
    text = session.readStream.text(spark_pattern(folder / "json"))
    parsed = text.select(F.from_json("value", _SCHEMA).alias("row")).select("row.*")
    late = parsed.withWatermark("ts", "1 second")
    gap = F.session_window("ts", "5 seconds").alias("window")
    yield from _run(late.groupBy(gap, "k").count(), folder / "s")
    hop = F.window("ts", "1 minute", "20 seconds")
    yield from _run(late.groupBy(hop).agg(F.sum("n")), folder / "h")
    plain = parsed.where("n > 3 and k like '%1'").mapInArrow(_same, _SCHEMA)
    yield from _run(plain, folder / "p")


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _write_chunks(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for chunk in range(_CHUNKS):
        start = dt.datetime(2024, 1, 1, 0, chunk, tzinfo=dt.UTC)
        times = [start + dt.timedelta(seconds=second) for second in range(60)]
        columns = {
            "k": [f"k{second % 4}" for second in range(60)],
            "n": list(range(60)),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(columns), folder / f"{chunk}.parquet")


def _run(
    rows: DataFrame, checkpoint: Path, deadline_s: float = 60
) -> Generator[None, None, None]:
    sink = ArrowSink(lambda: None, _take)
    writer = sink.stream(rows).outputMode("append").trigger(availableNow=True)
    query = writer.option("checkpointLocation", spark_path(checkpoint)).start()
    deadline = time.monotonic() + deadline_s
    try:
        yield
        while _is_running(query) and time.monotonic() < deadline:
            yield
    finally:  # also when the caller has had enough
        query.stop()
        sink.close()


def _take(receive: Receive, _batch_id: int) -> None:
    receive()


def _is_running(query: StreamingQuery) -> bool:
    # Short, since the thread that waits here is wanted by others.
    return not query.awaitTermination(0.05)
