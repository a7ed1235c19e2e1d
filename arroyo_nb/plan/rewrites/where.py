"""What WHERE says of a join's sides moves to where it belongs (DataFusion's
EliminateCrossJoin, EliminateOuterJoin and PushDownFilter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple, cast

from sqlglot import exp

from arroyo_nb.plan.expressions.predicates import conjuncts, rejects_nulls
from arroyo_nb.plan.expressions.typing import replaced
from arroyo_nb.plan.nodes import Filter, How, Join, Node, Project
from arroyo_nb.plan.queries.joins import filtered, key_of, only, sides_read
from arroyo_nb.plan.queries.select import selected
from arroyo_nb.plan.rewrites.updating import unrepeatable
from arroyo_nb.plan.tree import NodeMap, transform, walk
from arroyo_nb.sql.syntax_tree import all_in

_LEFT, _RIGHT = only("left"), only("right")

MOST_JOINS = 16
"""How many joins a condition is moved below: each more is a part of each plan that is
made of a long chain of views."""


def joins_of_where(root: Node, made: NodeMap[Node]) -> Node:
    """A condition in WHERE joins, or filters the side that it speaks of.

    Before::

        Filter id = "t.id" AND name = 'x'
          Join left ON nothing
            Scan clicks
            Scan trips

    After::

        Join inner ON id = "t.id"
          Scan clicks
          Filter name = 'x'
            Scan trips

    A condition that is not true of NULLs lets no padded row through: an outer join
    needs not make them. Rows that a join would keep for ever are filtered before it.
    What is another value each time, and ``row_time()``, stay above the join. So does
    what is computed between it and WHERE; a derived table's mere columns are seen
    through.
    """

    accepted = made.part("accepted")

    def change(node: Node) -> Node:
        if not isinstance(node, Filter) or not isinstance(node.origin, Join):
            return node
        move = _into(node.input, conjuncts(node.predicate), _Way(accepted))
        # As it was, where nothing went below a join: the same node keeps what was
        # cached for it.
        return move.node if move.moved else node

    plan = transform(root, change, made)
    for node in walk(plan, accepted):
        accepted[node] = node
    return plan


@dataclass(frozen=True)
class _Way:
    """How far a condition may go down.

    Parameters
    ----------
    accepted
        Nodes of plans that were rewritten before: those of the views that this plan
        reads, where it is a view's own. Such a plan is made to be checked, not run, so
        conditions stay above what was checked, unless they change what a join is.
    joins
        Below how many joins.
    """

    accepted: NodeMap[Node]
    joins: int = MOST_JOINS

    @property
    def below(self) -> _Way:
        """The way that is left below one join."""
        return replace(self, joins=self.joins - 1)


class _Move(NamedTuple):
    """A node with conditions in it or above it: whether any has found a place below a
    join, and whether a join became one of another kind by that."""

    node: Node
    moved: bool = False
    of_other_kind: bool = False


def _into(node: Node, parts: Sequence[exp.Expr], way: _Way) -> _Move:
    """The node with what can be said below a join in it, and the rest above."""
    stay = _Move(filtered(node, parts))
    if not isinstance(node.origin, Join) or not parts or not way.joins:
        return stay
    join, between = node.origin, _between(node)
    inner = list(parts)
    stays: list[list[exp.Expr]] = []
    for above in between:
        _, made_of = selected(above)
        mere = [_reads_columns(part, made_of) for part in inner]
        stays.append([p for p, is_mere in zip(inner, mere, strict=True) if not is_mere])
        inner = [_below(part, made_of) for part in compress(inner, mere)]
    if not inner:
        return stay
    match between:
        case [*between, Filter(predicate=predicate)]:
            # What it says may find its place once the join is an inner one.
            inner = [*conjuncts(predicate), *inner]
    move = _pushed_into(join, inner, way.below)
    if not move.moved or (join in way.accepted and not move.of_other_kind):
        return stay
    made = move.node
    for above, rest in reversed([*zip(between, stays, strict=False)]):
        made = filtered(replace(above, input=made), rest)
    return move._replace(node=made)


def _between(node: Node) -> list[Filter | Project]:
    """The filters and select lists above a node's origin, from the top down."""
    found: list[Filter | Project] = []
    while isinstance(node, Filter | Project):
        found.append(node)
        node = node.input
    return found


def _reads_columns(part: exp.Expr, made_of: Mapping[str, exp.Expr]) -> bool:
    """Whether a condition over a select list is one over columns of its input."""
    found = all_in(part, exp.Column)
    return all(isinstance(made_of[column.name], exp.Column) for column in found)


def _below(part: exp.Expr, made_of: Mapping[str, exp.Expr]) -> exp.Expr:
    """A condition over a select list as one over its input."""
    return replaced(
        part, lambda e: made_of[e.name] if isinstance(e, exp.Column) else None
    )


def _pushed_into(join: Join, parts: Sequence[exp.Expr], way: _Way) -> _Move:
    """The join with what can be said below it, and the rest above."""
    how = _how(join, parts)
    if how == "inner" and join.condition is not None:
        parts = [*conjuncts(join.condition), *parts]
        join = replace(join, condition=None)
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    left: list[exp.Expr] = []
    right: list[exp.Expr] = []
    rest: list[exp.Expr] = []
    for part in parts:
        key = key_of(part, join.left) if how == "inner" else None
        read = sides_read(part, join.left)
        # Below the join it would be computed once a row, above it once a pair: the
        # answer would be another one.
        if any(map(unrepeatable, all_in(part, exp.Anonymous))):
            rest.append(part)
        elif key is not None:
            keys.append(key)
        # Only the side whose rows are not padded: filtered below, a row that fails
        # would come back with NULLs beside it.
        elif read == _LEFT and how in ("inner", "left"):
            left.append(part)
        elif read == _RIGHT and how in ("inner", "right"):
            right.append(part)
        else:
            rest.append(part)
    if how == join.how and len(rest) == len(parts):
        return _Move(filtered(join, parts))
    sides = _into(join.left, left, way), _into(join.right, right, way)
    made = replace(
        join,
        left=sides[0].node,
        right=sides[1].node,
        how=how,
        keys=(*join.keys, *keys),
    )
    of_other_kind = how != join.how or any(side.of_other_kind for side in sides)
    return _Move(filtered(made, rest), moved=True, of_other_kind=of_other_kind)


def _how(join: Join, parts: Sequence[exp.Expr]) -> How:
    """Which sides' rows are all kept, where what is padded must meet the conditions."""
    kept = {"left", "right"} if join.how == "full" else {join.how} - {"inner"}
    for part in parts:
        # A row of one side that is padded has NULLs for the other.
        if _rejects(part, join, _RIGHT):
            kept -= {"left"}
        if _rejects(part, join, _LEFT):
            kept -= {"right"}
    return cast("How", "full" if len(kept) == 2 else next(iter(kept), "inner"))


def _rejects(part: exp.Expr, join: Join, side: frozenset[str]) -> bool:
    """Whether a condition is not true where a side's columns are NULL."""
    return rejects_nulls(
        part,
        lambda operand: (
            isinstance(operand, exp.Column) and sides_read(operand, join.left) == side
        ),
    )
