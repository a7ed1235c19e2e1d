"""One broker for the tests of all workers, and topics of a test's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer
from shared_broker import BrokerOfTests, joined
from topics import Topic, new_name

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.jars import BROKER, CONNECTOR, resolve
from arroyo_nb.session import Session

FLUSH_S = 20


@pytest.fixture(scope="session", autouse=True)
def jars() -> None:
    """What is downloaded once; where that is impossible there is no broker to test."""
    try:
        resolve(BROKER)
        resolve(CONNECTOR)
    except EngineProblem as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="package", autouse=True)
def no_archives() -> Iterator[None]:
    """A broker that lives for long has its class-data archive made, where there is
    none. That takes the cores of the tests, and may outlast the broker."""
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("ARROYO_NB_ARCHIVE", "off")
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerOfTests]:
    """The broker of this test run; tests that end one have one of their own."""
    folder = tmp_path_factory.getbasetemp()
    # A worker's is one in that of the run.
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    with joined(folder.parent if is_worker else folder) as shared:
        yield shared


@pytest.fixture
def topic(broker: BrokerOfTests) -> str:
    """A new topic of two partitions."""
    name = new_name("topic")
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


@pytest.fixture
def new_topic(broker: BrokerOfTests) -> Callable[..., Topic]:
    """Makes topics of so many partitions."""
    return lambda partitions=1: Topic(broker, partitions)


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What Spark tells a task that runs in this process: the first try of the first."""
    context = SimpleNamespace(partitionId=lambda: 0, attemptNumber=lambda: 0)
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: context)
    return context


@pytest.fixture
def rows(
    session: Session, eventually: Callable[..., None]
) -> Callable[..., list[tuple[object, ...]]]:
    """Runs a script until an output has so many rows, and gives them as tuples."""

    def collect(script: str, count: int, **options: object) -> list[tuple[object, ...]]:
        run = session.run(script, **options)
        preview = run.outputs[0].preview
        eventually(lambda: run.state.ended or preview.total_rows >= count, 60)
        if run.error is not None:
            raise run.error
        run.stop().wait_quietly(30)
        return [tuple(row.values()) for row in run.table().to_pylist()]

    return collect
