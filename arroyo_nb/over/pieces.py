"""Frames as ranges of positions.

A frame is one range of neighbours, less what EXCLUDE takes out of it: up to three
ranges, in order. So whatever an aggregate adds up is a difference of running totals,
and a value at a place in a frame is found by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.order import ranks
from arroyo_nb.lazy_imports import np, npt, pa, pc, pt
from arroyo_nb.over.frame import Edge, Offset, OverFrame
from arroyo_nb.over.partitions import Partitions


@dataclass(frozen=True)
class Pieces:
    """Of each row its frame: one to three ranges ``[low, high)`` of positions."""

    ranges: tuple[tuple[Ints, Ints], ...]

    @property
    def sizes(self) -> Ints:
        """How many rows each frame has."""
        return self._added([(low, high) for low, high in self.ranges])

    def among(self, chosen: npt.NDArray[np.bool_]) -> Pieces:
        """The frames over the chosen rows alone, which are counted from 0."""
        before = np.r_[0, np.cumsum(chosen, dtype=np.int64)]
        return Pieces(tuple((before[low], before[high]) for low, high in self.ranges))

    def at(self, place: Ints) -> Ints:
        """The position of the row at a place of each frame, from 0; -1 for none."""
        found, left = np.full(len(place), -1, np.int64), place
        for low, high in self.ranges:
            here = (found < 0) & (left >= 0) & (left < high - low)
            found = np.where(here, low + left, found)
            left = left - (high - low)
        return found

    def total(self, terms: npt.NDArray[np.int64]) -> Ints:
        """The sum of int64 terms over each frame; it wraps around, as they do."""
        running = np.r_[0, np.cumsum(terms, dtype=np.int64)]
        return self._added([(running[lo], running[hi]) for lo, hi in self.ranges])

    @staticmethod
    def _added(edges: Sequence[tuple[Ints, Ints]]) -> Ints:
        (low, high), *others = edges
        total: Ints = high - low
        for low, high in others:
            total = total + (high - low)
        return total


def frame_pieces(
    frame: OverFrame, rows: Partitions, by: tuple[pa.Array, Order] | None
) -> Pieces:
    """The frame of each row.

    Parameters
    ----------
    by
        The one column of ORDER BY, sorted, where RANGE has an offset.
    """
    low = _low(frame, rows, by)
    high = np.maximum(_high(frame, rows, by), low)
    return Pieces(_excluded(frame, rows, low, high))


def _low(frame: OverFrame, rows: Partitions, by: tuple[pa.Array, Order] | None) -> Ints:
    """Where each frame begins."""
    edge, partition = frame.start, rows.whole
    if edge.offset is None:
        return partition.start
    if frame.unit == "rows":
        steps = _steps(edge, len(rows))
        return np.clip(rows.position + steps, partition.start, partition.end)
    if edge.offset == _nothing(edge.offset):
        return rows.peers.start
    if frame.unit == "groups":
        return _groups(rows, _steps(edge, len(rows)), rows.peers.first)
    assert by is not None
    return _search(rows, by, edge, "left")


def _high(
    frame: OverFrame, rows: Partitions, by: tuple[pa.Array, Order] | None
) -> Ints:
    """The position behind each frame."""
    edge, partition = frame.end, rows.whole
    if edge.offset is None:
        return partition.end
    if frame.unit == "rows":
        steps = _steps(edge, len(rows)) + 1
        return np.clip(rows.position + steps, partition.start, partition.end)
    if edge.offset == _nothing(edge.offset):
        return rows.peers.end
    if frame.unit == "groups":
        return _groups(rows, _steps(edge, len(rows)), rows.peers.following)
    assert by is not None
    return _search(rows, by, edge, "right")


def _nothing(offset: Offset) -> Offset:
    return timedelta() if isinstance(offset, timedelta) else 0


def _steps(edge: Edge, most: int) -> int:
    """How many rows or groups further an edge is."""
    # Further than all rows is as far as all rows; a longer number has no int64.
    steps = min(int(edge.offset or 0), most)  # type: ignore[arg-type]
    return -steps if edge.side == "preceding" else steps


def _groups(rows: Partitions, steps: int, edges: Ints) -> Ints:
    """An edge of the group of peers so many groups further."""
    peers, partition = rows.peers, rows.whole
    target = peers.number + steps
    first = peers.number[partition.start]
    last = peers.number[partition.end - 1]
    found = edges[np.clip(target, first, last)]
    # Beyond the partition there is nothing: not its last group either.
    found = np.where(target < first, partition.start, found)
    return np.where(target > last, partition.end, found)


def _search(
    rows: Partitions,
    by: tuple[pa.Array, Order],
    edge: Edge,
    side: Literal["left", "right"],
) -> Ints:
    """Where the value that is an offset away from each row's would be put."""
    values, order = by
    assert edge.offset is not None
    backwards = (edge.side == "preceding") != order.descending
    values, targets = _moved(values, edge.offset, backwards=backwards)
    # One ranking of values and targets compares any two of them exactly as ORDER BY
    # does. NULL moves nowhere: its frame is its peers.
    ranked = ranks(pa.concat_arrays([values, targets]), order)
    own, wanted = ranked[: len(rows)], ranked[len(rows) :]
    base = rows.slot * (ranked.max(initial=0) + 1)
    found = np.searchsorted(base + own, base + wanted, side=side)
    return np.asarray(found, np.int64)


def _moved(
    values: pa.Array, offset: Offset, *, backwards: bool
) -> tuple[pa.Array, pa.Array]:
    """The values, and the same with the offset added or subtracted, in one type that
    has room for both."""
    if isinstance(offset, timedelta):
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
        offset = offset // timedelta(microseconds=1)
    move = pc.subtract if backwards else pc.add
    if pt.is_floating(values.type):
        values = values.cast(pa.float64())
        return values, move(values, pa.scalar(float(offset), pa.float64()))
    distance = Decimal(str(offset))
    if pt.is_integer(values.type) and distance == int(distance):
        edges = pc.min_max(values)
        most = max(abs(edges[end].as_py() or 0) for end in ("min", "max"))
        if most + int(distance) < 1 << 63:
            values = values.cast(pa.int64())
            return values, move(values, pa.scalar(int(distance), pa.int64()))
    # What is moved has a digit more than its operands, and 76 are the most there are.
    wide = pa.decimal256(75, _scale(values, distance))
    moved = move(values.cast(wide), pa.scalar(distance, wide))
    return values.cast(moved.type), moved


def _scale(values: pa.Array, offset: Decimal) -> int:
    own = values.type.scale if pt.is_decimal(values.type) else 0
    return max(own, -int(offset.as_tuple().exponent), 0)


def _excluded(
    frame: OverFrame, rows: Partitions, low: Ints, high: Ints
) -> tuple[tuple[Ints, Ints], ...]:
    """The range without what EXCLUDE takes out."""
    here, peers = rows.position, rows.peers
    match frame.exclude:
        case "no others":
            return ((low, high),)
        case "current row":
            gaps = [(here, here + 1)]
        case "group":
            gaps = [(peers.start, peers.end)]
        case "ties":
            gaps = [(peers.start, here), (here + 1, peers.end)]
    pieces, begin = [], low
    for gap, behind in gaps:
        end = np.clip(gap, begin, high)
        pieces.append((begin, end))
        begin = np.clip(behind, end, np.maximum(high, end))
    return (*pieces, (begin, np.maximum(high, begin)))
