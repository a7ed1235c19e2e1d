"""Records a second from a topic, against the same queries written by hand, and how long
one record takes to a callback.

Both ways read the same topic of the same broker in the same engine, in turn, from its
beginning to its end, in micro-batches of the same size, and write to a sink that
discards rows. By hand the payloads are decoded by ``from_json``, which is silent about
what it cannot read; ours tells each bad record.
"""

from __future__ import annotations

import json
import queue
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from confluent_kafka import Producer

from arroyo_nb.catalog import Catalog
from arroyo_nb.connectors import CONNECTORS, Streaming
from arroyo_nb.engine.jars import CONNECTOR
from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.kafka.source import BATCH_RECORDS
from arroyo_nb.plan import nodes
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tree import walk
from arroyo_nb.session import Session
from arroyo_nb.spark.lower import lower, visible
from arroyo_nb.spark.topics import decoded
from benchmarks.report import Report, main
from benchmarks.streams import drained, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS, PARTITIONS = 1_000_000, 2
WARM_UP, ROUNDS = 2, 3
UNTIMED, SINGLES = 20, 200
TOPIC, COPY, SINGLE = "events", "copy", "single"
COLUMNS = "k BIGINT, v BIGINT, name STRING, amount DOUBLE, ts TIMESTAMP"
"""As Spark has them; the event time may not be NULL."""

TABLE = """
CREATE TABLE events (
    k BIGINT, v BIGINT, name TEXT, amount DOUBLE, ts TIMESTAMP NOT NULL,
    WATERMARK FOR ts AS ts - INTERVAL '10 seconds'
) WITH (
    connector = 'kafka', bootstrap_servers = '{servers}', topic = '{topic}',
    type = 'source', format = 'json', 'source.offset' = 'earliest'
);
"""
SINK = """
CREATE TABLE copy (k BIGINT, v BIGINT, name TEXT, amount DOUBLE, ts TIMESTAMP) WITH (
    connector = 'kafka', bootstrap_servers = '{servers}', topic = '{topic}',
    type = 'sink', format = 'json', 'sink.commit_mode' = 'exactly_once'
);
INSERT INTO copy SELECT k, v, name, amount, ts FROM events
"""
QUERIES = {
    "json to columns": "SELECT k, v, name, amount, ts FROM events",
    "windowed count": (
        "SELECT tumble(INTERVAL '10 seconds') AS window, k, count(*) AS n "
        "FROM events GROUP BY window, k"
    ),
}


def produce(servers: str) -> None:
    """Events of ten minutes, some 120 bytes each, up to five seconds out of order."""
    random = np.random.default_rng(7)
    late_ms = random.integers(0, 5_000, RECORDS)
    keys, values = random.integers(0, 1000, (2, RECORDS)).tolist()
    base = np.datetime64("2024-01-01T00:00:00", "ms")
    times = base + np.arange(RECORDS) * 600_000 // RECORDS - late_ms
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50})
    for number, (k, v, ts) in enumerate(
        zip(keys, values, times.astype(str), strict=True)
    ):
        event = {"k": k, "v": v, "name": f"customer {k}", "amount": v / 4, "ts": ts}
        # Its queue is bounded: what is delivered makes room.
        if number % 10_000 == 0:
            producer.flush()
        payload = json.dumps(event).encode()
        producer.produce(TOPIC, payload, partition=number % PARTITIONS)
    producer.flush()


def by_hand(spark: SparkSession, name: str, servers: str) -> DataFrame:
    """The query as an experienced PySpark author writes it."""
    from pyspark.sql import functions as F  # noqa: N812

    reader = spark.readStream.format("kafka").options(
        **{
            "kafka.bootstrap.servers": servers,
            "subscribe": TOPIC,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": BATCH_RECORDS,
        }
    )
    record = F.from_json(F.col("value").cast("string"), COLUMNS)
    rows = reader.load().select(record.alias("record")).select("record.*")
    rows = rows.withWatermark("ts", "10 seconds")
    if name == "json to columns":
        return rows
    window = F.window("ts", "10 seconds")
    return rows.groupBy(window.alias("window"), "k").agg(F.count("*").alias("n"))


def planned(spark: SparkSession, sink: nodes.Sink) -> DataFrame:
    """The query as this project runs it."""
    windowed = any(isinstance(node, nodes.WindowAggregate) for node in walk(sink))

    def read(source: nodes.Source) -> DataFrame:
        connector = CONNECTORS.get(source.table.connector)
        assert isinstance(connector, Streaming)
        stream = connector.stream(source.table.spec.resolved())
        options = stream.options(stream.begin().offsets)
        records = spark.readStream.format(stream.format).options(**options).load()
        return decoded(records, stream, source, windowed=windowed)

    return visible(lower(sink.input, read), sink.input)


