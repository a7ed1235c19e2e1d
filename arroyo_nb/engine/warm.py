"""Small streaming jobs that touch what a user's first cell will touch.

The engine runs them after the start, so that classes are loaded and compiled; a
class-data archive is made while they run, so that classes load quickly. They yield
between steps of at most about a second: whoever drives it can let others go first.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.arrow_sink import ArrowSink, Receive
from arroyo_nb.engine.pane_counts import PaneCounts
from arroyo_nb.engine.paths import spark_path, spark_pattern
from arroyo_nb.engine.query_settings import IN_ROCKSDB, STOP_TIMEOUT, query_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_log = logging.getLogger(__name__)
_SCHEMA = "k string, n long, ts timestamp"
_PARTS = "bucket int, part binary"
_END = "TIMESTAMP'9999-01-01 00:00:00'"
BATCHES = 20
"""How often each operator runs before a first cell: Java compiles what has run often. A
first window takes 0.6 s after 20 micro-batches, 0.75 after 10, 0.95 after 3."""

_FEW = 3
_DEADLINE_S = 300
"""How long a stream may take: on a busy machine it takes a hundred times its own."""
_MINUTE_US = 60_000_000
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def steps(
    session: SparkSession, folder: Path, batches: int = BATCHES
) -> Generator[None, None, None]:
    """What a windowed preview needs, then what an updating one does.

    Parameters
    ----------
    folder
        Gets the job's input and checkpoint; the caller deletes it.
    batches
        How many each of them takes.
    """
    _write_chunks(folder / "tape", batches)
    yield
    stream = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    stamped = stream.parquet(spark_pattern(folder / "tape")).selectExpr(
        "k", "CAST(n + 1 AS BIGINT) AS n", f"IF(ts > {_END}, {_END}, ts) AS ts"
    )
    rows = stamped.withWatermark("ts", "1 second").filter(f"ts < {_END}")
    yield
    yield from _run(_windowed(rows), folder / "w")
    yield from _run(_updating(rows), folder / "u", IN_ROCKSDB)


def more_steps(session: SparkSession, folder: Path) -> Generator[None, None, None]:
    """What else belongs into an archive: JSON, sessions, hops, Python workers."""
    from pyspark.sql import functions as F  # noqa: N812

    yield from steps(session, folder, _FEW)
    rows = session.read.schema(_SCHEMA).parquet(spark_pattern(folder / "tape"))
    rows.write.json(spark_path(folder / "json"))
    rows.groupBy("k").count().orderBy("k").toArrow()
    yield
    text = session.readStream.text(spark_pattern(folder / "json"))
    parsed = text.select(F.from_json("value", _SCHEMA).alias("row")).select("row.*")
    late = parsed.withWatermark("ts", "1 second")
    gap = F.session_window("ts", "5 seconds").alias("window")
    sessions = late.groupBy(gap, "k").count()
    ended = F.expr("histogram_numeric(unix_micros(window.end), 8)")
    yield from _run(sessions.observe("ended", ended.alias("panes")), folder / "s")
    hop = F.window("ts", "1 minute", "20 seconds")
    yield from _run(late.groupBy(hop).agg(F.sum("n")), folder / "h")
    plain = parsed.where("n > 3 and k like '%1'").mapInArrow(_same, _SCHEMA)
    yield from _run(plain, folder / "p")


def _windowed(rows: DataFrame) -> DataFrame:
    """Counts of each window and key, whose rows are counted by their panes."""
    from pyspark.sql import functions as F  # noqa: N812

    panes = PaneCounts(rows.sparkSession, _MINUTE_US, 8)
    observed = panes.counted(rows, "unix_micros(ts)")
    window = F.window("ts", "1 minute").alias("window")
    texts = ("count(1)", "sum(n)", "min(n)", "max(n)", "avg(n)")
    measures = (F.expr(f"CAST({text} AS BIGINT)").alias(text) for text in texts)
    groups = observed.groupBy(window, "k").agg(F.col("window").alias("seen"), *measures)
    return groups.selectExpr("seen.start", "seen.end", "k", "`count(1)` AS n")


def _updating(rows: DataFrame) -> DataFrame:
    """Rows that go the way of an updating operator's: to Python in parts, to a state in
    Python, and back as rows."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    # A class of this function travels whole: workers need not import this module.
    class Newest(StatefulProcessor):  # type: ignore[misc]
        """Keeps the newest part of a bucket."""

        def init(self, handle: Any) -> None:
            self._newest = handle.getValueState("newest", "part binary")
            self._log = handle.getMapState("log", "number int", "part binary")

        def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Any:  # noqa: N802
            parts = [row.part for row in rows]
            if self._newest.get() is None:
                self._log.updateValue((0,), (parts[0],))
            self._newest.update((parts[-1],))
            yield Row(changes=bytes(parts[-1]))

        def close(self) -> None:
            """Nothing is held open."""

    parts = rows.selectExpr("int(n % 2) AS bucket", "binary(k) AS part")
    placed = parts.mapInArrow(_same, _PARTS).selectExpr(
        "CASE bucket WHEN 0 THEN 6 ELSE 2 END AS bucket",
        "part",
        "unix_micros(current_timestamp()) AS now",
    )
    kept = placed.groupBy("bucket").transformWithState(
        Newest(), "changes binary", "Append", "None"
    )
    changes = kept.mapInArrow(_same, "changes binary")
    return changes.selectExpr("string(changes) AS k", "1L AS n")


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _write_chunks(folder: Path, chunks: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for chunk in range(chunks):
        start = dt.datetime(2024, 1, 1, 0, chunk, tzinfo=dt.UTC)
        times = [start + dt.timedelta(seconds=second) for second in range(60)]
        columns = {
            "k": [f"k{second % 4}" for second in range(60)],
            "n": list(range(60)),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(columns), folder / f"{chunk}.parquet")


def _run(
    rows: DataFrame, checkpoint: Path, settings: Mapping[str, str] = _NO_SETTINGS
) -> Generator[None, None, None]:
    sink = ArrowSink(lambda: None, _take)
    writer = sink.stream(rows).outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", spark_path(checkpoint))
    with query_settings(rows.sparkSession, settings):
        query = writer.start()
    deadline = time.monotonic() + _DEADLINE_S
    try:
        yield
        while _is_running(query) and time.monotonic() < deadline:
            yield
    finally:  # also when the caller has had enough
        _stop(query)
        sink.close()


def _stop(query: StreamingQuery) -> None:
    """End a query. On a busy machine its thread may take longer than Spark waits for
    it: it has heard and ends by itself, and what was to be warmed is warm."""
    try:
        query.stop()
    except Exception as error:
        if STOP_TIMEOUT not in str(error):
            raise
        _log.debug("a query of the warm-up ends later", exc_info=error)


def _take(receive: Receive, _batch_id: int) -> None:
    receive()


def _is_running(query: StreamingQuery) -> bool:
    # Short, since the thread that waits here is wanted by others.
    return not query.awaitTermination(0.05)
