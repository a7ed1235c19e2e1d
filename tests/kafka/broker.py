"""A Kafka broker of a test's own, in KRaft mode, on free ports of loopback.

It is what :class:`arroyo_nb.kafka.LocalBroker` will be for these tests: the same names.
The folder with its jars is named by ``ARROYO_NB_BROKER_JARS``.
"""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

START_S = 60

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl},\
CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,\
SASL:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required \
user_alice="wonder,land";
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=8388608
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
auto.create.topics.enable=false
"""
USER, PASSWORD = "alice", "wonder,land"


def free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


class TestBroker:
    """A broker that is up once it is made; ``bootstrap_servers`` is where."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        jars = os.environ.get("ARROYO_NB_BROKER_JARS")
        if jars is None:
            pytest.skip("ARROYO_NB_BROKER_JARS names no folder with Kafka's jars")
        self._jars = jars
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        plain, sasl, controller = free_ports(3)
        self.bootstrap_servers = f"127.0.0.1:{plain}"
        self.sasl_servers = f"127.0.0.1:{sasl}"
        self._settings = folder / "server.properties"
        self._settings.write_text(
            _PROPERTIES.format(
                plain=plain, sasl=sasl, controller=controller, folder=folder
            )
        )
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        formatting = ("format", "-t", cluster, "-c", str(self._settings))
        subprocess.run(
            self._java("kafka.tools.StorageTool", *formatting),
            check=True,
            capture_output=True,
        )
        self.start()

    def _java(self, *arguments: str) -> list[str]:
        flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        return ["java", *flags, "-cp", f"{self._jars}/*", *arguments]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "out.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._settings)),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_S
        client = AdminClient(
            {"bootstrap.servers": self.bootstrap_servers, "log_level": 0}
        )
        while True:
            try:
                client.list_topics(timeout=0.5)
            except Exception:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop it; its topics stay."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    close = stop

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Make a topic, and wait until it is there."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)
