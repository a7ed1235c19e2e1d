"""``polling_http``: a URL that is asked again and again (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="polling_http",
        doc="the answers of an HTTP endpoint that is polled",
        directions=frozenset({Direction.SOURCE}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        runs=False,
        options=(
            Option(
                "endpoint",
                OptionKind.STRING,
                "URL that is asked",
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
)
