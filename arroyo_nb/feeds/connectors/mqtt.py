"""``mqtt``: topics of an MQTT broker (arroyo-semantics b.2)."""

from __future__ import annotations

from types import MappingProxyType

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.schema import TEXT
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="mqtt",
        doc="topics of an MQTT broker",
        directions=frozenset({Direction.SOURCE, Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        metadata=MappingProxyType({"topic": TEXT}),
        runs=False,
        options=(
            Option(
                "url",
                OptionKind.STRING,
                "of the broker; mqtts:// and ssl:// turn TLS on",
                required=True,
                holds=Holds.ADDRESS,
            ),
            Option(
                "topic",
                OptionKind.STRING,
                "the topic; a source may have wildcards",
                required=True,
                holds=Holds.OBJECT,
            ),
            Option("username", OptionKind.STRING, "of the login", in_identity=False),
            Option(
                "password",
                OptionKind.STRING,
                "of the login",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            Option(
                "tls.ca",
                OptionKind.STRING,
                "certificate of the authority",
                in_identity=False,
                holds=Holds.PATH,
            ),
            Option(
                "tls.cert",
                OptionKind.STRING,
                "certificate of the client",
                in_identity=False,
                holds=Holds.PATH,
            ),
            Option(
                "tls.key",
                OptionKind.STRING,
                "key of the client",
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
                "bytes of the largest message",
                in_identity=False,
            ),
            Option(
                "qos",
                OptionKind.ENUM,
                "how often a message arrives",
                default="AtMostOnce",
                choices=("AtMostOnce", "AtLeastOnce", "ExactlyOnce"),
            ),
            Option(
                "sink.retain",
                OptionKind.ENUM,
                "whether the broker keeps the newest message of a topic",
                choices=("true", "false"),
                only="sink",
            ),
        ),
    )
)
