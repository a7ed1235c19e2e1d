"""Rows a second of an updating GROUP BY, and of what Spark has in its place.

``SELECT k, count(*), sum(v) GROUP BY k`` over five million rows, ten chunks, one a
micro-batch, with few and with many keys. Ours sends each change as a retract and an
append. Spark's own update mode sends new values only; its Python operator, a Row for
each key, is what one would write by hand to get both. They take turns in one engine,
and each ratio is of one turn. A join and a top N have no counterpart there.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from arroyo_nb.catalog import Catalog
from arroyo_nb.changelog.aggregate import AggregateKernel
from arroyo_nb.changelog.measures import AggregateCall
from arroyo_nb.engine.query_settings import IN_ROCKSDB, query_settings
from arroyo_nb.functions.aggregates import aggregate
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks.report import Report, main
from benchmarks.streams import read, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHUNKS, CHUNK_ROWS = 10, 500_000
ROUNDS = 3
KEYS = {10: None, 10_000: 0.5, 500_000: 1.0, 2_000_000: None}
"""Numbers of keys, each with the least ratio to Spark's own update mode."""
BY_HAND_CHUNKS, BY_HAND_RATIO = 2, 4.0
COLUMNS = "k BIGINT, v BIGINT, _timestamp TIMESTAMP"

TABLE = """
CREATE TABLE events (k BIGINT, v BIGINT)
WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
"""
QUERY = "SELECT k, count(*) AS n, sum(v) AS s FROM events GROUP BY k"
JOINED_CHUNKS, JOINED_KEYS = 4, 2_000_000
JOIN = """
CREATE TABLE others (k BIGINT, v BIGINT)
WITH (connector = 'single_file', path = '{path}', type = 'source', format = 'json');
SELECT e.k, e.v, o.v AS w FROM events AS e LEFT JOIN others AS o ON e.k = o.k
"""
TOP_N_KEYS = 10_000
TOP_N = """
SELECT k, v, place FROM (
    SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS place FROM events
) AS placed WHERE place <= 3
"""


def make_chunks(folder: Path, keys: int, chunks: int, seed: int = 0) -> None:
    """Rows whose keys are as likely as each other."""
    random = np.random.default_rng((keys, seed))
    folder.mkdir()
    for number in range(chunks):
        ts = pa.array(np.full(CHUNK_ROWS, number)).cast(pa.timestamp("us", "UTC"))
        columns = {name: random.integers(0, keys, CHUNK_ROWS) for name in "kv"}
        table = pa.table({**columns, "_timestamp": ts})
        write_chunk(folder, number, Chunk(table, {}), Totals())


