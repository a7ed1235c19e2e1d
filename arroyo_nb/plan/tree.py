"""Walking and rebuilding plans; a node shared by several readers stays shared.

A view is read by other views, and these by others: what was found of a node is kept in
a :class:`NodeMap` and handed to the next walk, which goes no further down than to what
is in it. So a script is planned in the time of its nodes, however deep its lineage is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, replace
from typing import Generic, TypeVar

from arroyo_nb.plan.nodes import Node

T = TypeVar("T")


class NodeMap(Generic[T]):
    """What is known of each node, or of another object of a plan, by its identity."""

    def __init__(self) -> None:
        # The object is kept beside its value: the id of one that is gone is given anew.
        self._values: dict[int, tuple[object, T]] = {}
        self._parts: dict[Hashable, NodeMap[T]] = {}

    def __contains__(self, key: object) -> bool:
        return id(key) in self._values

    def __getitem__(self, key: object) -> T:
        return self._values[id(key)][1]

    def __setitem__(self, key: object, value: T) -> None:
        self._values[id(key)] = (key, value)

    def part(self, name: Hashable) -> NodeMap[T]:
        """A map of its own for another walk of the same pass."""
        return self._parts.setdefault(name, NodeMap())


def walk(root: Node, known: NodeMap[T] | None = None) -> Iterator[Node]:
    """Every node once, inputs before their readers.

    Parameters
    ----------
    root
        The plan.
    known
        Nodes that were walked before: they, and what is below them, are left out.
    """
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen and (known is None or node not in known):
            seen.add(id(node))
            stack.append((node, True))
            stack.extend([(child, False) for child in reversed(node.inputs)])


def size(root: Node, sizes: NodeMap[int] | None = None) -> int:
    """How many nodes the plan has where each reader has inputs of its own, as it has
    once Spark plans it; ``sizes`` has those of earlier plans."""
    sizes = NodeMap() if sizes is None else sizes
    for node in walk(root, sizes):
        sizes[node] = 1 + sum(sizes[child] for child in node.inputs)
    return sizes[root]


def transform(
    root: Node, change: Callable[[Node], Node], made: NodeMap[Node] | None = None
) -> Node:
    """The plan with ``change`` applied to every node, inputs first.

    A node that does not change stays the same object, and so does a plan. ``made`` has
    what earlier calls with the same ``change`` made of nodes.
    """
    made = NodeMap() if made is None else made
    for node in walk(root, made):
        made[node] = change(over_inputs(node, made))
    return made[root]


def over_inputs(node: Node, made: NodeMap[Node]) -> Node:
    """The node over what its inputs have become; the same object if these have not."""
    # Most nodes keep their inputs in most passes: asked first, as it is quick.
    if all(made[child] is child for child in node.inputs):
        return node
    changed: dict[str, object] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            fresh: object = made[value]
            same = fresh is value
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            fresh = tuple(made[child] for child in value)
            same = all(a is b for a, b in zip(value, fresh, strict=True))
        else:
            continue
        if not same:
            changed[item.name] = fresh
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]
