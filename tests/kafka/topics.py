"""Topics of a test's own."""

from __future__ import annotations

import itertools
import json
import os
import time
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
)

from arroyo_nb.kafka.errors import PARTITION_OPENING

USER, PASSWORD = "alice", "wonder,land"
"""Who may log in at the broker of the tests."""

_NUMBERS = itertools.count()


class Broker(Protocol):
    """A broker on this machine: one of a test's own, or that of all workers."""

    @property
    def bootstrap_servers(self) -> str: ...

    def create_topic(self, name: str, partitions: int = 1) -> None: ...


def new_name(kind: str) -> str:
    """The name of a topic that no other worker makes."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return f"{kind}-{worker}-{next(_NUMBERS)}"


class Topic:
    """A topic of a test's own."""

    def __init__(self, broker: Broker, partitions: int) -> None:
        self.broker = broker
        self.name = new_name("read")
        broker.create_topic(self.name, partitions)
        self._settings = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        self.admin = AdminClient(self._settings)
        self._producer = Producer(self._settings)

    def send(self, *values: object, partition: int = 0, **given: object) -> None:
        """Write records, and wait until they are there: bytes as they are, None a
        tombstone, anything else as JSON."""
        for value in values:
            plain = value is None or isinstance(value, bytes)
            payload = value if plain else json.dumps(value).encode()
            self._producer.produce(self.name, payload, partition=partition, **given)
        assert self._producer.flush(20) == 0

    def add_partitions(self, count: int) -> None:
        """Let it have so many partitions."""
        added = self.admin.create_partitions([NewPartitions(self.name, count)])
        added[self.name].result(20)
        self._producer = Producer(self._settings)

    def take_any_time(self) -> None:
        """Let it take records of far in the future, as older brokers do."""
        entry = ConfigEntry(
            "message.timestamp.after.max.ms",
            str(2**63 - 1),
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(
            ConfigResource.Type.TOPIC, self.name, incremental_configs=[entry]
        )
        self.admin.incremental_alter_configs([resource])[resource].result(20)

    def delete(self) -> None:
        """Delete it."""
        self.admin.delete_topics([self.name])[self.name].result(20)

    def delete_records(self, partition: int, before: int) -> None:
        """Delete what is older than an offset, as retention does."""
        place = TopicPartition(self.name, partition, before)
        self.admin.delete_records([place])[place].result(20)

    def records(self) -> list[Message]:
        """Its committed records, those of a partition in their order."""
        settings = {
            **self._settings,
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        consumer, found = Consumer(settings), []
        parts = set(consumer.list_topics(self.name, 20).topics[self.name].partitions)
        consumer.assign([TopicPartition(self.name, number, 0) for number in parts])
        while parts:
            message = consumer.poll(20)
            assert message is not None, "the broker is silent"
            if message.error() is None:
                found.append(message)
            else:
                parts.discard(message.partition())
        consumer.close()
        return found

    def end(self) -> int:
        """How far it goes, all partitions together."""
        deadline = time.monotonic() + 20
        while True:
            # By the client that was just told who leads: one that has not asked, or
            # has lost its broker meanwhile, may wait for long.
            found = self.admin.list_topics(self.name, 20).topics[self.name].partitions
            places = [TopicPartition(self.name, number) for number in found]
            latest = dict.fromkeys(places, OffsetSpec.latest())
            futures = self.admin.list_offsets(latest, request_timeout=5)
            try:
                return sum(future.result(20).offset for future in futures.values())
            except KafkaException as error:
                is_opening = error.args[0].name() in PARTITION_OPENING
                if not is_opening or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def sink(self, columns: str, name: str = "out", **options: object) -> str:
        """CREATE TABLE that writes to it; options as of :meth:`declared`."""
        given = {"type": "sink", "source__offset": None, **options}
        return self.declared(columns, name, **given)

    def declared(self, columns: str, name: str = "t", **options: object) -> str:
        """CREATE TABLE over it; options with a dot are written with ``__``."""
        given = {
            "connector": "kafka",
            "bootstrap_servers": self.broker.bootstrap_servers,
            "topic": self.name,
            "type": "source",
            "format": "json",
            "source__offset": "earliest",
            **options,
        }
        pairs = ", ".join(
            f"'{key.replace('__', '.')}' = '{value}'"
            for key, value in given.items()
            if value is not None
        )
        listed = f"({columns}) " if columns else ""
        return f"CREATE TABLE {name} {listed}WITH ({pairs});\n"
