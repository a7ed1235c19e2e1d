"""What a preview keeps of its output: the newest rows, and exact counts of all.

The buffer is bounded in rows; :attr:`Preview.cut_rows` says how many older ones were
let go. Batches come on Spark's callback thread and are read from any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from arroyo_nb.run.preview_state import PreviewState, batches_that_hold
from arroyo_nb.run.snapshot import Change
from arroyo_nb.schema import TIMESTAMP, WINDOW_STRUCT, Schema, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

OnRows: TypeAlias = "Callable[[pa.Table, int], object]"
"""Is given rows as they come, and the number of their batch."""

PREVIEW_ROWS = 10_000
"""Newest rows kept of an output, as Arroyo's own preview does."""


class Preview:
    """A writer that keeps rows in memory (see :class:`arroyo_nb.connectors.Writer`).

    Parameters
    ----------
    schema
        Columns of the output.
    limit_rows
        How many of the newest rows are kept.
    """

    native: str | None = None
    timed = False

    def __init__(self, schema: Schema, *, limit_rows: int = PREVIEW_ROWS) -> None:
        self.schema = schema
        self.total_rows = 0
        self._limit_rows = limit_rows
        self._batches: deque[tuple[int, pa.Table]] = deque()
        self._newest = (-1, 0)
        self._lock = Lock()
        self._callbacks: tuple[OnRows, ...] = ()

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Take one micro-batch; a replayed one takes the place of its first try."""
        self.put(batch.toArrow().cast(arrow_schema(nullable(self.schema))), batch_id)

    def put(self, rows: pa.Table, batch_id: int, count: int | None = None) -> None:
        """Take the rows of one micro-batch, in the order of their windows; or only the
        newest of them, and how many came."""
        count = rows.num_rows if count is None else count
        rows = _by_window(rows, self.schema)
        with self._lock:
            if self._newest[0] == batch_id:
                # As many as came, not as many as were kept.
                self.total_rows -= self._newest[1]
                if self._batches and self._batches[-1][0] == batch_id:
                    self._batches.pop()
            self._newest = batch_id, count
            self.total_rows += count
            if rows.num_rows:
                self._batches.append((batch_id, rows))
            self._cut()
        for callback in self._callbacks if rows.num_rows else ():
            callback(rows, batch_id)

    def call(self, callback: OnRows) -> None:
        """Have a function called with the rows of each batch from now on, and with the
        number of the batch; what it raises ends the query."""
        self._callbacks = (*self._callbacks, callback)

    def close(self) -> None:
        """Nothing is held open; the rows stay readable."""

    @property
    def kept_rows(self) -> int:
        """How many rows are still here."""
        with self._lock:
            return sum(rows.num_rows for _, rows in self._batches)

    @property
    def cut_rows(self) -> int:
        """How many older rows were let go."""
        return self.total_rows - self.kept_rows

    @property
    def result_rows(self) -> int | None:
        """How many rows the output has in all; None where that is not known."""
        return self.total_rows

    def table(self) -> pa.Table:
        """The kept rows, oldest first."""
        return self._numbered()[0]

    def changelog(self) -> pa.Table:
        """The kept rows as changes: op, batch, before, after.

        An append-only output only creates: every op is ``c`` and every before NULL.
        """
        import pyarrow as pa

        table, ids = self._numbered()
        row = pa.struct(list(table.schema))
        chunks = [b.to_struct_array() for b in table.to_batches()]
        after = pa.chunked_array(chunks, row)
        return pa.table(
            {
                "op": pa.array(["c"] * len(table), pa.string()),
                "batch": ids,
                "before": pa.nulls(len(table), row),
                "after": after,
            }
        )

    def state(self) -> PreviewState:
        """What a picture shows of it at this moment: values that never change."""
        with self._lock:
            kept = sum(rows.num_rows for _, rows in self._batches)
            newest = batches_that_hold(self._batches)
            return PreviewState(newest, self.total_rows, kept, self.total_rows)

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """The newest rows as Python values, newest first."""
        return self.state().newest(count)

    def newest_changes(self, count: int) -> tuple[Change, ...]:
        """The newest rows as changes, newest first."""
        return self.state().newest_changes(count)

    def _kept(self) -> list[tuple[int, pa.Table]]:
        with self._lock:
            return list(self._batches)

    def _numbered(self) -> tuple[pa.Table, pa.Array]:
        """The kept rows, oldest first, and the batch of each."""
        import pyarrow as pa

        batches = self._kept()
        empty = arrow_schema(nullable(self.schema)).empty_table()
        ids = [batch_id for batch_id, rows in batches for _ in range(rows.num_rows)]
        table = pa.concat_tables([empty, *(rows for _, rows in batches)])
        return table, pa.array(ids, pa.int64())

    def _cut(self) -> None:
        kept = sum(rows.num_rows for _, rows in self._batches)
        while kept > self._limit_rows:
            batch_id, rows = self._batches.popleft()
            surplus = min(kept - self._limit_rows, rows.num_rows)
            if surplus < rows.num_rows:
                self._batches.appendleft((batch_id, rows.slice(surplus)))
            kept -= surplus


class Tee:
    """Writes a batch to a sink and keeps it for a preview beside it."""

    native: str | None = None

    def __init__(self, sink: Any, preview: Preview) -> None:
        self._sink = sink
        self._preview = preview
        self.timed: bool = sink.timed

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write, then keep; the batch is computed once."""
        batch.persist()
        try:
            self._sink.write(batch, batch_id)
            rows = batch.drop(TIMESTAMP) if self.timed else batch
            self._preview.write(rows, batch_id)
        finally:
            batch.unpersist()

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()


def _by_window(rows: pa.Table, schema: Schema) -> pa.Table:
    """The rows by their window, then by their other values from left to right: Spark
    gives them in the order of its hash partitions, which says nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    window = next((f.name for f in schema if f.type == WINDOW_STRUCT), None)
    if window is None or rows.num_rows < 2:
        return rows
    keys = [pc.struct_field(rows[window], part) for part in ("start", "end")]
    keys += [column for column in rows.columns if not pa.types.is_nested(column.type)]
    named = {str(i): key for i, key in enumerate(keys)}
    order = [(name, "ascending") for name in named]
    return rows.take(pc.sort_indices(pa.table(named), sort_keys=order))


def nullable(schema: Schema) -> Schema:
    """The columns as Spark sends them: those of stateful operators may all be NULL."""
    return Schema(tuple(replace(f, nullable=True) for f in schema))
