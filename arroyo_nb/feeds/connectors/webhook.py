"""``webhook``: one POST a row (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="webhook",
        doc="an HTTP endpoint that each row is posted to",
        directions=frozenset({Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        typed=False,
        runs=False,
        options=(
            Option(
                "endpoint",
                OptionKind.STRING,
                "URL that rows are posted to",
                required=True,
                holds=Holds.ADDRESS,
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
