"""``nats``: subjects and JetStream streams of NATS (arroyo-semantics b.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.connectors import (
    ConnectorBase,
    ConnectorInfo,
    Direction,
    TableSpec,
    Writer,
)
from arroyo_nb.errors import ArroyoError, CatalogProblem, RunProblem
from arroyo_nb.feeds import PeekedFeed
from arroyo_nb.feeds.broker_url import peeked_spec, split_broker_url
from arroyo_nb.feeds.connectors.nats._client import Servers, addresses
from arroyo_nb.feeds.message_server import variable_problems
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.recorder import FeedConnector
from arroyo_nb.feeds.table_options import message_problems
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import REFERENCE, Holds, Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from arroyo_nb.feeds import Feed
    from arroyo_nb.feeds.sink import Publisher

_LOGINS = {
    "credentials": ("auth.username", "auth.password"),
    "jwt": ("auth.jwt", "auth.nkey_seed"),
}


def _consumer(
    name: str,
    doc: str,
    kind: OptionKind = OptionKind.INT,
    default: OptionValue | None = None,
    choices: tuple[str, ...] = (),
) -> Option:
    return Option(
        f"consumer.{name}",
        kind,
        f"of JetStream's consumer: {doc}",
        default=default,
        choices=choices,
        only="source",
        in_identity=False,
    )


_CONSUMER = (
    _consumer("description", "what it is for", OptionKind.STRING),
    _consumer(
        "ack_policy",
        "which messages are acknowledged, once they are on disk",
        OptionKind.ENUM,
        "Explicit",
        ("Explicit", "All", "None"),
    ),
    _consumer(
        "replay_policy",
        "whether messages come at once, or as far apart as they were sent",
        OptionKind.ENUM,
        "Instant",
        ("Instant", "Original"),
    ),
    _consumer("ack_wait", "seconds before a message is sent again", default=30),
    _consumer(
        "filter_subjects",
        "the subjects that are read, with commas; more than one needs nats-server 2.10",
        OptionKind.STRING,
    ),
    _consumer("sample_frequency", "percent of the messages observed", default=0),
    _consumer("num_replicas", "on how many servers its state is; 1: as the stream's"),
    _consumer(
        "inactive_threshold",
        "seconds without a reader before the server removes it",
        default=600,
    ),
    _consumer("rate_limit", "bits a second; -1: no limit", default=-1),
    _consumer(
        "max_ack_pending",
        "messages sent and not acknowledged; -1: no limit",
        default=-1,
    ),
    _consumer("max_deliver", "how often a message is sent; -1: no limit", default=-1),
    _consumer("max_waiting", "open requests", default=1_000_000),
    _consumer("max_batch", "messages of a request", default=10_000),
    _consumer("max_bytes", "bytes of a request", default=100 * 2**20),
    _consumer("max_expires", "milliseconds a request stays open", default=300_000),
)

_INFO = ConnectorInfo(
    name="nats",
    doc="subjects and streams of NATS",
    directions=frozenset({Direction.SOURCE, Direction.SINK}),
    framings=frozenset({Framing.MESSAGES}),
    python_packages=("nats-py", "nkeys"),
    guarantees=MappingProxyType(
        {
            Direction.SOURCE: "of a stream each message that it keeps comes exactly "
            "once; of a subject messages are missing that are sent while there is no "
            "connection, or faster than they are read",
            Direction.SINK: "where a stream takes the subject every row arrives, and "
            "none twice within the stream's duplicate window (two minutes by default); "
            "elsewhere rows may be missing or come twice after a lost connection or a "
            "killed run",
        }
    ),
    options=(
        Option(
            "servers",
            OptionKind.STRING,
            "host:port of one or more servers, with commas; tls://host:port encrypts "
            "the connection",
            required=True,
            example="localhost:4222",
            holds=Holds.ADDRESS,
        ),
        Option(
            "subject",
            OptionKind.STRING,
            "the subject; of a source instead of a stream, and then with the wildcards "
            "* and > if need be",
            holds=Holds.OBJECT,
            example="events",
            suggested=True,
        ),
        Option(
            "stream",
            OptionKind.STRING,
            "the stream of JetStream, read from its start",
            only="source",
            holds=Holds.OBJECT,
        ),
        Option(
            "auth.type",
            OptionKind.ENUM,
            "how a client says who it is",
            default="none",
            choices=("none", *_LOGINS),
            in_identity=False,
        ),
        Option("auth.username", OptionKind.STRING, "of credentials", in_identity=False),
        Option(
            "auth.password",
            OptionKind.STRING,
            "of credentials, best as '{{ VARIABLE }}'",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        Option(
            "auth.jwt",
            OptionKind.STRING,
            "the JWT of a user, best as '{{ VARIABLE }}'",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        Option(
            "auth.nkey_seed",
            OptionKind.STRING,
            "the seed of the user's key, best as '{{ VARIABLE }}'",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        *_CONSUMER,
    ),
)


class Nats(ConnectorBase, FeedConnector):
    """Subjects and streams of NATS: which of the two follows from the options."""

    info = _INFO
    schemes = ("nats", "tls")

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with options that are right each by itself."""
        yield from _target_problems(spec, direction)
        kind = str(spec.options.get("auth.type"))
        for name in _LOGINS.get(kind, ()):
            if name not in spec.options:
                message = f"required option '{name}' not set"
                yield "auth.type", CatalogProblem(message)
        servers = str(spec.options["servers"])
        if not REFERENCE.search(servers):
            try:
                addresses(servers)
            except CatalogProblem as problem:
                yield "servers", problem
        yield from message_problems(spec, direction)

    def feed(self, spec: TableSpec) -> Feed:
        """How messages are received.

        Raises
        ------
        RunProblem
            When the client is not installed, or an address makes no sense.
        """
        from arroyo_nb.feeds.connectors.nats._stream import Consumer, StreamFeed
        from arroyo_nb.feeds.connectors.nats._subject import SubjectFeed

        servers = _servers(spec)
        if "stream" in spec.options:
            return StreamFeed(servers, Consumer.of(spec.options))
        return SubjectFeed(servers, str(spec.options["subject"]))

    def peek(self, url: str, options: Mapping[str, str]) -> PeekedFeed | None:
        """What a URL gives: a server's, and behind it the subject; or nothing, where
        the options say which stream.

        Raises
        ------
        RunProblem
            When it says neither of the two or both, or as of :meth:`feed`.
        """
        from arroyo_nb.feeds.connectors.nats._peek import (
            StreamPeekFeed,
            streams_keeping,
        )

        if stream := options.get("stream"):
            address = _whole_stream(url, stream)
            servers = _servers(peeked_spec(self.info, {"servers": address}, options))
            declared = {"servers": address, "stream": stream}
            return PeekedFeed(
                StreamPeekFeed(servers, stream),
                {"connector": self.info.name, **declared},
                name=stream,
            )
        address, subject = split_broker_url(
            url,
            "subject",
            "nats://host:port/subject, or nats://host:port --stream name",
        )
        found = {"servers": address, "subject": subject}
        spec = peeked_spec(self.info, found, options)

        def explain_silence() -> str:
            names = streams_keeping(_servers(spec), subject)
            return _look_into_streams(address, subject, names)

        return PeekedFeed(
            self.feed(spec),
            {"connector": self.info.name, **found},
            explain_silence=explain_silence,
        )

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Publishes rows.

        Raises
        ------
        RunProblem
            As of :meth:`feed`.
        """
        from arroyo_nb.feeds.connectors.nats._sink import identified, sink_id
        from arroyo_nb.feeds.sink import MessageWriter

        prepare = identified(sink_id(state))
        return MessageWriter(spec, _connect(spec), prepare=prepare)

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether a server lets the client in.

        Raises
        ------
        RunProblem
            When it does not, or none answers.
        """
        from arroyo_nb.feeds.sink import check_server

        check_server(_connect(spec), _servers(spec).name, look)


