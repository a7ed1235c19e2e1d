"""``rabbitmq``: RabbitMQ streams (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="rabbitmq",
        doc="streams of RabbitMQ",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        runs=False,
        options=(
            Option(
                "stream",
                OptionKind.STRING,
                "the stream",
                required=True,
                example="events",
                holds=Holds.OBJECT,
            ),
            Option("host", OptionKind.STRING, "of the server", holds=Holds.ADDRESS),
            Option("port", OptionKind.UINT, "of the server"),
            Option("username", OptionKind.STRING, "of the login", in_identity=False),
            Option(
                "password",
                OptionKind.STRING,
                "of the login",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            Option("virtual_host", OptionKind.STRING, "of the server"),
            Option(
                "load_balancer_mode",
                OptionKind.BOOL,
                "whether a load balancer is in front of it",
                in_identity=False,
            ),
            Option(
                "tls_config.enabled",
                OptionKind.BOOL,
                "whether TLS is on",
                in_identity=False,
            ),
            Option(
                "tls_config.trust_certificates",
                OptionKind.BOOL,
                "whether any certificate is trusted",
                in_identity=False,
            ),
            Option(
                "tls_config.root_certificates_path",
                OptionKind.STRING,
                "certificate of the authority",
                in_identity=False,
                holds=Holds.PATH,
            ),
            Option(
                "tls_config.client_certificates_path",
                OptionKind.STRING,
                "certificate of the client",
                in_identity=False,
                holds=Holds.PATH,
            ),
            Option(
                "tls_config.client_keys_path",
                OptionKind.STRING,
                "key of the client",
                in_identity=False,
                holds=Holds.PATH,
            ),
            Option(
                "source.offset",
                OptionKind.ENUM,
                "where a new query begins",
                default="last",
                choices=("first", "last", "next"),
            ),
        ),
    )
)
