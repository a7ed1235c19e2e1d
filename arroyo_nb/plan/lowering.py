"""The versions of how a plan becomes a query of Spark's.

What Spark keeps has the shape of its query. So a state is resumed by the version that
it was begun by, which its folder names, and a new one is begun by the newest.
"""

JOINS_BESIDE = 0
"""Spark's own joins run beside operators of ours, too."""

JOINS_ALONE = 1
"""Spark's own joins run only where no operator of ours keeps keys beside them."""

NO_SELF_JOINS = 2
"""A join of rows with an aggregate of themselves is an aggregate with OVER."""

NO_UNREAD_COLUMNS = 3
"""Joins and ranks keep no column that nobody reads. What WHERE says of the pairs of a
join that is ours is a condition of the join."""

EXTREMES_OF_PARTS = 4
"""min() and max() of lists and structs over a window are computed from the rows: to
Spark's own a NULL in one is the least value."""

LOWERING = EXTREMES_OF_PARTS
"""The newest version."""
