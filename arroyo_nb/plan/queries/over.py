"""Calls with OVER: the numbers of rows in an order (arroyo-semantics e.5).

A bound call is an ``exp.Window`` with a bound ``exp.Anonymous``, bound ``partition_by``
and ``order``. :func:`ranked` puts a :class:`Rank` below the select list for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem, Unsupported
from arroyo_nb.functions import aggregates
from arroyo_nb.plan.expressions import calls
from arroyo_nb.plan.expressions.naming import free, shown
from arroyo_nb.plan.expressions.typing import column, place_of, replaced, typed
from arroyo_nb.plan.nodes import Named, Node, Number, Ordering, Rank
from arroyo_nb.schema import BIGINT_UNSIGNED
from arroyo_nb.source import Span

# What may stand between a call and OVER, around the call.
_AFTER_CALLS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def numbering(call: exp.Expr) -> str | None:
    """The function that OVER follows, where it is one that numbers rows; None for what
    only other rules of the dialect can refuse.

    Raises
    ------
    Unsupported
        For the other window functions and for aggregates.
    CatalogProblem
        For arguments.
    """
    inner = call
    while isinstance(inner, _AFTER_CALLS):
        inner = inner.this
    if not isinstance(inner, exp.Anonymous):
        return None
    quoted = isinstance(inner.this, exp.Identifier)
    name = inner.name if quoted else inner.name.lower()
    if name in calls.OVER_FUNCTIONS or aggregates.primary(name):
        raise Unsupported(
            f"{name}() OVER is not supported yet",
            hint="supported before OVER: " + ", ".join(sorted(calls.NUMBERINGS)),
        )
    if name not in calls.NUMBERINGS:
        return None
    if inner is not call:
        raise Unsupported(f"{call.key.upper()} is not supported after {name}()")
    if inner.expressions:
        raise CatalogProblem(f"{name}() takes no argument")
    return name


def over_call(
    name: str, keys: Sequence[exp.Expr], order: Sequence[exp.Ordered]
) -> exp.Window:
    """A bound call of a function of :data:`calls.NUMBERINGS`.

    Parameters
    ----------
    keys, order
        Bound.

    Raises
    ------
    PlanProblem
        For a window call.
    """
    for part in (*keys, *(item.this for item in order)):
        call = calls.find_window_call(part)
        if call is not None:
            raise calls.misplaced_window(call)
    function = typed(exp.Anonymous(this=name), BIGINT_UNSIGNED, nullable=False)
    made = exp.Window(
        this=function,
        partition_by=list(keys),
        order=exp.Order(expressions=list(order)),
        over="OVER",
    )
    return typed(made, BIGINT_UNSIGNED, nullable=False)


def misplaced_over(span: Span | None) -> PlanProblem:
    """The error for OVER where none may be."""
    return PlanProblem(
        "OVER may only be called in the select list",
        span=span,
        hint="select it in a subquery, and use its name outside",
    )


def refuse_over(bound: exp.Expr) -> None:
    """Check that there is no call with OVER in a bound expression.

    Raises
    ------
    PlanProblem
        At the first one.
    """
    found = bound.find(exp.Window)
    if found is not None:
        raise misplaced_over(place_of(found))


def ranked(node: Node, items: tuple[Named, ...]) -> tuple[Node, tuple[Named, ...]]:
    """A select list and its input, with ranks between them for its calls with OVER.

    Calls that share PARTITION BY and ORDER BY share a rank; others are one above the
    other.
    """
    walked = chain.from_iterable(item.expression.walk() for item in items)
    found = dict.fromkeys(part for part in walked if isinstance(part, exp.Window))
    orders: dict[exp.Expr, list[exp.Window]] = {}
    for call in found:
        orders.setdefault(_without_function(call), []).append(call)
    names = _names(list(found), items, set(node.schema.names))
    made: dict[exp.Expr, exp.Expr] = {}
    for alike in orders.values():
        numbers = tuple(Number(names[call], call.this.name) for call in alike)
        node = _rank(node, alike[0], numbers)
        made |= {c: column(n.field) for c, n in zip(alike, numbers, strict=True)}
    if not made:
        return node, items

    def swap(part: exp.Expr) -> exp.Expr | None:
        if not isinstance(part, exp.Window):
            return None
        number = made[part].copy()
        number.meta["span"] = place_of(part)
        return number

    return node, tuple(
        replace(item, expression=replaced(item.expression, swap)) for item in items
    )


def _without_function(call: exp.Window) -> exp.Expr:
    keys, order = call.args["partition_by"], call.args["order"]
    return exp.Tuple(expressions=[*(key.copy() for key in keys), order.copy()])


def _names(
    found: Sequence[exp.Window], items: tuple[Named, ...], taken: set[str]
) -> dict[exp.Expr, str]:
    """The name that the select list gives each call, or the one that it has itself."""
    names: dict[exp.Expr, str] = {}
    for call in found:
        name = next((i.name for i in items if i.expression == call), shown(call))
        names[call] = free(name, taken)
        taken.add(names[call])
    return names


def _rank(node: Node, call: exp.Window, numbers: tuple[Number, ...]) -> Rank:
    order = (
        Ordering(o.this, bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
        for o in call.args["order"].expressions
    )
    keys = tuple(call.args["partition_by"])
    return Rank(node, keys, tuple(order), numbers, span=place_of(call))
