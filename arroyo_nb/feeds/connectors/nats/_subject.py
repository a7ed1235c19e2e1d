"""Messages of a NATS subject, as a feed receives them.

A server keeps none of them: what is sent while there is no connection is missing, and
so is what comes faster than it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from arroyo_nb.feeds import Message
from arroyo_nb.feeds.connectors.nats._client import NatsClient, Servers
from arroyo_nb.tape.clock import EvenClock

if TYPE_CHECKING:
    import pyarrow as pa
    from nats.aio.msg import Msg

    from arroyo_nb.tape import Position

QUEUE_MESSAGES, QUEUE_BYTES = 50_000, 16 * 2**20
"""What was received and not yet taken, at most."""


class SubjectConnection:
    """One connection that has subscribed to a subject.

    Parameters
    ----------
    servers
        Where to.
    subject
        What is subscribed to; may have wildcards.
    arrivals
        When messages come.
    """

    resumes = False

    def __init__(self, servers: Servers, subject: str, arrivals: EvenClock) -> None:
        self._arrivals = arrivals
        self.lost_messages = 0
        self._changed = threading.Condition()
        self._messages: list[Message] = []
        self._size_bytes = 0
        self._client = NatsClient(servers, on_lost=self._wake, on_slow=self._lose)
        try:
            self._client.call(self._subscribe(subject))
            # A subject that may not be read is told behind the answer to this.
            self._client.check()
        except BaseException:
            self.close()
            raise

    async def _subscribe(self, subject: str) -> None:
        client = self._client.client
        await client.subscribe(subject, cb=self._put)
        await self._client.flush()

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """What has come (see :class:`arroyo_nb.feeds.Connection`)."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._messages or self._client.failure, timeout_s
            )
            taken, self._messages = self._messages, []
            self._size_bytes = 0
        if not taken:
            self._client.check()
        return taken

    def acknowledge(self, position: Position | None) -> None:
        """Nothing: the server keeps no message."""

    def close(self) -> None:
        """Disconnect."""
        self._client.close()

    async def _put(self, message: Msg) -> None:
        with self._changed:
            full = len(self._messages) >= QUEUE_MESSAGES
            if full or self._size_bytes >= QUEUE_BYTES:
                self.lost_messages += 1
                return
            taken = Message(message.data, self._arrivals.now_us())
            self._messages.append(taken)
            self._size_bytes += taken.size_bytes
            self._changed.notify_all()

    def _lose(self) -> None:
        self.lost_messages += 1

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class SubjectFeed:
    """Receives the messages of a subject.

    Parameters
    ----------
    servers
        Where they are.
    subject
        Its name; may have wildcards.
    """

    metadata: Mapping[str, pa.DataType] = {}

    def __init__(self, servers: Servers, subject: str) -> None:
        self.server = servers.shown
        self._servers = servers
        self._subject = subject
        self._arrivals = EvenClock()

    def connect(self, position: Position | None) -> SubjectConnection:  # noqa: ARG002
        """Connect and subscribe.

        Raises
        ------
        Unreached
            When no server answers.
        RunProblem
            When one refuses.
        """
        return SubjectConnection(self._servers, self._subject, self._arrivals)
