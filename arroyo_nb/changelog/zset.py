"""A changelog is a Z-set: rows with a weight. Folding is adding weights.

A change is a row of an Arrow table with the column ``_weight``: 1 appends the row, -1
retracts it, n does so n times. Weights are optional on the way in (no column: every row
is an append). An event time is a column like any other, where it is read at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.changelog.keys import Ints, first_rows, group_ids, size
from arroyo_nb.lazy_imports import np, npt, pa, pc


def weights(rows: pa.Table) -> Ints:
    """The weight of each row."""
    if WEIGHT not in rows.column_names:
        return np.ones(len(rows), np.int64)
    return int64s(rows[WEIGHT])


def int64s(column: pa.Array) -> Ints:
    """A column without NULLs as int64, times as their number of units."""
    if pa.types.is_temporal(column.type):
        # Arrow casts dates and times of 32 bits to int32 only.
        if column.type.bit_width == 32:
            column = column.cast(pa.int32())
        column = column.cast(pa.int64())
    return np.asarray(column.to_numpy(), np.int64)


def value_columns(rows: pa.Table) -> list[str]:
    """Names of the columns that make a row what it is."""
    return [name for name in rows.column_names if name != WEIGHT]


def with_column(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """``rows`` with the column ``name``, in its old place or at the end."""
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, values)
    return rows.append_column(name, values)


def negated(rows: pa.Table) -> pa.Table:
    """The changes that undo these."""
    return with_column(rows, WEIGHT, pa.array(-weights(rows)))


def no_changes(output: pa.Schema) -> pa.Table:
    """Changes of rows of these columns, of which there are none."""
    return output.append(pa.field(WEIGHT, pa.int64())).empty_table()


def retracts_first(changes: pa.Table) -> pa.Table:
    """In the order in which who keeps rows by key must see them: it loses the old one
    before the new one comes, not after it."""
    appends = weights(changes) > 0
    if appends.all():
        return changes
    return changes.take(pa.array(np.argsort(appends, kind="stable")))


def consolidate(changes: pa.Table) -> pa.Table:
    """The same Z-set with each row once, and none of weight 0.

    Examples
    --------
    >>> changes = pa.table({"k": ["a", "b", "a"], "_weight": [1, 1, -1]})
    >>> consolidate(changes).to_pylist()
    [{'k': 'b', '_weight': 1}]
    """
    ids = group_ids([changes[c] for c in value_columns(changes)], len(changes))
    total = np.zeros(size(ids), np.int64)
    np.add.at(total, ids, weights(changes))
    # Also rows below zero stay: a batch may retract what an earlier one appended.
    alive = np.flatnonzero(total)
    kept = changes.take(first_rows(ids)[alive])
    return with_column(kept, WEIGHT, pa.array(total[alive]))


def fold(changes: pa.Table) -> pa.Table:
    """The rows that a changelog leaves, each as often as it is there.

    Raises
    ------
    ValueError
        When a row was retracted more often than appended.
    """
    rows = consolidate(changes)
    if len(rows) and pc.min(rows[WEIGHT]).as_py() < 0:
        raise ValueError("a row is retracted more often than it is appended")
    copies = np.repeat(np.arange(len(rows)), weights(rows))
    return rows.select(value_columns(rows)).take(copies)


def newest_copies(weight: Ints, most: int) -> Ints:
    """How many copies of each row are among the last ``most`` of all copies.

    >>> newest_copies(np.array([5, 2, 3]), 4).tolist()
    [0, 1, 3]
    """
    copies = np.maximum(weight, 0)
    behind = np.cumsum(copies[::-1])[::-1] - copies
    return np.asarray(np.clip(most - behind, 0, copies), np.int64)


def latest_by(ids: Ints, times: pa.ChunkedArray, groups: int) -> pa.Array:
    """The latest instant of each group, NULL where it has none."""
    numbers = int64s(times.cast(pa.int64()).fill_null(_NEVER))
    latest = np.full(groups, _NEVER)
    np.maximum.at(latest, ids, numbers)
    return pa.array(latest, pa.int64(), mask=latest == _NEVER).cast(times.type)


def updates(
    before: pa.Table,
    after: pa.Table,
    *,
    retract: npt.NDArray[np.bool_],
    append: npt.NDArray[np.bool_],
) -> pa.Table:
    """Changes from two images of rows: each row's retract right before its append.

    Parameters
    ----------
    before, after
        Images by position; ``before`` may lack the last rows, which are then new.
    retract, append
        Which rows of ``before`` to retract and of ``after`` to append, by position.
    """
    position = np.arange(len(after))
    # Interleaved: before 0, after 0, before 1, after 1, of which `sent` says which are
    # changes at all.
    order = np.stack([position, len(before) + position], axis=1).ravel()
    weight = np.tile(np.array([-1, 1]), len(after))
    sent = np.stack([retract, append], axis=1).ravel()
    changes = pa.concat_tables([before, after]).take(pa.array(order[sent]))
    return changes.append_column(WEIGHT, pa.array(weight[sent]))


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The tables one after the other, with columns of ``schema`` in its order."""
    parts = [t.select(schema.names).cast(schema) for t in tables]
    return pa.concat_tables([schema.empty_table(), *parts])


_NEVER = -(1 << 63)
