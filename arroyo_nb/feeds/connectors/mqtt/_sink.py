"""Rows as messages of an MQTT topic."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from arroyo_nb.errors import DataProblem, RunProblem, Unreached
from arroyo_nb.feeds.connectors.mqtt._client import (
    ANSWER_S,
    Broker,
    MqttClient,
    OldBroker,
)
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.feeds.sink import PIECE_MESSAGES

if TYPE_CHECKING:
    import pyarrow as pa
    from paho.mqtt.client import Client
    from paho.mqtt.reasoncodes import ReasonCode

OLD_RECEIVE_MAXIMUM = 20
"""How many messages a broker of MQTT 3.1.1, which does not say, is sent before one is
confirmed."""

_FULL = 151
"""The reason code of a broker that takes no more for now."""

_HEADER_BYTES = 64
"""About what a packet has beside its topic and its payload, at most."""


class MqttPublisher:
    """Publishes to one topic, over one connection.

    Parameters
    ----------
    broker
        Where it is.
    topic
        Its name.
    qos
        0, 1 or 2.
    retain
        Whether the broker keeps the newest message.
    is_old
        Whether MQTT 3.1.1 is spoken.
    """

    def __init__(
        self, broker: Broker, topic: str, qos: int, *, retain: bool, is_old: bool
    ) -> None:
        self._broker = broker
        self._topic = topic
        self._qos = qos
        self._retain = retain
        self._changed = threading.Condition()
        # How many are confirmed, since when nothing was, and what the broker refused.
        self._confirmed = 0
        self._confirmed_s = 0.0
        self._refused: RunProblem | None = None
        self._client = MqttClient(
            broker, broker.client_id(), is_old=is_old, on_lost=self._wake
        )
        self._client.client.on_publish = self._published
        usual = OLD_RECEIVE_MAXIMUM if is_old else PIECE_MESSAGES
        self._most = int(self._client.limits.get("ReceiveMaximum", usual))
        self._check_qos()

    def _check_qos(self) -> None:
        highest = int(self._client.limits.get("MaximumQoS", 2))
        if self._qos > highest:
            self.close()
            raise self._broker.refusal(
                "cannot do what is asked by",
                f"its highest QoS is {highest}",
                "look at the option 'qos'",
            )

    def send(self, rows: pa.Table, batch_id: int) -> None:  # noqa: ARG002
        """Publish messages in order, and wait until the broker has confirmed all."""
        payloads = rows[VALUE].to_pylist()
        self._check_sizes(payloads)
        with self._changed:
            self._confirmed, self._confirmed_s = 0, time.monotonic()
        for number, payload in enumerate(payloads):
            self._await(number + 1 - self._most)
            self._client.client.publish(
                self._topic, payload, self._qos, retain=self._retain
            )
        self._await(len(payloads))

    def _check_sizes(self, payloads: list[bytes]) -> None:
        most = self._client.limits.get("MaximumPacketSize", 2**28)
        limit = min(int(most), self._broker.max_packet_bytes or 2**28)
        room = limit - _HEADER_BYTES - len(self._topic.encode())
        largest = max(map(len, payloads))
        if largest > room:
            raise DataProblem(
                f"a row of '{self._broker.table}' is a message of {largest:,} bytes; "
                f"{self._broker.name} takes {limit:,}",
                hint="look at 'max_packet_size', and at the settings of the broker",
            )

    def _await(self, count: int) -> None:
        """Wait until so many of a piece are confirmed."""
        with self._changed:
            while self._confirmed < count:
                self._client.check()
                if self._refused is not None:
                    raise self._refused
                left_s = self._confirmed_s + ANSWER_S - time.monotonic()
                if left_s <= 0:
                    raise self._broker.away("it confirms nothing")
                self._changed.wait(left_s)
            if self._refused is not None:
                raise self._refused

    def close(self) -> None:
        """Disconnect."""
        self._client.close()

    def _published(
        self, _client: Client, _data: object, _mid: int, reason: ReasonCode, *_: object
    ) -> None:
        with self._changed:
            self._confirmed += 1
            self._confirmed_s = time.monotonic()
            if reason.is_failure and self._refused is None:
                self._refused = self._refusal(reason)
            self._changed.notify_all()

    def _refusal(self, reason: ReasonCode) -> RunProblem:
        if reason.value == _FULL:
            return Unreached(self._broker.away(str(reason)).message)
        return self._broker.refusal(
            f"refuses messages to '{self._topic}' of",
            str(reason),
            "look at the option 'topic', and at what the login may write",
        )

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def connect(broker: Broker, topic: str, qos: int, *, retain: bool) -> MqttPublisher:
    """A new connection to publish over.

    Raises
    ------
    Unreached
        When the broker does not answer.
    RunProblem
        When it refuses.
    """
    try:
        return MqttPublisher(broker, topic, qos, retain=retain, is_old=False)
    except OldBroker:
        return MqttPublisher(broker, topic, qos, retain=retain, is_old=True)
