"""What becomes of a plan when it is made a query of Spark's.

The passes of the planner say what a script means, and a state's identity is made of
their plan. These say how it is computed: a state keeps the version that began it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from arroyo_nb.errors import Unsupported
from arroyo_nb.plan.append_joins import append_joins
from arroyo_nb.plan.expressions.predicates import all_of, conjuncts
from arroyo_nb.plan.lowering import LOWERING, NO_UNREAD_COLUMNS
from arroyo_nb.plan.nodes import Filter, Node, UpdatingJoin
from arroyo_nb.plan.queries.join_conditions import operands
from arroyo_nb.plan.queries.joins import filtered
from arroyo_nb.plan.self_joins import without_self_joins
from arroyo_nb.plan.tree import NodeMap, transform
from arroyo_nb.plan.unread_columns import without_unread_columns

_PASSES = _SELF_JOINS, _COLUMNS, _CONDITIONS = "self joins", "columns", "conditions"


def lowered(
    root: Node, made: NodeMap[Node], *, forgets: bool, lowering: int = LOWERING
) -> Node:
    """A plan as it is computed.

    Parameters
    ----------
    root
        A streaming plan.
    made
        What becomes of each node of this plan; :func:`became` reads it.
    forgets
        Whether the query forgets idle keys.
    lowering
        The version (:mod:`arroyo_nb.plan.lowering`).
    """
    root = without_self_joins(root, made.part(_SELF_JOINS), lowering=lowering)
    if lowering < NO_UNREAD_COLUMNS:
        return root
    root = without_unread_columns(root, made.part(_COLUMNS))
    if append_joins(root, forgets=forgets, lowering=lowering):
        return root
    return transform(root, _with_condition, made.part(_CONDITIONS))


def became(node: Node, made: NodeMap[Node]) -> Node:
    """What a node of a plan has become."""
    for name in _PASSES:
        if node in (of_pass := made.part(name)):
            node = of_pass[node]
    return node


def _with_condition(node: Node) -> Node:
    """A filter of pairs as a condition of their join, which then sends fewer.

    Before::

        Filter at < "b.at" AND name = upper("b.name")
          UpdatingJoin inner ON id = "b.id"

    After::

        Filter name = upper("b.name")
          UpdatingJoin inner ON id = "b.id" AND at < "b.at"
    """
    if not isinstance(node, Filter) or not isinstance(node.input, UpdatingJoin):
        return node
    join, parts = node.input, conjuncts(node.predicate)
    own = [part for part in parts if _compares_columns(part)]
    if join.how != "inner" or not own:
        return node
    # From the left, as they are written: what comes first may guard what follows.
    stay = [part for part in parts if part not in own]
    condition = all_of(own if join.condition is None else [join.condition, *own])
    return filtered(replace(join, condition=condition), stay)


def _compares_columns(part: exp.Expr) -> bool:
    """Whether a condition tests columns as they are: of what is computed of one side
    the join would keep the value, beside the columns."""
    if isinstance(part, exp.Column):
        return True
    if isinstance(part, exp.Add | exp.Sub | exp.Mul | exp.Neg | exp.Cast):
        return False
    try:
        return all(map(_compares_columns, operands(part)))
    except Unsupported:
        return False
