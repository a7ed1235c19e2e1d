"""How long a record takes from topic to topic, in real-time mode and in micro-batches.

The same job, the same broker and the same engine, in turn: a record is written once the
one before has come out, for so long that real-time mode makes some checkpoints, at each
of which Spark plans the query anew and records wait. The clock runs from the moment
before a record is handed to Kafka's client until another client has the row that was
made of it.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

from arroyo_nb.kafka.local import LocalBroker
from arroyo_nb.run.observe.snapshot import RunState
from arroyo_nb.run.option_values import LEAST_CHECKPOINT
from arroyo_nb.session import Session
from benchmarks.report import Report, main

UNTIMED, MOST_S, PAUSE_S = 20, 30.0, 0.01
PARTITIONS = 2
ANSWER_S = 60.0
FASTER = 10
"""What the mode is for: at least so many times sooner, at the median."""

SCRIPT = """
CREATE TABLE pings (id BIGINT NOT NULL, host TEXT, ms DOUBLE, at TIMESTAMP(3)) WITH (
    connector = 'kafka', bootstrap_servers = '{servers}', topic = 'pings',
    type = 'source', format = 'json'
);
CREATE TABLE slow (id BIGINT, host TEXT, ms DOUBLE, at TIMESTAMP) WITH (
    connector = 'kafka', bootstrap_servers = '{servers}', topic = '{topic}',
    type = 'sink', format = 'json', 'sink.key_field' = 'host'
);
INSERT INTO slow
SELECT id, upper(host) AS host, ms * 2 AS ms, at FROM pings WHERE ms > 1
"""


@contextmanager
def reader(servers: str, topic: str) -> Iterator[Consumer]:
    """A client that reads what is new in a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "bench", "log_level": 0}
    # Nobody is asked where a group stands.
    settings |= {"enable.auto.commit": False, "fetch.wait.max.ms": 10}
    consumer = Consumer(settings)
    parts = (TopicPartition(topic, n, OFFSET_END) for n in range(PARTITIONS))
    consumer.assign(list(parts))
    try:
        yield consumer
    finally:
        consumer.close()


def delays_ms(servers: str, topic: str) -> np.ndarray:
    """Of single records, once some have passed."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "log_level": 0})
    took = []
    with reader(servers, topic) as consumer:
        until = time.monotonic() + MOST_S
        for number in itertools.count():
            if time.monotonic() > until:
                break
            time.sleep(PAUSE_S)
            ping = {"id": number, "host": f"h{number % 7}", "ms": 2.5, "at": number}
            begun = time.perf_counter()
            producer.produce("pings", json.dumps(ping), partition=number % PARTITIONS)
            producer.flush()
            found = consumer.poll(ANSWER_S)
            if found is None:
                raise RuntimeError(f"record {number} did not come")
            assert json.loads(found.value())["id"] == number
            took.append((time.perf_counter() - begun) * 1000)
    return np.array(took[UNTIMED:])


def measure(report: Report) -> None:
    """The measurements."""
    medians = {}
    with LocalBroker() as broker, Session() as session:
        broker.create_topic("pings", PARTITIONS)
        for name, real_time in (("micro-batches", False), ("real-time mode", True)):
            topic = name.replace(" ", "-")
            broker.create_topic(topic, PARTITIONS)
            script = SCRIPT.format(servers=broker.bootstrap_servers, topic=topic)
            trigger = LEAST_CHECKPOINT if real_time else None
            run = session.run(script, name=topic, real_time=real_time, trigger=trigger)
            assert run is not None
            while run.state is RunState.STARTING:
                time.sleep(0.1)
            found = delays_ms(broker.bootstrap_servers, topic)
            run.stop().wait_quietly()
            medians[name] = float(np.median(found))
            report.add(f"{name}: median", medians[name], "ms")
            report.add(f"{name}: p99", np.percentile(found, 99), "ms")
            report.add(f"{name}: slowest", found.max(), "ms")
    ratio = medians["micro-batches"] / medians["real-time mode"]
    report.add(
        "median, micro-batches / real-time", ratio, "x", target=FASTER, at_most=False
    )


if __name__ == "__main__":
    sys.exit(main(measure))
