"""``mqtt``: topics of an MQTT broker (arroyo-semantics b.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from arroyo_nb.feeds.connectors.mqtt._client import Broker, check_tls, split_url
from arroyo_nb.feeds.message_server import variable_problems
from arroyo_nb.feeds.packages import require_package
from arroyo_nb.feeds.recorder import FeedConnector
from arroyo_nb.feeds.table_options import message_problems
from arroyo_nb.formats import Framing
from arroyo_nb.schema import TEXT
from arroyo_nb.with_options import REFERENCE, Holds, Option, OptionKind

if TYPE_CHECKING:
    from arroyo_nb.feeds import Feed
    from arroyo_nb.feeds.sink import Publisher

QOS: Mapping[str, int] = MappingProxyType(
    {"AtMostOnce": 0, "AtLeastOnce": 1, "ExactlyOnce": 2}
)

_INFO = ConnectorInfo(
    name="mqtt",
    doc="topics of an MQTT broker",
    directions=frozenset({Direction.SOURCE, Direction.SINK}),
    framings=frozenset({Framing.MESSAGES}),
    metadata=MappingProxyType({"topic": TEXT}),
    python_packages=("paho-mqtt",),
    guarantees=MappingProxyType(
        {
            Direction.SOURCE: "with qos = 'AtLeastOnce' or 'ExactlyOnce' no message "
            "is missing that the broker keeps for a client that is away, and some may "
            "come twice after a lost connection or a killed run; with 'AtMostOnce' "
            "messages of the time between are missing",
            Direction.SINK: "with qos = 'AtLeastOnce' or 'ExactlyOnce' every row "
            "arrives, and some may come twice after a lost connection or a killed run; "
            "with 'AtMostOnce' rows may also be missing",
        }
    ),
    options=(
        Option(
            "url",
            OptionKind.STRING,
            "of the broker: mqtt://host:port, or tcp://; mqtts:// and ssl:// encrypt "
            "the connection. Without a port 1883, encrypted 8883",
            required=True,
            example="mqtt://localhost:1883",
            holds=Holds.ADDRESS,
        ),
        Option(
            "topic",
            OptionKind.STRING,
            "the topic; that of a source may have the wildcards + and #",
            required=True,
            example="events",
            holds=Holds.OBJECT,
        ),
        Option("username", OptionKind.STRING, "of the login", in_identity=False),
        Option(
            "password",
            OptionKind.STRING,
            "of the login, best as '{{ VARIABLE }}'",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        Option(
            "tls.ca",
            OptionKind.STRING,
            "file of the certificates that the broker's is checked with; without it "
            "those of the system",
            in_identity=False,
            holds=Holds.PATH,
        ),
        Option(
            "tls.cert",
            OptionKind.STRING,
            "file of the client's certificate",
            in_identity=False,
            holds=Holds.PATH,
        ),
        Option(
            "tls.key",
            OptionKind.STRING,
            "file of the key of the client's certificate",
            in_identity=False,
            holds=Holds.SECRET,
        ),
        Option(
            "client_prefix",
            OptionKind.STRING,
            "what the names of clients begin with",
            in_identity=False,
        ),
        Option(
            "max_packet_size",
            OptionKind.UINT,
            "bytes of the largest message; a broker sends no larger one by MQTT 5",
            in_identity=False,
        ),
        Option(
            "qos",
            OptionKind.ENUM,
            "how often a message arrives; a source of ExactlyOnce receives at least "
            "once, as MQTT hands such a message over before it can be on disk",
            default="AtMostOnce",
            choices=tuple(QOS),
        ),
        Option(
            "sink.retain",
            OptionKind.ENUM,
            "whether the broker keeps the newest message of the topic",
            choices=("true", "false"),
            only="sink",
        ),
    ),
)


class Mqtt(ConnectorBase, FeedConnector):
    """Topics of an MQTT broker, read and written."""

    info = _INFO
    schemes = ("mqtt", "mqtts")

    def check(
        self, spec: TableSpec, direction: Direction
    ) -> Iterator[tuple[str, ArroyoError]]:
        """What is wrong with the URL, the topic and the files of TLS."""
        url = str(spec.options["url"])
        if not REFERENCE.search(url):
            try:
                check_tls(split_url(url)[0], spec.options)
            except CatalogProblem as problem:
                yield "url", problem
        topic = str(spec.options["topic"])
        if not REFERENCE.search(topic) and (why := topic_problem(topic, direction)):
            yield "topic", why
        for name, needed in (("tls.key", "tls.cert"), ("password", "username")):
            if name in spec.options and needed not in spec.options:
                yield name, CatalogProblem(f"required option '{needed}' not set")
        yield from message_problems(spec, direction)

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """The files of certificates and keys."""
        for name in ("tls.ca", "tls.cert", "tls.key"):
            if name in spec.options:
                yield name, Path(str(spec.options[name]))

    def feed(self, spec: TableSpec) -> Feed:
        """How messages are received.

        Raises
        ------
        RunProblem
            When the client is not installed, or the URL makes no sense.
        """
        from arroyo_nb.feeds.connectors.mqtt._source import MqttFeed

        broker = _broker(spec)
        # Not 2: see the module of the source.
        qos = min(1, QOS[str(spec.options["qos"])])
        return MqttFeed(broker, str(spec.options["topic"]), qos)

    def peek(self, url: str, options: Mapping[str, str]) -> PeekedFeed | None:
        """What a URL gives: the broker's, and behind it the topic.

        Raises
        ------
        RunProblem
            When it names no topic, or as of :meth:`feed`.
        """
        address, topic = split_broker_url(url, "topic", "mqtt://host:port/topic")
        found = {"url": address, "topic": topic}
        spec = peeked_spec(self.info, found, options)
        why = topic_problem(str(spec.options["topic"]), Direction.SOURCE)
        if why is not None:
            raise RunProblem(why.message, hint=why.hint)
        return PeekedFeed(self.feed(spec), {"connector": self.info.name, **found})

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """Publishes rows.

        Raises
        ------
        RunProblem
            As of :meth:`feed`.
        """
        from arroyo_nb.feeds.sink import MessageWriter

        return MessageWriter(spec, self._connect(spec))

    def reach(self, spec: TableSpec, look: Callable[[], None]) -> None:
        """Find out whether the broker lets the client in.

        Raises
        ------
        RunProblem
            When it does not, or does not answer.
        """
        from arroyo_nb.feeds.sink import check_server

        check_server(self._connect(spec), _broker(spec).name, look)

    def _connect(self, spec: TableSpec) -> Callable[[], Publisher]:
        from arroyo_nb.feeds.connectors.mqtt._sink import connect

        options = spec.options
        return partial(
            connect,
            _broker(spec),
            str(options["topic"]),
            QOS[str(options["qos"])],
            retain=options.get("sink.retain") == "true",
        )


def topic_problem(topic: str, direction: Direction) -> CatalogProblem | None:
    """What is wrong with a topic, if it is none that can be read, or written.

    >>> topic_problem("rooms/+/temperature", Direction.SOURCE) is None
    True
    >>> topic_problem("rooms/#", Direction.SINK).message
    "the topic 'rooms/#' has a wildcard: a sink writes to one topic"
    """
    levels = topic.split("/")
    if not topic:
        return CatalogProblem("the topic is empty")
    if direction is Direction.SINK and ("+" in topic or "#" in topic):
        return CatalogProblem(
            f"the topic '{topic}' has a wildcard: a sink writes to one topic"
        )
    misplaced = [level for level in levels if len(level) > 1 and set(level) & set("+#")]
    if misplaced or "#" in levels[:-1]:
        return CatalogProblem(
            f"the topic '{topic}' has a wildcard that is no level of its own, or a # "
            "that is not the last one",
            hint="write 'rooms/+/temperature', or 'rooms/#'",
        )
    return None


def _broker(spec: TableSpec) -> Broker:
    """The broker of a table that a run uses."""
    require_package(spec.name, "paho-mqtt", "paho.mqtt.client")
    with variable_problems(spec.name):
        return Broker.of(spec)


CONNECTOR = Mqtt()
