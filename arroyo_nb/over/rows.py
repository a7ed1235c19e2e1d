"""What a function with OVER is given: sorted rows, their partitions and frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from arroyo_nb.changelog.keys import Ints, whole
from arroyo_nb.changelog.measures import AggregateCall, Order
from arroyo_nb.lazy_imports import np, npt, pa
from arroyo_nb.over.frame import Edge, OverFrame
from arroyo_nb.over.partitions import Partitions
from arroyo_nb.over.pieces import Pieces, frame_pieces


@dataclass(frozen=True)
class OverCall:
    """``function(arguments) OVER (... frame) AS name``.

    Parameters
    ----------
    name, type
        The output column.
    compute
        What makes its values, in the order of the rows.
    arguments
        Columns of the input.
    parameter
        The constant argument: how many rows further, which row, how many buckets.
    frame
        The rows that it sees; None: those of the partition.
    ignores_nulls
        Whether rows whose first argument is NULL are passed over.
    aggregate
        The aggregate that ``compute`` computes over each frame, if it is one.
    """

    name: str
    type: pa.DataType
    compute: Compute
    arguments: tuple[str, ...] = ()
    parameter: int | None = None
    frame: OverFrame | None = None
    ignores_nulls: bool = False
    aggregate: AggregateCall | None = None


@dataclass(frozen=True)
class OverRows:
    """Rows of whole partitions, sorted.

    Parameters
    ----------
    table
        The rows.
    partitions
        Where partitions and peers begin and end.
    order
        ORDER BY, as columns of the table.
    """

    table: pa.Table
    partitions: Partitions
    order: tuple[Order, ...]
    _pieces: dict[OverFrame, Pieces] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(self.partitions)

    def column(self, name: str) -> pa.Array:
        """A column in one piece."""
        return whole(self.table[name])

    def pieces(self, frame: OverFrame) -> Pieces:
        """The frame of each row; computed once for all that share it."""
        if frame not in self._pieces:
            by = None
            if frame.unit == "range" and any(map(_has_distance, _edges(frame))):
                (order,) = self.order
                by = self.column(order.column), order
            self._pieces[frame] = frame_pieces(frame, self.partitions, by)
        return self._pieces[frame]

    def present(self, call: OverCall) -> npt.NDArray[np.bool_]:
        """The rows that a call does not pass over."""
        if not call.ignores_nulls:
            return np.ones(len(self), np.bool_)
        valid = self.column(call.arguments[0]).is_valid()
        return np.asarray(valid.to_numpy(zero_copy_only=False), np.bool_)

    def values(self, name: str, position: Ints) -> pa.Array:
        """The values of a column at these positions; NULL where one is below zero."""
        return self.column(name).take(pa.array(position, mask=position < 0))


Compute: TypeAlias = "Callable[[OverRows, OverCall], pa.Array]"
"""Gives a call's value for each of the sorted rows."""


def _edges(frame: OverFrame) -> tuple[Edge, Edge]:
    return frame.start, frame.end


def _has_distance(edge: Edge) -> bool:
    return bool(edge.offset)
