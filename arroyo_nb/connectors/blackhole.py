"""``blackhole``: rows are computed and thrown away, to measure a query or warm it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import ConnectorInfo, Direction, SinkOnly, TableSpec, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Nowhere:
    """Spark's own sink that computes every row and keeps none."""

    native: str | None = "noop"
    timed = False

    def write(self, batch: DataFrame, batch_id: int) -> None:  # noqa: ARG002
        """Compute a batch."""
        batch.write.format("noop").mode("append").save()

    def close(self) -> None:
        """There is nothing to let go of."""


class Blackhole(SinkOnly):
    """The connector ``blackhole``: a sink that drops its rows."""

    info = ConnectorInfo(
        name="blackhole",
        doc="throws every row away",
        directions=frozenset({Direction.SINK}),
        typed=False,
    )

    def writer(self, spec: TableSpec, state: Path) -> Writer:  # noqa: ARG002
        """A writer that drops each micro-batch, once Spark has computed it."""
        return Nowhere()


CONNECTOR = Blackhole()
