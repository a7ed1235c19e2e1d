"""Messages of a JetStream stream, as a feed receives them: each exactly once.

A position is the number of a message in its stream. Every connection makes a consumer
of its own that begins behind what is on disk, so messages come in order from there, and
one that comes again is known by its number. Messages are acknowledged when they are on
disk, for streams that keep a message until then.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import Message
from arroyo_nb.feeds.connectors.nats._client import NatsClient, Servers
from arroyo_nb.feeds.connectors.nats._jetstream import JetStream
from arroyo_nb.tape.clock import EvenClock
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from nats.aio.msg import Msg

    from arroyo_nb.tape import Position

PULL_MESSAGES, PULL_BYTES = 5_000, 16 * 2**20
"""What is asked for at once, at most: so much is held beside what was taken."""

PULL_S = 5.0
"""How long a request stays open; one that is not answered for longer by
:data:`SILENT_S` shows that the connection hangs."""

SILENT_S = 3.0

_DELETE_S = 0.4
"""How long the removal of a consumer may take when a connection is closed."""

_NS, _MS = 1_000_000_000, 1_000_000
_PREFIX = "consumer."

_SETTINGS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "ack_wait": ("ack_wait", _NS),
        "num_replicas": ("num_replicas", 1),
        "inactive_threshold": ("inactive_threshold", _NS),
        "rate_limit": ("rate_limit_bps", 1),
        "max_ack_pending": ("max_ack_pending", 1),
        "max_deliver": ("max_deliver", 1),
        "max_waiting": ("max_waiting", 1),
        "max_batch": ("max_batch", 1),
        "max_bytes": ("max_bytes", 1),
        "max_expires": ("max_expires", _MS),
    }
)
"""What the server calls the numbers of the options, and how many of its units each
is."""


@dataclass(frozen=True)
class Consumer:
    """How a stream is read.

    Parameters
    ----------
    stream
        Its name.
    settings
        The settings of the server's consumer.
    """

    stream: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, OptionValue]) -> Consumer:
        """How the stream of a table is read, by its options."""
        given = {
            name.removeprefix(_PREFIX): value
            for name, value in options.items()
            if name.startswith(_PREFIX)
        }
        settings: dict[str, Any] = {
            "ack_policy": str(given.get("ack_policy", "Explicit")).lower(),
            "replay_policy": str(given.get("replay_policy", "Instant")).lower(),
        }
        if description := given.get("description"):
            settings["description"] = str(description)
        if frequency := int(str(given.get("sample_frequency", 0))):
            settings["sample_freq"] = f"{frequency}%"
        subjects = [s.strip() for s in str(given.get("filter_subjects", "")).split(",")]
        if len(subjects) > 1:
            settings["filter_subjects"] = subjects
        elif subjects[0]:
            settings["filter_subject"] = subjects[0]
        for name, (theirs, unit) in _SETTINGS.items():
            value = int(str(given.get(name, -1)))
            if value > 0:
                settings[theirs] = value * unit
        # Without it the server stops after a thousand.
        settings.setdefault("max_ack_pending", -1)
        return cls(str(options["stream"]), settings)

    @property
    def pull_messages(self) -> int:
        """How many messages are asked for at once."""
        return min(PULL_MESSAGES, int(self.settings.get("max_batch", PULL_MESSAGES)))

    def pull_bytes(self, largest: int) -> int:
        """How large they may be together, where one may be as large as that."""
        most = max(PULL_BYTES, 2 * largest)
        return min(most, int(self.settings.get("max_bytes", most)))

    @property
    def pull_ns(self) -> int:
        """How long a request stays open."""
        longest = int(self.settings.get("max_expires", PULL_S * _NS))
        return min(int(PULL_S * _NS), longest)

    @property
    def acknowledges(self) -> bool:
        """Whether the server waits for acknowledgements."""
        return bool(self.settings["ack_policy"] != "none")

    def beginning(self, after: int, *, keeps_unread: bool) -> dict[str, Any]:
        """The settings with the place where it begins.

        Parameters
        ----------
        after
            The number of the last message that is on disk; 0: there is none.
        keeps_unread
            Whether the stream has only what nobody has acknowledged: such a one is
            read from its start.
        """
        if not after or keeps_unread:
            return {**self.settings, "deliver_policy": "all"}
        start = {"deliver_policy": "by_start_sequence", "opt_start_seq": after + 1}
        return {**self.settings, **start}


class StreamConnection:
    """One connection that reads a stream by a consumer of its own.

    Parameters
    ----------
    servers
        Where to.
    consumer
        How it is read.
    received
        The number of the last message that was received; 0: there was none.
    stored
        The number of the last one that is on disk.
    created
        When the stream was made that they are of; None: that is not known.
    names
        The server's consumers that were made before; the one of this connection is left
        in it.
    arrivals
        When messages come.
    """

    lost_messages = 0

    def __init__(
        self,
        servers: Servers,
        consumer: Consumer,
        *,
        received: int,
        stored: int,
        created: str | None,
        names: set[str],
        arrivals: EvenClock,
    ) -> None:
        self.resumes = True
        self.stored = stored
        self._servers = servers
        self._consumer = consumer
        self._last = received
        self._created = created
        self._keeps_unread = False
        self._names = names
        self._arrivals = arrivals
        self._name = f"arroyo-nb-{secrets.token_hex(8)}"
        self._inbox = ""
        self._changed = threading.Condition()
        self._messages: list[Message] = []
        # Where each is acknowledged, oldest first.
        self._replies: deque[tuple[int, str]] = deque()
        self._delivered = 0
        self._asked, self._asked_s = 0, 0.0
        self._client = NatsClient(servers, on_lost=self._wake, on_slow=self._lose)
        self._jetstream = JetStream(self._client, consumer.stream)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        stream = self._consumer.stream
        found = self._jetstream.info()
        self._check_stream(found["state"], found["created"])
        retention = found["config"]["retention"]
        self._keeps_unread = keeps_unread = retention == "workqueue"
        if retention == "limits" and self._last:
            self.resumes = found["state"]["first_seq"] <= self._last + 1
        if keeps_unread:
            # It takes one consumer; the messages stay.
            self._delete_former()
        # What was received is not on disk yet, and a stream of interest has it for as
        # long as a consumer waits for it: a run that is killed now needs it.
        settings = self._consumer.beginning(self.stored, keeps_unread=keeps_unread)
        named = {**settings, "durable_name": self._name}
        self._names.add(self._name)
        self._jetstream.ask(
            f"CONSUMER.DURABLE.CREATE.{stream}.{self._name}",
            {"stream_name": stream, "config": named},
        )
        # Behind the new one: a stream of interest drops what no consumer waits for.
        if not keeps_unread:
            self._delete_former()
        self._client.call(self._subscribe())

    def _check_stream(self, state: Mapping[str, Any], created: str) -> None:
        """Make sure that it is the stream that was read before."""
        why, ends = None, state["last_seq"]
        if ends < self._last:
            why = f"it ends with message {ends:,}, and {self._last:,} were received"
        elif self._created not in (None, created):
            why = f"it was made at {created}, and not at {self._created}"
        if why is not None:
            raise self._servers.refusal(
                f"has another stream '{self._consumer.stream}' now than before for",
                why,
                "start the run with another state folder",
            )
        self._created = created

    def _delete_former(self) -> None:
        for name in self._names - {self._name}:
            path = f"CONSUMER.DELETE.{self._consumer.stream}.{name}"
            self._jetstream.ask(path, {}, missing=True)
            self._names.discard(name)

    async def _subscribe(self) -> None:
        client = self._client.client
        self._inbox = client.new_inbox()
        await client.subscribe(self._inbox, cb=self._put)
        await self._client.flush()

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """What has come (see :class:`arroyo_nb.feeds.Connection`)."""
        self._pull()
        with self._changed:
            self._changed.wait_for(
                lambda: self._messages or self._client.failure, timeout_s
            )
            taken, self._messages = self._messages, []
        if not taken:
            self._client.check()
        return taken

    def _pull(self) -> None:
        """Ask for more messages, unless a request is open."""
        now_s = time.monotonic()
        with self._changed:
            if self._asked > 0:
                if now_s - self._asked_s > PULL_S + SILENT_S:
                    raise self._servers.away("it does not answer")
                return
            self._asked, self._asked_s = self._consumer.pull_messages, now_s
        request = {
            "batch": self._consumer.pull_messages,
            "max_bytes": self._consumer.pull_bytes(self._client.client.max_payload),
            "expires": self._consumer.pull_ns,
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._consumer.stream}.{self._name}"
        client, data = self._client.client, json.dumps(request).encode()
        self._client.soon(lambda: client.publish(subject, data, reply=self._inbox))

    async def _put(self, message: Msg) -> None:
        """Take a message, or the end of a request, on the thread of the event loop."""
        status = (message.headers or {}).get("Status")
        with self._changed:
            if status is not None and not message.reply:
                self._end_request(status, message.headers or {})
                return
            self._asked -= 1
            self._asked_s = time.monotonic()
            told = message.metadata
            if told.sequence.consumer != self._delivered + 1:
                self._fail("a message was lost on its way")
                return
            self._delivered += 1
            sequence = told.sequence.stream
            self._replies.append((sequence, message.reply))
            if sequence <= self._last:
                # It was not acknowledged in time, or to another connection.
                self._acknowledge()
                return
            self._last = sequence
            position = {
                "consumer": self._name,
                "sequence": sequence,
                "created": self._created,
            }
            taken = Message(message.data, self._arrivals.now_us(), position)
            self._messages.append(taken)
            self._changed.notify_all()

    def _end_request(self, status: str, headers: Mapping[str, str]) -> None:
        if status == "100":  # a heartbeat
            return
        gave_nothing = self._asked == self._consumer.pull_messages
        self._asked = 0
        # 404, 408, and a 409 of a limit end a request that was not filled.
        why = headers.get("Description", "the consumer is gone")
        if status == "503" or (status == "409" and "max" not in why.lower()):
            self._fail(why)
        elif status == "409" and gave_nothing and "maxbytes" in why.lower():
            self._refuse_bytes()

    def _refuse_bytes(self) -> None:
        """No request will give the next message."""
        most = self._consumer.pull_bytes(self._client.client.max_payload)
        self._client.failure = self._client.failure or self._servers.refusal(
            f"cannot give the stream '{self._consumer.stream}' to",
            f"its next message is larger than a request of {most:,} bytes",
            "give a larger 'consumer.max_bytes'",
        )
        self._changed.notify_all()

    def _fail(self, why: str) -> None:
        if self._client.failure is None:
            self._client.failure = self._servers.away(why)
        self._changed.notify_all()

    def acknowledge(self, position: Position | None) -> None:
        """Tell the server that messages up to a position are on disk."""
        if position is not None:
            with self._changed:
                self.stored = max(self.stored, position["sequence"])
                self._acknowledge()

    def _acknowledge(self) -> None:
        """Acknowledge what is on disk; while the lock is held."""
        replies = []
        while self._replies and self._replies[0][0] <= self.stored:
            replies.append(self._replies.popleft()[1])
        client = self._client.client

        async def acknowledge() -> None:
            for reply in replies:
                await client.publish(reply, b"+ACK")

        if replies and self._consumer.acknowledges:
            self._client.soon(acknowledge)

    def close(self) -> None:
        """Disconnect; the server keeps the consumer for a while, but for one that would
        keep others out of its stream."""
        if self._keeps_unread and self._client.failure is None:
            path = f"$JS.API.CONSUMER.DELETE.{self._consumer.stream}.{self._name}"
            with suppress(RunProblem):
                self._client.call(self._request_behind(path), _DELETE_S)
        self._client.close()

    async def _request_behind(self, path: str) -> None:
        """Ask JetStream when it has had the acknowledgements."""
        await self._client.flush()
        await self._client.client.request(path, b"", timeout=_DELETE_S)

    def _lose(self) -> None:
        with self._changed:
            self._fail("messages came faster than they were read")

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class StreamFeed:
    """Receives the messages of a stream.

    Parameters
    ----------
    servers
        Where they are.
    consumer
        How it is read.
    """

    metadata: Mapping[str, pa.DataType] = {}

    def __init__(self, servers: Servers, consumer: Consumer) -> None:
        self.server = servers.shown
        self._servers = servers
        self._consumer = consumer
        self._connection: StreamConnection | None = None
        self._names: set[str] = set()
        self._arrivals = EvenClock()

    def connect(self, position: Position | None) -> StreamConnection:
        """Connect, and read on behind a position.

        Raises
        ------
        Unreached
            When no server answers.
        RunProblem
            When one refuses, or there is no such stream.
        """
        received = int(position["sequence"]) if position else 0
        # What the first one begins behind is on the tape.
        before = self._connection
        if position is not None:
            self._names.add(str(position["consumer"]))
        self._connection = StreamConnection(
            self._servers,
            self._consumer,
            received=received,
            stored=received if before is None else before.stored,
            created=position.get("created") if position else None,
            names=self._names,
            arrivals=self._arrivals,
        )
        return self._connection