def _in_turn(*ways: Callable[[], float]) -> list[float]:
    """The shortest that each way takes."""
    times: list[list[float]] = [[] for _ in ways]
    for turn in range(WARM_UP + ROUNDS):
        for number in range(len(ways))[:: 1 if turn % 2 else -1]:
            took = ways[number]()
            if turn >= WARM_UP:
                times[number].append(took)
    return [min(each) for each in times]


def compare(report: Report, session: Session, servers: str) -> None:
    """Measure each query both ways, in turn."""
    spark = session.engine.session
    for name, query in QUERIES.items():
        (sink,) = plan_script(
            TABLE.format(servers=servers, topic=TOPIC) + query, Catalog()
        ).sinks
        ours, theirs = _in_turn(
            lambda sink=sink: seconds(lambda: planned(spark, sink)),
            lambda name=name: seconds(lambda: by_hand(spark, name, servers)),
        )
        report.add(f"{name}: planned", RECORDS / ours, "records/s")
        report.add(f"{name}: by hand", RECORDS / theirs, "records/s")
        report.add(f"{name}: ratio", theirs / ours, "x", target=0.97, at_most=False)


def written(report: Report, session: Session, servers: str) -> None:
    """Measure topic to topic: ours exactly once, by hand at least once, in turn."""
    spark = session.engine.session

    def ours() -> float:
        script = TABLE.format(servers=servers, topic=TOPIC) + SINK.format(
            servers=servers, topic=COPY
        )
        (sink,) = plan_script(script, Catalog()).sinks
        assert sink.table is not None
        rows = planned(spark, sink)
        with tempfile.TemporaryDirectory() as state:
            connector = CONNECTORS.get(sink.table.connector)
            writer = connector.writer(sink.table.spec.resolved(), Path(state))
            stream = rows.writeStream.foreachBatch(writer.write)
            return drained(stream)

    def theirs() -> float:
        from pyspark.sql import functions as F  # noqa: N812

        rows = by_hand(spark, "json to columns", servers)
        value = F.to_json(F.struct("*")).alias("value")
        stream = rows.select(value).writeStream.format("kafka")
        options = {"kafka.bootstrap.servers": servers, "topic": COPY}
        return drained(stream.options(**options))

    once, at_least = _in_turn(ours, theirs)
    report.add("topic to topic: exactly once", RECORDS / once, "records/s")
    report.add(
        "topic to topic: by hand, at least once", RECORDS / at_least, "records/s"
    )
    report.add("topic to topic: ratio", at_least / once, "x")


def latency(report: Report, session: Session, broker: LocalBroker) -> None:
    """Measure how long one record takes from a producer to a callback of a run."""
    broker.create_topic(SINGLE, partitions=1)
    table = TABLE.format(servers=broker.bootstrap_servers, topic=SINGLE)
    run = session.run(table + "SELECT k FROM events", name="latency")
    assert run is not None
    came: queue.Queue[float] = queue.Queue()
    run.on_rows(lambda _rows, _batch: came.put(time.perf_counter()))
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    took_ms = []
    for number in range(UNTIMED + SINGLES):
        # Not in step with the micro-batches.
        time.sleep(0.05 + 0.01 * (number % 7))
        began = time.perf_counter()
        producer.produce(SINGLE, json.dumps({"k": number, "ts": "2024-01-01T00:00:00"}))
        producer.flush()
        try:
            came_s = came.get(timeout=60)
        except queue.Empty:
            run.wait(0)  # tells why
            raise
        took_ms.append((came_s - began) * 1000)
    run.stop().wait(30)
    p50, p99 = np.percentile(took_ms[UNTIMED:], (50, 99))
    report.add("one record to a callback, p50", p50, "ms", target=130)
    report.add("one record to a callback, p99", p99, "ms")


def measure(report: Report) -> None:
    """Fill a topic, then measure."""
    with LocalBroker() as broker, Session() as session:
        for name in (TOPIC, COPY):
            broker.create_topic(name, partitions=PARTITIONS)
        produce(broker.bootstrap_servers)
        session.engine.require(CONNECTOR)
        latency(report, session, broker)
        for part in (compare, written):
            session.engine.worker.call(part, report, session, broker.bootstrap_servers)


if __name__ == "__main__":
    sys.exit(main(measure))
