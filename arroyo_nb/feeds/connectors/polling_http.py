"""``polling_http``: a URL that is asked again and again (arroyo-semantics b.2).

Each answer is a message. With ``emit_behavior = 'changed'`` the hash of the newest one
is kept with the run, so that the same answer is no row again after a restart; where the
server gives its answers tags, one that has not changed is not even sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import ConnectorInfo, Direction, TableSpec
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import READING, Connection, Feed, Message
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.event_stream import CONTENT_TYPE
from arroyo_nb.feeds.headers import HEADERS, Headers, endpoint_option
from arroyo_nb.feeds.http import new_client, send
from arroyo_nb.feeds.http_errors import NO_CONTENT, NOT_MODIFIED, http_failures
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.url_source import UrlSource, content_type
from arroyo_nb.formats import Framing
from arroyo_nb.tape import Position
from arroyo_nb.tape.clock import EvenClock
from arroyo_nb.with_options import Option, OptionKind

if TYPE_CHECKING:
    import httpx
    import pyarrow as pa

LARGEST_ANSWER_BYTES = 5 * 10**6
"""What an answer may have; one that is larger ends the run."""

LONGEST_ANSWER_S = 60.0
"""How long an answer may take; a slow server that sends for ever gives none."""

_HASH, _TAG = "hash", "etag"


@dataclass(frozen=True)
class Polls:
    """How a URL is polled.

    Parameters
    ----------
    method, body
        Of each request; None: without a body.
    interval_s
        Between the beginnings of two requests.
    only_changed
        Whether an answer is left out that is the same as the one before.
    """

    method: str = "GET"
    body: bytes | None = None
    interval_s: float = 1.0
    only_changed: bool = False


class PollingFeed(Feed):
    """The answers of one URL.

    Parameters
    ----------
    endpoint
        Where they are.
    polls
        How it is asked.
    clock
        A monotonic clock, in seconds.
    """

    metadata: Mapping[str, pa.DataType] = MappingProxyType({})

    def __init__(
        self,
        endpoint: Endpoint,
        polls: Polls,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = endpoint.shown
        self._endpoint = endpoint
        self._polls = polls
        self._clock = clock
        self._arrivals = EvenClock()

    def connect(self, position: Position | None) -> Connection:
        """Ask for the first answer: a server that gives none is away."""
        client = new_client()
        try:
            connection = PollingConnection(
                client,
                self._endpoint,
                self._polls,
                position,
                clock=self._clock,
                arrivals=self._arrivals,
            )
            connection.poll()
        except RunProblem:
            client.close()
            raise
        return connection


class PollingConnection(Connection):
    """Polls for as long as every request has an answer.

    Parameters
    ----------
    client
        Sends the requests.
    endpoint, polls, clock
        As of :class:`PollingFeed`.
    position
        What is known of the newest answer.
    arrivals
        Tells when an answer has come.
    """

    lost_messages = 0
    # Answers of the time in which nobody asked are missing.
    resumes = False

    def __init__(
        self,
        client: httpx.Client,
        endpoint: Endpoint,
        polls: Polls,
        position: Position | None,
        *,
        clock: Callable[[], float],
        arrivals: EvenClock,
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._polls = polls
        self._known: Position = position or {}
        self._clock = clock
        self._arrivals = arrivals
        self._due_s = clock()
        self._messages: list[Message] = []

    def poll(self) -> None:
        """Ask once, and keep the answer for :meth:`receive`."""
        self._due_s = self._clock() + self._polls.interval_s
        answer = send(
            self._client,
            self._endpoint,
            method=self._polls.method,
            headers=self._conditions,
            body=self._polls.body,
        )
        try:
            # The same answer again; or the server has nothing to say.
            if answer.status_code in (NOT_MODIFIED, NO_CONTENT):
                return
            self._check(answer)
            body = self._body(answer)
        finally:
            answer.close()
        known = {_HASH: sha256(body).hexdigest(), _TAG: answer.headers.get("etag")}
        is_same = known[_HASH] == self._known.get(_HASH)
        self._known = known
        if not (is_same and self._polls.only_changed):
            self._messages.append(Message(body, self._arrivals.now_us(), known))

    def _check(self, answer: httpx.Response) -> None:
        """Refuse an answer that has no end."""
        found = answer.headers.get("content-type", "").partition(";")[0]
        if found.strip().lower() == CONTENT_TYPE:
            raise self._endpoint.refused(
                f"answers {CONTENT_TYPE}, which has no end",
                hint="%arroyo peek URL finds out what reads it",
            )

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """The answer of the next request, once it is due."""
        if not self._messages:
            wait_s = self._due_s - self._clock()
            if wait_s > timeout_s:
                time.sleep(timeout_s)
                return ()
            time.sleep(max(0.0, wait_s))
            self.poll()
        taken, self._messages = self._messages, []
        return taken

    def acknowledge(self, position: Position | None) -> None:
        """Nothing: the server waits for no word."""

    def close(self) -> None:
        """Close the connection that is kept for the next request."""
        self._client.close()

    @property
    def _conditions(self) -> Headers:
        """What lets a server answer that nothing has changed."""
        tag = self._known.get(_TAG)
        asks_again = tag is not None and self._polls.only_changed
        # Of other methods an answer says nothing about the next one.
        if not asks_again or self._polls.method != "GET":
            return ()
        return (("If-None-Match", str(tag)),)

    def _body(self, answer: httpx.Response) -> bytes:
        body, until_s = bytearray(), self._clock() + LONGEST_ANSWER_S
        with http_failures(self._endpoint):
            for piece in answer.iter_bytes():
                body += piece
                if self._clock() > until_s:
                    raise self._endpoint.unreached("took too long to answer")
                if len(body) > LARGEST_ANSWER_BYTES:
                    raise self._endpoint.refused(
                        f"answers with more than {LARGEST_ANSWER_BYTES:,} bytes",
                        hint="ask for less, such as one page",
                    )
        return bytes(body)


class PollingHttp(UrlSource):
    """The connector ``polling_http``."""

    info = ConnectorInfo(
        name="polling_http",
        doc="the answers of an HTTP endpoint that is polled",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        python_packages=("httpx",),
        reading=READING,
        guarantees=MappingProxyType(
            {
                Direction.SOURCE: "what the server had between two requests, or while "
                "it could not be reached, is missing"
            }
        ),
        options=(
            endpoint_option("URL that is asked"),
            HEADERS,
            Option(
                "method",
                OptionKind.ENUM,
                "of the request",
                default="GET",
                choices=("GET", "POST", "PUT", "PATCH"),
            ),
            Option("body", OptionKind.STRING, "of the request"),
            Option(
                "poll_interval_ms",
                OptionKind.UINT,
                "milliseconds between two requests",
                default=1000,
                in_identity=False,
            ),
            Option(
                "emit_behavior",
                OptionKind.ENUM,
                "which answers are rows: all, or those that differ from the one before",
                default="all",
                choices=("all", "changed"),
            ),
        ),
    )
    schemes = ("http", "https")
    peeked_messages = 1

    def feed(self, spec: TableSpec) -> Feed:
        """How the answers of a source are received."""
        require_package(spec.name, "httpx")
        options = spec.options
        body = options.get("body")
        polls = Polls(
            method=str(options["method"]),
            body=None if body is None else str(body).encode(),
            interval_s=int(str(options["poll_interval_ms"])) / 1000,
            only_changed=options["emit_behavior"] == "changed",
        )
        return PollingFeed(Endpoint.of(spec), polls)

    def gives(self, endpoint: Endpoint) -> bool:
        """Whether a URL gives an answer that ends."""
        return content_type(endpoint) != CONTENT_TYPE


CONNECTOR = PollingHttp()
