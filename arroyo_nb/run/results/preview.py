"""What a preview keeps of its output: all rows up to a budget, and exact counts.

The newest rows are in memory, for views; all of them in a :class:`RowStore` of the
run's folder, once the run has one. :attr:`Preview.cut_rows` says how many are not here.
Batches come on Spark's callback thread and are read from any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from arroyo_nb.connectors import CollectingWriter
from arroyo_nb.run.observe.snapshot import Change
from arroyo_nb.run.results.preview_state import (
    SHOWN_ROWS,
    PreviewState,
    batches_that_hold,
)
from arroyo_nb.run.results.sorting import in_order
from arroyo_nb.schema import WINDOW_STRUCT, Schema, arrow_schema, nullable

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.plan.nodes import SortKey
    from arroyo_nb.run.results.row_store import RowStore

OnRows: TypeAlias = "Callable[[pa.Table, int], object]"
"""Is given rows as they come, and the number of their batch."""

PREVIEW_ROWS = 10_000
"""Newest rows of an output that are in memory, as in Arroyo's own preview."""

RECENT_BATCHES = 64
"""For how many of the newest micro-batches it is known how many rows came before."""


class PreviewOptions(TypedDict, total=False):
    """What a preview is made with.

    Parameters
    ----------
    limit_rows
        How many of the newest rows, or changes, are in memory.
    order, limit
        What the result is sorted by, and how many rows it has.
    """

    limit_rows: int
    order: Sequence[SortKey]
    limit: int | None


