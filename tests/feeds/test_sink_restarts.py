"""Sinks whose servers are killed, or hang, while batches are written."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import contextmanager

import nats_server as nats
import pytest
from feed_tables import batch, open_writer
from machine import allowed
from mosquitto_server import DURABLE, mosquitto, subscribed
from nats_server import nats_server
from redis_server import running
from seeds import of_the_day, turn_of

ROWS = 200
"""Of a batch."""

TURNS = ("stream", "topic", "list")
"""What takes turns in ``make test``."""


def rows(number):
    return batch([b'{"n": %d}' % n for n in range(number * ROWS, (number + 1) * ROWS)])


@contextmanager
def writing(writer):
    """Batch after batch, in a thread; behind the block those that were written."""
    stopping, failures, written = threading.Event(), [], []

    def write():
        try:
            while not stopping.is_set():
                written.append(writer.take(rows(len(written)), len(written)))
                stopping.wait(0.02)
        except BaseException as problem:  # the test looks at it
            failures.append(problem)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield written
    finally:
        stopping.set()
        thread.join(allowed(30))
        assert not thread.is_alive()
        assert failures == []


def killed(server, written, times, stop):
    """The server is away again and again, while batches are written."""
    for _ in range(times):
        before = len(written)
        deadline = time.monotonic() + allowed(30)
        while len(written) < before + 2:
            assert time.monotonic() < deadline
            time.sleep(random.uniform(0.01, 0.1))
        stop(server)
        server.start()


def to_stream(tmp_path, times):
    """Each row is in the stream once."""
    with nats_server(tmp_path) as server:
        nats.add_stream(server.port, "s", "s.>")
        options = {"servers": f"127.0.0.1:{server.port}", "subject": "s.out"}
        with open_writer("nats", tmp_path, **options) as sink, writing(sink) as written:
            killed(server, written, times, lambda server: server.kill())
        found = [row["n"] for row in nats.stored(server.port, "s")]
    assert sorted(found) == list(range(len(written) * ROWS))


@turn_of("stream", TURNS, "feeds")
def test_each_row_is_in_a_stream_once_though_its_server_is_killed(tmp_path):
    to_stream(tmp_path, 2)


@pytest.mark.long("feeds")
def test_each_row_is_in_a_stream_once_though_its_server_is_killed_often(tmp_path):
    to_stream(tmp_path, 20)


def to_topic(tmp_path, times, eventually):
    """Each row comes to who has subscribed, once or more often."""
    with mosquitto(tmp_path, *DURABLE) as server:
        options = {"url": f"mqtt://127.0.0.1:{server.port}", "topic": "out"}
        options["qos"] = "AtLeastOnce"
        got = set()
        with subscribed(server.port, "out") as messages:
            with (
                open_writer("mqtt", tmp_path, **options) as sink,
                writing(sink) as written,
            ):
                killed(server, written, times, lambda server: server.end())

            def all_came():
                got.update(json.loads(one.payload)["n"] for one in list(messages))
                return got == set(range(len(written) * ROWS))

            eventually(all_came, 20, 0.2)


@turn_of("topic", TURNS, "feeds")
def test_each_row_is_published_though_the_broker_restarts(tmp_path, eventually):
    to_topic(tmp_path, 2, eventually)


@pytest.mark.long("feeds")
def test_each_row_is_published_though_the_broker_restarts_often(tmp_path, eventually):
    to_topic(tmp_path, 20, eventually)


def to_list(tmp_path, times):
    """Each row is in the list once; the server has on disk what it has confirmed."""
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    server = Restarted(tmp_path, durable)
    server.start()
    options = {"address": server.address, "target": "list", "target.key_prefix": "l"}
    try:
        with (
            open_writer("redis", tmp_path, **options) as sink,
            writing(sink) as written,
        ):
            killed(server, written, times, lambda server: server.kill())
        found = [json.loads(one)["n"] for one in server.values()]
    finally:
        server.kill()
    assert found == list(range(len(written) * ROWS))


class Restarted:
    """A redis-server that is killed and started again on its port."""

    def __init__(self, folder, settings):
        self._folder, self._settings = folder, settings
        self._port = None
        self._running = self._server = None

    def start(self):
        self._running = running(self._folder, *self._settings, port=self._port)
        self._server = self._running.__enter__()
        self._port, self.address = self._server.port, self._server.address

    def values(self):
        return self._server.client.lrange("l", 0, -1)

    def kill(self):
        self._server.kill()


@turn_of("list", TURNS, "feeds")
def test_each_row_is_in_a_list_once_though_its_server_is_killed(tmp_path):
    to_list(tmp_path, 2)


@pytest.mark.long("feeds")
def test_each_row_is_in_a_list_once_though_its_server_is_killed_often(tmp_path):
    to_list(tmp_path, 20)


@pytest.mark.parametrize("connector", of_the_day(["mqtt", "nats"], "feeds"))
def test_a_server_that_hangs_gets_each_row_when_it_wakes(
    tmp_path, connector, eventually, monkeypatch
):
    monkeypatch.setattr("arroyo_nb.feeds.connectors.mqtt._sink.ANSWER_S", 0.5)
    monkeypatch.setattr("arroyo_nb.feeds.connectors.nats._sink.ACK_S", 1)
    make = {"mqtt": mosquitto, "nats": nats_server}[connector]
    with make(tmp_path) as server:
        host = f"127.0.0.1:{server.port}"
        options = {"url": f"mqtt://{host}", "topic": "s/out", "qos": "AtLeastOnce"}
        if connector == "nats":
            nats.add_stream(server.port, "s", "s.>")
            options = {"servers": host, "subject": "s.out"}
        with (
            open_writer(connector, tmp_path, **options) as sink,
            writing(sink) as written,
        ):
            eventually(lambda: len(written) > 2)
            server.hang()
            hung = len(written)
            time.sleep(2)
            assert len(written) <= hung + 1
            server.wake()
            eventually(lambda: len(written) > hung + 2)
