"""One broker, and one Spark that can read it, for all tests of Kafka."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker import TestBroker
from topics import Topic

from arroyo_nb.engine import Engine
from arroyo_nb.session import Session


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBroker]:
    """The broker that the tests share; one that stops it has its own."""
    broker = TestBroker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.close()


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """An engine with Spark's Kafka connector, of ``ARROYO_NB_CONNECTOR_JARS``."""
    folder = os.environ.get("ARROYO_NB_CONNECTOR_JARS")
    if folder is None:
        pytest.skip("ARROYO_NB_CONNECTOR_JARS names no folder with Spark's connector")
    engine = Engine(jars=sorted(Path(folder).glob("*.jar")))
    yield engine
    engine.close()


@pytest.fixture
def topic(broker: TestBroker):
    """Makes topics."""
    return lambda partitions=1: Topic(broker, partitions)


@pytest.fixture
def rows(session: Session, eventually):
    """Runs a script until an output has so many rows, and gives them as tuples."""

    def collect(script: str, count: int, **options: object) -> list[tuple[object, ...]]:
        run = session.run(script, **options)
        eventually(
            lambda: run.state.ended or run.outputs[0].preview.total_rows >= count, 60
        )
        if run.error is not None:
            raise run.error
        run.stop().wait_quietly(30)
        return [tuple(row.values()) for row in run.table().to_pylist()]

    return collect