class Preview(CollectingWriter):
    """A writer that keeps rows.

    Parameters
    ----------
    schema
        Columns of the output.
    chosen
        What is kept, and in which order.
    """

    is_updating = False
    """Whether what comes are changes, and :meth:`table` what they leave."""

    def __init__(self, schema: Schema, **chosen: Unpack[PreviewOptions]) -> None:
        limit_rows = chosen.get("limit_rows", PREVIEW_ROWS)
        self.schema = schema
        self.order = tuple(chosen.get("order", ()))
        self.limit = chosen.get("limit")
        self._top: pa.Table | None = None
        self.total_rows = 0
        self._limit_rows = limit_rows
        self._batches: deque[tuple[int, pa.Table]] = deque()
        self._starts: deque[tuple[int, int]] = deque(maxlen=RECENT_BATCHES)
        self._lock = Lock()
        self._callbacks: tuple[OnRows, ...] = ()
        self._store: RowStore | None = None

    def take(self, rows: pa.Table, batch_id: int) -> int:
        """Take one micro-batch; a replayed one takes the place of its first try."""
        self.put(rows.cast(arrow_schema(nullable(self.schema))), batch_id)
        return int(rows.num_rows)

    def keep_in(self, folder: Path, budget_bytes: int) -> None:
        """Keep all rows in a folder from now on; those that it has come first."""
        from arroyo_nb.run.results.row_store import RowStore

        if self._store is not None and self._store.folder == folder:
            return
        self._store = RowStore(
            folder, arrow_schema(nullable(self.schema)), budget_bytes
        )
        self._take_up(self._store)
        for frame in self._store.newest(self._limit_rows):
            self._batches.append((frame.batch_id, frame.rows))
        self._cut()
        if self.total_rows:
            self._sort_in(arrow_schema(nullable(self.schema)).empty_table())

    def put(self, rows: pa.Table, batch_id: int) -> None:
        """Take the rows of one micro-batch, in the order of their windows."""
        rows = _by_window(rows, self.schema)
        if self.ends_at is not None:
            # A LIMIT without an order is reached in the middle of a batch; a batch that
            # comes again is cut where it was before.
            rows = rows.slice(0, max(0, self.ends_at - self._rows_before(batch_id)))
        # In this order: who looks meanwhile must not miss what is just being kept.
        if self._store is not None:
            self._store.append(rows, batch_id, rows.num_rows)
        self._remember(rows, batch_id, rows.num_rows)
        self._sort_in(rows)
        self._tell(rows, batch_id)

    def _take_up(self, store: RowStore) -> None:
        self.total_rows = store.next
        self._starts.extend((batch_id, first) for batch_id, first, _ in store.recent)

    @property
    def ends_at(self) -> int | None:
        """After how many rows the output is complete; None: not by its LIMIT."""
        return None if self.order or self.is_updating else self.limit

    def _rows_before(self, batch_id: int) -> int:
        """How many rows came before a batch, which may come again."""
        before = (total for number, total in self._starts if number >= batch_id)
        return next(before, self.total_rows)

    def _sort_in(self, rows: pa.Table) -> None:
        """Hold the first rows in the order of the query, for views."""
        import pyarrow as pa

        if self.order:
            # Not known after a batch that comes again, and in a run that goes on.
            first = self._top is None
            known = [part for _, part in self._frames()] if first else [self._top, rows]
            top = in_order(pa.concat_tables(known), self.order) if known else rows
            self._top = top.slice(0, SHOWN_ROWS).combine_chunks()

    def _shaped(self, rows: pa.Table) -> pa.Table:
        """The result as its query's ORDER BY and LIMIT have it."""
        rows = in_order(rows, self.order)
        return rows if self.limit is None else rows.slice(0, self.limit)

    def _remember(self, rows: pa.Table, batch_id: int, count: int) -> None:
        """Hold the newest rows of a batch, and count all that came with it."""
        with self._lock:
            # One that comes again takes the place of its first try.
            if self._starts and self._starts[-1][0] >= batch_id:
                self._top = None
            # Counts go back to where that batch began.
            while self._starts and self._starts[-1][0] >= batch_id:
                self.total_rows = self._starts.pop()[1]
            while self._batches and self._batches[-1][0] >= batch_id:
                self._batches.pop()
            self._starts.append((batch_id, self.total_rows))
            self.total_rows += count
            if rows.num_rows:
                self._batches.append((batch_id, rows))
            self._cut()

    def _tell(self, rows: pa.Table, batch_id: int) -> None:
        for callback in self._callbacks if rows.num_rows else ():
            callback(rows, batch_id)

    def call(self, callback: OnRows) -> None:
        """Have a function called with the rows of each batch from now on, and with the
        number of the batch; what it raises ends the query."""
        self._callbacks = (*self._callbacks, callback)

    def close(self) -> None:
        """Write no more; the rows stay readable."""
        if self._store is not None:
            self._store.close()

    def detach(self) -> None:
        """Keep the rows readable after the run's folder is removed."""
        if self._store is not None:
            self._store.detach()

    @property
    def kept_rows(self) -> int:
        """How many rows are here."""
        return self.total_rows - self.cut_rows

    @property
    def cut_rows(self) -> int:
        """How many rows are not here."""
        store = self._readable
        here = self._in_memory if store is None else store.kept
        return max(0, self.total_rows - here)

    @property
    def cut_text(self) -> str:
        """Which rows are not here, and why; empty: all are."""
        store = self._store
        uncounted = store is not None and store.uncounted
        if not self.cut_rows and not uncounted:
            return ""
        reasons = self._reasons
        # What is here has no gap unless there are several reasons, or files are gone.
        which = {"let go": "the newest ", "problem": "the first "}
        here = which.get("".join(reasons), "")
        if self._readable is None:
            here = "the newest "
        what = f"{here}{self.kept_rows:,} of {self.total_rows:,} {self._what}"
        more = " and an unknown number more" * uncounted
        return f"{what}{more}: " + "; ".join(reasons.values())

    @property
    def _reasons(self) -> dict[str, str]:
        """Why rows may not be here."""
        store = self._store
        if store is None:
            return {"": "a budget for kept rows keeps more, such as 1GB"}
        budget = size_text(store.budget_bytes)
        let_go = f"the budget for kept rows is {budget}, and the oldest were let go"
        reasons = {
            "let go": let_go if store.let_go else "",
            "gap": store.gap,
            "problem": store.problem,
        }
        return {kind: reason for kind, reason in reasons.items() if reason}

    _what = "rows"

    @property
    def _in_memory(self) -> int:
        with self._lock:
            return sum(rows.num_rows for _, rows in self._batches)

    @property
    def _readable(self) -> RowStore | None:
        """The store, unless more rows are in memory than it could keep."""
        store = self._store
        if store is None or (store.problem and store.kept <= self._in_memory):
            return None
        return store

    @property
    def result_rows(self) -> int | None:
        """How many rows the output has in all; None where that is not known."""
        return self.total_rows

    def table(self) -> pa.Table:
        """The kept rows, oldest first."""
        import pyarrow as pa

        empty = arrow_schema(nullable(self.schema)).empty_table()
        rows = pa.concat_tables([empty, *(rows for _, rows in self._frames())])
        return self._shaped(rows)

    def batches(self) -> pa.RecordBatchReader:
        """The kept rows, oldest first, a record batch at a time: of those of the disk
        one is in memory."""
        import pyarrow as pa

        schema = arrow_schema(nullable(self.schema))
        found = (b for _, rows in self._frames() for b in rows.to_batches())
        return pa.RecordBatchReader.from_batches(schema, found)

    def changelog(self) -> pa.Table:
        """The kept rows as changes: op, batch, before, after.

        An append-only output only creates: every op is ``c`` and every before NULL.
        """
        import pyarrow as pa

        row = pa.struct(list(arrow_schema(nullable(self.schema))))
        created: list[pa.Table] = []
        for batch_id, rows in self._frames():
            after = pa.chunked_array([b.to_struct_array() for b in rows.to_batches()])
            many = rows.num_rows
            op, batch = pa.repeat("c", many), pa.repeat(pa.scalar(batch_id), many)
            before = pa.nulls(many, row)
            columns = {"op": op, "batch": batch, "before": before, "after": after}
            created.append(pa.table(columns))
        named = {"op": pa.string(), "batch": pa.int64(), "before": row, "after": row}
        return pa.concat_tables([pa.schema(named).empty_table(), *created])

    def state(self) -> PreviewState:
        """What a picture shows of it at this moment: values that never change."""
        kept, cut_text = self.kept_rows, self.cut_text
        with self._lock:
            newest, total = batches_that_hold(self._batches), self.total_rows
        return PreviewState(newest, total, kept, total, cut_text, self._first_rows())

    def table_at(self, batch_id: int) -> pa.Table:
        """The kept rows of the result as they were after an earlier micro-batch."""
        import pyarrow as pa

        empty = arrow_schema(nullable(self.schema)).empty_table()
        return self._shaped(pa.concat_tables([empty, *self._until(batch_id)]))

    def state_at(self, batch_id: int, total_rows: int) -> PreviewState:
        """What a picture showed of it after an earlier micro-batch, as far as its rows
        are kept.

        Parameters
        ----------
        batch_id
            The micro-batch.
        total_rows
            How many rows had come with it.
        """
        kept, newest = self._newest_until(batch_id)
        first = self.table_at(batch_id).slice(0, SHOWN_ROWS) if self.order else None
        return PreviewState(
            newest,
            total_rows,
            min(kept, total_rows),
            total_rows,
            "" if kept >= total_rows else self.cut_text,
            first,
        )

    def _newest_until(
        self, batch_id: int
    ) -> tuple[int, tuple[tuple[int, pa.Table], ...]]:
        """How many rows up to a batch are kept, and the newest of them."""
        frames = [(b, rows) for b, rows in self._shown_frames() if b <= batch_id]
        return sum(rows.num_rows for _, rows in frames), batches_that_hold(frames)

    def _shown_frames(self) -> Iterator[tuple[int, pa.Table]]:
        """As :meth:`_frames`, with what a picture needs beside the rows."""
        return self._frames()

    def _until(self, batch_id: int) -> Iterator[pa.Table]:
        return (rows for number, rows in self._frames() if number <= batch_id)

    def _first_rows(self) -> pa.Table | None:
        """The first rows in the order of the query; None: it has none."""
        top = self._top
        return None if top is None else top.slice(0, self.limit)

    def newest(self, count: int) -> list[tuple[Any, ...]]:
        """The newest rows as Python values, newest first."""
        return self.state().newest(count)

    def newest_changes(self, count: int) -> tuple[Change, ...]:
        """The newest rows as changes, newest first."""
        return self.state().newest_changes(count)

    def _kept(self) -> list[tuple[int, pa.Table]]:
        with self._lock:
            return list(self._batches)

    @property
    def frame_schema(self) -> pa.Schema:
        """The columns of :meth:`frames`."""
        return arrow_schema(nullable(self.schema))

    def frames(self) -> Iterator[tuple[int, pa.Table]]:
        """What :meth:`take` was given, as far as it is kept, by micro-batch."""
        return self._frames()

    def _frames(self) -> Iterator[tuple[int, pa.Table]]:
        """The kept rows by micro-batch, oldest first."""
        store = self._readable
        if store is None:
            return iter(self._kept())
        return ((frame.batch_id, frame.rows) for frame in store.frames())

    def _cut(self) -> None:
        kept = sum(rows.num_rows for _, rows in self._batches)
        while kept > self._limit_rows:
            batch_id, rows = self._batches.popleft()
            surplus = min(kept - self._limit_rows, rows.num_rows)
            if surplus < rows.num_rows:
                self._batches.appendleft((batch_id, rows.slice(surplus)))
            kept -= surplus


def _by_window(rows: pa.Table, schema: Schema) -> pa.Table:
    """The rows by their window, then by their other values from left to right: Spark
    gives them in the order of its hash partitions, which says nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    window = next((f.name for f in schema if f.type == WINDOW_STRUCT), None)
    if window is None or rows.num_rows < 2:
        return rows
    keys = [pc.struct_field(rows[window], part) for part in ("start", "end")]
    # Arrow sorts by no struct or list.
    keys += [column for column in rows.columns if not pa.types.is_nested(column.type)]
    named = {str(i): key for i, key in enumerate(keys)}
    order = [(name, "ascending") for name in named]
    return rows.take(pc.sort_indices(pa.table(named), sort_keys=order))


def size_text(size_bytes: int) -> str:
    """A size in its largest unit.

    >>> size_text(2**30), size_text(1_500)
    ('1 GB', '1.46 KB')
    """
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if size_bytes >= size:
            return f"{size_bytes / size:.3g} {unit}"
    return f"{size_bytes} bytes"
