"""``sse``: the events that a server sends over HTTP (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="sse",
        doc="server-sent events",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        runs=False,
        options=(
            Option(
                "endpoint",
                OptionKind.STRING,
                "URL of the stream",
                required=True,
                holds=Holds.ADDRESS,
            ),
            Option(
                "events",
                OptionKind.STRING,
                "names of the events that are kept, with commas; without it all are",
            ),
            Option(
                "headers",
                OptionKind.STRING,
                "headers of the request: 'K: V, K2: V2'",
                in_identity=False,
            ),
        ),
    )
)
