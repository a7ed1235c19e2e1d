"""The 24 queries of Nexmark, planned, against the same written by hand in PySpark.

Five million events, a hundred seconds of them, lie in Parquet, ten chunks. Both ways
read them in the same engine, one micro-batch a chunk, in turn, and write to a sink that
discards the rows. Updating queries are compared with Spark's update mode, which sends
no retracts. ``--queries 5 7`` measures some, ``--events N`` takes fewer events.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import IN_ROCKSDB, query_settings
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks import nexmark_by_hand as by_hand
from benchmarks.report import Report, main
from benchmarks.streams import seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EVENTS, RATE, CHUNKS = 5_000_000, 50_000, 10
ROUNDS = 3
APPEND, UPDATING = 0.97, 0.4
"""The least ratio to the query by hand."""
QUERIES = Path(__file__).parent / "nexmark"
TABLES = """
CREATE TABLE nexmark WITH (connector = 'nexmark', event_rate = {rate}, runtime = {s},
    start_time = '2026-01-01T00:00:00', seed = 42);
CREATE TEMPORARY TABLE side_input (key BIGINT PRIMARY KEY, value TEXT)
WITH (connector = 'single_file', path = '/side.json', format = 'json');
"""


def script(number: int, events: int) -> str:
    """A query with the tables that it reads."""
    parts = (QUERIES / "tables.sql", QUERIES / f"q{number}.sql")
    tables = TABLES.format(rate=RATE, s=events / RATE)
    return tables + "".join(part.read_text(encoding="utf-8") for part in parts)


def make_chunks(folder: Path, events: int) -> None:
    """The events of the connector, as chunks of a tape of one size."""
    table = plan_script(script(0, events), Catalog()).catalog.get("nexmark")
    assert isinstance(table, ConnectorTable)
    recorder = CONNECTORS.get("nexmark").recorder(table.spec.resolved())
    size, number, kept = events // CHUNKS, 0, pa.table({})
    for chunk in recorder.chunks(None):
        kept = pa.concat_tables([kept, chunk.rows]) if len(kept) else chunk.rows
        while len(kept) >= size:
            rows, kept = kept.slice(0, size), kept.slice(size)
            write_chunk(folder, number, Chunk(rows, {}), Totals())
            number += 1


def side_input(spark: SparkSession) -> DataFrame:
    """The table that q13 looks up."""
    return spark.range(10_000).selectExpr("id AS key", "concat('side ', id) AS value")


class _Events:
    """The folder of events, read both ways."""

    def __init__(self, spark: SparkSession, folder: Path, events: int) -> None:
        self._spark, self._folder, self._events = spark, folder, events
        self._schema: StructType = spark.read.parquet(folder.as_uri()).schema

    def stream(self) -> DataFrame:
        """One chunk a micro-batch."""
        reader = self._spark.readStream.schema(self._schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(self._folder.as_uri())

    def planned(self, sink: nodes.Sink) -> float:
        """Seconds of a planned query."""

        def read(node: nodes.Source | nodes.LookupJoin) -> DataFrame:
            if isinstance(node, nodes.LookupJoin):
                return side_input(self._spark)
            return self.stream().select("person", "auction", "bid", TIMESTAMP)

        with query_settings(self._spark, IN_ROCKSDB) if _keeps(sink) else nullcontext():
            return seconds(lambda: visible(lower(sink.input, read), sink.input))

    def by_hand(self, query: by_hand.Query, *, updating: bool) -> float:
        """Seconds of a query that is written by hand."""
        mode = "update" if updating else "append"
        return seconds(lambda: query(self.stream()), mode)


def _keeps(sink: nodes.Sink) -> bool:
    """Whether the query has state of our own."""
    own = nodes.UpdatingAggregate | nodes.UpdatingJoin | nodes.UpdatingRank
    return any(isinstance(node, own) for node in walk(sink))


def compare(report: Report, session: Session, folder: Path, options: Options) -> None:
    """Measure each query both ways, in turn."""
    events = _Events(session.engine.session, folder, options.events)
    for number, hand in by_hand.queries():
        if number not in options.queries:
            continue
        (sink,) = plan_script(script(number, options.events), Catalog()).sinks
        updating = nodes.is_updating(sink)
        ways: dict[str, Callable[[], float]] = {
            "planned": partial(events.planned, sink)
        }
        if hand is not None:
            ways["by hand"] = partial(events.by_hand, hand, updating=updating)
        times: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(options.rounds + 1):
            for way, run in ways.items() if turn % 2 else reversed(ways.items()):
                took = run()
                if turn:  # The first is to warm up.
                    times[way].append(took)
        for way, took_s in times.items():
            report.add(f"q{number}: {way}", options.events / min(took_s), "events/s")
        if hand is not None:
            ratio = min(times["by hand"]) / min(times["planned"])
            target = UPDATING if updating else APPEND
            report.add(f"q{number}: ratio", ratio, "x", target=target, at_most=False)


@dataclass(frozen=True)
class Options:
    """What is measured: which queries, over how many events, how often."""

    queries: Sequence[int] = range(24)
    events: int = EVENTS
    rounds: int = ROUNDS


def measure(report: Report, options: Options) -> None:
    """Make the events, then measure."""
    with tempfile.TemporaryDirectory() as name, Session() as session:
        folder = Path(name)
        make_chunks(folder, options.events)
        work = partial(compare, report, session, folder, options)
        session.engine.worker.call(work)


def chosen(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """The options, and the arguments that are left."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--queries", type=int, nargs="*", default=range(24))
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    known, others = parser.parse_known_args(arguments)
    return Options(known.queries, known.events, known.rounds), others


if __name__ == "__main__":
    options, others = chosen(sys.argv[1:])
    sys.exit(main(partial(measure, options=options), others))
