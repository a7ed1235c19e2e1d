"""The events of Nexmark in files, and its 24 queries planned over them.

A hundred seconds of events, five million unless fewer are asked for, lie in Parquet, in
ten chunks, each of which is a micro-batch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from arroyo_nb.catalog import Catalog, ConnectorTable
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.engine.query_settings import query_settings
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.schema import TIMESTAMP
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.state_config import KEPT
from arroyo_nb.tape import Chunk
from arroyo_nb.tape.format import Totals
from arroyo_nb.tape.writer import write_chunk
from benchmarks.streams import drained, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EVENTS, SECONDS, CHUNKS = 5_000_000, 100, 10
ROUNDS = 3
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
    tables = TABLES.format(rate=events / SECONDS, s=SECONDS)
    return tables + "".join(part.read_text(encoding="utf-8") for part in parts)


def planned_sink(number: int, events: int) -> nodes.Sink:
    """The plan of a query."""
    (sink,) = plan_script(script(number, events), Catalog()).sinks
    return sink


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


class Events:
    """A folder of chunks as a stream, and planned queries over it.

    Parameters
    ----------
    spark
        The engine.
    folder
        Where the chunks are.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._schema: StructType = spark.read.parquet(folder.as_uri()).schema

    def stream(self) -> DataFrame:
        """One chunk a micro-batch."""
        reader = self._spark.readStream.schema(self._schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(self._folder.as_uri())

    def planned(self, sink: nodes.Sink) -> float:
        """Seconds of a planned query."""
        with self._settings(sink):
            return seconds(lambda: self._rows(sink))

    def write(self, sink: nodes.Sink, folder: Path) -> None:
        """Write the rows of a planned query as Parquet, those of an updating one with
        their weight."""
        with self._settings(sink):
            stream = self._rows(sink).writeStream.format("parquet")
            drained(stream.option("path", folder.as_uri()))

    def _rows(self, sink: nodes.Sink) -> DataFrame:
        def read(node: nodes.Source | nodes.LookupJoin) -> DataFrame:
            if isinstance(node, nodes.LookupJoin):
                return side_input(self._spark)
            return self.stream().select("person", "auction", "bid", TIMESTAMP)

        return visible(lower(sink.input, read), sink.input)

    def _settings(self, sink: nodes.Sink) -> AbstractContextManager[None]:
        return query_settings(self._spark, KEPT.settings(sink))


def in_turn(
    ways: Mapping[str, Callable[[], float]], rounds: int, *, warm_up: int = 0
) -> dict[str, float]:
    """The least seconds of each way, which take turns in going first.

    Parameters
    ----------
    ways
        Each gives its seconds.
    rounds
        How often each is measured.
    warm_up
        Rounds before those, which do not count.
    """
    took_s: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(warm_up + rounds):
        for way, run in ways.items() if turn % 2 else reversed(ways.items()):
            seconds_of_run = run()
            if turn >= warm_up:
                took_s[way].append(seconds_of_run)
    return {way: min(times) for way, times in took_s.items()}


@dataclass(frozen=True)
class Options:
    """What is measured: which queries, over how many events, how often."""

    queries: Sequence[int] = range(24)
    events: int = EVENTS
    rounds: int = ROUNDS


def chosen(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """The options, and the arguments that are left."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--queries", type=int, nargs="*", default=range(24))
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    known, others = parser.parse_known_args(arguments)
    return Options(known.queries, known.events, known.rounds), others
