"""What Spark's Python workers run of updating operators: Arrow in and out.

A worker loads this module, and what it imports, before its first row: numpy, pyarrow
and the kernels, no planner and no DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate import GROUPS, AggregateKernel
from arroyo_nb.changelog.join import JoinKernel
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids, whole
from arroyo_nb.changelog.state_tables import Layout, State, put_stream, split
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.zset import consolidate, retracts_first

BUCKET = "_bucket"
PARTS = f"{BUCKET} int, part binary"
"""Columns of partial states on their way to their buckets."""
NOW = "_now_us"
"""Column that is added to them: the time of the micro-batch, microseconds since the
epoch. A batch that is run again has the time of the first try."""

START, END = "window_start", "window_end"
"""The edges of the window of a row, as columns."""

PARTIAL_ROWS = 100_000
"""Rows that are put together before they are sent to their buckets: as many as come in
one batch, so that the next one is made while these are added up."""


class StatefulOperator(Protocol):
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
    ) -> tuple[StateUpdate, pa.Table]:
        """What becomes of the state, and the changes of the output."""

    def expire(self, state: State, before_us: int) -> tuple[StateUpdate, pa.Table]:
        """Forget what got no append since an instant, and retract it."""

    @property
    def group_keys(self) -> Sequence[str]:
        """The columns of a state's first table that name a group."""

    def buckets(self, state: State, number: int) -> Ints:
        """The bucket of each row of a state's first table, of so many buckets."""


class UnaryOperator(StatefulOperator, Protocol):
    """An operator of one input."""

    def partial(self, rows: pa.Table) -> State:
        """What rows add to the state."""


@dataclass(frozen=True)
class Partials:
    """Rows as partial states, one per bucket that they touch."""

    operator: UnaryOperator
    buckets: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in stacked(batches):
            yield self.of_rows(rows)

    def of_rows(self, rows: pa.Table) -> pa.RecordBatch:
        """Rows as rows of :data:`PARTS`."""
        part = self.operator.partial(rows)
        return bucketed_parts(part, self.operator, self.buckets)


@dataclass(frozen=True)
class Chain:
    """What reads the changes of an operator in its own worker: the partial states of
    the next operator.

    Parameters
    ----------
    partials
        Of the next operator.
    columns
        What it reads: columns of the changes, and their names in its input.
    appends
        Whether rows only come; it then reads no weight.
    """

    partials: Partials
    columns: tuple[tuple[str, str], ...]
    appends: bool

    def __call__(self, changes: pa.Table) -> pa.RecordBatch:
        """Changes as rows of :data:`PARTS`."""
        if self.appends:
            changes = _copied(changes)
        read, names = zip(*self.columns, strict=True)
        return self.partials.of_rows(changes.select(read).rename_columns(names))


@dataclass(frozen=True)
class SidePartials:
    """Rows of one side as partial states, one per bucket that they touch."""

    operator: JoinKernel
    number: int
    buckets: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        operator = self.operator
        sides = [schema.empty_table() for schema in (operator.left, operator.right)]
        for rows in stacked(batches):
            sides[self.number] = rows
            yield bucketed_parts(operator.partial(*sides), operator, self.buckets)


@dataclass(frozen=True)
class WindowPartials:
    """Rows as partial states, one per bucket and window that they touch.

    The window's edges are the operator's first two keys.
    """

    operator: AggregateKernel
    buckets: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        layout = self.operator.partial_layout
        for rows in stacked(batches):
            part = self.operator.partial(rows)
            buckets = pa.array(self.operator.buckets(part, self.buckets), pa.int32())
            places = [buckets, *map(whole, part[GROUPS].columns[:2])]
            slots = group_ids(places, len(buckets))
            # They come in the order of their numbers, as the first rows do.
            cut = [layout.to_bytes(piece) for _, piece in split(part, slots)]
            first = pa.array(first_rows(slots))
            taken = [place.take(first) for place in places]
            made = [*taken, pa.array(cut, pa.binary())]
            yield pa.record_batch(made, names=[BUCKET, START, END, "part"])


def bucketed_parts(
    part: State, operator: StatefulOperator, buckets: int
) -> pa.RecordBatch:
    """A partial state as rows of :data:`PARTS`."""
    layout = operator.partial_layout
    pieces = split(part, operator.buckets(part, buckets))
    written = [(bucket, layout.to_bytes(piece)) for bucket, piece in pieces]
    columns = {
        BUCKET: pa.array([b for b, _ in written], pa.int32()),
        "part": pa.array([p for _, p in written], pa.binary()),
    }
    return pa.record_batch(columns)


@dataclass(frozen=True)
class Advanced:
    """What a batch has made of a bucket.

    Parameters
    ----------
    updates
        Of its state, one after the other.
    changes
        Of the output.
    """

    updates: tuple[StateUpdate, ...]
    changes: pa.Table


def advance(
    operator: StatefulOperator,
    state: State,
    parts: Sequence[State],
    now_us: int,
    idle_before_us: int | None,
) -> Advanced:
    """After the batch's rows; then what is idle, and did not get any, goes."""
    updates, told = [], []
    if parts or idle_before_us is None:
        update, changes = operator.step(state, parts, now_us)
        updates.append(update)
        told.append(changes)
    # Without a time to live nothing is ever idle. After the step: a key that gets an
    # append in this very batch is not idle, however long it was before.
    if idle_before_us is not None:
        for update in updates:
            state = update.applied_to(state, operator.layout)
        update, expired = operator.expire(state, idle_before_us)
        updates.append(update)
        told.append(expired)
    return Advanced(tuple(filter(None, updates)), _in_order(told))


def _in_order(told: Sequence[pa.Table]) -> pa.Table:
    some = [changes for changes in told if changes.num_rows] or told[:1]
    if len(some) == 1:
        return some[0]
    # A row that was appended by a retract and is idle comes and goes at once.
    return retracts_first(consolidate(pa.concat_tables(some)))


def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The changes that are in the column of Arrow IPC bytes, as record batches."""
    for batch in batches:
        for changes in batch["changes"]:
            yield from pa.ipc.open_stream(changes.as_buffer())


def appended(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows that are appended, each as often as it comes, as record batches."""
    yield from map(_copied, decoded(batches))


_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


def _copied(changes: _Rows) -> _Rows:
    weight = changes[WEIGHT].to_numpy()
    if (weight == 1).all():
        return changes
    copies = np.repeat(np.arange(len(weight)), np.maximum(weight, 0))
    return changes.take(pa.array(copies))


def to_bytes(changes: pa.Table) -> bytes:
    """Rows as :func:`decoded` reads them."""
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
