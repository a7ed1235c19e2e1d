"""Messages of an MQTT topic, as a feed receives them.

With QoS 1 the broker keeps messages for a client that is away: a run that is resumed is
the same client, and a message is acknowledged when it is on disk. So none is missing,
and one may come twice. With QoS 2 MQTT hands a message over before it can be on disk,
and a run that is killed then would lose it: a source that asks for it subscribes with
QoS 1.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arroyo_nb.feeds import Message
from arroyo_nb.feeds.connectors.mqtt._client import Broker, MqttClient, OldBroker
from arroyo_nb.tape.clock import EvenClock

if TYPE_CHECKING:
    import pyarrow as pa
    from paho.mqtt.client import MQTTMessage

    from arroyo_nb.tape import Position

QUEUE_MESSAGES, QUEUE_BYTES = 50_000, 16 * 2**20
"""What was received and not yet taken, at most. What comes with QoS 0 beyond that is
lost; with QoS 1 the broker waits."""


class Unacknowledged:
    """The messages of a client that the broker was not told to be on disk.

    It outlives a connection: what the broker sends again on the next one is known by
    its packet identifier, which no other message has before it is acknowledged.

    Parameters
    ----------
    number
        Of the last message that was received before.
    """

    def __init__(self, number: int) -> None:
        self.number = self._on_disk = number
        self._lock = threading.Lock()
        self._packets: dict[int, tuple[int, int]] = {}
        # Those of this connection, in the order in which they must be acknowledged.
        self._sent: deque[tuple[int, int]] = deque()

    def begin(self, *, has_session: bool) -> None:
        """Another connection begins; without a session the broker knows nothing of the
        one before."""
        with self._lock:
            self._sent.clear()
            if not has_session:
                self._packets.clear()

    def add(self, message: MQTTMessage) -> int | None:
        """The number of a message; None: it was received before."""
        content = hash((message.topic, message.payload))
        with self._lock:
            number, known = self._packets.get(message.mid, (0, 0))
            if message.dup and number and known == content:
                self._sent.append((number, message.mid))
                return None
            self.number += 1
            self._packets[message.mid] = self.number, content
            self._sent.append((self.number, message.mid))
            return self.number

    def store(self, number: int) -> None:
        """All messages up to this one are on disk."""
        with self._lock:
            self._on_disk = max(self._on_disk, number)

    def take(self) -> Sequence[int]:
        """The packets that can be acknowledged now, once each."""
        taken = []
        with self._lock:
            while self._sent and self._sent[0][0] <= self._on_disk:
                _, mid = self._sent.popleft()
                self._packets.pop(mid, None)
                taken.append(mid)
        return taken


class MqttConnection:
    """One connection of a client that has subscribed.

    Parameters
    ----------
    broker, client_id, is_old
        As of :class:`MqttClient`.
    topic, qos
        What is subscribed to.
    is_kept
        Whether a run may go on where this one ends.
    unacknowledged
        What the broker may send again.
    arrivals
        When messages come.
    """

    def __init__(
        self,
        broker: Broker,
        client_id: str,
        topic: str,
        qos: int,
        *,
        is_old: bool,
        is_kept: bool,
        unacknowledged: Unacknowledged,
        arrivals: EvenClock,
    ) -> None:
        self.lost_messages = 0
        self._client_id = client_id
        self._is_kept = is_kept
        self._unacknowledged = unacknowledged
        self._changed = threading.Condition()
        self._arrivals = arrivals
        # What the library has received, and when. A message gets its number when it is
        # taken: the broker sends those again that were not.
        self._messages: list[tuple[MQTTMessage, int]] = []
        self._size_bytes = 0
        self._closing = False
        self._client = MqttClient(
            broker,
            client_id,
            keeps_session=qos > 0,
            is_old=is_old,
            topic=(topic, qos),
            on_message=self._put,
            on_lost=self._wake,
        )
        self.resumes = qos > 0 and self._client.has_session
        unacknowledged.begin(has_session=self.resumes)
        try:
            self._client.await_subscription(lambda: self._is_full)
        except Exception:
            self._end(forget=False)
            raise

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """What has come (see :class:`arroyo_nb.feeds.Connection`)."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._messages or self._client.is_lost, timeout_s
            )
            # While nothing can come between: what is there goes before its end.
            if not self._messages:
                self._client.check()
            taken, self._messages = self._messages, []
            self._size_bytes = 0
            self._changed.notify_all()
        found = [self._message(*one) for one in taken]
        if None in found:
            self._acknowledge()
        return [message for message in found if message is not None]

    def _message(self, message: MQTTMessage, arrived_us: int) -> Message | None:
        """A message with its number; None: it was taken before."""
        position = None
        if message.qos > 0:
            number = self._unacknowledged.add(message)
            if number is None:
                return None
            position = {"client": self._client_id, "number": number}
        payload = bytes(message.payload)
        return Message(payload, arrived_us, position, (message.topic,))

    def acknowledge(self, position: Position | None) -> None:
        """Tell the broker that it may forget all messages up to a position."""
        if position is not None:
            self._unacknowledged.store(position["number"])
            self._acknowledge()

    def close(self) -> None:
        """Disconnect; the broker keeps the session, if a run can go on with it: that
        knows its client by the position of a message."""
        goes_on = self._is_kept and self._unacknowledged.number > 0
        self._end(forget=not goes_on)

    def _end(self, *, forget: bool) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._client.close(forget=forget)

    def _acknowledge(self) -> None:
        with self._changed:
            # What is sent again is acknowledged by the next connection.
            is_over = self._closing or self._client.is_lost
            mids = () if is_over else self._unacknowledged.take()
        for mid in mids:
            self._client.client.ack(mid, 1)

    def _put(self, message: MQTTMessage) -> None:
        """Take a message of the library, on its thread."""
        # A topic that is no text is no MQTT: the library's thread ends with its error.
        size_bytes = len(message.topic) + len(message.payload) + 200
        with self._changed:
            if self._is_full and message.qos == 0:
                self.lost_messages += 1
                return
            # Nothing more is read meanwhile, so the broker waits too.
            self._changed.wait_for(lambda: self._closing or not self._is_full)
            if self._closing:
                return
            self._messages.append((message, self._arrivals.now_us()))
            self._size_bytes += size_bytes
            self._changed.notify_all()

    @property
    def _is_full(self) -> bool:
        full = len(self._messages) >= QUEUE_MESSAGES
        return full or self._size_bytes >= QUEUE_BYTES

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class MqttFeed:
    """Receives the messages of a topic.

    Parameters
    ----------
    broker
        Where it is.
    topic
        Its name; may have wildcards.
    qos
        0 or 1.
    """

    own_copies = True

    def __init__(self, broker: Broker, topic: str, qos: int) -> None:
        import pyarrow as pa

        self.metadata: Mapping[str, pa.DataType] = {"topic": pa.string()}
        self.server = broker.shown
        self._broker = broker
        self._topic = topic
        self._qos = qos
        self._is_old = False
        self._is_kept = True
        self._client_id: str | None = None
        self._unacknowledged = Unacknowledged(0)
        self._arrivals = EvenClock()

    def forget(self) -> None:
        """No run goes on (see :class:`arroyo_nb.feeds.Forgettable`)."""
        self._is_kept = False

    def connect(self, position: Position | None) -> MqttConnection:
        """Connect as the client that has received up to a position.

        Raises
        ------
        Unreached
            When the broker does not answer.
        RunProblem
            When it refuses.
        """
        if self._client_id is None and position is not None:
            self._client_id = str(position["client"])
            self._unacknowledged = Unacknowledged(position["number"])
        self._client_id = self._client_id or self._broker.client_id()
        try:
            return self._connection()
        except OldBroker:
            self._is_old = True
            return self._connection()

    def _connection(self) -> MqttConnection:
        assert self._client_id is not None, "it has been chosen"
        return MqttConnection(
            self._broker,
            self._client_id,
            self._topic,
            self._qos,
            is_old=self._is_old,
            is_kept=self._is_kept,
            unacknowledged=self._unacknowledged,
            arrivals=self._arrivals,
        )
