"""A join keeps rows for ever: only those columns of them that are read."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from arroyo_nb.plan.expressions.typing import column
from arroyo_nb.plan.nodes import (
    Filter,
    Named,
    Node,
    Project,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    WindowAggregate,
    WindowJoin,
)
from arroyo_nb.plan.tree import NodeMap, transform
from arroyo_nb.plan.verify import expressions
from arroyo_nb.sql.syntax_tree import all_in


def narrow_joins(root: Node, made: NodeMap[Node]) -> Node:
    """The sides of a join have only the columns that it or a reader of it needs.

    Before::

        Project name
          UpdatingJoin inner ON id = trip
            Project trip
            Source trips: id, name, at, fare

    After::

        Project name
          UpdatingJoin inner ON id = trip
            Project trip
            Project id, name
              Source trips: id, name, at, fare
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Project | UpdatingAggregate | WindowAggregate):
            return node
        below = _keeping(node.input, names_read(node))
        return node if below is node.input else replace(node, input=below)

    return transform(root, change, made)


def _keeping(node: Node, names: set[str]) -> Node:
    """The relation with at least these columns; the same object if none can go."""
    if isinstance(node, Filter | Unnest):
        below = _keeping(node.input, names | names_read(node))
        return node if below is node.input else replace(node, input=below)
    if isinstance(node, UpdatingJoin | WindowJoin):
        names = names | names_read(node)
        left, right = (_only(side, names) for side in node.inputs)
        if left is node.left and right is node.right:
            return node
        return replace(node, left=left, right=right)
    return node


def _only(side: Node, names: set[str]) -> Node:
    """The relation with these of its columns."""
    side = _keeping(side, names)
    narrow = with_only(side, names)
    if narrow is side or not isinstance(narrow, Project) or narrow.input is side:
        return narrow
    # Of a join below, too, less is read now.
    return replace(narrow, input=_keeping(narrow.input, names_read(narrow)))


def with_only(node: Node, names: set[str] | None) -> Node:
    """The relation with these of its columns, None: with all; the same object if none
    goes."""
    kept = [field for field in node.schema if names is None or field.name in names]
    if len(kept) == len(node.schema):
        return node
    if isinstance(node, Project):
        wanted = {field.name for field in kept}
        items = tuple(item for item in node.items if item.name in wanted)
        return replace(node, items=items)
    items = tuple(Named(f.name, column(f), f.type, f.nullable) for f in kept)
    return Project(node, items, span=node.span)


def names_read(node: Node) -> set[str]:
    """The columns that the expressions of a node read."""
    parts = (part for _, part in expressions(node))
    return {c.name for part in parts for c in all_in(part, exp.Column)}
