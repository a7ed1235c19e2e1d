"""What is written to a topic: each format, key and time, in both commit modes."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, TopicPartition

MODES = ("at_least_once", "exactly_once")


@pytest.fixture
def records():
    """The committed records of a topic, as (partition, key, value, time)."""

    def read(made):
        consumer = Consumer(
            {
                "bootstrap.servers": made.broker.bootstrap_servers,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        parts = consumer.list_topics(made.name, 20).topics[made.name].partitions
        consumer.assign([TopicPartition(made.name, number, 0) for number in parts])
        found, ended = [], set()
        while len(ended) < len(parts):
            message = consumer.poll(20)
            assert message is not None
            if message.error() is None:
                found.append(message)
            else:
                ended.add(message.partition())
        consumer.close()
        return found

    return read


FLIGHTS = """CREATE TABLE flights (WATERMARK FOR sched_dep AS sched_dep - INTERVAL '30 minutes')
WITH (connector = 'sample', dataset = 'flights');
"""


@pytest.mark.parametrize("mode", MODES)
def test_json(new_topic, session, records, mode):
    made = new_topic(3)
    sink = made.declared("flight INT, origin TEXT", "out", type="sink", sink__commit_mode=mode, source__offset=None)
    session.run(FLIGHTS + sink + "INSERT INTO out SELECT flight, origin FROM flights WHERE flight < 50;", wait=True)
    found = [json.loads(r.value()) for r in records(made)]
    run = session.run(FLIGHTS + "SELECT flight, origin FROM flights WHERE flight < 50", wait=True)
    key = lambda row: tuple(row.values())
    assert sorted(found, key=key) == sorted(run.table().to_pylist(), key=key)
    assert len(found) > 100
