"""``websocket``: the messages of a WebSocket (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="websocket",
        doc="the messages of a WebSocket server",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        runs=False,
        options=(
            Option(
                "endpoint",
                OptionKind.STRING,
                "URL of the server, ws:// or wss://",
                required=True,
                holds=Holds.ADDRESS,
            ),
            Option(
                "headers",
                OptionKind.STRING,
                "headers of the request: 'K: V, K2: V2'",
                in_identity=False,
            ),
            Option(
                "subscription_message",
                OptionKind.STRING,
                "is sent once it is connected",
            ),
            Option(
                "subscription_messages.*",
                OptionKind.STRING,
                "are sent once it is connected: subscription_messages.0, .1 and so on",
            ),
        ),
    )
)
