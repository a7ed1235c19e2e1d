"""A join of a window's rows with an aggregate of the same rows reads them once.

The most popular item of each window is found by a join of the counts with their own
maximum. Spark would read, count and keep the rows of such a query twice; an aggregate
with OVER gives each row the same maximum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from sqlglot import exp

from arroyo_nb.over.frame import PARTITION
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.operators import binary
from arroyo_nb.plan.expressions.typing import column, is_nullable, replaced
from arroyo_nb.plan.lowering import LOWERING, NO_SELF_JOINS
from arroyo_nb.plan.nodes import (
    Filter,
    Measure,
    Named,
    Node,
    OverColumn,
    Project,
    WindowAggregate,
    WindowJoin,
    WindowOver,
)
from arroyo_nb.plan.queries.joins import filtered
from arroyo_nb.plan.rewrites.updating import unrepeatable
from arroyo_nb.plan.tree import NodeMap, transform, walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.sql.parse import deep_stack
from arroyo_nb.sql.syntax_tree import all_in


def without_self_joins(
    root: Node, made: NodeMap[Node], *, lowering: int = LOWERING
) -> Node:
    """The plan with OVER in place of joins of rows with an aggregate of themselves.

    Before::

        WindowJoin inner tumble(3600s) ON n = most
          WindowAggregate tumble(3600s) AS window; by carrier; count(*) AS n
          WindowAggregate AS b.window; max(n) AS most
            WindowAggregate tumble(3600s) AS window; by carrier; count(*) AS n

    After::

        Project window, carrier, n, window AS b.window, most
          Filter n = most
            WindowOver by window; max(n) AS most
              WindowAggregate tumble(3600s) AS window; by carrier; count(*) AS n

    Each row has its group's row beside it, and no other, where all keys of the group
    are keys of the join. Where a function gives another value each time the rows of
    both sides are not the same: such joins stay.

    Parameters
    ----------
    root
        A streaming plan.
    made
        What becomes of each node.
    lowering
        Its version: an earlier one leaves the plan as it is.
    """

    def change(node: Node) -> Node:
        if not isinstance(node, WindowJoin) or node.how != "inner":
            return node
        # Views over views are compared deeper than Python's usual limit.
        with deep_stack():
            return next(
                filter(None, map(_without_join, repeat(node), _orders(node))), node
            )

    def as_it_is(node: Node) -> Node:
        return node

    return transform(root, as_it_is if lowering < NO_SELF_JOINS else change, made)


@dataclass(frozen=True)
class _Opened:
    """A relation without the filters and select lists that it begins with.

    Parameters
    ----------
    origin
        Where its rows come from.
    columns
        Its columns, bound over the origin.
    predicates
        What is true of its rows, bound over the origin.
    """

    origin: Node
    columns: Mapping[str, exp.Expr]
    predicates: tuple[exp.Expr, ...]

    @classmethod
    def through(cls, node: Node) -> _Opened:
        """The relation down to its origin."""
        opened = cls(node, {field.name: column(field) for field in node.schema}, ())
        while isinstance(node, Filter | Project):
            if isinstance(node, Filter):
                # The lower one first, as it may guard the other from an error.
                found = (node.predicate, *opened.predicates)
                opened = replace(opened, predicates=found)
            else:
                opened = opened.over({i.name: i.expression for i in node.items})
            node = node.input
        return replace(opened, origin=node)

    def over(self, made_of: Mapping[str, exp.Expr]) -> _Opened:
        """The relation over what the columns of its origin are made of."""
        columns = {n: _below(e, made_of) for n, e in self.columns.items()}
        predicates = tuple(_below(e, made_of) for e in self.predicates)
        return replace(self, columns=columns, predicates=predicates)


class _Order(NamedTuple):
    """The sides of a join, and its keys, in one of both orders."""

    rows: Node
    groups: Node
    keys: Sequence[tuple[exp.Expr, exp.Expr]]


def _orders(node: WindowJoin) -> Iterator[_Order]:
    yield _Order(node.left, node.right, node.keys)
    yield _Order(node.right, node.left, [(right, left) for left, right in node.keys])


def _without_join(join: WindowJoin, order: _Order) -> Node | None:
    """The pairs without a join; None where a side is no aggregate of the other."""
    rows, groups = map(_Opened.through, order[:2])
    over = _with_groups(rows.origin, groups.origin)
    if over is None or any(map(_is_unrepeatable, walk(join))):
        return None
    groups = groups.over(over.made_of)
    equal = [
        (_below(one, rows.columns), _below(other, groups.columns))
        for one, other in order.keys
    ]
    if any((key, key) not in equal for key in over.keys):
        return None
    # Also of a column and itself: an equality is not true of NULL.
    tests = [
        binary(exp.EQ, one, other)
        for one, other in equal
        if one != other or is_nullable(one)
    ]
    kept = filtered(over.node, [*rows.predicates, *groups.predicates, *tests])
    made_of = {**rows.columns, **groups.columns}
    fields = join.schema.fields
    items = (Named(f.name, made_of[f.name], f.type, f.nullable) for f in fields)
    return Project(kept, tuple(items), span=join.span)


class _WithGroups(NamedTuple):
    """Rows that have the columns of their group beside them.

    Parameters
    ----------
    node
        The relation.
    keys
        What the rows are grouped by, beside their window.
    made_of
        The columns of the group, bound over the relation.
    """

    node: WindowOver
    keys: Sequence[exp.Expr]
    made_of: Mapping[str, exp.Expr]


def _with_groups(rows: Node, groups: Node) -> _WithGroups | None:
    """Rows with their groups; None where these are not groups of all of them."""
    if not isinstance(groups, WindowAggregate) or groups.assign is not None:
        return None
    grouped = _Opened.through(groups.input)
    window = next((f for f in rows.schema if f.name in rows.window_columns), None)
    if grouped.predicates or window is None or grouped.origin != rows:
        return None
    if not all(map(_is_plain, groups.measures)):
        return None
    keys = {key.name: _below(key.expression, grouped.columns) for key in groups.keys}
    columns: dict[str, OverColumn] = {}
    taken = {*rows.schema.names}
    for measure in groups.measures:
        name = free(measure.name, taken)
        taken.add(name)
        arguments = tuple(_below(e, grouped.columns) for e in measure.arguments)
        call = replace(measure, name=name, arguments=arguments)
        columns[measure.name] = OverColumn(call, PARTITION)
    made_of = {
        groups.window_name: column(window),
        **keys,
        **{name: column(one.field) for name, one in columns.items()},
    }
    partition = (column(window), *keys.values())
    over = WindowOver(rows, partition, (), tuple(columns.values()), span=groups.span)
    return _WithGroups(over, tuple(keys.values()), made_of)


def _is_plain(measure: Measure) -> bool:
    """Whether it is the same with OVER, whatever computes it."""
    is_odd = measure.distinct or measure.where is not None or measure.order
    return measure.row.deterministic and not is_odd


def _is_unrepeatable(node: Node) -> bool:
    """Whether what a node computes is another value each time."""
    calls = (call for _, e in expressions(node) for call in all_in(e, exp.Anonymous))
    return any(map(unrepeatable, calls))


def _below(expression: exp.Expr, made_of: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression over a select list as one over what that reads."""
    return replaced(
        expression, lambda e: made_of[e.name] if isinstance(e, exp.Column) else None
    )
