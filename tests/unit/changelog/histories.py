"""Random histories of changes, and what must be true of a changelog after each batch.

A history is a list of batches of rows with weights. Only rows that are there are
retracted, counted at the end of each batch: inside one, in any order.
"""

from __future__ import annotations

import atexit
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import strategies as st

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.state_tables import State
from arroyo_nb.changelog.state_updates import StateUpdate
from arroyo_nb.changelog.zset import consolidate

_OFF_TIES = 1 + 3.7e-11
"""Sums of quarters often lie just between two numbers of nine digits, where the last
bit of a sum decides how it is rounded; times this they don't."""

Row = dict[str, Any]
Batch = list[tuple[Row, int]]


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all examples: to open one takes longer than most answers."""
    opened = duckdb.connect()
    opened.execute("SET threads = 1; SET TimeZone = 'UTC'")
    # One that is still referred to when Python ends is reported as a leak.
    atexit.register(database.cache_clear)
    return opened


@st.composite
def histories(draw: st.DrawFn, row: st.SearchStrategy[Row]) -> list[Batch]:
    """Batches of inserts, retracts and duplicates; some empty, some all retracts."""
    pool = draw(st.lists(row, min_size=1, max_size=6))
    there: list[Row] = []
    history = []
    for _ in range(draw(st.integers(1, 5))):
        batch: Batch = []
        retracts = draw(st.sampled_from([0.0, 0.4, 1.0]))
        for _ in range(draw(st.integers(0, 6))):
            if there and draw(st.floats(0, 1)) < retracts:
                batch.append((there.pop(draw(st.integers(0, len(there) - 1))), -1))
            elif retracts < 1:
                new = draw(st.sampled_from(pool))
                copies = draw(st.sampled_from([1, 1, 1, 2]))
                batch.append((new, copies))
                there += [new] * copies
        history.append(draw(st.permutations(batch)))
    return history


def table(batch: Iterable[tuple[Row, int]], schema: pa.Schema) -> pa.Table:
    """A batch as a changelog."""
    rows = [{**row, WEIGHT: weight} for row, weight in batch]
    return pa.Table.from_pylist(rows, schema.append(pa.field(WEIGHT, pa.int64())))


def pieces(rows: pa.Table, cuts: Sequence[int]) -> list[pa.Table]:
    """The table cut at those positions."""
    ends = sorted(min(c, len(rows)) for c in cuts)
    return [
        rows.slice(a, b - a)
        for a, b in zip([0, *ends], [*ends, len(rows)], strict=True)
    ]


class Relation:
    """Rows as they are after the changes so far."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows: Counter[Hashable] = Counter()
        self.values: dict[Hashable, Row] = {}

    def take_in(self, batch: Batch) -> None:
        """Input changes, in any order."""
        for row, weight in batch:
            key = plain(row)
            self.values[key] = row
            self.rows[key] += weight
        assert min(self.rows.values(), default=0) >= 0

    def table(self) -> pa.Table:
        """The rows that are there."""
        rows = [self.values[key] for key in self.rows.elements()]
        return pa.Table.from_pylist(rows, self.schema)


class Folded:
    """What a consumer knows who folds the changes that an operator sends."""

    def __init__(self) -> None:
        self.rows: Counter[Hashable] = Counter()

    def fold(self, changes: pa.Table) -> None:
        """Take changes in, in their order; none may fold to nothing."""
        for row in changes.to_pylist():
            weight = row.pop(WEIGHT)
            self.rows[plain(row)] += weight
            assert self.rows[plain(row)] >= 0, f"retracts what is not there: {row}"
        useful = consolidate(changes)
        assert sum(abs(w) for w in useful[WEIGHT].to_pylist()) == sum(
            abs(w) for w in changes[WEIGHT].to_pylist()
        ), f"folds to nothing: {changes.to_pylist()}"

    def equals(self, batch_answer: pa.Table) -> None:
        """Compare with the answer of a batch engine."""
        expected = Counter(plain(row) for row in batch_answer.to_pylist())
        assert +self.rows == expected


def duck(query: str, **tables: pa.Table) -> pa.Table:
    """DuckDB's answer over Arrow tables by name."""
    for name, rows in tables.items():
        database().register(name, rows)
    answer = database().sql(query).to_arrow_table()
    for name in tables:
        database().unregister(name)
    return answer


def plain(value: Any) -> Hashable:
    """A value that is equal where SQL says so; floats to nine digits."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return float(f"{value * _OFF_TIES:.9g}") + 0.0
        case dict():
            return tuple((name, plain(value[name])) for name in sorted(value))
        case list() | tuple():
            return tuple(plain(v) for v in value)
    return value


def stepped(
    operator: Any, state: State, partials: Sequence[State], now_us: int
) -> tuple[State, pa.Table]:
    """The state after a batch, and the changes of the output."""
    update, changes = operator.step(state, partials, now_us)
    return updated(operator, state, update), changes


def expired(operator: Any, state: State, before_us: int) -> tuple[State, pa.Table]:
    """The state without idle keys, and the changes of the output."""
    update, changes = operator.expire(state, before_us)
    return updated(operator, state, update), changes


def updated(operator: Any, state: State, update: StateUpdate) -> State:
    """The state after an update that was written and read meanwhile."""
    layout = operator.layout
    read = StateUpdate.from_bytes(update.to_bytes(layout), layout)
    later = update.applied_to(state, layout)
    # As bytes: a NaN is no NaN's equal.
    assert layout.to_bytes(read.applied_to(state, layout)) == layout.to_bytes(later)
    assert update or layout.to_bytes(later) == layout.to_bytes(state)
    return later
