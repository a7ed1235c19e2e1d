"""A join keeps rows for ever: only those columns of them that are read."""

from __future__ import annotations

from collections.abc import Iterable
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
        below = _keeping(node.input, _names(e for _, e in expressions(node)))
        return node if below is node.input else replace(node, input=below)

    return transform(root, change, made)


def _keeping(node: Node, names: set[str]) -> Node:
    """The relation with at least these columns; the same object if none can go."""
    if isinstance(node, Filter | Unnest):
        below = _keeping(node.input, names | _names(e for _, e in expressions(node)))
        return node if below is node.input else replace(node, input=below)
    if isinstance(node, UpdatingJoin | WindowJoin):
        names = names | _names(e for _, e in expressions(node))
        left, right = (_only(side, names) for side in node.inputs)
        if left is node.left and right is node.right:
            return node
        return replace(node, left=left, right=right)
    return node


def _only(side: Node, names: set[str]) -> Node:
    """The relation with these of its columns."""
    side = _keeping(side, names)
    kept = [field for field in side.schema if field.name in names]
    if len(kept) == len(side.schema):
        return side
    if isinstance(side, Project):
        # Of a join below, too, less is read now.
        items = tuple(item for item in side.items if item.name in names)
        below = _keeping(side.input, _names(item.expression for item in items))
        return replace(side, items=items, input=below)
    items = tuple(Named(f.name, column(f), f.type, f.nullable) for f in kept)
    return Project(side, items, span=side.span)


def _names(found: Iterable[exp.Expr]) -> set[str]:
    return {c.name for expression in found for c in all_in(expression, exp.Column)}
