"""Joins and ranks keep rows for ever: only those columns of them that are read."""

from __future__ import annotations

from arroyo_nb.plan.nodes import (
    Filter,
    Node,
    Project,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    WindowAggregate,
)
from arroyo_nb.plan.rewrites.prune_join_columns import names_read, with_only
from arroyo_nb.plan.tree import NodeMap, over_inputs, walk


def without_unread_columns(root: Node, made: NodeMap[Node]) -> Node:
    """The inputs of joins and ranks have only the columns that somebody reads.

    What several read is read by all of them: of rows that are equal in the order of a
    rank, each reader within a query gets the same one.

    Before::

        Project name
          Project name, at, fare, number
            UpdatingRank by name; order fare; row_number() AS number
              Source trips: id, name, at, fare

    After::

        Project name
          Project name
            UpdatingRank by name; order fare; row_number() AS number
              Project name, fare
                Source trips: id, name, at, fare

    Parameters
    ----------
    root
        A streaming plan.
    made
        What becomes of each node: of one plan, as others read other columns.
    """
    if _keeps_nothing(root):
        return root
    read = _columns_read(root)
    # The same relations with no other columns than those.
    narrowed: NodeMap[Node] = NodeMap()
    for node in walk(root):
        keeps_rows = isinstance(node, UpdatingJoin | UpdatingRank)
        fresh = over_inputs(node, narrowed if keeps_rows else made)
        narrowed[node] = with_only(fresh, read[node])
        is_above = isinstance(node, Project) and not _keeps_nothing(node)
        made[node] = narrowed[node] if is_above else fresh
    return made[root]


def _keeps_nothing(node: Node) -> bool:
    return node.kinds.isdisjoint((UpdatingJoin, UpdatingRank))


def _columns_read(root: Node) -> NodeMap[set[str] | None]:
    """The columns of each node that any reader of it reads; None: all may be read."""
    read: NodeMap[set[str] | None] = NodeMap()
    nodes = [*walk(root)]
    for node in nodes:
        read[node] = set()
    read[root] = None
    # Readers before what they read.
    for node in reversed(nodes):
        wanted = read[node]
        if wanted is not None and wanted.isdisjoint(node.schema.names):
            # One at least: its rows may be counted, and no more.
            read[node] = {node.schema.names[0]}
        names = _handed_on(node, read[node])
        for child in node.inputs:
            before = read[child]
            if before is None or names is None:
                read[child] = None
            else:
                read[child] = before | names
    return read


def _handed_on(node: Node, read: set[str] | None) -> set[str] | None:
    """What is read of the inputs of a node of which some columns are read."""
    match node:
        case UpdatingAggregate() | WindowAggregate():
            return names_read(node)
        case Project():
            return names_read(with_only(node, read))
        case Filter() | Unnest() | UpdatingJoin() | UpdatingRank():
            return None if read is None else read | names_read(node)
        case _:
            return None
