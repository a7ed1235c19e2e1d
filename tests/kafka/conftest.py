"""One broker for the tests of a process, and topics of a test's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.jars import BROKER, CONNECTOR, resolve
from arroyo_nb.kafka import LocalBroker

FLUSH_S = 20

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def jars() -> None:
    """What is downloaded once; where that is impossible there is no broker to test."""
    try:
        resolve(BROKER)
        resolve(CONNECTOR)
    except EngineProblem as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def broker() -> Iterator[LocalBroker]:
    """The broker of this process; tests that end one have one of their own."""
    with LocalBroker() as started:
        yield started


@pytest.fixture
def topic(broker: LocalBroker) -> str:
    """A new topic of two partitions."""
    name = f"topic-{next(_numbers)}"
    broker.create_topic(name, partitions=2)
    return name


Produce = Callable[..., None]


@pytest.fixture
def produce() -> Produce:
    """Writes values to a topic; returns when the broker has them."""

    def write(servers: str, topic: str, *values: bytes | None, **more: object) -> None:
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        failed: list[object] = []
        for value in values:
            producer.produce(
                topic, value, on_delivery=lambda error, _: failed.append(error), **more
            )
        assert producer.flush(FLUSH_S) == 0
        assert failed == [None] * len(values)

    return write
