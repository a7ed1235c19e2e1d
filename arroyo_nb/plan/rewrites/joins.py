"""JOIN gets its meaning (arroyo-semantics e.6, f.6)."""

from __future__ import annotations

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.nodes import Join, Node, SessionWindow, UpdatingJoin
from arroyo_nb.plan.queries.join_conditions import check_pairs
from arroyo_nb.plan.rewrites.updating import check_repeatable
from arroyo_nb.plan.tree import NodeMap, transform

NOT_INNER = "can't handle non-inner joins without windows"
UPDATING_SIDE = "can't handle updating {side} side of join"
"""Why Arroyo refuses such joins; here they run, unless ``strict`` asks for Arroyo."""


def updating_joins(root: Node, made: NodeMap[Node]) -> Node:
    """A join of relations without windows becomes an updating join.

    Before::

        Join left ON id = order_id
          Watermark ...
          Watermark ...

    After::

        UpdatingJoin left ON id = order_id
          Watermark ...
          Watermark ...

    Refuses a join by no equality, conditions of outer joins that Arrow does not
    compute as Spark does and, for now, joins of windowed relations.
    """

    def change(node: Node) -> Node:
        return _updating(node) if isinstance(node, Join) else node

    return transform(root, change, made)


def _updating(node: Join) -> UpdatingJoin:
    _check_windows(node)
    if not node.keys:
        raise Unsupported(
            "Updating joins must include an equijoin condition",
            span=node.span,
            hint="write JOIN ... ON a.x = b.y; add more conditions with AND",
        )
    # A row must match the same rows when it is taken back as when it came.
    check_repeatable(node, "in the condition of a join", "each time")
    if node.condition is not None:
        check_pairs(node.condition, node.left.schema, node.right.schema)
    return UpdatingJoin(
        node.left, node.right, node.how, node.keys, node.condition, span=node.span
    )


def _check_windows(node: Join) -> None:
    left, right = node.left.window, node.right.window
    if left is None and right is None:
        return
    if left is None or right is None:
        kinds = ("windowed" if w else "non-windowed" for w in (left, right))
        raise PlanProblem(
            "can't handle mixed windowing between left ({}) and right ({}).".format(
                *kinds
            ),
            span=node.span,
            hint="group the other side by the same window, or this one by none",
        )
    if left != right:
        raise PlanProblem(
            "can't handle mixed windowing between left and right", span=node.span
        )
    if isinstance(left, SessionWindow):
        raise PlanProblem("can't handle session windows in joins", span=node.span)
    raise Unsupported("joins of windowed rows are not supported yet", span=node.span)
