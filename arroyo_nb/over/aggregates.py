"""Aggregates over frames, in one of three ways.

What subtracts (counts, sums, means, moments) is a difference of running totals; those
of floats and decimals are digits (:mod:`arroyo_nb.changelog.exact`), so that a sum over
a frame depends on its rows alone. A least or greatest value is found in a table of
those of 1, 2, 4, ... neighbours. Everything else is computed from the values of each
frame: rows that share one share the work, as all rows do whose frame is the partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate_plans import Recipe, recipe
from arroyo_nb.changelog.exact import PLACE, SLOT, digits_schema
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids
from arroyo_nb.changelog.measures import AggregateCall, Bag, Order
from arroyo_nb.changelog.order import ranks
from arroyo_nb.changelog.totals import (
    counter_terms,
    digit_terms,
    is_counter,
    total_of,
)
from arroyo_nb.changelog.zset import int64s
from arroyo_nb.lazy_imports import np, pa
from arroyo_nb.over.pieces import Pieces
from arroyo_nb.over.rows import OverCall, OverRows

POSITION = "_position"
"""Column of a row's position, which lists are ordered by."""

MEMBERS = 1_000_000
"""Rows of frames that are written out at once."""


def aggregate_over(rows: OverRows, call: OverCall) -> pa.Array:
    """An aggregate over the frame of each row."""
    assert call.aggregate is not None
    assert call.frame is not None
    aggregate = call.aggregate
    table = rows.table.append_column(POSITION, pa.array(rows.partitions.position))
    # Multiplicities are kept apart by the position where order counts; a DISTINCT one
    # stays in the order of its values.
    made = recipe(aggregate, table.schema, retracts=True)
    at, columns = made.selection.rows_of(table)
    chosen = np.zeros(len(rows), np.bool_)
    chosen[at] = True
    frames = rows.pieces(call.frame).among(chosen)
    if made.bag is None:
        return _of_totals(made, columns, len(at), frames)
    extreme = aggregate.kernel.extreme
    if extreme is not None:
        least = ranks(columns[0], Order("", descending=extreme == "max"))
        return _least(columns[0], least, frames)
    return _of_members(made, made.bag, table.take(pa.array(at)), frames)


def ordered_by_position(call: AggregateCall) -> AggregateCall:
    """An aggregate whose result depends on the order of its rows, with that of OVER."""
    return replace(call, order=(Order(POSITION),))


def _of_totals(
    made: Recipe, columns: Sequence[pa.Array], rows: int, frames: Pieces
) -> pa.Array:
    assert made.linear is not None
    totals: dict[str, Any] = {}
    for part in made.linear.parts:
        if is_counter(part):
            totals[part] = frames.total(counter_terms(part, columns, rows))
        else:
            slots, once = np.arange(rows), np.ones(rows, np.int64)
            digits = digit_terms(part, columns, slots, once)
            summed = _digits(digits, rows, frames)
            totals[part] = total_of(part, summed, len(frames.sizes))
    return made.linear.finish(totals, made.call)


def _digits(terms: pa.Table, rows: int, frames: Pieces) -> pa.Table:
    """The digits of each frame's sum, from those of each row."""
    slot, place, digit = (int64s(terms[name]) for name in (SLOT, PLACE, WEIGHT))
    tables = [digits_schema().empty_table()]
    # Values of alike size have a handful of places between them.
    for one in np.unique(place):
        here = place == one
        column = np.zeros(rows, np.int64)
        column[slot[here]] = digit[here]
        total = frames.total(column)
        there = np.flatnonzero(total)
        parts = [there, np.full(len(there), one), total[there]]
        tables.append(pa.table([*map(pa.array, parts)], schema=digits_schema()))
    return pa.concat_tables(tables)


def _least(values: pa.Array, number: Ints, frames: Pieces) -> pa.Array:
    """The value of the least number of each frame; NULL of a frame without rows."""
    none = np.iinfo(np.int64).max
    best = np.full(len(frames.sizes), none)
    sizes = [np.maximum(high - low, 0) for low, high in frames.ranges]
    longest = max((int(size.max(initial=0)) for size in sizes), default=0)
    table, span = number, 1
    # Two overlapping stretches of a power of two cover any range.
    while span <= longest:
        for (low, high), size in zip(frames.ranges, sizes, strict=True):
            of_span = np.flatnonzero((size >= span) & (size < 2 * span))
            one, other = table[low[of_span]], table[high[of_span] - span]
            best[of_span] = np.minimum(best[of_span], np.minimum(one, other))
        table = np.minimum(table[:-span], table[span:])
        span *= 2
    first = first_rows(number)
    found = best < none
    position = np.full(len(best), -1, np.int64)
    position[found] = first[best[found]]
    return values.take(pa.array(position, mask=~found))


def _of_members(made: Recipe, bag: Bag, chosen: pa.Table, frames: Pieces) -> pa.Array:
    """An aggregate of all values of each frame."""
    edges = [pa.array(edge) for pair in frames.ranges for edge in pair]
    ids = group_ids(edges, len(frames.sizes))
    first = first_rows(ids)
    distinct = Pieces(tuple((low[first], high[first]) for low, high in frames.ranges))
    parts = [_of_frames(made, bag, chosen, some) for some in _cut(distinct, MEMBERS)]
    empty = pa.array([], made.call.type)
    values = pa.concat_arrays([empty, *(p.cast(made.call.type) for p in parts)])
    return values.take(pa.array(ids))


def _of_frames(made: Recipe, bag: Bag, chosen: pa.Table, frames: Pieces) -> pa.Array:
    slots, members = _members(frames)
    rows = chosen.take(pa.array(members))
    hung = bag.of_rows(rows, slots, np.ones(len(slots), np.int64))
    return made.finish({}, {str(bag): hung}, len(frames.sizes))


def _cut(frames: Pieces, most: int) -> Iterator[Pieces]:
    """Some frames after the other, of about so many rows together."""
    # Frames before the first row of all are a part of the first piece.
    part = np.maximum(np.cumsum(frames.sizes) - 1, 0) // most
    edges = np.flatnonzero(np.diff(part, prepend=-1, append=np.iinfo(np.int64).max))
    for start, end in pairwise(edges):
        yield Pieces(tuple((lo[start:end], hi[start:end]) for lo, hi in frames.ranges))


def _members(frames: Pieces) -> tuple[Ints, Ints]:
    """The rows of frames written out: the number of the frame, and the position."""
    slots, positions = [], []
    for low, high in frames.ranges:
        size = high - low
        before = np.cumsum(size) - size
        slots.append(np.repeat(np.arange(len(size)), size))
        counted = np.arange(int(size.sum())) - np.repeat(before, size)
        positions.append(np.repeat(low, size) + counted)
    return np.concatenate(slots), np.concatenate(positions)
