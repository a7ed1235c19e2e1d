"""A mosquitto of a test's own, on a free port of loopback; and who publishes to it."""

from __future__ import annotations

import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from paho.mqtt.client import CallbackAPIVersion, Client, MQTTMessage, MQTTv5
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from server_process import ServerProcess, free_port, program

DURABLE = ("persistence true", "max_queued_messages 0", "autosave_interval 3600")
"""It keeps the messages of clients that are away, on disk when it ends."""


def mosquitto(
    folder: Path, *settings: str, users: Sequence[tuple[str, str]] = ()
) -> ServerProcess:
    """A broker that is not started yet."""
    server, port = program("mosquitto"), free_port()
    login = "allow_anonymous true"
    if users:
        passwords = folder / "passwords"
        passwords.touch()
        for name, password in users:
            subprocess.run(
                [program("mosquitto_passwd"), "-b", passwords, name, password],
                check=True,
                capture_output=True,
            )
        login = f"allow_anonymous false\npassword_file {passwords}"
    lines = [f"listener {port} 127.0.0.1", login, f"persistence_location {folder}/"]
    config = folder / "mosquitto.conf"
    config.write_text("\n".join([*lines, "user root", *settings, ""]))
    return ServerProcess([server, "-c", str(config)], port, folder / "mosquitto.log")


@contextmanager
def client(port: int) -> Iterator[Client]:
    """A client of a test, connected; one that is away for a while misses nothing."""
    name = f"test-{secrets.token_hex(4)}"
    made = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=MQTTv5)
    made.max_inflight_messages_set(20)
    made.reconnect_delay_set(1, 1)
    connected = threading.Event()
    made.on_connect = lambda *_: connected.set()
    kept = Properties(PacketTypes.CONNECT)
    kept.SessionExpiryInterval = 3_600
    made.connect("127.0.0.1", port, clean_start=False, properties=kept)
    made.loop_start()
    try:
        assert connected.wait(10)
        yield made
    finally:
        made.disconnect()
        made.loop_stop()


def publish(
    port: int, payloads: Iterable[bytes], topic: str = "rooms/a", qos: int = 1
) -> None:
    """Publish messages, and wait until the broker has them."""
    with client(port) as made:
        for sent in [made.publish(topic, payload, qos) for payload in payloads]:
            sent.wait_for_publish(20)
            assert sent.is_published()


@contextmanager
def subscribed(
    port: int, topic: str = "#", qos: int = 1
) -> Iterator[list[MQTTMessage]]:
    """What comes to a topic while the block lasts."""
    got: list[MQTTMessage] = []
    ready = threading.Event()
    with client(port) as made:
        made.on_message = lambda _client, _data, message: got.append(message)
        made.on_subscribe = lambda *_: ready.set()
        made.subscribe(topic, qos)
        assert ready.wait(10)
        yield got


HELLO = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05flood"
"""Who connects by MQTT 3.1.1 as the client 'flood'."""


def flood(port: int, topic: str, payload: bytes, per_s: int, seconds: int) -> int:
    """Publish so many messages a second with QoS 0, without the library, which is too
    slow; returns how many were sent."""
    content = len(topic).to_bytes(2, "big") + topic.encode() + payload
    packet = b"\x30" + bytes([len(content)]) + content
    began_s, sent, count = time.monotonic(), 0, per_s // 100
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HELLO)
        connection.recv(4)
        for tick in range(100 * seconds):
            connection.sendall(packet * count)
            sent += count
            time.sleep(max(0.0, began_s + tick / 100 - time.monotonic()))
    return sent


REFUSED = b"\x20\x02\x00\x01"
"""The answer of a broker that does not know the version of the protocol."""


@contextmanager
def without_mqtt_5(port: int) -> Iterator[int]:
    """A port in front of a broker, which refuses who speaks MQTT 5."""
    with serving(lambda one: _pass_on(one, port)) as front:
        yield front


@contextmanager
def cut_before_subscriptions(port: int, content: bytes) -> Iterator[int]:
    """A port in front of a broker. What the first client sends behind its CONNECT is
    lost, and its connection ends when the broker has sent some content."""
    others: list[socket.socket] = []

    def answer(one: socket.socket) -> None:
        others.append(one)
        if len(others) > 1:
            _pass_on(one, port, by_any_version=True)
            return
        with one, socket.create_connection(("127.0.0.1", port)) as other:
            other.sendall(one.recv(4096))
            sent = b""
            while content not in sent:
                sent += other.recv(65_536)
            one.sendall(sent)
            one.shutdown(socket.SHUT_WR)
            while one.recv(4096):
                pass

    with serving(answer) as front:
        yield front


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose connections are answered, each in a thread."""

    def serve() -> None:
        with suppress(OSError):  # the block has ended
            while True:
                one, _ = server.accept()
                threading.Thread(target=answer, args=(one,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


CONNACK, SUBACK = b"\x20\x03\x00\x00\x00", b"\x90\x04\x00\x01\x00\x00"
"""Of MQTT 5: a new session, and QoS 0 for the first subscription."""


@contextmanager
def sending(packet: bytes) -> Iterator[int]:
    """The port of a broker that sends one packet to whoever subscribes."""

    def answer(one: socket.socket) -> None:
        with one, suppress(OSError):
            one.recv(4096)
            one.sendall(CONNACK)
            one.recv(4096)
            one.sendall(SUBACK + packet)
            while one.recv(4096):
                pass

    with serving(answer) as port:
        yield port


def _pass_on(one: socket.socket, port: int, *, by_any_version: bool = False) -> None:
    with one, socket.create_connection(("127.0.0.1", port)) as other:
        first = one.recv(4096)
        # The version is behind the name of the protocol.
        if first[first.index(b"MQTT") + 4] == 5 and not by_any_version:
            one.sendall(REFUSED)
            return
        other.sendall(first)
        back = threading.Thread(target=_pump, args=(other, one), daemon=True)
        back.start()
        _pump(one, other)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
