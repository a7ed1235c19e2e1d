"""``websocket``: the messages of a WebSocket (arroyo-semantics b.2).

Texts and bytes are messages alike. A server that closes the connection, for whatever
reason, is connected to again, and is sent the messages that subscribe; what it sent
meanwhile is missing, as the protocol has no place to go on from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import ConnectorInfo, Direction, TableSpec
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.feeds import READING, Connection, Feed, Message
from arroyo_nb.feeds.client_logs import silent_logger
from arroyo_nb.feeds.endpoint import Endpoint
from arroyo_nb.feeds.headers import HEADERS, endpoint_option
from arroyo_nb.feeds.http_errors import answer_problem, certificate_problem, reason
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.url_source import UrlSource
from arroyo_nb.formats import Framing
from arroyo_nb.tape import Position
from arroyo_nb.tape.clock import EvenClock
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_MESSAGE_BYTES = 16 * 2**20
"""A message that is larger ends the run."""

OPEN_S, CLOSE_S = 8.0, 0.5
"""How long a connection may take to be made, and to be ended in good order."""

PING_S = 20.0
"""So often a server is asked whether it is there; it has as long to answer."""

QUEUED_FRAMES = 4
"""What the client receives and nobody has taken, about; then the server waits. Each
frame may be as large as a message, so together they take 64 MiB."""

TAKEN_MESSAGES, TAKEN_BYTES = 5_000, 8 * 2**20
"""How much is taken at once, about."""

_NORMAL, _POLICY, _TOO_BIG, _INTERNAL = 1000, 1008, 1009, 1011
_REDIRECTS = range(300, 400)
_NUMBERED = re.compile(r"subscription_messages\.(\d+)")


class WebSocketFeed(Feed):
    """The messages of one server.

    Parameters
    ----------
    endpoint
        Where it is.
    subscriptions
        What it is sent after each connection, in order.
    """

    metadata: Mapping[str, pa.DataType] = MappingProxyType({})

    def __init__(self, endpoint: Endpoint, subscriptions: Sequence[str]) -> None:
        self.server = endpoint.shown
        self._endpoint = endpoint
        self._subscriptions = subscriptions
        self._arrivals = EvenClock()

    def connect(self, position: Position | None) -> Connection:  # noqa: ARG002
        """Connect, and subscribe."""
        with ExitStack() as undo, websocket_failures(self._endpoint):
            try:
                opened = _opened(self._endpoint)
            except OSError:  # that of a certificate is a ValueError, too
                raise
            except ValueError as problem:
                # Of the port, or of the name of the host: a variable may have any.
                raise _no_url(self._endpoint) from problem
            # As a context, which closes it in good order.
            connection = undo.enter_context(opened)
            for text in self._subscriptions:
                connection.send(text)
            return WebSocketConnection(
                self._endpoint, connection, undo.pop_all(), self._arrivals
            )


class WebSocketConnection(Connection):
    """A connection that is open.

    Parameters
    ----------
    endpoint
        Where it leads.
    connection
        The client's.
    undo
        Closes it.
    arrivals
        Tells when a message has come.
    """

    resumes = False
    # While nobody receives, the server waits.
    lost_messages = 0

    def __init__(
        self, endpoint: Endpoint, connection: Any, undo: ExitStack, arrivals: EvenClock
    ) -> None:
        self._arrivals = arrivals
        self._endpoint = endpoint
        self._connection = connection
        self._undo = undo
        self._failure: RunProblem | None = None
        self._has_received = False

    def receive(self, timeout_s: float) -> Sequence[Message]:
        """What has come, each message a text as UTF-8, or bytes."""
        if self._failure is not None:
            raise self._failure
        taken: list[Message] = []
        size_bytes, wait_s = 0, timeout_s
        try:
            # That nothing comes in time is no failure.
            with websocket_failures(self._endpoint), suppress(TimeoutError):
                while len(taken) < TAKEN_MESSAGES and size_bytes < TAKEN_BYTES:
                    payload = self._connection.recv(wait_s, decode=False)
                    taken.append(Message(payload, self._arrivals.now_us()))
                    size_bytes += len(payload)
                    wait_s = 0.0
        except RunProblem as problem:
            # What came before it is not lost.
            if not taken:
                raise self._refusal(problem) from problem.__cause__
            self._failure = problem
        self._has_received = self._has_received or bool(taken)
        return taken

    def _refusal(self, problem: RunProblem) -> RunProblem:
        """A server that closes for its policy, and has sent nothing, refuses whoever
        connects: another connection will do no better."""
        frame = getattr(problem.__cause__, "rcvd", None)
        if self._has_received or frame is None or frame.code != _POLICY:
            return problem
        why = self._endpoint.clean(frame.reason) or "against its policy"
        return self._endpoint.refused(
            f"refuses the connection ({_POLICY}): {why}",
            hint="check 'headers' and the subscription messages",
        )

    def acknowledge(self, position: Position | None) -> None:
        """Nothing: the server waits for no word."""

    def close(self) -> None:
        """Say goodbye; a server that does not answer is left."""
        self._undo.close()


def _opened(endpoint: Endpoint) -> Any:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import ClientConnection, connect

    class Unredirected(ClientConnection):
        """The client would follow redirects, and send headers along."""

        def handshake(self, *args: Any, **kwargs: Any) -> None:
            try:
                super().handshake(*args, **kwargs)
            except InvalidStatus as problem:
                raise AnsweredInHttp(problem.response) from None

    return connect(
        endpoint.url,
        additional_headers=[(name, _as_utf8(text)) for name, text in endpoint.headers],
        open_timeout=OPEN_S,
        close_timeout=CLOSE_S,
        ping_interval=PING_S,
        ping_timeout=PING_S,
        max_size=LARGEST_MESSAGE_BYTES,
        max_queue=QUEUED_FRAMES,
        create_connection=Unredirected,
        logger=silent_logger(),
    )


def _as_utf8(text: str) -> str:
    """The value of a header that the client sends as UTF-8."""
    from websockets.datastructures import Headers

    # Newer ones send a byte for each character; older ones encode themselves.
    is_byte_each = b"\xe4\r" in Headers(X="\xe4").serialize()
    return text.encode().decode("iso-8859-1") if is_byte_each else text


class AnsweredInHttp(Exception):
    """The server gave an answer of HTTP instead of a connection.

    Parameters
    ----------
    answer
        As the client has it.
    """

    def __init__(self, answer: Any) -> None:
        super().__init__(f"HTTP {answer.status_code}")
        self.answer = answer


@contextmanager
def websocket_failures(endpoint: Endpoint) -> Iterator[None]:
    """Turns what the client raises into errors of this package."""
    from websockets.exceptions import WebSocketException

    try:
        yield
    except AnsweredInHttp as problem:
        raise _of_answer(endpoint, problem.answer) from None
    except (WebSocketException, OSError) as problem:
        raise _problem(endpoint, problem) from problem


def _of_answer(endpoint: Endpoint, answer: Any) -> RunProblem:
    code = answer.status_code
    if code in _REDIRECTS:
        return endpoint.refused(
            f"redirects ({code}), which a WebSocket does not follow",
            hint="write the URL that it leads to",
        )
    return answer_problem(
        endpoint,
        code,
        str(answer.reason_phrase),
        bytes(answer.body or b""),
        answer.headers.get("Retry-After"),
    )


def _problem(endpoint: Endpoint, problem: Exception) -> RunProblem:
    from websockets import exceptions

    if (certificate := certificate_problem(endpoint, problem)) is not None:
        return certificate
    match problem:
        case exceptions.ConnectionClosed():
            return _closed(endpoint, problem)
        case TimeoutError():
            return endpoint.unreached(f"did not answer in {OPEN_S:g} s")
        case exceptions.InvalidURI():
            return _no_url(endpoint)
        case exceptions.InvalidMessage() if isinstance(problem.__cause__, EOFError):
            return endpoint.unreached("has closed the connection")
        case OSError() | exceptions.ProxyError():
            why = f"cannot be reached: {reason(problem)}"
            return endpoint.unreached(why, "start it, or check the URL")
        case _:
            why = endpoint.clean(str(problem).rstrip("."))
            return endpoint.refused(f"does not speak the WebSocket protocol: {why}")


def _no_url(endpoint: Endpoint) -> RunProblem:
    return endpoint.refused("is not at a URL of WebSockets", hint="check the URL")


def _closed(endpoint: Endpoint, problem: Any) -> RunProblem:
    """Why a connection was closed, by this side or the other."""
    if problem.rcvd is None and problem.sent is not None:
        if problem.sent.code == _TOO_BIG:
            size = f"{LARGEST_MESSAGE_BYTES // 2**20} MiB"
            return endpoint.refused(f"sends a message of more than {size}")
        if problem.sent.code == _INTERNAL:
            return endpoint.unreached(f"did not answer a ping in {PING_S:g} s")
        why = endpoint.clean(problem.sent.reason) or "unknown"
        return endpoint.unreached(f"broke the protocol: {why}")
    if problem.rcvd is None:
        return endpoint.unreached("has broken off the connection")
    code, why = problem.rcvd.code, endpoint.clean(problem.rcvd.reason)
    told = f"has closed the connection ({code})" if code != _NORMAL else "has ended"
    return endpoint.unreached(f"{told}: {why}" if why else told)


class WebSocket(UrlSource):
    """The connector ``websocket``."""

    info = ConnectorInfo(
        name="websocket",
        doc="the messages of a WebSocket server",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        python_packages=("websockets",),
        reading=READING,
        guarantees=MappingProxyType(
            {
                Direction.SOURCE: "messages of the time without a connection are "
                "missing: after a lost connection, and while the run was stopped"
            }
        ),
        options=(
            endpoint_option(
                "URL of the server, ws:// or wss://", "wss://example.com/events"
            ),
            HEADERS,
            Option(
                "subscription_message",
                OptionKind.STRING,
                "is sent once it is connected, and after each new connection",
            ),
            Option(
                "subscription_messages.*",
                OptionKind.STRING,
                "are sent once it is connected, in the order of their numbers: "
                "subscription_messages.0, .1 and so on",
            ),
        ),
    )
    schemes = ("ws", "wss")

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the options."""
        yield from super().check(spec, direction)
        for name in spec.options:
            begins = name.startswith("subscription_messages.")
            if begins and _NUMBERED.fullmatch(name) is None:
                yield (
                    name,
                    CatalogProblem(
                        f"the option '{name}' does not end with a number",
                        hint="write 'subscription_messages.0', .1 and so on",
                    ),
                )

    def feed(self, spec: TableSpec) -> Feed:
        """How the messages of a source are received."""
        require_package(spec.name, "websockets")
        return WebSocketFeed(Endpoint.of(spec), _subscriptions(spec.options))

    def gives(self, endpoint: Endpoint) -> bool:  # noqa: ARG002
        """Whether a URL is one of a WebSocket: nothing else has such URLs."""
        return True


def _subscriptions(options: Mapping[str, OptionValue]) -> tuple[str, ...]:
    """What is sent, the option without a number first."""
    numbered = sorted(
        (int(match[1]), str(value))
        for name, value in options.items()
        if (match := _NUMBERED.fullmatch(name)) is not None
    )
    first = options.get("subscription_message")
    alone = () if first is None else (str(first),)
    return (*alone, *(text for _, text in numbered))


CONNECTOR = WebSocket()
