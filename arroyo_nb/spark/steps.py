"""What Spark's Python workers run of updating operators: Arrow in and out.

A worker loads this module, and what it imports, before its first row: numpy, pyarrow
and the kernels, no planner and no DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

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
        """Forget what got no append since an instant, and retract it; the same state
        where there is nothing to forget."""


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


def taken_further(
    operator: Stepping,
    state: State,
    parts: Sequence[State],
    now_us: int,
    ttl_us: int | None,
) -> tuple[State, pa.Table]:
    """After the batch's rows; then what is idle, and did not get any, goes."""
    if ttl_us is None:
        return operator.step(state, parts, now_us)
    changes = None
    if parts:
        state, changes = operator.step(state, parts, now_us)
    state, expired = operator.expire(state, now_us - ttl_us)
    if changes is None or not changes.num_rows:
        return state, expired
    if not expired.num_rows:
        return state, changes
    # A row that was appended by a retract and is idle comes and goes at once.
    both = consolidate(pa.concat_tables([changes, expired]))
    return state, both.take(pa.array(np.argsort(weights(both) > 0, kind="stable")))


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
