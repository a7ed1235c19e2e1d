"""What must hold of a plan after each stage. A violation is a bug of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from sqlglot import exp

from arroyo_nb.plan.expressions.typing import type_of
from arroyo_nb.plan.expressions.window_calls import window_of
from arroyo_nb.plan.nodes import (
    Aggregate,
    Filter,
    Joining,
    LookupJoin,
    Measure,
    Named,
    Node,
    OverFunctions,
    Project,
    Source,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingRank,
    Watermark,
    WindowAggregate,
    WindowOver,
)
from arroyo_nb.plan.queries.aggregate_calls import is_aggregate
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.sql.syntax_tree import parts_of


class BrokenPlan(AssertionError):
    """The planner made a plan that breaks its own rules."""


class _Read(NamedTuple):
    """What an expression reads; it is the same in whichever node it stands."""

    columns: frozenset[str]
    has_window_call: bool


@dataclass(frozen=True)
class SoundParts:
    """Parts of plans that were checked, after whatever stage.

    Parameters
    ----------
    nodes
        Nodes whose own parts are sound.
    expressions
        Expressions that are sound by themselves.
    """

    nodes: NodeMap[None] = field(default_factory=NodeMap)
    expressions: NodeMap[_Read] = field(default_factory=NodeMap)


def verify(
    root: Node,
    *,
    gone: Iterable[type[Node]] = (),
    sound: SoundParts | None = None,
) -> None:
    """Check a plan.

    Parameters
    ----------
    root
        The plan.
    gone
        Nodes that the stages so far have replaced.
    sound
        What was checked before, of this plan or another.

    Raises
    ------
    BrokenPlan
        For a node that may not be there, two columns of one name, a reference that
        leads nowhere, or an expression without a type.
    """
    sound = SoundParts() if sound is None else sound
    # Looked at after each stage anew: what was allowed before may be gone by now.
    for kind in root.kinds.intersection(gone):
        raise BrokenPlan(f"{kind.__name__} outlived its stage")
    # The rest holds of a node forever: plans share nodes, and a view would be checked
    # for each of its readers.
    for node in walk(root, sound.nodes):
        _check_node(node, sound.expressions)
        sound.nodes[node] = None


def _check_node(node: Node, read: NodeMap[_Read]) -> None:
    names = node.schema.names
    if len(set(names)) < len(names):
        raise BrokenPlan(f"{type(node).__name__} repeats a column: {names}")
    _check_shape(node)
    for over, expression in expressions(node):
        _check_expression(node, over, expression, read)


def expressions(node: Node) -> list[tuple[Node, exp.Expr]]:
    """The bound expressions of a node, each with the relation it reads."""
    match node:
        case Project(input=below, items=items):
            return [(below, item.expression) for item in items]
        case Filter(input=below, predicate=predicate):
            return [(below, predicate)]
        case Unnest(input=below, list=unnested):
            return [(below, unnested)]
        case Watermark(input=below, event_time=event_time, expression=expression):
            return [(below, e) for e in (event_time, expression) if e is not None]
        case Aggregate() | WindowAggregate() | UpdatingAggregate():
            found = [key.expression for key in node.keys]
            found += chain.from_iterable(map(_measured, node.measures))
            return [(node.input, e) for e in found]
        case UpdatingRank():
            found = [*node.keys, *(item.expression for item in node.order)]
            return [(node.input, e) for e in found]
        case OverFunctions():
            found = [*node.keys, *(item.expression for item in node.order)]
            measures = (column.measure for column in node.columns)
            found += chain.from_iterable(map(_measured, measures))
            return [(node.input, e) for e in found]
        case LookupJoin(input=below, keys=keys):
            return [(below, key) for key, _ in keys]
        case Joining(left=left, right=right, keys=keys, condition=condition):
            sides = [
                (o, e) for key in keys for o, e in zip((left, right), key, strict=True)
            ]
            return [*sides, *([(node, condition)] if condition is not None else [])]
        case _:
            return []


def _measured(measure: Measure) -> list[exp.Expr]:
    where = [measure.where] if measure.where is not None else []
    order = [item.expression for item in measure.order]
    return [*measure.arguments, *where, *order]


def _check_shape(node: Node) -> None:
    # State finds rows by the hash of their keys: equal values of two types would lie in
    # two buckets.
    if isinstance(node, Joining) and any(
        type_of(a) != type_of(b) for a, b in node.keys
    ):
        raise BrokenPlan("a join by keys of different types")
    if isinstance(node, LookupJoin):
        by, read = {c for _, c in node.keys}, {c for _, c in node.columns}
        if by != set(node.table.keys) or read - set(node.table.schema.names):
            raise BrokenPlan(f"a lookup by {sorted(by)} of {sorted(read)}")
    # Spark's union goes by position and widens types by itself, to others than
    # Arroyo's.
    if isinstance(node, Union):
        shapes = {
            tuple((f.name, f.type) for f in branch.schema) for branch in node.branches
        }
        if len(shapes) > 1:
            raise BrokenPlan(f"the branches of a union differ: {shapes}")
    if isinstance(node, WindowAggregate) and node.window is None:
        raise BrokenPlan("a window aggregate without a window")
    if isinstance(node, WindowOver) and not node.window_keys:
        raise BrokenPlan("functions with OVER within a window without a window")
    if isinstance(node, UpdatingAggregate):
        names = {key.expression.name for key in node.keys if _is_column(key)}
        if names & node.input.window_columns:
            raise BrokenPlan("an updating aggregate by a window")
    if isinstance(node, Source) and node.inputs:
        raise BrokenPlan("a source that reads something")


def _is_column(key: Named) -> bool:
    return isinstance(key.expression, exp.Column)


def _check_expression(
    node: Node, over: Node, expression: exp.Expr, read: NodeMap[_Read]
) -> None:
    if expression not in read:
        read[expression] = _read_by(node, expression)
    columns, has_window_call = read[expression]
    for name in columns:
        if name not in over.schema:
            raise BrokenPlan(
                f"{type(node).__name__} reads '{name}', which is not in its input"
            )
    if has_window_call and not isinstance(node, Aggregate):
        raise BrokenPlan(f"a window call is left in {type(node).__name__}")


def _read_by(node: Node, expression: exp.Expr) -> _Read:
    columns: set[str] = set()
    has_window_call = False
    for part in parts_of(expression):
        if isinstance(part, exp.Column):
            columns.add(part.name)
        # A Condition is what sqlglot calls an expression that has a value.
        if isinstance(part, exp.Condition) and not _is_typed(part):
            raise BrokenPlan(f"{part.sql()} has no type in {type(node).__name__}")
        if is_aggregate(part):
            raise BrokenPlan(f"an aggregate is left in {type(node).__name__}")
        if isinstance(part, exp.Window):
            raise BrokenPlan(f"a call with OVER is left in {type(node).__name__}")
        has_window_call = has_window_call or window_of(part) is not None
    return _Read(frozenset(columns), has_window_call)


def _is_typed(part: exp.Expr) -> bool:
    """Parts of a node that are no values of their own have no type."""
    # The arms of CASE, names, and the parts of an INTERVAL.
    return (
        "arroyo_type" in part.meta
        or isinstance(part, (exp.If, exp.Identifier))
        or isinstance(part.parent, exp.Interval)
    )
