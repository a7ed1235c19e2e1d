"""Columns that are the same whenever a micro-batch is computed again.

After a crash a batch is computed again from the same input, yet not in the same order:
a sum of floats has other last digits, a list other places, and a random number is
another. A sink that finds again what it has written of a batch may go by the other
columns only. What is not known to be settled is taken for unsettled.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from arroyo_nb.plan.expressions.functions import volatile
from arroyo_nb.plan.nodes import (
    Measure,
    Node,
    OverColumn,
    Project,
    Sink,
    Source,
    Union,
    Unnest,
    UpdatingAggregate,
    WindowAggregate,
    WindowOver,
)
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import DOUBLE, FLOAT, Type
from arroyo_nb.sql.syntax_tree import parts_of


def deterministic_columns(sink: Sink) -> tuple[str, ...]:
    """The settled columns of what a sink is given, in their order."""
    found: dict[int, frozenset[str]] = {}
    for node in walk(sink.input):
        found[id(node)] = _deterministic(
            node, [found[id(child)] for child in node.inputs]
        )
    names = sink.input.schema.names
    return tuple(name for name in names if name in found[id(sink.input)])


def _deterministic(node: Node, below: list[frozenset[str]]) -> frozenset[str]:
    match node:
        case Source():
            return frozenset(node.schema.names)
        case Project():
            named = ((item.name, [item.expression]) for item in node.items)
            return frozenset(n for n, parts in named if _are(parts, *below))
        case Unnest(list=unnested, element=element):
            settled = {element.name} if _are([unnested], *below) else set()
            return _handed_on(node, below) | settled
        case Union():
            names = node.schema.names
            columns = [branch.schema.names for branch in node.branches]
            return frozenset(
                name
                for place, name in enumerate(names)
                if all(c[place] in s for c, s in zip(columns, below, strict=True))
            )
        case WindowAggregate() | UpdatingAggregate():
            keys = {key.name for key in node.keys if _are([key.expression], *below)}
            measures = {m.name for m in node.measures if _is_orderless(m, *below)}
            window = {node.window_name} if isinstance(node, WindowAggregate) else set()
            return frozenset(keys | measures | window)
        case WindowOver():
            handed_on = _handed_on(node, below)
            # Which of two peers comes first depends on all columns of the input.
            if not handed_on >= {*node.input.schema.names}:
                return handed_on
            return handed_on | {c.name for c in node.columns if _is_settled(c, node)}
        case _:
            return _handed_on(node, below)


def _handed_on(node: Node, below: list[frozenset[str]]) -> frozenset[str]:
    """Of a node that adds columns, those that it was given; of two alike, both."""
    given = list(zip(node.inputs, below, strict=True))
    unsettled = {n for child, s in given for n in child.schema.names if n not in s}
    return frozenset().union(*below).intersection(node.schema.names) - unsettled


def _is_orderless(measure: Measure, below: frozenset[str]) -> bool:
    parts = [*measure.arguments, *([measure.where] if measure.where else [])]
    row = measure.row
    rounded = row.rounds and _is_float(measure.type)
    return row.deterministic and not rounded and _are(parts, below)


def _is_settled(column: OverColumn, node: WindowOver) -> bool:
    """Of settled rows; a sum over a frame is exact, in whichever order they come."""
    measure = column.measure
    parts = [*node.keys, *measure.arguments]
    parts += [measure.where] if measure.where is not None else []
    parts += [item.expression for item in (*node.order, *measure.order)]
    return _are(parts, frozenset(node.input.schema.names))


def _is_float(type_: Type) -> bool:
    return type_ in (FLOAT, DOUBLE)


def _are(expressions: Iterable[exp.Expr], below: frozenset[str]) -> bool:
    """Whether they are settled, of columns of which these are."""
    parts = [part for one in expressions for part in parts_of(one)]
    columns = {part.name for part in parts if isinstance(part, exp.Column)}
    return columns <= below and not any(map(volatile, parts))
