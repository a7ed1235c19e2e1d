"""What Spark's Python workers run of updating operators: Arrow in and out.

A worker loads this module, and what it imports, before its first row: numpy, pyarrow
and the kernels, no planner and no DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate import UpdatingAggregate
from arroyo_nb.changelog.join import UpdatingJoin
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids
from arroyo_nb.changelog.state import Layout, State, put_stream
from arroyo_nb.changelog.zset import consolidate, weights

BUCKET = "_bucket"
PARTS = f"{BUCKET} int, part binary"
"""Columns of partial states on their way to their buckets."""
NOW = "_now_us"
"""Column that is added to them: the time of the micro-batch, microseconds since the
epoch. A batch that is run again has the time of the first try."""

START, END = "window_start", "window_end"
"""The edges of the window of a row, as columns."""

PARTIAL_ROWS = 1_000_000
"""Rows that are put together before they are sent to their buckets."""


class Stepping(Protocol):
    """What an operator of :mod:`arroyo_nb.changelog` is to its bucket."""

    @property
    def output(self) -> pa.Schema:
        """Columns of its changes, without the weight."""

    @property
    def layout(self) -> Layout:
        """The tables of its state."""

    @property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """The next state, and the changes of the output."""

    def expire(self, state: State, before_us: int) -> tuple[State, pa.Table]:
        """Forget what got no append since an instant, and retract it."""


class Keyed(Stepping, Protocol):
    """An operator of one input, whose state is cut by its keys."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that its state is cut by."""

    def partials(self, rows: pa.Table, buckets: Ints) -> Iterator[tuple[int, State]]:
        """What rows add to the state of each bucket."""


class Partials:
    """Rows as partial states, one per bucket that they touch."""

    def __init__(self, operator: Keyed) -> None:
        self._operator = operator

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in stacked(batches):
            buckets = rows[BUCKET].to_numpy()
            parts = self._operator.partials(rows.drop(BUCKET), buckets)
            yield sent(parts, self._operator.partial_layout)


@dataclass(frozen=True)
class SidePartials:
    """Rows of one side as partial states, one per bucket that they touch."""

    operator: UpdatingJoin
    number: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        operator = self.operator
        sides = [schema.empty_table() for schema in (operator.left, operator.right)]
        for rows in stacked(batches):
            sides[self.number] = rows.drop(BUCKET)
            left, right = sides
            parts = operator.partials(left, right, rows[BUCKET].to_numpy())
            yield sent(parts, operator.partial_layout)


class WindowPartials:
    """Rows as partial states, one per bucket and window that they touch."""

    def __init__(self, operator: UpdatingAggregate) -> None:
        self._operator = operator

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        layout = self._operator.partial_layout
        for rows in stacked(batches):
            places = [rows[name] for name in (BUCKET, START, END)]
            slots = group_ids(places, len(rows))
            parts = self._operator.partials(rows.drop(BUCKET), slots)
            # They come in the order of their numbers, as the first rows do.
            written = pa.array(
                [layout.to_bytes(part) for _, part in parts], pa.binary()
            )
            first = pa.array(first_rows(slots))
            taken = [place.take(first).combine_chunks() for place in places]
            yield pa.record_batch([*taken, written], names=[BUCKET, START, END, "part"])


def sent(parts: Iterable[tuple[int, State]], layout: Layout) -> pa.RecordBatch:
    """Partial states by bucket as rows of :data:`PARTS`."""
    written = [(bucket, layout.to_bytes(part)) for bucket, part in parts]
    columns = {
        BUCKET: pa.array([b for b, _ in written], pa.int32()),
        "part": pa.array([p for _, p in written], pa.binary()),
    }
    return pa.record_batch(columns)


class Step(StatefulProcessor):  # type: ignore[misc]
    """A bucket's state, taken one batch further."""

    def __init__(self, operator: Stepping, ttl_us: int | None) -> None:
        self._operator = operator
        self._ttl_us = ttl_us

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "tables binary")

    def handleInputRows(self, _key: Any, rows: Any, _timers: Any) -> Any:  # noqa: N802
        from pyspark.sql import Row

        operator, found, rows = self._operator, self._state.get(), list(rows)
        # A beat has no part.
        blobs = [bytes(row.part) for row in rows if row.part is not None]
        if not (found or blobs):
            return
        layout = operator.layout
        state = layout.from_bytes(bytes(found[0])) if found else layout.empty()
        parts = [operator.partial_layout.from_bytes(blob) for blob in blobs]
        state, changes = self._taken_further(state, parts, rows[0][NOW])
        if not any(table.num_rows for table in state.values()):
            self._state.clear()
        elif parts or changes.num_rows:
            self._state.update((layout.to_bytes(state),))
        if changes.num_rows:
            yield Row(changes=to_bytes(changes))

    def _taken_further(
        self, state: State, parts: Sequence[State], now_us: int
    ) -> tuple[State, pa.Table]:
        """After the batch's rows; then what is idle, and did not get any, goes."""
        if self._ttl_us is None:
            return self._operator.step(state, parts, now_us)
        changes = None
        if parts:
            state, changes = self._operator.step(state, parts, now_us)
        state, expired = self._operator.expire(state, now_us - self._ttl_us)
        if changes is None or not changes.num_rows:
            return state, expired
        if not expired.num_rows:
            return state, changes
        # A row that was appended by a retract and is idle comes and goes at once.
        both = consolidate(pa.concat_tables([changes, expired]))
        return state, both.take(pa.array(np.argsort(weights(both) > 0, kind="stable")))

    def close(self) -> None:
        """Nothing is held open."""


class Close(StatefulProcessor):  # type: ignore[misc]
    """A bucket's state of open windows."""

    def __init__(self, operator: UpdatingAggregate) -> None:
        self._operator = operator

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "tables binary")

    def handleInputRows(self, _key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
        layout = self._operator.partial_layout
        parts = [layout.from_bytes(bytes(row.part)) for row in rows]
        yield from self._sent(parts, timers)

    def handleExpiredTimer(self, timerValues: Any, **_: Any) -> Any:  # noqa: N802, N803
        yield from self._sent((), timerValues)

    def close(self) -> None:
        """Nothing is held open."""

    def _sent(self, parts: Sequence[State], timers: Any) -> Any:
        from pyspark.sql import Row

        operator, found = self._operator, self._state.get()
        layout = operator.layout
        state = layout.from_bytes(bytes(found[0])) if found else layout.empty()
        if parts:
            state = operator.taken_in(state, parts)
        until_us = timers.getCurrentWatermarkInMs() * 1000
        state, final, following = operator.close(state, END, until_us)
        if following is None:
            self._state.clear()
        else:
            self._state.update((layout.to_bytes(state),))
            # Spark keeps time in milliseconds: called too early, it is asked again.
            self._handle.registerTimer(following // 1000)
        if final.num_rows:
            yield Row(changes=to_bytes(final))


def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for changes in batch["changes"]:
            yield from pa.ipc.open_stream(changes.as_buffer())


def copies(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each appended row as often as it comes."""
    for batch in batches:
        weight = batch[WEIGHT].to_numpy()
        yield batch.take(pa.array(np.repeat(np.arange(len(weight)), weight)))


def to_bytes(changes: pa.Table) -> bytes:
    """Rows as :func:`told` reads them."""
    sink = pa.BufferOutputStream()
    put_stream(sink, changes)
    return bytes(sink.getvalue())


def stacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches in tables of some :data:`PARTIAL_ROWS`: Arrow batches are small."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= PARTIAL_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)
