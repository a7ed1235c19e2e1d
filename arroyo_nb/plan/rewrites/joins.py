"""JOIN gets its meaning (arroyo-semantics e.6, f.6)."""

from __future__ import annotations

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.explain.node_lines import window_text
from arroyo_nb.plan.nodes import (
    Join,
    Node,
    SessionWindow,
    UpdatingJoin,
    WindowJoin,
)
from arroyo_nb.plan.queries.join_conditions import check_pairs
from arroyo_nb.plan.rewrites.updating import check_repeatable, check_repeatable_in
from arroyo_nb.plan.tree import NodeMap, transform

NOT_INNER = "can't handle non-inner joins without windows"
UPDATING_SIDE = "can't handle updating {side} side of join"
"""Why Arroyo refuses such joins; here they run, unless ``strict`` asks for Arroyo."""

_IN_CONDITION, _EACH_TIME = "in the condition of a join", "each time"


def windowed_joins(root: Node, made: NodeMap[Node]) -> Node:
    """A join of relations of one window matches the rows of each window.

    Before::

        Join left ON window = "b.window" AND name = "b.name"
          WindowAggregate tumble(3600s) AS window; by name
          WindowAggregate tumble(3600s) AS b.window; by name AS b.name

    After::

        WindowJoin left tumble(3600s) ON name = "b.name"
          WindowAggregate tumble(3600s) AS window; by name
          WindowAggregate tumble(3600s) AS b.window; by name AS b.name

    That the windows are equal need not be said: ON may hold other conditions, or none.

    Refuses two different windows, windowed with unwindowed rows, and sessions.
    """

    def change(node: Node) -> Node:
        if isinstance(node, Join) and node.window is not None:
            return _windowed(node)
        return node

    return transform(root, change, made)


def _windowed(node: Join) -> WindowJoin:
    _check_windows(node)
    # Of an inner join it is a filter above, which may give another value each time.
    check_repeatable_in(node.condition, _IN_CONDITION, _EACH_TIME)
    keys = tuple(key for key in node.keys if not _are_windows(key, node))
    return WindowJoin(
        node.left, node.right, node.how, keys, node.condition, span=node.span
    )


def _are_windows(key: tuple[exp.Expr, exp.Expr], node: Join) -> bool:
    """Whether a key says only that the windows of both sides are equal."""
    return all(
        isinstance(part, exp.Column) and part.name in side.window_columns
        for part, side in zip(key, node.inputs, strict=True)
    )


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

    Refuses a join by no equality, and conditions of outer joins that Arrow does not
    compute as Spark does.
    """

    def change(node: Node) -> Node:
        return _updating(node) if isinstance(node, Join) else node

    return transform(root, change, made)


def _updating(node: Join) -> UpdatingJoin:
    if not node.keys:
        raise Unsupported(
            "Updating joins must include an equijoin condition",
            span=node.span,
            hint="write JOIN ... ON a.x = b.y; add more conditions with AND",
        )
    # A row must match the same rows when it is taken back as when it came.
    check_repeatable(node, _IN_CONDITION, _EACH_TIME)
    if node.condition is not None:
        check_pairs(node.condition, node.left.schema, node.right.schema)
    return UpdatingJoin(
        node.left, node.right, node.how, node.keys, node.condition, span=node.span
    )


def _check_windows(node: Join) -> None:
    left, right = node.left.window, node.right.window
    if left is None or right is None:
        kinds = ("windowed" if w else "non-windowed" for w in (left, right))
        raise PlanProblem(
            "can't handle mixed windowing between left ({}) and right ({}).".format(
                *kinds
            ),
            span=node.span,
            hint="group both sides by the same window, or none of them",
        )
    if left != right:
        raise PlanProblem(
            "can't handle mixed windowing between left and right",
            span=node.span,
            hint=f"the left side is windowed by {window_text(left)}, the right one by "
            f"{window_text(right)}",
        )
    if isinstance(left, SessionWindow):
        raise PlanProblem(
            "can't handle session windows in joins",
            span=node.span,
            hint="use tumble() or hop() on both sides",
        )
