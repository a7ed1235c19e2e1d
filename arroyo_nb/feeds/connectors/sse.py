"""``sse``: the events that a server sends over HTTP (arroyo-semantics b.2).

A server that numbers its events is asked, by ``Last-Event-ID``, for those behind the
last one that was received; of any other server, events of the time without a connection
are missing. Of events that share an id, a cut between them loses those behind it, or
brings those before it again: what the server sends for that id is its choice. An event
that a cut has left half is none.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import ConnectorInfo, Direction, TableSpec
from arroyo_nb.errors import RunProblem, Unreached
from arroyo_nb.feeds import READING, Connection, Feed, FeedEnded, Message
from arroyo_nb.feeds.answer_socket import end_reading, probe_silence
from arroyo_nb.feeds.background_reader import BackgroundReader
from arroyo_nb.feeds.client_logs import unlogged
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.event_stream import (
    CONTENT_TYPE,
    LARGEST_EVENT_BYTES,
    EventParser,
)
from arroyo_nb.feeds.headers import HEADERS, Headers, endpoint_option
from arroyo_nb.feeds.http import new_client, send
from arroyo_nb.feeds.http_errors import LONGEST_WAIT_S, NO_CONTENT, http_failures
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.url_source import UrlSource, content_type
from arroyo_nb.formats import Framing
from arroyo_nb.tape import Position
from arroyo_nb.tape.clock import EvenClock
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    import httpx
    import pyarrow as pa

_ASKS: Headers = (
    ("Accept", CONTENT_TYPE),
    ("Cache-Control", "no-store"),
    # What is compressed is often held back until there is more of it.
    ("Accept-Encoding", "identity"),
)
_ID = "id"

LONGEST_ID_BYTES = 8_000
"""Servers take no longer headers: behind an event whose id is longer none can go on."""


class EventFeed(Feed):
    """The events of one URL.

    Parameters
    ----------
    endpoint
        Where they are.
    events
        Names of those that are kept; empty: all are.
    """

    metadata: Mapping[str, pa.DataType] = MappingProxyType({})

    def __init__(self, endpoint: Endpoint, events: frozenset[str]) -> None:
        self.server = endpoint.shown
        self.retry_s: float | None = None
        self._endpoint = endpoint
        self._events = events
        self._arrivals = EvenClock()

    def connect(self, position: Position | None) -> Connection:
        """Connect, behind an event that had an id."""
        # An empty id takes back the one before, and not every text can be a header:
        # there is none to go on after.
        known = str(position[_ID]).strip() if position else ""
        last_id = known if known.isprintable() else ""
        asks = (*_ASKS, ("Last-Event-ID", last_id)) if last_id else _ASKS
        client = new_client()
        try:
            answer = send(client, self._endpoint, headers=asks)
            try:
                self._check(answer)
            except RunProblem:
                answer.close()
                raise
        except RunProblem as problem:
            client.close()
            raise self.with_retry(problem) from problem.__cause__
        return EventConnection(self, client, answer, last_id)

    def _check(self, answer: httpx.Response) -> None:
        """Refuse what is no stream of events."""
        if answer.status_code == NO_CONTENT:
            raise FeedEnded(
                self._endpoint.refused("has ended its stream (204)").message
            )
        found = answer.headers.get("content-type", "nothing").partition(";")[0]
        if found.strip().lower() != CONTENT_TYPE:
            raise self._endpoint.refused(
                f"answers {self._endpoint.clean(found)}, not {CONTENT_TYPE}",
                hint="check 'endpoint'; %arroyo peek URL finds out what is there",
            )

    def with_retry(self, problem: RunProblem) -> RunProblem:
        """The problem, with the wait that the server has asked for."""
        if isinstance(problem, Unreached) and problem.retry_after_s is None:
            problem.retry_after_s = self.retry_s
        return problem

    def messages(
        self, answer: httpx.Response, last_id: str
    ) -> Generator[Sequence[Message]]:
        """The events of an answer, as they come; it is closed at its end."""
        parser, endpoint = EventParser(last_id or None), self._endpoint
        try:
            with http_failures(endpoint), unlogged():
                for data in answer.iter_bytes():
                    arrived_us = self._arrivals.now_us()
                    events = parser.parse(data)
                    if parser.retry_s is not None:
                        self.retry_s = min(parser.retry_s, LONGEST_WAIT_S)
                    yield [
                        Message(
                            event.data,
                            arrived_us,
                            _position(event.last_id),
                        )
                        for event in events
                        if not self._events or event.name in self._events
                    ]
            raise endpoint.unreached("has ended the answer")
        except OverflowError:
            size = f"{LARGEST_EVENT_BYTES // 2**20} MiB"
            raise endpoint.refused(f"sends an event of more than {size}") from None
        except RunProblem as problem:
            raise self.with_retry(problem) from problem.__cause__
        finally:
            answer.close()


class EventConnection(Connection):
    """One answer, which has no end.

    Parameters
    ----------
    feed
        Whose connection it is.
    client, answer
        What has sent the request, and what came.
    last_id
        The id that the server was asked to go on after; empty: nothing was asked.
    """

    lost_messages = 0

    def __init__(
        self,
        feed: EventFeed,
        client: httpx.Client,
        answer: httpx.Response,
        last_id: str,
    ) -> None:
        self.resumes = bool(last_id)
        self._client = client
        # The first answer came in time. From here on silence is no failure, and the
        # client looks up how long it waits when the reading begins.
        answer.request.extensions["timeout"]["read"] = None
        probe_silence(answer)
        self._reader = BackgroundReader(
            feed.messages(answer, last_id),
            lambda: end_reading(answer),
            f"events {feed.server}",
        )

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """The events that have come."""
        return self._reader.take(timeout_s)

    def acknowledge(self, position: Position | None) -> None:
        """Nothing: the server waits for no word."""

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()
        self._client.close()


class ServerSentEvents(UrlSource):
    """The connector ``sse``."""

    info = ConnectorInfo(
        name="sse",
        doc="server-sent events",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        python_packages=("httpx",),
        reading=READING,
        guarantees=MappingProxyType(
            {
                Direction.SOURCE: "where the server gives each event an id of its own, "
                "a new connection goes on behind the last one: each event that the "
                "server still has is read once; else events of the time without a "
                "connection are missing"
            }
        ),
        options=(
            endpoint_option("URL of the stream"),
            Option(
                "events",
                OptionKind.STRING,
                "names of the events that are kept, with commas; without it all are",
            ),
            HEADERS,
        ),
    )
    schemes = ("http", "https")

    def feed(self, spec: TableSpec) -> Feed:
        """How the events of a source are received."""
        require_package(spec.name, "httpx")
        return EventFeed(Endpoint.of(spec), _names(spec.options.get("events")))

    def gives(self, endpoint: Endpoint) -> bool:
        """Whether a URL gives events."""
        return content_type(endpoint) == CONTENT_TYPE


def _position(last_id: str | None) -> Position | None:
    """Where a connection stands behind an event."""
    if last_id is None:
        return None
    return {_ID: last_id if len(last_id.encode()) <= LONGEST_ID_BYTES else ""}


def _names(text: OptionValue | None) -> frozenset[str]:
    parts = () if text is None else (part.strip() for part in str(text).split(","))
    return frozenset(filter(None, parts))


CONNECTOR = ServerSentEvents()
