"""Sources and sinks of MQTT and NATS while a server is away, hangs, restarts, or sends
more than is read: what holds for both."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, ClassVar

import mosquitto_server as mqtt
import nats_server as nats
import pytest
from feed_servers import spec_of
from feed_tables import Tape, batch, declared, open_writer, recorder
from machine import allowed
from mosquitto_server import DURABLE, mosquitto
from nats_server import nats_server
from seeds import of_the_day
from server_process import free_port

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import Unreached

_STREAM = "arroyo_nb.feeds.connectors.nats._stream"


class Mqtt:
    """Topics of MQTT."""

    connector = "mqtt"
    called = "the MQTT broker at mqtt://127.0.0.1:"
    source = "arroyo_nb.feeds.connectors.mqtt._source"
    heartbeats = (("arroyo_nb.feeds.connectors.mqtt._client.KEEP_ALIVE_S", 1),)
    comes_once = False
    position: ClassVar[Any] = {"client": "stopped", "number": 1}

    def server(self, folder):
        return mosquitto(folder, *DURABLE)

    def stops(self, server):
        """The ways to end a server that lose nothing; what is kept of MQTT is on disk
        when it ends by itself."""
        return (server.end,)

    def address(self, port):
        return {"url": f"mqtt://127.0.0.1:{port}"}

    def read(self, name, *, surely=True):
        """The options that read what is published by a name."""
        return {"topic": name, "qos": "AtLeastOnce" if surely else "AtMostOnce"}

    def written(self, name):
        return {"topic": name}

    def prepare(self, port, name):
        """Make what keeps the messages; a broker of MQTT needs nothing."""

    def publish(self, port, name, payloads, *, surely=True):
        mqtt.publish(port, payloads, name, qos=int(surely))


class Subject(Mqtt):
    """Subjects of NATS."""

    connector = "nats"
    called = "NATS at 127.0.0.1:"
    source = "arroyo_nb.feeds.connectors.nats._subject"
    heartbeats = (
        ("arroyo_nb.feeds.connectors.nats._client.PING_S", 0.3),
        (f"{_STREAM}.PULL_S", 1.0),
        (f"{_STREAM}.SILENT_S", 0.5),
    )
    position = None

    def server(self, folder):
        return nats_server(folder)

    def address(self, port):
        return {"servers": f"127.0.0.1:{port}"}

    def read(self, name, *, surely=True):
        return {"subject": name}

    def written(self, name):
        return {"subject": name}

    def publish(self, port, name, payloads, *, surely=True):
        nats.publish_plain(port, name, payloads)


class Stream(Subject):
    """Streams of NATS."""

    comes_once = True
    position: ClassVar[Any] = {"consumer": "gone", "sequence": 0}

    def read(self, name, *, surely=True):
        return {"stream": name}

    def stops(self, server):
        return server.kill, server.end

    def prepare(self, port, name):
        nats.add_stream(port, name, name)

    def publish(self, port, name, payloads, *, surely=True):
        nats.publish(port, name, payloads)


def cases(*kinds):
    return pytest.mark.parametrize("case", _params(kinds))


def case_of_the_day(*kinds):
    """One of them in ``make test``."""
    return pytest.mark.parametrize("case", of_the_day(_params(kinds), "feeds"))


def _params(kinds):
    return [pytest.param(kind(), id=kind.__name__.lower()) for kind in kinds]


@pytest.fixture
def server(case, tmp_path):
    with case.server(tmp_path) as server:
        yield server


def numbers(*values):
    return [json.dumps({"n": value}).encode() for value in values]


def tape(case, port, name, position: Any = None, **settings):
    options = {**case.address(port), **case.read(name, **settings)}
    return Tape(recorder(case.connector, **options), position)


def connected(tape):
    return lambda: tape.recorder.connection_status.connections > 0 or tape.error


def restarts(case, server, eventually, times):
    """Nothing is missing, though the server goes and comes back."""
    sent = 0

    def publish():
        nonlocal sent
        count = random.randrange(1, 300)
        case.publish(server.port, "all", numbers(*range(sent, sent + count)))
        sent += count

    case.prepare(server.port, "all")
    with tape(case, server.port, "all") as read:
        eventually(connected(read))
        for stop in case.stops(server) * times:
            publish()
            stop()
            server.start()
            publish()
        eventually(lambda: set(read.column()) == set(range(sent)) or read.error)
        assert read.error is None
        assert read.recorder.connection_status.gaps == 0
    # What was acknowledged, and the broker did not hear it, comes twice.
    if case.comes_once:
        assert read.column() == list(range(sent))


@case_of_the_day(Mqtt, Stream)
def test_nothing_is_missing_when_the_server_restarts(case, server, eventually):
    restarts(case, server, eventually, 2)


@pytest.mark.long("feeds")
@cases(Mqtt, Stream)
def test_nothing_is_missing_when_the_server_restarts_often(case, server, eventually):
    restarts(case, server, eventually, 20)


@cases(Mqtt, Subject)
def test_more_than_a_queue_holds_is_counted_as_lost(
    case, server, eventually, monkeypatch
):
    monkeypatch.setattr(f"{case.source}.QUEUE_MESSAGES", 100)
    monkeypatch.setattr("arroyo_nb.feeds.receiver.BUFFER_MESSAGES", 200)
    monkeypatch.setattr("arroyo_nb.feeds.receiver.TAKEN_MESSAGES", 50)
    with tape(case, server.port, "flood", surely=False) as read:
        eventually(connected(read))
        read.pause()
        case.publish(server.port, "flood", numbers(*range(2_000)), surely=False)
        lost = lambda: read.recorder.connection_status.lost_messages  # noqa: E731
        eventually(lambda: lost() > 0)
        read.resume()
        eventually(lambda: len(read.rows) + lost() >= 2_000)
        assert len(read.rows) + lost() == 2_000


@pytest.mark.parametrize("state", ["connecting", "waiting", "receiving", "full"])
@case_of_the_day(Mqtt, Subject, Stream)
def test_a_stop_is_heard_within_a_second(case, server, state, eventually, monkeypatch):
    monkeypatch.setattr("arroyo_nb.feeds.receiver.BUFFER_MESSAGES", 10)
    case.prepare(server.port, "stopped")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ports = {"connecting": silent.getsockname()[1], "waiting": free_port()}
        port = ports.get(state, server.port)
        position = {"messages": 0, "position": case.position}
        with tape(case, port, "stopped", position) as read:
            if state in ("receiving", "full"):
                eventually(connected(read))
            if state == "full":
                read.pause()
                case.publish(server.port, "stopped", numbers(*range(100)))
            if state == "waiting":
                eventually(lambda: read.recorder.connection_status.why)
            assert read.stop() < allowed(1.3)
        assert read.error is None


@case_of_the_day(Mqtt, Subject, Stream)
def test_a_server_that_hangs_is_noticed(case, server, eventually, monkeypatch):
    for name, seconds in case.heartbeats:
        monkeypatch.setattr(name, seconds)
    case.prepare(server.port, "hanging")
    with tape(case, server.port, "hanging") as read:
        away_s = lambda: read.recorder.connection_status.away_s  # noqa: E731
        eventually(connected(read))
        server.hang()
        eventually(lambda: away_s() > 0, 20)
        server.wake()
        eventually(lambda: away_s() == 0)
        case.publish(server.port, "hanging", numbers(1))
        eventually(lambda: read.column() == [1])


@cases(Mqtt, Subject)
def test_a_first_run_tells_that_the_server_is_away(case, eventually):
    with tape(case, free_port(), "a") as read:
        eventually(lambda: read.error)
    assert isinstance(read.error, Unreached)
    assert f"cannot reach {case.called}" in str(read.error)


@pytest.mark.parametrize("state", ["away", "silent"])
@case_of_the_day(Mqtt, Subject)
def test_a_stopped_run_does_not_wait_for_its_sink(case, state, tmp_path):
    failures = []

    def take(sink):
        try:
            sink.take(batch(numbers(1)), 0)
        except Unreached as problem:
            failures.append(problem)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if state == "silent" else free_port()
        options = {**case.address(port), **case.written("a")}
        with open_writer(case.connector, tmp_path, **options) as sink:
            writing = threading.Thread(target=take, args=(sink,))
            writing.start()
            time.sleep(0.3)
            began_s = time.monotonic()
            sink.give_up()
            writing.join(allowed(10))
            assert time.monotonic() - began_s < allowed(1)
    assert len(failures) == 1


def sink_spec(connector, **options):
    return declared(connector, "sink", **options).spec.resolved()


SINKS = {
    "mqtt": (
        "cannot reach the MQTT broker at mqtt://127.0.0.1:",
        lambda host: sink_spec("mqtt", url=f"mqtt://{host}", topic="a"),
    ),
    "nats": (
        "cannot reach NATS at 127.0.0.1:",
        lambda host: sink_spec("nats", servers=host, subject="a"),
    ),
    "redis": (
        "the table 't' cannot reach redis at",
        lambda host: sink_spec(
            "redis",
            address=f"redis://{host}",
            target="string",
            **{"target.key_prefix": ""},
        ),
    ),
    "webhook": (
        "the server of 'numbers', https://127.0.0.1:",
        lambda host: spec_of(CONNECTORS.get("webhook"), f"https://{host}"),
    ),
}
"""Of each sink that has a server: what is said where that is away, and its table."""


def test_servers_that_are_away_or_silent_are_told_before_a_run(monkeypatch):
    """All of them are waited for at once."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def told(connector, port):
        _, spec = SINKS[connector]
        began_s = time.monotonic()
        with pytest.raises(Unreached) as problem:
            CONNECTORS.get(connector).reach(spec(f"127.0.0.1:{port}"), lambda: None)
        return str(problem.value), time.monotonic() - began_s

    with ExitStack() as servers, ThreadPoolExecutor(2 * len(SINKS)) as pool:
        asked = {}
        for connector in SINKS:
            silent = servers.enter_context(socket.create_server(("127.0.0.1", 0)))
            ports = {"away": free_port(), "silent": silent.getsockname()[1]}
            for state, port in ports.items():
                asked[connector, state] = pool.submit(told, connector, port)
        for (connector, state), answer in asked.items():
            said, took_s = answer.result()
            assert state == "silent" or SINKS[connector][0] in said
            assert took_s < allowed(7), (connector, state)
