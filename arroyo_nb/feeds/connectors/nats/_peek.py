"""A look into JetStream, which leaves no trace there.

Messages are asked for by their number, and not through a consumer: a work queue takes
no second consumer, a stream of interest would keep messages for it, and one that only
looks has nothing to acknowledge.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import PEEKED_MESSAGES, FeedEnded, Message
from arroyo_nb.feeds.connectors.nats._client import NatsClient, Servers
from arroyo_nb.feeds.connectors.nats._jetstream import JetStream

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.tape import Position

REQUESTS = 10
"""How many messages are asked for at once."""

LONGEST_S, MOST_BYTES = 3.0, 16 * 2**20
"""When no more messages are asked for, though there are more."""


class StreamPeekConnection:
    """One connection that reads the newest messages of a stream, and then ends.

    Parameters
    ----------
    servers
        Where to.
    stream
        Its name.
    """

    resumes = False
    lost_messages = 0

    def __init__(self, servers: Servers, stream: str) -> None:
        self._stream = stream
        self._is_read = False
        self._messages: dict[int, Message] = {}
        self._size_bytes = 0
        self._until_s = 0.0
        self._client = NatsClient(servers)
        try:
            self._jetstream = JetStream(self._client, stream)
            self._state = self._jetstream.info()["state"]
        except BaseException:
            self.close()
            raise

    def receive(self, timeout_s: float) -> Sequence[Message]:  # noqa: ARG002
        """The newest messages, the oldest one first; there are no others."""
        if self._is_read:
            which = "other message" if self._messages else "message"
            raise FeedEnded(f"the stream '{self._stream}' has no {which}")
        self._is_read = True
        self._until_s = time.monotonic() + LONGEST_S
        first, last = self._state["first_seq"], self._state["last_seq"]
        # Numbers may be free: each look back is twice as far as the one before.
        begin, span = last + 1, REQUESTS
        while begin > first and self._wants_more:
            end, begin = begin, max(first, begin - span)
            span *= 2
            self._read(begin, end)
        newest = sorted(self._messages)[-PEEKED_MESSAGES:]
        return [self._messages[number] for number in newest]

    @property
    def _wants_more(self) -> bool:
        return len(self._messages) < PEEKED_MESSAGES and not self._is_at_limit

    @property
    def _is_at_limit(self) -> bool:
        return self._size_bytes >= MOST_BYTES or time.monotonic() >= self._until_s

    def _read(self, begin: int, end: int) -> None:
        """Read the messages that have the numbers from one to before another."""
        while begin < end and not self._is_at_limit:
            found = self._client.call(self._request(begin))
            fresh = {n: m for n, m in found.items() if n not in self._messages}
            self._messages.update(fresh)
            self._size_bytes += sum(message.size_bytes for message in fresh.values())
            begin = max(found, default=end) + 1

    async def _request(self, begin: int) -> dict[int, Message]:
        """Messages by their numbers: for each of some numbers the first one that has it
        or a later one, so that nothing is left out before the last."""
        path = f"STREAM.MSG.GET.{self._stream}"
        answers = await asyncio.gather(
            *(
                self._jetstream.request(path, {"seq": number, "next_by_subj": ">"})
                for number in range(begin, begin + REQUESTS)
            )
        )
        found = (self._jetstream.checked(one, missing=True) for one in answers)
        told = (one["message"] for one in found if "message" in one)
        return {one["seq"]: _message(one) for one in told}

    def acknowledge(self, position: Position | None) -> None:
        """Nothing: a look takes nothing away."""

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _message(told: Mapping[str, Any]) -> Message:
    """A message as JetStream has it: it arrived when the stream stored it."""
    stored = datetime.fromisoformat(told["time"])
    payload = base64.b64decode(told.get("data", ""))
    return Message(payload, int(stored.timestamp() * 1_000_000))


class StreamPeekFeed:
    """The newest messages of a stream, once.

    Parameters
    ----------
    servers
        Where they are.
    stream
        Its name.
    """

    metadata: Mapping[str, pa.DataType] = MappingProxyType({})

    def __init__(self, servers: Servers, stream: str) -> None:
        self.server = servers.shown
        self._servers = servers
        self._stream = stream

    def connect(
        self,
        position: Position | None,  # noqa: ARG002
    ) -> StreamPeekConnection:
        """Connect.

        Raises
        ------
        Unreached
            When no server answers.
        RunProblem
            When one refuses, or has no such stream.
        """
        return StreamPeekConnection(self._servers, self._stream)


def streams_keeping(servers: Servers, subject: str) -> Sequence[str]:
    """The streams that keep messages of a subject; none where the server does not say
    so."""
    with suppress(RunProblem):
        client = NatsClient(servers)
        try:
            if client.client.has_streams:
                return JetStream(client, "").names(subject)
        finally:
            client.close()
    return ()