def _target_problems(
    spec: TableSpec, direction: Direction
) -> Iterator[tuple[str, ArroyoError]]:
    """Whether the table names what it reads or writes."""
    given = [name for name in ("stream", "subject") if name in spec.options]
    subject = str(spec.options.get("subject", ""))
    if direction is Direction.SINK and "subject" not in given:
        yield "type", CatalogProblem("`subject` must be set for sink")
    elif direction is Direction.SINK and set(subject) & set("*>"):
        message = f"the subject '{subject}' has a wildcard: a sink writes to one"
        yield "subject", CatalogProblem(message)
    elif direction is Direction.SOURCE and not given:
        message = "One of `stream` or `subject` must be set"
        yield "type", CatalogProblem(message)
    elif direction is Direction.SOURCE and len(given) == 2:
        message = "Exactly one of `stream` or `subject` must be set"
        yield "subject", CatalogProblem(message)


def _whole_stream(url: str, stream: str) -> str:
    """The address of the server whose stream is looked into."""
    scheme, _, behind = url.partition("://")
    host, _, subject = behind.partition("/")
    if subject:
        raise RunProblem(
            "--stream looks into a whole stream, and the URL has a subject, too",
            hint=f"write {_command('nats://host:port', stream)}",
        )
    return f"{scheme}://{host}"


def _command(address: str, stream: str) -> str:
    # A reference to a variable has spaces.
    written = f'"{address}"' if " " in address else address
    return f"%arroyo peek {written} --stream {stream}"


def _look_into_streams(address: str, subject: str, names: Sequence[str]) -> str:
    """What to write where a subject is silent, and streams keep its messages."""
    if not names:
        return ""
    listed = " and ".join(f"'{name}'" for name in names)
    kept = f"streams {listed} keep" if len(names) > 1 else f"stream {listed} keeps"
    written = " or ".join(_command(address, name) for name in names)
    return f"the {kept} messages of '{subject}', to be read with {written}"


def _servers(spec: TableSpec) -> Servers:
    """The servers of a table that a run uses."""
    require_package(spec.name, "nats-py", "nats")
    if spec.options.get("auth.type") == "jwt":
        require_package(spec.name, "nkeys", why="'auth.type' is 'jwt'")
    with variable_problems(spec.name):
        return Servers.of(spec)


def _connect(spec: TableSpec) -> Callable[[], Publisher]:
    from arroyo_nb.feeds.connectors.nats._sink import NatsPublisher, Target

    target = Target(str(spec.options["subject"]))
    return partial(NatsPublisher, _servers(spec), target)


CONNECTOR = Nats()
