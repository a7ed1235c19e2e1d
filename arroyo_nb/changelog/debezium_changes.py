"""Debezium rows in and out of a changelog.

In: a document is a row before, a row after and an op; ``u`` is a retract and an append,
the append alone where the database does not tell the row before.
Out: the changes of one batch that speak of one logical row (``_row_id``) become one
document, ``c``, ``u`` or ``d``; batches are not merged with each other. What folds to
nothing is not written. Follows Arroyo's debezium formats (arroyo-semantics c.3, c.4);
where an id names several rows at once, which Arroyo merges to the last, all are kept.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.changelog.aggregate_plans import added
from arroyo_nb.changelog.keys import Ints, group_ids, size, whole
from arroyo_nb.changelog.zset import consolidate, newest_copies, weights
from arroyo_nb.errors import RunProblem
from arroyo_nb.schema import HIDDEN_COLUMNS

BEFORE, AFTER, OP = "before", "after", "op"

_RETRACTS, _APPENDS = (pa.array(list(ops)) for ops in ("ud", "cru"))


def unrolled(documents: pa.Table) -> pa.Table:
    """Documents as changes: each retract of ``before`` right before ``after``.

    They are what was told, and need not fold: ``before`` may lack columns, or be NULL
    in a ``u``, which then has no retract (:mod:`arroyo_nb.changelog.latest`).

    Parameters
    ----------
    documents
        Structs ``before`` and ``after`` of one type, ``op``, and hidden columns, which
        the changes have too. A document that is NULL as a whole (a tombstone) has none
        of the three.

    Raises
    ------
    RunProblem
        When an op is none of c, u, d and r.
    """
    some = pc.or_(documents[BEFORE].is_valid(), documents[AFTER].is_valid())
    documents = documents.filter(pc.or_(documents[OP].is_valid(), some))
    op = documents[OP]
    known = pc.or_(pc.is_in(op, _APPENDS), pc.is_in(op, _RETRACTS))
    if not pc.all(known, min_count=0).as_py():
        found = op.filter(pc.invert(known))[0].as_py()
        raise RunProblem(f"unexpected op value {found!r} in a debezium document")
    told = pc.and_(pc.is_in(op, _RETRACTS), documents[BEFORE].is_valid())
    sent = np.stack([told, pc.is_in(op, _APPENDS)], axis=1).ravel()
    rows = np.arange(len(documents))
    order = np.stack([rows, len(rows) + rows], axis=1).ravel()[sent]
    images = pa.chunked_array([whole(documents[BEFORE]), whole(documents[AFTER])])
    taken = whole(images).take(pa.array(order))
    columns = dict(zip([f.name for f in taken.type], taken.flatten(), strict=True))
    for name in documents.column_names:
        if name in HIDDEN_COLUMNS:
            # Both images of a document have its hidden columns.
            columns[name] = documents[name].take(pa.array(order % len(rows)))
    columns[WEIGHT] = pa.array(np.tile([-1, 1], len(rows))[sent], pa.int64())
    return pa.table(columns)


def documents(changes: pa.Table) -> pa.Table:
    """The changes of one batch as ``before``, ``after`` and ``op``.

    Ids come in the order in which their first change that counts appeared.
    """
    found = newest_documents(changes, np.iinfo(np.int64).max)[0]
    return found.select([BEFORE, AFTER, OP])


def newest_documents(changes: pa.Table, most: int) -> tuple[pa.Table, int]:
    """The last of the :func:`documents`, at most so many, and how many there are.

    Where changes have ids, a document has the one that it speaks of, in ``_row_id``.
    """
    changes = consolidate(changes)
    weight = weights(changes)
    ids, named = _ids(changes)
    gone, come = (added(size(ids), ids, np.maximum(w, 0)) for w in (-weight, weight))
    # One row gone and one come under an id is an update. Of several, nothing says which
    # became which: they are deletes and creates.
    update = named & (gone == 1)[ids] & (come == 1)[ids]
    single = np.flatnonzero(~update)
    retract, append = (np.flatnonzero(update & (weight == w)) for w in (-1, 1))
    append = append[np.argsort(ids[append])]
    retract = retract[np.argsort(ids[retract])]
    down = weight[single] < 0
    before = np.r_[np.where(down, single, -1), retract]
    after = np.r_[np.where(down, -1, single), append]
    op = np.r_[np.where(down, "d", "c"), np.full(len(append), "u")]
    # The last key decides first: by id, and of one id what goes before what comes.
    order = np.lexsort((before < 0, np.r_[ids[single], ids[append]]))
    copies = np.r_[np.abs(weight[single]), np.ones(len(append), np.int64)][order]
    order = np.repeat(order, newest_copies(copies, most))
    rows = changes.drop_columns(
        [c for c in (ROW_ID, WEIGHT) if c in changes.column_names]
    )
    told = {
        BEFORE: _images(rows, before[order]),
        AFTER: _images(rows, after[order]),
        OP: pa.array(op[order], pa.string()),
    }
    if ROW_ID in changes.column_names:
        # An update is of one id, so either of its two images has it.
        known = np.maximum(before, after)[order]
        told[ROW_ID] = whole(changes[ROW_ID]).take(pa.array(known))
    return pa.table(told), int(copies.sum())


def _ids(changes: pa.Table) -> tuple[Ints, np.ndarray]:
    """The logical row of each change, and whether it has a name."""
    if ROW_ID not in changes.column_names:
        return np.arange(len(changes)), np.zeros(len(changes), np.bool_)
    named = changes[ROW_ID].is_valid().to_numpy()
    alone = np.where(named, 0, np.arange(len(changes)))
    return group_ids([changes[ROW_ID], pa.array(alone)], len(changes)), named


def _images(rows: pa.Table, positions: Ints) -> pa.Array:
    """Rows as structs; NULL where the position is negative."""
    missing = positions < 0
    # Of a row that is missing no part may be NULL by itself: some may never be, as the
    # start of a window.
    at = pa.array(np.where(missing, 0, positions))
    columns = [whole(column).take(at) for column in rows.columns]
    fields = [field.with_nullable(True) for field in rows.schema]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(missing))
