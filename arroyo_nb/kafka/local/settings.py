"""The files that a broker starts from: its settings, and who may log in.

One node is broker and controller at once, in KRaft mode, on loopback. Its internal
topics have one copy and few partitions, and nothing waits for others that may come.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from arroyo_nb.engine.config import LOOPBACK, Setting

NODE = "1"

SETTINGS = (
    Setting("process.roles", "broker,controller", "one process is all there is"),
    Setting("node.id", NODE, "what the controller knows it by"),
    Setting("controller.listener.names", "CONTROLLER", "Kafka wants it named"),
    Setting("inter.broker.listener.name", "PLAINTEXT", "Kafka wants it named"),
    Setting(
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "listeners are named after what they are for",
    ),
    Setting("broker.session.timeout.ms", "1000", "after kill -9 it waits that long"),
    Setting("broker.heartbeat.interval.ms", "250", "several fit into a session"),
    Setting("group.initial.rebalance.delay.ms", "0", "nobody else will join a group"),
    Setting("auto.create.topics.enable", "false", "a misspelt topic is an error"),
    Setting("log.retention.ms", "-1", "a record may be as old as its own time"),
    Setting("offsets.topic.replication.factor", "1", "there is one node"),
    Setting("offsets.topic.num.partitions", "4", "50 take time to open"),
    Setting("transaction.state.log.replication.factor", "1", "there is one node"),
    Setting("transaction.state.log.min.isr", "1", "there is one node"),
    Setting("transaction.state.log.num.partitions", "4", "50 take time to open"),
    Setting("share.coordinator.state.topic.replication.factor", "1", "one node"),
    Setting("share.coordinator.state.topic.min.isr", "1", "one node"),
    Setting("share.coordinator.state.topic.num.partitions", "1", "50 take time"),
    Setting("num.network.threads", "2", "a notebook's machine has few cores"),
    Setting("num.io.threads", "2", "a notebook's machine has few cores"),
    Setting("background.threads", "2", "a notebook's machine has few cores"),
    Setting("num.recovery.threads.per.data.dir", "1", "few cores"),
    Setting("log.cleaner.dedupe.buffer.size", "8388608", "128 MB of a small heap"),
)


class Ports(NamedTuple):
    """Where a broker listens on loopback.

    Attributes
    ----------
    clients
        For everybody.
    sasl
        For those who log in.
    controller
        For itself.
    """

    clients: int
    sasl: int
    controller: int


def free_ports() -> Ports:
    """Ports that nobody listens on, below those that the system deals out.

    One of those could be given to an outgoing connection while the broker is down; a
    client that tries to connect again would in the end connect to itself.
    """
    first, found = _first_dealt_out(), set[int]()
    while len(found) < len(Ports._fields):
        port = random.randrange(first // 2, first)
        with suppress(OSError), socket.socket() as taken:
            taken.bind((LOOPBACK, port))
            found.add(port)
    return Ports(*found)


def _first_dealt_out() -> int:
    file = Path("/proc/sys/net/ipv4/ip_local_port_range")
    with suppress(OSError, ValueError):
        first = int(file.read_text(encoding="ascii").split()[0])
        return max(first, 4096)
    return 32_768


def server_properties(data: Path, ports: Ports, users: Mapping[str, str]) -> str:
    """The text of a broker's settings file.

    Parameters
    ----------
    data
        The folder of its log.
    ports
        Where it listens.
    users
        Passwords by name, of those who may log in; with none there is no such port.
    """
    outside = [f"PLAINTEXT://{LOOPBACK}:{ports.clients}"]
    if users:
        outside.append(f"SASL://{LOOPBACK}:{ports.sasl}")
    inside = f"CONTROLLER://{LOOPBACK}:{ports.controller}"
    settings = {
        **{setting.key: setting.value for setting in SETTINGS},
        "controller.quorum.voters": f"{NODE}@{LOOPBACK}:{ports.controller}",
        "listeners": ",".join((*outside, inside)),
        "advertised.listeners": ",".join(outside),
        "log.dirs": str(data),
    }
    if users:
        settings["sasl.enabled.mechanisms"] = "PLAIN"
        settings["listener.name.sasl.plain.sasl.jaas.config"] = _login(users)
    return "".join(f"{key}={_value(text)}\n" for key, text in settings.items())


def _login(users: Mapping[str, str]) -> str:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    known = (f'user_{name}="{_in_quotes(word)}"' for name, word in users.items())
    return f"{module} {' '.join(known)};"


def _in_quotes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _value(text: str) -> str:
    # In Java's properties files a backslash escapes.
    return text.replace("\\", "\\\\")
