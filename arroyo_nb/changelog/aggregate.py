"""GROUP BY without a window: exact under retraction, last value kept per group.

State: a table of groups (key, rows, counters, the values last sent, when it was last
appended to) and, pointing into it by slot, the digits of exact sums and the bags of
recomputed aggregates. A step touches only the groups of its batch: they leave the
state, take in what has come, send a retract of what was sent and an append of what is
true now where the two differ, and return if any row is left in them. SELECT DISTINCT is
this operator without calls.

Follows Arroyo's incremental aggregator (Partial, Combine, Final), with the exact
semantics where that one is approximate: multiplicities, minima and maxima, FILTER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.aggregate_plans import ROWS, Recipe, Total, added, recipe
from arroyo_nb.changelog.exact import PLACE, SLOT, digits_schema, summed
from arroyo_nb.changelog.idle_keys import TOUCHED, idle_since
from arroyo_nb.changelog.keys import (
    first_rows,
    group_ids,
    normalised,
    same,
    whole,
)
from arroyo_nb.changelog.measures import AggregateCall, Bag
from arroyo_nb.changelog.state_tables import (
    Layout,
    Operator,
    State,
    groups_where,
    stacked,
)
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.totals import counter_terms, digit_terms, is_counter
from arroyo_nb.changelog.touched_keys import APPENDED, Touch
from arroyo_nb.changelog.zset import int64s, latest_by, updates, weights

GROUPS = "groups"

VALUE = "value "
"""What the columns of a state begin with that have the values sent last."""


@dataclass(frozen=True)
class AggregateKernel(Operator):
    """One row per group that has rows, updated at every step.

    Parameters
    ----------
    input
        Columns of the rows: keys, arguments, filters.
    keys
        Grouping columns; none is one group, which has no row before its first one.
    calls
        The aggregates, output columns after the keys.
    retracts
        Whether the input can retract; an input that cannot needs less state.
    time
        A column of which each row has the latest value that came; the last one of the
        output.
    """

    input: pa.Schema
    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...] = ()
    retracts: bool = True
    time: str | None = None

    @cached_property
    def output(self) -> pa.Schema:
        """Keys, values, the time if there is one; without the weight."""
        keys = [self.input.field(k) for k in self.keys]
        values = [pa.field(c.name, c.type) for c in self.calls]
        return pa.schema([*keys, *values, *self._time])

    @cached_property
    def layout(self) -> Layout:
        """The tables of the state."""
        values = [pa.field(_value(c), c.type) for c in self.calls]
        made = self._layout([pa.field(TOUCHED, pa.int64()), *values])
        # A state may be of a query that had fewer aggregates: of the others no value
        # was sent. What they are made of is compared before the start.
        return replace(made, may_lack=frozenset(field.name for field in values))

    @cached_property
    def partial_layout(self) -> Layout:
        """The tables of a partial state."""
        return self._layout([pa.field(APPENDED, pa.bool_())])

    def partial(self, rows: pa.Table) -> State:
        """What a batch of input rows adds to the state."""
        # This runs before the shuffle: what travels to the buckets grows with the
        # distinct keys of a batch, not with its rows.
        slots = group_ids([rows[k] for k in self.keys], len(rows))
        first, weight = pa.array(first_rows(slots)), weights(rows)
        groups = [normalised(whole(rows[k])).take(first) for k in self.keys]
        groups.append(pa.array(added(len(first), slots, weight)))
        hung = {}
        for total in self._totals:
            at, columns = total.selection.rows_of(rows)
            if is_counter(total.part):
                # Products and sums wrap modulo 2**64, where subtraction stays exact: a
                # retract after an overflow gives the value of before.
                terms = counter_terms(total.part, columns, len(at)) * weight[at]
                groups.append(pa.array(added(len(first), slots[at], terms)))
            else:
                digits = digit_terms(total.part, columns, slots[at], weight[at])
                hung[str(total)] = digits
        hung |= {str(bag): bag.of_rows(rows, slots, weight) for bag in self._bags}
        groups += [latest_by(slots, rows[t.name], len(first)) for t in self._time]
        appended = np.zeros(len(first), np.bool_)
        appended[slots[weight > 0]] = True
        schema = self.partial_layout.tables[0][1]
        table = pa.table([*groups, pa.array(appended)], schema=schema)
        return {GROUPS: table, **hung}

    def step(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[StateUpdate, pa.Table]:
        """What becomes of the state, and the changes of the output.

        Parameters
        ----------
        now_us
            Processing time in microseconds since the epoch: when the groups that get
            an append were last touched.
        """
        before, after, alive, update = self._stepped(state, partials, now_us)
        return update, self._changes(before, after, alive)

    def merged_state(self, state: State, partials: Sequence[State]) -> State:
        """The next state, where nobody asks what changes or how old a group is."""
        *_, update = self._stepped(state, partials, 0)
        return update.applied_to(state, self.layout)

    def _stepped(
        self, state: State, partials: Sequence[State], now_us: int
    ) -> tuple[pa.Table, pa.Table, npt.NDArray[np.bool_], StateUpdate]:
        """The touched groups as they were and as they are, which of them are there,
        and what becomes of the state."""
        delta = stacked(partials, self.partial_layout)
        old, new = state[GROUPS], delta[GROUPS]
        touch = Touch.of(self.group_keys, old, new)
        # The values as they were sent, from the state: a retract that is computed anew
        # could differ in a bit, and the row it means would stay downstream for ever.
        before = old.take(pa.array(touch.known))
        known = touch.renewed(self.group_keys, old, new, now_us)
        hung = self._hung(touch, state, delta)
        after = self._renewed(touch, known, before, new, hung)
        alive = self._alive(after)
        update = touch.update({GROUPS: after, **hung}, alive)
        return before, after, alive, update

    def expire(self, state: State, before_us: int) -> tuple[StateUpdate, pa.Table]:
        """Retract the groups that were last appended to before an instant.

        They start anew with their next row. A retract of a row that they held comes too
        late: no total says which rows it is of, so it takes back one that came since.
        An update of such a row is no row then, and is not counted; what would count
        less than nothing is forgotten anew.
        """
        idle = idle_since(state[GROUPS], before_us)
        gone = self._image(state[GROUPS].filter(pa.array(idle)))
        weight = pa.array(np.full(len(gone), -1))
        update = StateUpdate.of(~idle, self.layout.empty())
        return update, gone.append_column(WEIGHT, weight)

    def close(
        self, state: State, key: str, until_us: int
    ) -> tuple[State, pa.Table, int | None]:
        """Forget the groups of windows that are over, which are final.

        Parameters
        ----------
        key
            The key that is the end of a group's window.
        until_us
            The instant by which windows are over, microseconds since the epoch.

        Returns
        -------
        tuple
            The state, the rows of the groups that left, without a weight, and when the
            next window ends, if there is one.
        """
        # Ends are exclusive: at a watermark equal to its end no row of the window can
        # come any more, and Spark drops such a row as late.
        ends = int64s(state[GROUPS][f"key {key}"])
        over = ends <= until_us
        following = ends[~over]
        rows = self._image(state[GROUPS].filter(pa.array(over)))
        left = groups_where(state, ~over)
        return left, rows, int(following.min()) if len(following) else None

    @cached_property
    def _time(self) -> list[pa.Field]:
        return [self.input.field(self.time)] if self.time else []

    @cached_property
    def group_keys(self) -> list[str]:
        """The columns of the state that have the keys."""
        return [f"key {k}" for k in self.keys]

    @cached_property
    def _recipes(self) -> list[Recipe]:
        return [recipe(c, self.input, retracts=self.retracts) for c in self.calls]

    @cached_property
    def _totals(self) -> list[Total]:
        """Counters and digits that the calls need beside the number of rows."""
        # Every group counts its rows, whatever is selected: that number says whether
        # the group is there at all.
        totals = {str(t): t for r in self._recipes for t in r.totals}
        totals.pop(ROWS, None)
        return list(totals.values())

    @cached_property
    def _bags(self) -> list[Bag]:
        return list(dict.fromkeys(r.bag for r in self._recipes if r.bag is not None))

    @cached_property
    def _counters(self) -> list[str]:
        return [ROWS, *(str(t) for t in self._totals if is_counter(t.part))]

    def _layout(self, more: list[pa.Field]) -> Layout:
        # Names and order are those of saved states (Layout checks both): another order
        # is another format.
        keys = [self.input.field(k).with_name(f"key {k}") for k in self.keys]
        numbers = [pa.field(name, pa.int64()) for name in self._counters]
        groups = pa.schema([*keys, *numbers, *self._time, *more])
        totals = [str(t) for t in self._totals if not is_counter(t.part)]
        digits = [(name, digits_schema()) for name in totals]
        bags = [(str(bag), bag.schema(self.input)) for bag in self._bags]
        return Layout(((GROUPS, groups), *digits, *bags))

    def _hung(self, touch: Touch, state: State, delta: State) -> dict[str, pa.Table]:
        """Digits and bags of the touched groups, with what has come."""
        hung = {}
        for total in self._totals:
            if not is_counter(total.part):
                rows = touch.joined(state[str(total)], delta[str(total)])
                hung[str(total)] = summed(
                    *(int64s(rows[c]) for c in (SLOT, PLACE, WEIGHT))
                )
        for bag in self._bags:
            # A count below zero is dropped, not kept as a debt: it is of a value that a
            # forgotten group held, and would swallow the same value when it comes next.
            rows = bag.merged(touch.joined(state[str(bag)], delta[str(bag)]))
            hung[str(bag)] = rows.filter(pa.array(int64s(rows[WEIGHT]) > 0))
        return hung

    def _renewed(
        self,
        touch: Touch,
        known: pa.Table,
        before: pa.Table,
        new: pa.Table,
        hung: dict[str, pa.Table],
    ) -> pa.Table:
        """The touched groups as they are now."""
        columns = {name: known[name] for name in known.column_names}
        counters = {}
        for name in self._counters:
            counters[name] = added(len(touch), touch.slots, int64s(new[name]))
            # Touched groups that the state knows come first (Touch), in its order.
            counters[name][: len(before)] += int64s(before[name])
            columns[name] = pa.array(counters[name])
        for field in self._time:
            columns[field.name] = _latest(touch, before[field.name], new[field.name])
        for r in self._recipes:
            columns[_value(r.call)] = r.finish(counters, hung, len(touch))
        schema = self.layout.tables[0][1]
        return pa.table([columns[name] for name in schema.names], schema=schema)

    def _alive(self, groups: pa.Table) -> npt.NDArray[np.bool_]:
        """Which groups have rows, and no count below zero: of one that was forgotten,
        more may be taken back than has come since."""
        alive = int64s(groups[ROWS]) > 0
        for total in self._totals:
            if total.part == "count":
                alive &= int64s(groups[str(total)]) >= 0
        return alive

    def _changes(
        self, before: pa.Table, after: pa.Table, alive: npt.NDArray[np.bool_]
    ) -> pa.Table:
        """Retracts of what was sent and appends of what is true, where they differ."""
        known, values = len(before), [_value(c) for c in self.calls]
        values += [field.name for field in self._time]
        was = [before[name] for name in values]
        now = [after[name].slice(0, known) for name in values]
        changed = np.ones(len(after), np.bool_)
        changed[:known] = ~same(was, now, known)
        # A group that is gone is retracted even where its values did not change, and a
        # new one has no earlier image to retract.
        retract = changed | ~alive
        retract[known:] = False
        images = self._image(before), self._image(after)
        return updates(*images, retract=retract, append=changed & alive)

    def _image(self, groups: pa.Table) -> pa.Table:
        """What the output says of these groups."""
        names = [
            *self.group_keys,
            *map(_value, self.calls),
            *(t.name for t in self._time),
        ]
        return groups.select(names).rename_columns(self.output.names)


def _value(call: AggregateCall) -> str:
    return f"{VALUE}{call.name}"


def _latest(touch: Touch, before: pa.ChunkedArray, new: pa.ChunkedArray) -> pa.Array:
    """The latest event time that each touched group has seen."""
    slots = np.r_[np.arange(len(before)), touch.slots]
    times = pa.chunked_array([*before.chunks, *new.chunks], before.type)
    return latest_by(slots, times, len(touch))
