"""``fluvio``: topics of Fluvio (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="fluvio",
        doc="topics of Fluvio",
        directions=frozenset({Direction.SOURCE, Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        runs=False,
        options=(
            Option(
                "topic",
                OptionKind.STRING,
                "the topic",
                required=True,
                example="events",
                holds=Holds.OBJECT,
            ),
            Option(
                "endpoint", OptionKind.STRING, "of the cluster", holds=Holds.ADDRESS
            ),
            Option(
                "source.offset",
                OptionKind.ENUM,
                "where a new query begins",
                default="latest",
                choices=("latest", "earliest"),
                only="source",
            ),
        ),
    )
)
