"""The latest row of each primary key: what a table of a database holds.

A database tells its changes with a row before and a row after, but what it calls the
row before may be missing, may have the key alone, or may be another than it told
before (a table without full replica identity, a document that came twice, a reader
that began in the middle). So a retract is believed to be of its key, and what is sent
is a retract of the row that was sent. A change that changes nothing sends nothing.

State: the rows that are there, one per key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from arroyo_nb.changelog import SEQUENCE, WEIGHT
from arroyo_nb.changelog.keys import Ints, group_ids, same, size
from arroyo_nb.changelog.state_tables import Layout, Operator, State, stacked
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.touched_keys import Touch
from arroyo_nb.changelog.zset import int64s, no_changes, updates, weights

ROWS = "rows"


@dataclass(frozen=True)
class LatestRowKernel(Operator):
    """The row of each key as it was told last.

    Parameters
    ----------
    input
        Columns of the rows, without the weight and the sequence that a batch has
        beside them.
    keys
        The primary key.
    """

    input: pa.Schema
    keys: tuple[str, ...]

    @property
    def output(self) -> pa.Schema:
        """The input's columns; without the weight."""
        return self.input

    @cached_property
    def layout(self) -> Layout:
        """The table of the state."""
        return self._layout(list(self.input))

    @cached_property
    def partial_layout(self) -> Layout:
        """The table of a partial state."""
        told = [pa.field(name, pa.int64()) for name in (WEIGHT, SEQUENCE)]
        return self._layout([*self.input, *told])

    def partial(self, rows: pa.Table) -> State:
        """The last change of each key in a batch of changes; they may lie in any order,
        ``_sequence`` tells it."""
        (_, schema), *_ = self.partial_layout.tables
        return {ROWS: self._last(rows.select(schema.names).cast(schema))}

    def step(
        self,
        state: State,
        partials: Sequence[State],
        now_us: int,  # noqa: ARG002
    ) -> tuple[StateUpdate, pa.Table]:
        """What becomes of the state, and the changes of the output."""
        told = self._last(stacked(partials, self.partial_layout)[ROWS])
        touch = Touch.of(self.keys, state[ROWS], told)
        # One change per key is left, so this puts each at its position among the
        # touched: first those that the state knows, as `before` has them.
        after = told.take(pa.array(np.argsort(touch.slots)))
        there = weights(after) > 0
        after = after.drop_columns([WEIGHT, SEQUENCE])
        before = state[ROWS].take(pa.array(touch.known))
        known = len(before)
        differs = np.ones(len(after), np.bool_)
        names = before.column_names
        differs[:known] = ~same(
            before.columns, after.select(names).slice(0, known).columns, known
        )
        # A delete may bring the row as it was: equal images, and a change all the same.
        differs[:known] |= ~there[:known]
        changes = updates(
            before.select(after.column_names),
            after,
            retract=differs & (np.arange(len(after)) < known),
            append=differs & there,
        )
        return touch.update({ROWS: after.select(names)}, there), changes

    def expire(
        self,
        state: State,  # noqa: ARG002
        before_us: int,  # noqa: ARG002
    ) -> tuple[StateUpdate, pa.Table]:
        """Nothing: the rows of a table are there until they are deleted."""
        return StateUpdate.nothing(self.layout), no_changes(self.output)

    def _layout(self, columns: Sequence[pa.Field]) -> Layout:
        return Layout(((ROWS, pa.schema(columns)),))

    @property
    def group_keys(self) -> tuple[str, ...]:
        """The primary key."""
        return self.keys

    def _last(self, told: pa.Table) -> pa.Table:
        return told.take(pa.array(self._last_positions(told)))

    def _last_positions(self, told: pa.Table) -> Ints:
        """Where the last change of each key lies."""
        ids = group_ids([told[k] for k in self.keys], len(told))
        order = np.argsort(int64s(told[SEQUENCE]), kind="stable")
        last = np.empty(size(ids), np.int64)
        last[ids[order]] = order  # of several values for a place the last one stays
        return last
