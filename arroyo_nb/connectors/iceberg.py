"""``iceberg``: rows are added to a table of Apache Iceberg (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction, PartitionTransform
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.connectors._folder_options import SINK_FILES
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

TRANSFORMS = (
    PartitionTransform("identity"),
    PartitionTransform("bucket", takes_number=True),
    PartitionTransform("truncate", takes_number=True),
    PartitionTransform("year", of_times=True),
    PartitionTransform("month", of_times=True),
    PartitionTransform("day", of_times=True),
    PartitionTransform("hour", of_times=True),
    PartitionTransform("void"),
)

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="iceberg",
        doc="a table of Apache Iceberg",
        directions=frozenset({Direction.SINK}),
        framings=frozenset({Framing.LAKE_FILES}),
        runs=False,
        partition_transforms={t.name: t for t in TRANSFORMS},
        options=(
            Option(
                "catalog.type",
                OptionKind.ENUM,
                "the kind of the catalog",
                required=True,
                choices=("rest",),
            ),
            Option(
                "catalog.rest.url",
                OptionKind.STRING,
                "of the catalog",
                required=True,
                example="http://localhost:8181",
                holds=Holds.ADDRESS,
            ),
            Option(
                "catalog.rest.token",
                OptionKind.STRING,
                "of the login",
                in_identity=False,
                holds=Holds.SECRET,
            ),
            Option("catalog.warehouse", OptionKind.STRING, "of the catalog"),
            Option("namespace", OptionKind.STRING, "of the table", default="default"),
            Option(
                "table_name",
                OptionKind.STRING,
                "the table",
                required=True,
                example="events",
                holds=Holds.OBJECT,
            ),
            Option("location_path", OptionKind.STRING, "where its files lie"),
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
