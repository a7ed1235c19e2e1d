"""``unnest(list)`` in a select list: a row for each element (arroyo-semantics f.9).

A bound call is an ``exp.Anonymous`` of the element's type. :func:`unnested` puts an
:class:`Unnest` below the select list for it, whose column then stands for the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from arroyo_nb.errors import CatalogProblem, PlanProblem
from arroyo_nb.plan.expressions.naming import free, shown
from arroyo_nb.plan.expressions.typing import (
    column,
    place_of,
    replaced,
    type_of,
    typed,
)
from arroyo_nb.plan.nodes import Named, Node, Unnest
from arroyo_nb.schema import Field, ListOf
from arroyo_nb.source import Span
from arroyo_nb.sql.syntax_tree import all_in

UNNEST = "unnest"
_IN_A_SUBQUERY = "unnest in a subquery, and use its name outside"


def unnest_call(arguments: Sequence[exp.Expr]) -> exp.Expr:
    """A bound call.

    Raises
    ------
    CatalogProblem
        For a wrong number of arguments.
    PlanProblem
        When the argument is no list.
    """
    if len(arguments) != 1:
        raise CatalogProblem(
            f"Function 'unnest' expects 1 arguments but received {len(arguments)}",
            hint="write unnest(list)",
        )
    (given,) = arguments
    type_ = type_of(given)
    if not isinstance(type_, ListOf):
        raise PlanProblem(
            "unnest may only be called on arrays: Argument "
            f"'{shown(given)}' to unnest is not a List, but {type_}",
            hint="declare the column as a list, such as TEXT[]",
        )
    call = exp.Anonymous(this=UNNEST, expressions=[given])
    return typed(call, type_.element)


def misplaced_unnest(span: Span | None) -> PlanProblem:
    """The error for a call where none may be."""
    return PlanProblem(
        "unnest is only supported in SELECT statements, as an item of the select list",
        span=span,
        hint=_IN_A_SUBQUERY,
    )


def refuse_unnest(bound: exp.Expr) -> None:
    """Check that there is no call in a bound expression.

    Raises
    ------
    PlanProblem
        At the first one.
    """
    for call in _calls(bound):
        raise misplaced_unnest(place_of(call))


def unnested(node: Node, items: tuple[Named, ...]) -> tuple[Node, tuple[Named, ...]]:
    """A select list and its input, with the elements of the one list that it unnests
    between them.

    Raises
    ------
    PlanProblem
        For two lists, or two calls in one expression.
    """
    found: list[exp.Expr] = []
    for item in items:
        own = _calls(item.expression)
        if len(own) > 1:
            raise PlanProblem(
                "Multiple unnests in expression, which is not allowed",
                span=place_of(own[1]),
                hint=_IN_A_SUBQUERY,
            )
        found += own
    if not found:
        return node, items
    call = found[0]
    if other := next((each for each in found if each != call), None):
        raise PlanProblem(
            "Projection contains multiple unnests, which is not currently supported",
            span=place_of(other),
            hint="unnest one list in a subquery, and the other one outside",
        )
    name = next((item.name for item in items if item.expression == call), shown(call))
    element = Field(free(name, node.schema.names), type_of(call))
    (given,) = call.expressions
    node = Unnest(node, given, element, span=place_of(call))

    def swap(part: exp.Expr) -> exp.Expr | None:
        if part != call:
            return None
        made = column(element)
        made.meta["span"] = place_of(part)
        return made

    return node, tuple(
        replace(item, expression=replaced(item.expression, swap)) for item in items
    )


def _calls(bound: exp.Expr) -> list[exp.Expr]:
    return [c for c in all_in(bound, exp.Anonymous) if c.name == UNNEST]
