"""Rows as messages of a NATS subject.

Where a stream of JetStream has the subject, each message is confirmed by it. A message
has an identifier, so the server leaves out one that comes again within the stream's
duplicate window. It is made of what the message says, and not of its place: a batch
that is computed again may have its rows in another order.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.errors import DataProblem, Unreached
from arroyo_nb.feeds.connectors.nats._client import NatsClient, Servers
from arroyo_nb.feeds.payloads import VALUE
from arroyo_nb.sink_notes import Notes

if TYPE_CHECKING:
    import pyarrow as pa

ID = "id"
"""The column of the identifiers of messages."""

_ID_HEADER = "Nats-Msg-Id"

ACK_S = 5
"""How long the server may take to confirm a message."""

FIND_S = 2
"""How long JetStream may take to say which stream has a subject."""


def sink_id(state: Path) -> str:
    """What the identifiers of a sink's messages begin with; kept in its state folder,
    by chance so that no two sinks have the same."""
    notes = Notes(state / "nats.json")
    saved = notes.read()
    if saved is None:
        saved = {"id": secrets.token_hex(8)}
        notes.write(saved)
    return str(saved["id"])


def identified(prefix: str) -> Callable[[pa.Table, int], pa.Table]:
    """What gives each message of a batch its identifier.

    >>> import pyarrow as pa
    >>> rows = pa.table({VALUE: [b"a", b"b", b"a"]})
    >>> [i.split("/")[2] for i in identified("sink")(rows, 7)["id"].to_pylist()]
    ['0', '0', '1']
    """

    def identify(messages: pa.Table, batch_id: int) -> pa.Table:
        import pyarrow as pa

        seen: Counter[bytes] = Counter()
        names = []
        for payload in messages[VALUE].to_pylist():
            digest = blake2b(payload, digest_size=16).digest()
            names.append(f"{prefix}-{batch_id}/{digest.hex()}/{seen[digest]}")
            seen[digest] += 1
        return messages.append_column(ID, pa.array(names, pa.string()))

    return identify


_NOT_ENABLED = (10039, 10076)
"""JetStream's errors where an account, or the server, has none."""


@dataclass
class Target:
    """Where rows go, over all connections of a sink.

    Parameters
    ----------
    subject
        Its name.
    has_stream
        Whether a stream has been seen to take it. From then on all rows are confirmed.
    """

    subject: str
    has_stream: bool = False


class NatsPublisher:
    """Publishes to one subject, over one connection.

    Parameters
    ----------
    servers
        Where to.
    target
        Where rows go.
    """

    def __init__(self, servers: Servers, target: Target) -> None:
        self._servers = servers
        self._target = target
        self._subject = target.subject
        self._client = NatsClient(servers)
        self._stream = self._client.client.jetstream(timeout=ACK_S)
        # None: that was not asked yet.
        self._confirms: bool | None = target.has_stream or None

    def send(self, rows: pa.Table, batch_id: int) -> None:  # noqa: ARG002
        """Publish messages in order, and wait until the server has confirmed all."""
        payloads, ids = rows[VALUE].to_pylist(), rows[ID].to_pylist()
        self._check_sizes(payloads)
        if self._confirms is None:
            self._confirms = self._client.call(self._finds_stream())
            self._target.has_stream = self._confirms
        send = self._confirmed if self._confirms else self._flushed
        self._client.call(send(payloads, ids), 2 * ACK_S)
        # A subject that may not be written is told behind the answer.
        self._client.check()

    def _check_sizes(self, payloads: Sequence[bytes]) -> None:
        most, largest = self._client.client.max_payload, max(map(len, payloads))
        if largest > most:
            raise DataProblem(
                f"a row of '{self._servers.table}' is a message of {largest:,} bytes; "
                f"{self._servers.name} takes {most:,}",
                hint="look at 'max_payload' in the settings of the server",
            )

    async def _finds_stream(self) -> bool:
        """Whether a stream has the subject; who may not ask is taken to have none.

        Raises
        ------
        Unreached
            When that is not known now: JetStream may be choosing its leader.
        """
        from nats.js.errors import APIError, NotFoundError

        stream = self._client.client.jetstream(timeout=FIND_S)
        asking = stream.find_stream_name_by_subject(self._subject)
        try:
            # It may be allowed to publish and nothing else.
            found = await self._client.unless_refused(asking, "$js.api.stream.names")
        except NotFoundError:
            return False
        except APIError as problem:
            nobody = problem.err_code is None and not self._client.client.has_streams
            if nobody or problem.err_code in _NOT_ENABLED:
                return False
            why = problem.description or "JetStream does not answer"
            raise self._servers.away(why) from problem
        except TimeoutError as problem:
            raise self._servers.problem(problem) from problem
        return found is not None

    async def _confirmed(self, payloads: Sequence[bytes], ids: Sequence[str]) -> None:
        from nats.js.errors import APIError, NoStreamResponseError

        # One after the other, so that they come in order; then all are confirmed.
        sent: list[asyncio.Future[Any]] = []
        try:
            for payload, id_ in zip(payloads, ids, strict=True):
                headers = {_ID_HEADER: id_}
                sent.append(
                    await self._stream.publish_async(
                        self._subject, payload, headers=headers
                    )
                )
            await asyncio.gather(*sent)
        except NoStreamResponseError:
            # The stream was deleted, or its server is just starting.
            why = f"no stream takes '{self._subject}' any more"
            raise self._servers.away(why) from None
        except APIError as problem:
            why = problem.description or str(problem)
            if problem.code == 503:
                raise Unreached(self._servers.away(why).message) from problem
            what = f"refuses messages to '{self._subject}' of"
            raise self._servers.refusal(what, why) from problem
        finally:
            for one in sent:
                one.cancel()

    async def _flushed(self, payloads: Sequence[bytes], ids: Sequence[str]) -> None:
        client = self._client.client
        for payload, id_ in zip(payloads, ids, strict=True):
            await client.publish(self._subject, payload, headers={_ID_HEADER: id_})
        await self._client.flush(ACK_S)

    def close(self) -> None:
        """Disconnect."""
        self._client.close()
