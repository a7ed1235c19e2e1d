"""Updating streams: exact changelogs as Arrow tables, with no engine in it.

A **changelog batch** is an Arrow table: the value columns of a relation, ``_weight``
(int64: 1 appends the row, -1 retracts it, n does so n times; no such column: every row
is an append). Adding weights is folding: after every batch the rows of positive weight
are the relation. An **update** is the retract of the old row right before the append of
the new one; equal rows may be there many times; a retract finds its row by its values.
``_row_id`` names the logical row that several changes speak of (of a debezium primary
key, of a group): an opaque column of any type, needed only where changes are merged to
one ``before`` and ``after``. NULL there means that a row has no name but its values.

Every operator is a frozen, picklable description with the same three verbs::

    partial(rows)                 the changes of one batch in the shape of the state
    step(state, partials, ...)    what becomes of the state, and changes of the output
    expire(state, ...)            what idle time takes away, as retracts

Nothing is hidden in them: a state is a few Arrow tables of fixed schema, for each
bucket of keys, written to bytes and read back by ``state_tables.Layout``, which refuses
the bytes of another query. What an operator emits never folds to nothing.

Modules, lower ones first: ``keys`` numbers equal rows, ``buckets`` deals them out,
``zset`` adds weights, ``exact`` adds floats and decimals without rounding, ``order``
sorts; ``state_tables`` is tables and their bytes, ``touched_keys`` and ``join_state``
what a batch touches of them, ``state_updates`` what becomes of them, ``state_segments``
how the groups of a large state are found. ``measures`` says what is aggregated,
``totals``, ``multisets`` and ``collected`` how, ``aggregate_plans`` which of these. The
operators are ``aggregate``, ``join``, ``rank`` and ``latest``; ``debezium_changes`` is
the way in and out.
"""

WEIGHT = "_weight"
"""Column of a change: how often the row is appended; negative: retracted."""

ROW_ID = "_row_id"
"""Column that names the logical row of a change; NULL: nothing but its values does."""

SEQUENCE = "_sequence"
"""Column of a change as a source tells it: where it stands among all of its changes."""

BUCKETS = 8
"""Into how many pieces the state of an operator is cut, unless a run says otherwise."""
