"""Rows in the order of OVER: partitions one after the other, peers side by side.

A **position** counts rows in that order, over all partitions of a table. Peers are rows
of a partition that ORDER BY does not tell apart. Which of them comes first is decided
by all their columns and not by arrival: Spark gives the rows of a micro-batch in
another order when it runs it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from arroyo_nb.changelog.keys import Ints, group_ids, whole
from arroyo_nb.changelog.measures import Order
from arroyo_nb.changelog.order import joint_ranks
from arroyo_nb.lazy_imports import np, npt, pa


@dataclass(frozen=True)
class PartitionRuns:
    """PartitionRuns of neighbours.

    Parameters
    ----------
    first
        The first position of each run.
    number
        Of each position, its run, from 0.
    """

    first: Ints
    number: Ints

    @classmethod
    def where(cls, is_first: npt.NDArray[np.bool_]) -> PartitionRuns:
        """PartitionRuns that begin at these positions."""
        first = np.flatnonzero(is_first).astype(np.int64)
        return cls(first, np.cumsum(is_first, dtype=np.int64) - 1)

    @cached_property
    def following(self) -> Ints:
        """The position behind the last one of each run."""
        following = np.r_[self.first[1:], len(self.number)]
        return np.asarray(following, np.int64)

    @cached_property
    def start(self) -> Ints:
        """Of each position, where its run begins."""
        start: Ints = self.first[self.number]
        return start

    @cached_property
    def end(self) -> Ints:
        """Of each position, the position behind its run."""
        end: Ints = self.following[self.number]
        return end


@dataclass(frozen=True)
class Partitions:
    """Sorted rows.

    Parameters
    ----------
    slot
        The number of each row's partition.
    rank
        Its dense rank by ORDER BY: equal for peers.
    """

    slot: Ints
    rank: Ints

    def __len__(self) -> int:
        return len(self.slot)

    @cached_property
    def position(self) -> Ints:
        """0, 1, 2, ..."""
        return np.arange(len(self.slot), dtype=np.int64)

    @cached_property
    def whole(self) -> PartitionRuns:
        """The partitions."""
        return PartitionRuns.where(_differs(self.slot))

    @cached_property
    def peers(self) -> PartitionRuns:
        """The groups of peers."""
        return PartitionRuns.where(_differs(self.slot) | _differs(self.rank))


def _differs(values: Ints) -> npt.NDArray[np.bool_]:
    """Whether a value is another one than that before it; the first one is."""
    differs = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return differs


def sorted_places(
    rows: pa.Table, keys: Sequence[str], order: Sequence[Order], ties: Sequence[str]
) -> tuple[Ints, Partitions]:
    """Where the rows in the order of OVER stand in a table, and their partitions.

    Rows that are equal in all columns stay in the order of the table.

    Parameters
    ----------
    keys, order
        PARTITION BY and ORDER BY, as columns.
    ties
        The columns that decide which of two peers comes first, ascending, NULLs last.
    """
    slots = group_ids([rows[k] for k in keys], len(rows))
    ranks = np.zeros(len(rows), np.int64)
    if order:
        ranks = joint_ranks([whole(rows[o.column]) for o in order], order)
    places = _sorted(slots, ranks)
    partitions = Partitions(slots[places], ranks[places])
    peers = partitions.peers
    # Only rows that have peers are compared further: mostly they are few.
    tied = np.flatnonzero(peers.end - peers.start > 1)
    decided = {*keys, *(o.column for o in order)}
    by = [Order(name) for name in ties if name not in decided]
    if len(tied) and by:
        some = rows.take(pa.array(places[tied]))
        within = joint_ranks([whole(some[o.column]) for o in by], by)
        places[tied] = places[tied][_sorted(peers.number[tied], within)]
    return places, partitions


def _sorted(groups: Ints, ranks: Ints) -> Ints:
    """Positions by group, then rank; equals in the order that they have."""
    pairs = groups * (ranks.max(initial=0) + 1) + ranks
    return np.asarray(np.argsort(pairs, kind="stable"), np.int64)
