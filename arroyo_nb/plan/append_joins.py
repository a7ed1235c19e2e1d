"""Which joins of a query are Spark's own."""

from __future__ import annotations

from arroyo_nb.plan.lowering import JOINS_ALONE, LOWERING
from arroyo_nb.plan.nodes import Node, Stateful, UpdatingJoin, is_updating
from arroyo_nb.plan.tree import walk


def append_joins(
    root: Node, *, forgets: bool, lowering: int = LOWERING
) -> frozenset[int]:
    """The joins of a query, by identity, whose pairs Spark's own join gives: where
    nothing is taken back and nothing forgotten, and no other operator keeps keys.

    The others want another state store, in which Spark's join is slower than they are.

    Parameters
    ----------
    forgets
        Whether the query forgets idle keys.
    lowering
        Its version (:mod:`arroyo_nb.plan.lowering`).
    """
    keeping = {id(node): node for node in walk(root) if isinstance(node, Stateful)}
    found = {
        of
        for of, node in keeping.items()
        if isinstance(node, UpdatingJoin) and not is_updating(node)
    }
    beside = lowering < JOINS_ALONE
    are_spark = not forgets and (beside or len(found) == len(keeping))
    return frozenset(found if are_spark else ())
