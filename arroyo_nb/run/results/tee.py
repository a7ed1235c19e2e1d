"""Writing rows to a sink, and keeping them for a preview beside it.

Both have the same rows of a batch. Computed twice, a function that gives another value
each time would give the sink other rows than the preview.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CollectingWriter, Writer
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_WRITTEN = "/written"
"""What the sink takes, in one column."""


def tee(sink: Writer, preview: Preview) -> Writer:
    """A writer that does both."""
    if isinstance(sink, CollectingWriter):
        return CollectingTee(sink, preview)
    return PersistingTee(sink, preview)


class CollectingTee(CollectingWriter):
    """Writes to a sink that takes Arrow: a batch is collected for both at once."""

    def __init__(self, sink: CollectingWriter, preview: Preview) -> None:
        self._sink = sink
        self._preview = preview
        self.timed = sink.timed

    def columns(self, names: Sequence[str]) -> list[Column]:
        """What the preview keeps, and in one column what the sink takes."""
        from pyspark.sql import functions as F  # noqa: N812

        kept = [name for name in names if not (self.timed and name == TIMESTAMP)]
        written = F.struct(*self._sink.columns(names)).alias(_WRITTEN)
        return [*self._preview.columns(kept), written]

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Write, then keep."""
        import pyarrow as pa

        written = pa.Table.from_struct_array(rows[_WRITTEN])
        count = self._sink.take(written, batch_id)
        self._preview.take(rows.drop_columns(_WRITTEN), batch_id)
        return count

    def give_up(self) -> None:
        """As of the sink."""
        self._sink.give_up()

    def close(self) -> None:
        """Close the sink, and keep no more."""
        with closing(self._preview):
            self._sink.close()


class PersistingTee:
    """Writes to a sink to which Spark itself writes: a batch is held meanwhile."""

    native: str | None = None

    def __init__(self, sink: Writer, preview: Preview) -> None:
        self._sink = sink
        self._preview = preview
        self.timed: bool = sink.timed

    def write(self, batch: DataFrame, batch_id: int) -> int | None:
        """Write, then keep."""
        batch.persist()
        try:
            written = self._sink.write(batch, batch_id)
            rows = batch.drop(TIMESTAMP) if self.timed else batch
            self._preview.write(rows, batch_id)
        finally:
            batch.unpersist()
        return written

    def close(self) -> None:
        """Close the sink, and keep no more."""
        with closing(self._preview):
            self._sink.close()
