"""How a sink is written: by micro-batch, from what is collected, or by Spark itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from arroyo_nb.schema import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from arroyo_nb.errors import RunProblem


class Writer(Protocol):
    """Writes the micro-batches of one sink; one per run, used by one thread.

    A batch is given again, with the same id and the same rows, after a crash between
    its write and Spark's commit: writing must be idempotent per ``batch_id``.
    """

    timed: bool
    """Whether the rows have their event time, ``_timestamp``, as a last column."""
    native: str | None
    """A Spark sink format that does the work (``noop``). ``write`` does the same: it
    is used where rows are also kept for a preview."""

    def write(self, batch: DataFrame, batch_id: int) -> int | None:
        """Write one micro-batch; exactly one Spark action.

        Returns
        -------
        int or None
            How many rows of the batch are in the sink now; of an updating query how
            many changes. A batch that comes again has the same number. None: Spark
            writes the rows, and counts them on their way.
        """

    def close(self) -> None:
        """Let go of what it holds; called once, also after a failure."""


@runtime_checkable
class CollectingWriter(Writer, Protocol):
    """A writer that takes rows as Arrow: whoever collects them computes a batch for
    several such writers by one job."""

    native: str | None = None
    timed: bool = False

    def columns(self, names: Sequence[str]) -> list[Column]:
        """What Spark computes of a batch: all columns as they are, unless a writer says
        otherwise.

        Parameters
        ----------
        names
            The columns of its rows.
        """
        from pyspark.sql import functions as F  # noqa: N812

        return [F.col(quoted(name)) for name in names]

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Write what was computed of one micro-batch, as :meth:`Writer.write` does."""

    def give_up(self) -> None:
        """Wait no longer for a server that is away, as the run is stopped: the batch
        that is being written fails. Called by another thread, before :meth:`close`."""
        return

    def write(self, batch: DataFrame, batch_id: int) -> int:
        """Write one micro-batch, by a job of its own."""
        computed = batch.select(*self.columns(batch.columns))
        return self.take(computed.toArrow(), batch_id)


@runtime_checkable
class StreamWriter(Writer, Protocol):
    """A writer whose rows Spark can also write by itself, each as it comes."""

    def stream(self, rows: DataFrame) -> DataStreamWriter:
        """What writes rows of a streaming DataFrame, as :meth:`write` does batches; it
        is not started yet."""

    def watch(self) -> Watching:
        """Look from now on whether such rows can arrive."""


class Watching(Protocol):
    """Looks whether rows can arrive, beside what writes them."""

    lost: RunProblem | None
    """Why they never will."""

    def end(self) -> None:
        """Look no more; waits for nobody."""