def by_key(stream: DataFrame) -> DataFrame:
    """The same with Spark's Python operator, as one would write it by hand."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Counts(StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("state", "n BIGINT, s BIGINT")

        def handleInputRows(self, key: Any, rows: Any, _: Any) -> Iterator[Row]:  # noqa: N802
            before = self._state.get()
            n, s = before or (0, 0)
            for row in rows:
                n, s = n + 1, s + row.v
            self._state.update((n, s))
            if before:
                yield Row(k=key[0], n=before[0], s=before[1], weight=-1)
            yield Row(k=key[0], n=n, s=s, weight=1)

        def close(self) -> None:
            pass

    columns = "k BIGINT, n BIGINT, s BIGINT, weight INT"
    grouped = stream.select("k", "v").groupBy("k")
    return grouped.transformWithState(Counts(), columns, "Append", "None")


def compare(report: Report, session: Session, folder: Path) -> None:
    """Measure each way with each number of keys."""
    spark = session.engine.session

    def ours(data: Path) -> float:
        return _ours(spark, QUERY, {"events": data})

    def native(data: Path) -> float:
        def query() -> DataFrame:
            counts = read(spark, data, COLUMNS).groupBy("k")
            return counts.agg({"*": "count", "v": "sum"})

        return seconds(query, "update")

    def by_hand(data: Path) -> float:
        with query_settings(spark, IN_ROCKSDB):
            return seconds(lambda: by_key(read(spark, data, COLUMNS)))

    for keys, least in KEYS.items():
        data = folder / str(keys)
        make_chunks(data, keys, CHUNKS)
        _ratio(
            report,
            f"{keys:,} keys",
            CHUNKS,
            least,
            {
                "ours": lambda data=data: ours(data),
                "native update mode": lambda data=data: native(data),
            },
        )
    data = folder / "by-hand"
    make_chunks(data, 10_000, BY_HAND_CHUNKS)
    _ratio(
        report,
        "10,000 keys, few rows",
        BY_HAND_CHUNKS,
        BY_HAND_RATIO,
        {
            "ours": lambda: ours(data),
            "a Row for each key": lambda: by_hand(data),
        },
    )


def alone(report: Report, session: Session, folder: Path) -> None:
    """Measure a join that sends retracts, and a top N."""
    spark = session.engine.session
    sides = {name: folder / name for name in ("events", "others")}
    for seed, data in enumerate(sides.values()):
        make_chunks(data, JOINED_KEYS, JOINED_CHUNKS, seed)
    placed = {"events": folder / str(TOP_N_KEYS)}
    for name, query, tables, rows in (
        ("left join", JOIN, sides, 2 * JOINED_CHUNKS * CHUNK_ROWS),
        ("top 3 of each key", TOP_N, placed, CHUNKS * CHUNK_ROWS),
    ):
        took = min(_ours(spark, query, tables) for _ in range(ROUNDS))
        report.add(f"{name}: ours", rows / took, "rows/s")


def _ours(spark: SparkSession, query: str, tables: Mapping[str, Path]) -> float:
    """How long a query takes over tables that lie in folders."""
    script = (TABLE + query).format(path="/-")
    (sink,) = plan_script(script, Catalog()).sinks

    def made() -> DataFrame:
        rows = lower(sink.input, lambda s: read(spark, tables[s.table.name], COLUMNS))
        return visible(rows, sink.input)

    with query_settings(spark, IN_ROCKSDB):
        return seconds(made)


def _ratio(
    report: Report,
    name: str,
    chunks: int,
    least: float | None,
    ways: dict[str, Callable[[], float]],
) -> None:
    """Rows a second of two ways in turn, and how often as fast the first one is."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(ROUNDS + 1):
        for way, run in ways.items() if turn % 2 else reversed(ways.items()):
            took = run()
            if turn:  # the first is to warm up
                times[way].append(took)
    for way, took in times.items():
        report.add(f"{name}: {way}", chunks * CHUNK_ROWS / min(took), "rows/s")
    first, second = times.values()
    ratio = statistics.median(b / a for a, b in zip(first, second, strict=True))
    report.add(f"{name}: ratio", ratio, "x", target=least, at_most=False)


def state_bytes(report: Report) -> None:
    """Measure what a key takes up in the state of the query."""
    keys = 100_000
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    operator = AggregateKernel(
        schema,
        ("k",),
        (
            AggregateCall(
                "n", "count", pa.int64(), (), kernel=aggregate("count").kernel
            ),
            AggregateCall(
                "s", "sum", pa.int64(), ("v",), kernel=aggregate("sum").kernel
            ),
        ),
        retracts=False,
    )
    numbers = pa.array(range(keys))
    part = operator.partial(pa.table([numbers, numbers], schema=schema))
    update, _ = operator.step(operator.layout.empty(), [part], 0)
    size = len(operator.layout.to_bytes(update.added))
    report.add("state of count and sum", size / keys, "bytes a key")


def measure(report: Report) -> None:
    """Make the rows, then measure."""
    state_bytes(report)
    with tempfile.TemporaryDirectory() as name, Session() as session:
        for part in (compare, alone):
            session.engine.worker.call(part, report, session, Path(name))


if __name__ == "__main__":
    sys.exit(main(measure))
