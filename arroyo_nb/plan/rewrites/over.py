"""OVER within a window gets its meaning (arroyo-semantics e.5)."""

from __future__ import annotations

from arroyo_nb.plan.nodes import Node, Over, WindowOver
from arroyo_nb.plan.tree import NodeMap, transform

SESSIONS = "Window functions do not support session windows"
"""Why Arroyo refuses OVER on sessions; here a session is a window like any other."""

ONE_FUNCTION = "Window functions require exactly one window expression"
"""Why Arroyo refuses several functions with OVER in one SELECT."""

NO_EXCLUDE = "Expected: ), found: EXCLUDE"
"""Why Arroyo's parser refuses a frame with EXCLUDE."""


def windowed_over(root: Node, made: NodeMap[Node]) -> Node:
    """OVER with the window among its keys sends final rows.

    Before::

        Over by window, ordered by n DESC; row_number() AS place
          WindowAggregate tumble(3600s) AS window; by carrier; count(*) AS n

    After::

        WindowOver by window, ordered by n DESC; row_number() AS place
          WindowAggregate tumble(3600s) AS window; by carrier; count(*) AS n

    OVER without a window is left for ``updating_ranks``. Refuses nothing.
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Over) or not node.window_keys:
            return node
        return WindowOver(
            node.input, node.keys, node.order, node.columns, span=node.span
        )

    return transform(root, change, made)
