"""The local broker: it serves, goes away, comes back, and outlives nobody."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from frozen import frozen
from machine import allowed
from odd_names import NESTED
from seeds import of_the_day
from sockets import listeners, off_loopback
from topics import new_name

from arroyo_nb.engine.cache_folder import cache_folder
from arroyo_nb.engine.folders import process_start, sweep
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.local import LocalBroker

Produce = Callable[..., None]
ANSWER_S = 20
GONE_S = 3
BACK_S = 10
"""After kill -9 the node's own session has to end first: a second, and some more."""


@pytest.fixture(scope="module")
def broker_of_module() -> Iterator[LocalBroker]:
    with LocalBroker({"ann": 'se"c\\ret'}) as started:
        yield started


@pytest.fixture
def own(broker_of_module: LocalBroker) -> LocalBroker:
    """A broker that the test may end."""
    return broker_of_module.start()


@pytest.fixture
def kept(own: LocalBroker) -> str:
    """A topic of it."""
    name = new_name("kept")
    own.create_topic(name)
    return name


def values(servers: str, topic: str, number: int) -> list[bytes | None]:
    """The first records of a topic's first partition."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(number, ANSWER_S)
    consumer.close()
    return [message.value() for message in found]


def test_every_socket_is_on_loopback_and_the_folder_is_private(
    own: LocalBroker,
) -> None:
    assert own.pid is not None
    assert len(listeners([own.pid])) >= 2  # for clients, and the controller
    assert off_loopback([own.pid]) == []
    assert own._place is not None
    assert stat.S_IMODE(own._place.work.stat().st_mode) == 0o700


def test_a_topic_is_made_once(own: LocalBroker, kept: str) -> None:
    with pytest.raises(RunProblem, match=f"the topic '{kept}' already exists at"):
        own.create_topic(kept)


@pytest.mark.parametrize("end", [LocalBroker.stop, LocalBroker.kill])
def test_it_comes_back_where_it_was_with_what_it_had(
    own: LocalBroker, kept: str, produce: Produce, end: Callable[[LocalBroker], None]
) -> None:
    servers = own.bootstrap_servers
    produce(servers, kept, b"before")
    end(own)
    assert not own.alive
    begun = time.monotonic()
    own.start()
    produce(servers, kept, b"after")
    assert time.monotonic() - begun < allowed(BACK_S)
    assert own.bootstrap_servers == servers
    assert values(servers, kept, 2) == [b"before", b"after"]


def error_of(servers: str, topic: str, password: str) -> int | None:
    """What a client that logs in is told; None when it is let in."""
    told: list[int] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": password,
            "log_level": 0,
            "error_cb": lambda error: told.append(error.code()),
        }
    )
    let_in: list[object] = []
    producer.produce(topic, b"x", on_delivery=lambda error, _: let_in.append(error))
    deadline = time.monotonic() + ANSWER_S
    while not told and not let_in and time.monotonic() < deadline:
        producer.poll(0.05)
    producer.purge()
    return told[0] if told else None


def test_who_has_a_password_can_log_in(own: LocalBroker, kept: str) -> None:
    assert error_of(own.sasl_servers, kept, 'se"c\\ret') is None
    refused = KafkaError._AUTHENTICATION
    assert error_of(own.sasl_servers, kept, "wrong") == refused


def test_who_waits_for_a_topic_is_told_when_the_broker_ends(own: LocalBroker) -> None:
    with frozen(own.pid), ThreadPoolExecutor(1) as pool:
        made = pool.submit(own.create_topic, "late")
        with pytest.raises(TimeoutError):
            made.result(timeout=1)
        own.kill()
        with pytest.raises(RunProblem, match="the local broker does not run"):
            made.result(timeout=allowed(GONE_S))


KERNEL = """
import threading
from arroyo_nb.kafka.local import LocalBroker
broker = LocalBroker().start()
print(broker.pid, broker._place.work, flush=True)
threading.Event().wait()
"""


SIGNALS = [
    pytest.param(sent, id=sent.name) for sent in (signal.SIGKILL, signal.SIGTERM)
]


@pytest.mark.parametrize("sent", of_the_day(SIGNALS, "kills"))
def test_it_does_not_outlive_its_kernel(sent: signal.Signals) -> None:
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"ARROYO_NB_ARCHIVE": "off"},
    )
    assert kernel.stdout is not None
    with kernel.stdout, kernel:
        pid, work = kernel.stdout.readline().split()
        start = process_start(int(pid))
        kernel.send_signal(sent)
        kernel.wait()
        deadline = time.monotonic() + allowed(GONE_S)
        while process_start(int(pid)) == start:
            assert time.monotonic() < deadline, f"alive after {GONE_S} s"
            time.sleep(0.02)
    sweep()
    assert not Path(work).exists()


def test_a_start_that_is_given_up_leaves_no_process() -> None:
    broker = LocalBroker()
    asked = iter(range(10))

    def check() -> None:
        if next(asked, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broker.start(check=check)
    assert not broker.alive
    assert broker.bootstrap_servers == ""


def test_what_it_is_made_of_lies_in_a_folder_of_any_name_and_nothing_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, produce: Produce
) -> None:
    cache = tmp_path / NESTED
    cache.parent.mkdir(parents=True)
    cache.symlink_to(cache_folder())
    monkeypatch.setenv("ARROYO_NB_CACHE", str(cache))
    with LocalBroker() as broker:
        broker.create_topic("here")
        produce(broker.bootstrap_servers, "here", b"a", b"b")
        assert values(broker.bootstrap_servers, "here", 2) == [b"a", b"b"]
        assert broker._place is not None
        work = broker._place.work
    assert not broker.alive
    assert not work.exists()
    broker.close()
