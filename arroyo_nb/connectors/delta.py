"""``delta``: a table of Delta Lake that rows are added to (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.connectors._folder_options import SINK_FILES
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="delta",
        doc="a table of Delta Lake",
        directions=frozenset({Direction.SINK}),
        framings=frozenset({Framing.LAKE_FILES}),
        runs=False,
        options=(
            Option(
                "path",
                OptionKind.STRING,
                "where the table lies: a folder, or s3://, gs://, abfs:// and the like",
                required=True,
                example="s3://bucket/events",
                holds=Holds.ADDRESS,
            ),
            Option(
                "storage.*",
                OptionKind.STRING,
                "settings of the object store",
                in_identity=False,
            ),
            *SINK_FILES,
        ),
    )
)
