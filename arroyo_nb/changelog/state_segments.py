"""A large state in segments, of which a batch reads the groups that it touches.

::

    segment     groups, by the order in which they came    rows, by their group
                hashes of keys, sorted                     where each group's begin

A segment has the groups that came with one batch, or with several whose segments were
merged, and never changes. A touched group goes and comes again, so that each batch
leaves one more segment, and marks where groups of older ones are gone. Two segments are
merged where the later one is not much smaller: so each group is copied a few times in
all, and there are a few segments (O'Neil et al.: The log-structured merge-tree, 1996).

Groups have the order, and the places, that the whole state would have in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog.buckets import Hashes, hashes_of
from arroyo_nb.changelog.exact import SLOT
from arroyo_nb.changelog.idle_keys import TOUCHED, idle_since
from arroyo_nb.changelog.keys import Ints
from arroyo_nb.changelog.state_tables import (
    Layout,
    State,
    groups_where,
    stacked,
    with_slots,
)
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.zset import int64s

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Index:
    """Where the groups of a segment are.

    Parameters
    ----------
    hashes
        Of the keys, sorted; different keys may have one.
    groups
        The group of each.
    starts
        Of each table of rows the first row of each group, and how many rows there are.
    """

    hashes: Hashes
    groups: Ints
    starts: Mapping[str, Ints]

    @classmethod
    def of(cls, state: State, keys: Sequence[str]) -> Index:
        """Of tables whose rows lie in the order of their groups."""
        main, *others = state
        groups = state[main]
        hashes = hashes_of([groups[key] for key in keys], len(groups))
        order = np.argsort(hashes, kind="stable")
        edges = np.arange(len(groups) + 1)
        starts = {n: np.searchsorted(int64s(state[n][SLOT]), edges) for n in others}
        return cls(hashes[order], order, starts)

    def found(self, hashes: Hashes) -> Ints:
        """The groups whose keys may be those of sorted hashes, in any order."""
        first = np.searchsorted(self.hashes, hashes, "left")
        last = np.searchsorted(self.hashes, hashes, "right")
        return self.groups[_ranges(first, last - first)]


@dataclass(frozen=True)
class Segment:
    """Groups that came one after the other.

    Parameters
    ----------
    state
        Their tables.
    keys
        Columns of the first table.
    name
        Of its file; empty where it is in none.
    stored
        The index that is in the file; the tables there are in order.
    """

    state: State
    keys: tuple[str, ...]
    name: str = ""
    stored: Index | None = None

    def __len__(self) -> int:
        return len(next(iter(self.state.values())))

    @cached_property
    def ordered(self) -> State:
        """Its tables, those of rows in the order of the groups."""
        if self.stored is not None:
            return self.state
        (main, groups), *others = self.state.items()
        return {main: groups, **{name: _in_order(rows) for name, rows in others}}

    @cached_property
    def index(self) -> Index:
        """Where its groups are."""
        return self.stored or Index.of(self.ordered, self.keys)

    @cached_property
    def nbytes(self) -> int:
        """What its tables take."""
        return bytes_of(self.state)

    def bytes_of(self, there: Mask) -> int:
        """About what some of its groups take: rows are as large as each other."""
        if there.all():
            return self.nbytes
        (_, groups), *others = self.state.items()
        found = groups.nbytes * there.mean()
        for name, rows in others:
            starts = self.index.starts[name]
            share = np.diff(starts)[there].sum() / max(len(rows), 1)
            found += rows.nbytes * share
        return int(found)

    def taken(self, groups: Ints) -> State:
        """Some groups, ascending, with the rows that point at them."""
        (main, table), *others = self.ordered.items()
        places = pa.array(groups)
        found = {main: table.take(places)}
        for name, rows in others:
            starts = self.index.starts[name]
            first, count = starts[groups], starts[groups + 1] - starts[groups]
            there = rows.take(pa.array(_ranges(first, count)))
            found[name] = with_slots(there, np.repeat(np.arange(len(groups)), count))
        return found


@dataclass(frozen=True)
class Seen:
    """Some groups of a state.

    Parameters
    ----------
    state
        Their tables.
    groups
        Which of each segment these are, ascending.
    places
        Where each is among all that there are, ascending.
    """

    state: State
    groups: Sequence[Ints]
    places: Ints


@dataclass(frozen=True)
class Groups:
    """The groups of a state.

    Parameters
    ----------
    segments
        In the order in which they came.
    there
        Which groups of each have not gone.
    layout
        The tables.
    keys
        The columns of the first table by which groups are found.
    """

    segments: tuple[Segment, ...]
    there: tuple[Mask, ...]
    layout: Layout
    keys: tuple[str, ...]

    @classmethod
    def of(cls, state: State, layout: Layout, keys: Sequence[str]) -> Groups:
        """All groups of a state."""
        segment = Segment(state, tuple(keys))
        there = np.ones(len(segment), np.bool_)
        return cls((segment,), (there,), layout, tuple(keys))

    def __len__(self) -> int:
        return sum(int(mask.sum()) for mask in self.there)

    @property
    def nbytes(self) -> int:
        """About what the tables of those that are there take."""
        return sum(map(Segment.bytes_of, self.segments, self.there))

    @cached_property
    def state(self) -> State:
        """All of them."""
        found = [
            groups_where(segment.state, mask)
            for segment, mask in zip(self.segments, self.there, strict=True)
        ]
        return found[0] if len(found) == 1 else self._stacked(found)

    def all(self) -> Seen:
        """All of them, as those that are seen."""
        groups = [np.flatnonzero(mask) for mask in self.there]
        return Seen(self.state, groups, np.arange(len(self)))

    def touched(self, parts: Sequence[State], idle_before_us: int | None) -> Seen:
        """Those that a batch may touch, and perhaps others.

        Parameters
        ----------
        parts
            What the batch adds.
        idle_before_us
            Since when a group is idle, which is seen then; None: none is.
        """
        main, _ = self.layout.tables[0]
        new = [part[main] for part in parts]
        made = [hashes_of([t[key] for key in self.keys], len(t)) for t in new]
        hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *made]))
        # Half of the groups, looked up one by one, take as long as all of them.
        if 2 * len(hashes) >= len(self):
            return self.all()
        found, places, before = [], [], 0
        for segment, mask in zip(self.segments, self.there, strict=True):
            seen = np.zeros(len(segment), np.bool_)
            seen[segment.index.found(hashes)] = True
            groups = segment.state[main]
            if idle_before_us is not None and TOUCHED in groups.column_names:
                seen |= idle_since(groups, idle_before_us)
            found.append(np.flatnonzero(seen & mask))
            rank = np.cumsum(mask)
            places.append(before + rank[found[-1]] - 1)
            before += int(rank[-1]) if len(rank) else 0
        taken = [s.taken(g) for s, g in zip(self.segments, found, strict=True)]
        return Seen(self._stacked(taken), found, np.concatenate(places))

    def updated(self, seen: Seen, updates: Sequence[StateUpdate]) -> Groups:
        """What becomes of them with updates of those that were seen."""
        main, _ = self.layout.tables[0]
        state, at = seen.state, np.arange(len(seen.places))
        for update in updates:
            state = update.applied_to(state, self.layout)
            added = np.full(len(update.added[main]), -1)
            at = np.r_[np.delete(at, update.gone), added]
        if len(seen.places) == len(self):
            return Groups.of(state, self.layout, self.keys)
        gone = np.ones(len(seen.places), np.bool_)
        gone[at[at >= 0]] = False
        ends = np.cumsum([len(groups) for groups in seen.groups])[:-1]
        masks = list(self.there)
        for n, lost in enumerate(np.split(gone, ends)):
            masks[n] = masks[n].copy()
            masks[n][seen.groups[n][lost]] = False
        fresh = Segment(groups_where(state, at < 0), self.keys)
        segments = (*self.segments, fresh)
        there = (*masks, np.ones(len(fresh), np.bool_))
        return Groups(segments, there, self.layout, self.keys)._merged()

    def placed(
        self, seen: Seen, updates: Sequence[StateUpdate]
    ) -> Iterator[StateUpdate]:
        """Updates of those that were seen, as updates of all of them."""
        main, _ = self.layout.tables[0]
        places, number = seen.places, len(self)
        for update in updates:
            gone = places[update.gone]
            yield StateUpdate(gone, update.added)
            stay = np.delete(places, update.gone)
            number -= len(gone)
            added = number + np.arange(len(update.added[main]))
            places = np.r_[stay - np.searchsorted(gone, stay), added]
            number += len(added)

    def _stacked(self, states: Sequence[State]) -> State:
        tables = stacked(states, self.layout)
        return {name: table.combine_chunks() for name, table in tables.items()}

    def _merged(self) -> Groups:
        segments: list[Segment] = []
        there: list[Mask] = []
        for segment, mask in zip(self.segments, self.there, strict=True):
            if not mask.any():
                continue
            segments.append(segment)
            there.append(mask)
            while (last := _to_merge(segments, there)) is not None:
                pieces = [*map(_left, segments[-last:], there[-last:])]
                segments[-last:] = [Segment(self._stacked(pieces), self.keys)]
                there[-last:] = [np.ones(len(segments[-1]), np.bool_)]
        if not segments:
            return Groups.of(self.layout.empty(), self.layout, self.keys)
        return Groups(tuple(segments), tuple(there), self.layout, self.keys)


def _left(segment: Segment, there: Mask) -> State:
    return groups_where(segment.state, there)


def bytes_of(state: State) -> int:
    """What the tables of a state take."""
    return sum(table.nbytes for table in state.values())


def _to_merge(segments: Sequence[Segment], there: Sequence[Mask]) -> int | None:
    """How many of the last segments become one: the last one, if most of it is gone, or
    two, if the later is not much smaller."""
    *before, last = map(Segment.bytes_of, segments[-2:], there[-2:])
    if 2 * last < segments[-1].nbytes:
        return 1
    return 2 if before and before[0] < 2 * last else None


def _in_order(rows: pa.Table) -> pa.Table:
    slots = int64s(rows[SLOT])
    if (slots[1:] >= slots[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(slots, kind="stable")))


def _ranges(first: Ints, count: Ints) -> Ints:
    """The numbers of ranges, one range after the other."""
    ends = np.cumsum(count)
    return np.repeat(first - (ends - count), count) + np.arange(
        ends[-1] if len(ends) else 0
    )
