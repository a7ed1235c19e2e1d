"""FROM a JOIN b ON ...: what is equal, what else must hold, and what names mean.

A join has no two columns of one name: a column of the right side whose name the left
one has too is renamed below it, and
:class:`~arroyo_nb.plan.expressions.scope.Relation` knows what it was called. Of ON,
equalities between the sides are the keys; what reads one side only is a filter below
the join, where the join may lose the rows of that side; the rest is the condition, for
inner joins a filter above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.expressions.binding import bind_row_condition
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.predicates import all_of, conjuncts
from arroyo_nb.plan.expressions.scope import Relation, Scope
from arroyo_nb.plan.expressions.typing import column, place_of
from arroyo_nb.plan.nodes import Filter, How, Join, Named, Node, Project
from arroyo_nb.sql.dialect import span_of
from arroyo_nb.sql.syntax_tree import all_in


@dataclass(frozen=True)
class Joined:
    """What FROM has read so far."""

    node: Node
    scope: Scope


def joined(
    first: Joined, joins: list[exp.Join], read: Callable[[exp.Expr], Joined]
) -> Joined:
    """The relations of FROM, joined from left to right.

    Parameters
    ----------
    first
        The relation that FROM begins with.
    joins
        What follows it.
    read
        Plans one relation.

    Raises
    ------
    Unsupported
        For a kind of join that is not run.
    ArroyoError
        For errors of the relations and of the conditions.
    """
    return reduce(lambda left, join: _join(left, join, read(join.this)), joins, first)


def _join(left: Joined, join: exp.Join, right: Joined) -> Joined:
    how = _how(join)
    _check_names(left.scope, right.scope, join)
    right = _renamed(right, left.node)
    both = Scope((*left.scope.relations, *right.scope.relations))
    parts = _OnParts()
    if join.args.get("on") is not None:
        parts = _parts(join.args["on"], both, left.node)
    ours, theirs, rest = left.node, right.node, parts.of_both
    # Rows of a side that is not kept whole are lost for want of a match anyway.
    if how in ("inner", "right"):
        ours = filtered(ours, parts.of_left)
    else:
        rest += parts.of_left
    if how in ("inner", "left"):
        theirs = filtered(theirs, parts.of_right)
    else:
        rest += parts.of_right
    condition = all_of(rest) if how != "inner" else None
    node = Join(ours, theirs, how, parts.keys, condition, span=span_of(join))
    relations = (_over(node, relation) for relation in both.relations)
    above = filtered(node, rest) if how == "inner" else node
    return Joined(above, Scope(tuple(relations)))


_HOW: dict[tuple[str, str], How] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right",
    ("RIGHT", "OUTER"): "right",
    ("FULL", ""): "full",
    ("FULL", "OUTER"): "full",
}


def _how(join: exp.Join) -> How:
    method, side, kind = (join.args.get(w) or "" for w in ("method", "side", "kind"))
    if join.args.get("using") or method == "NATURAL":
        raise Unsupported(
            "can't handle join constraint other than ON",
            span=span_of(join),
            hint="write ON a.x = b.x",
        )
    how = None if method else _HOW.get((side, kind))
    if how is None:
        words = " ".join(filter(None, (method, side, kind)))
        raise Unsupported(f"{words} JOIN is not supported", span=span_of(join))
    return how


def _check_names(left: Scope, right: Scope, join: exp.Join) -> None:
    known = {relation.name for relation in left.relations}
    for relation in right.relations:
        if relation.name is not None and relation.name in known:
            raise PlanProblem(
                f"the relation '{relation.name}' is twice in FROM",
                span=span_of(join.this),
                hint=f"give it another name: {relation.name} AS other",
            )


def _renamed(right: Joined, left: Node) -> Joined:
    """The right side without the column names of the left one."""
    taken = {*left.schema.names, *right.node.schema.names}
    names = {}
    for relation in right.scope.relations:
        for shown, field in relation.columns.items():
            names[field.name] = field.name
            if field.name in left.schema:
                name = f"{relation.name}.{shown}" if relation.name else shown
                names[field.name] = free(name, taken)
                taken.add(names[field.name])
    if all(old == new for old, new in names.items()):
        return right
    items = tuple(
        Named(names[f.name], column(f), f.type, f.nullable) for f in right.node.schema
    )
    node = Project(right.node, items, span=right.node.span)
    relations = tuple(
        replace(
            relation,
            columns={
                shown: node.schema[names[field.name]]
                for shown, field in relation.columns.items()
            },
        )
        for relation in right.scope.relations
    )
    return Joined(node, Scope(relations))


@dataclass(frozen=True)
class _OnParts:
    """ON, taken apart at its ANDs."""

    keys: tuple[tuple[exp.Expr, exp.Expr], ...] = ()
    of_left: tuple[exp.Expr, ...] = ()
    of_right: tuple[exp.Expr, ...] = ()
    of_both: tuple[exp.Expr, ...] = ()


def _parts(on: exp.Expr, both: Scope, left: Node) -> _OnParts:
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    others: dict[frozenset[str], list[exp.Expr]] = {}
    for part in conjuncts(_condition(on, both)):
        key = key_of(part, left)
        if key is not None:
            keys.append(key)
        else:
            others.setdefault(sides_read(part, left), []).append(part)
    one, other = (tuple(others.pop(only(side), ())) for side in ("left", "right"))
    rest = [part for parts in others.values() for part in parts]
    return _OnParts(tuple(keys), one, other, tuple(rest))


def _condition(on: exp.Expr, both: Scope) -> exp.Expr:
    bound = bind_row_condition(on, both, "ON")
    for call in all_in(bound, exp.Anonymous):
        if call.name == "row_time":
            raise PlanProblem(
                "Ambiguous reference to row_time(): both sides of a join have one",
                span=place_of(call),
                hint="select it in a query on one side, under a name",
            )
    return bound


def key_of(part: exp.Expr, left: Node) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of an equality between the relations, left before right."""
    if not isinstance(part, exp.EQ):
        return None
    sides = (sides_read(part.this, left), sides_read(part.expression, left))
    if sides == (only("left"), only("right")):
        return part.this, part.expression
    if sides == (only("right"), only("left")):
        return part.expression, part.this
    return None


def sides_read(expression: exp.Expr, left: Node) -> frozenset[str]:
    """Which sides' columns an expression reads."""
    names = (found.name for found in all_in(expression, exp.Column))
    return frozenset("left" if name in left.schema else "right" for name in names)


def only(side: str) -> frozenset[str]:
    """What :func:`sides_read` says of what reads one side alone."""
    return frozenset((side,))


def filtered(node: Node, parts: Iterable[exp.Expr]) -> Node:
    """The rows for which all of the conditions are true."""
    predicate = all_of(parts)
    if predicate is None:
        return node
    return Filter(node, predicate, span=place_of(predicate) or node.span)


def _over(node: Join, relation: Relation) -> Relation:
    """The relation as the join leaves it: its columns may have become nullable."""
    columns = {
        name: node.schema[field.name] for name, field in relation.columns.items()
    }
    return replace(relation, columns=columns)
