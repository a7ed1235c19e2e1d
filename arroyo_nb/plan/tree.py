"""Walking and rebuilding plans; a node shared by several readers stays shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from arroyo_nb.plan.nodes import Node


def walk(root: Node) -> Iterator[Node]:
    """Every node once, inputs before their readers."""
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))


def size(root: Node) -> int:
    """How many nodes the plan has where each reader has inputs of its own, as it has
    once Spark plans it."""
    sizes: dict[int, int] = {}
    for node in walk(root):
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in node.inputs)
    return sizes[id(root)]


def transform(root: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with ``change`` applied to every node, inputs first.

    A node that does not change stays the same object, and so does a plan.
    """
    made: dict[int, Node] = {}
    for node in walk(root):
        made[id(node)] = change(_over(node, made))
    return made[id(root)]


def _over(node: Node, made: dict[int, Node]) -> Node:
    changed: dict[str, object] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            fresh: object = made[id(value)]
            same = fresh is value
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            fresh = tuple(made[id(child)] for child in value)
            same = all(a is b for a, b in zip(value, fresh, strict=True))
        else:
            continue
        if not same:
            changed[item.name] = fresh
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]
