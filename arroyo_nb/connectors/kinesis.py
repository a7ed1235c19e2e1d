"""``kinesis``: Amazon Kinesis data streams (arroyo-semantics b.2)."""

from __future__ import annotations

from arroyo_nb.connectors import ConnectorInfo, Direction
from arroyo_nb.connectors._arroyo_only import ArroyoOnly
from arroyo_nb.formats import Framing
from arroyo_nb.with_options import Holds, Option, OptionKind

CONNECTOR = ArroyoOnly(
    ConnectorInfo(
        name="kinesis",
        doc="data streams of Amazon Kinesis",
        directions=frozenset({Direction.SOURCE, Direction.SINK}),
        framings=frozenset({Framing.MESSAGES}),
        runs=False,
        options=(
            Option(
                "stream_name",
                OptionKind.STRING,
                "the stream",
                required=True,
                example="events",
                holds=Holds.OBJECT,
            ),
            Option("aws_region", OptionKind.STRING, "the region of AWS"),
            Option(
                "source.offset",
                OptionKind.ENUM,
                "where a new query begins",
                default="latest",
                choices=("latest", "earliest"),
                only="source",
            ),
            Option(
                "sink.flush_interval_millis",
                OptionKind.UINT,
                "milliseconds until rows are sent",
                only="sink",
                in_identity=False,
            ),
            Option(
                "sink.max_bytes_per_batch",
                OptionKind.UINT,
                "bytes of a request",
                only="sink",
                in_identity=False,
            ),
            Option(
                "sink.max_records_per_batch",
                OptionKind.UINT,
                "records of a request",
                only="sink",
                in_identity=False,
            ),
        ),
    )
)
