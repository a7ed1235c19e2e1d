"""The batches of a task, which can be gone through more than once.

Spark gives a task its rows once only, and a transaction that was aborted needs them
again. They are kept as an Arrow stream, in memory while they are few and in the
temporary folder beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

import pyarrow as pa

IN_MEMORY_BYTES = 32 << 20
"""How much of a task is kept in memory; Spark's own batches have a few megabytes."""


class ReplayedBatches:
    """Batches that come once, for who needs them again; to be closed.

    Parameters
    ----------
    batches
        All of one schema.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._coming = iter(batches)
        self._kept: IO[bytes] = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._writer: pa.RecordBatchStreamWriter | None = None

    def close(self) -> None:
        """Let go of what is kept."""
        self._kept.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Those that were read before, and those that are still to come."""
        if self._writer is None:
            yield from self._next_ones()
            return
        # All others first: what reads the file must not write to it.
        for _ in self._next_ones():
            pass
        self._kept.seek(0)
        yield from pa.ipc.open_stream(self._kept)

    def _next_ones(self) -> Iterator[pa.RecordBatch]:
        for batch in self._coming:
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._kept, batch.schema)
            self._writer.write_batch(batch)
            yield batch
