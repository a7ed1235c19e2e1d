"""Where async UDFs may be called (arroyo-semantics f.11)."""

from __future__ import annotations

from sqlglot import exp

from arroyo_nb.errors import PlanProblem
from arroyo_nb.functions.user_defined import user_functions
from arroyo_nb.plan.expressions.functions import USER_FUNCTION
from arroyo_nb.plan.expressions.typing import place_of
from arroyo_nb.plan.nodes import Node, Project
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.user_functions import calls_of
from arroyo_nb.sql.syntax_tree import all_in


def async_projections(root: Node, _made: NodeMap[Node]) -> Node:
    """Async functions are called in select lists, once each; the plan stays as it is.

    Refuses them anywhere else, and two of them in one SELECT.
    """
    if user_functions():  # without any there are no calls of one, also in views
        for node in walk(root):
            _check(node)
    return root


def _check(node: Node) -> None:
    calls = [call for call in calls_of(node) if _is_async(call)]
    if not calls:
        return
    if not isinstance(node, Project):
        raise PlanProblem(
            f"async UDFs are only supported in projections, but {calls[0].name} was "
            "called in another context",
            span=place_of(calls[0]),
            hint="call it in the select list of a subquery, and read its result here",
        )
    for call in calls:
        inner = [c for a in call.expressions for c in all_in(a, exp.Anonymous)]
        if any(map(_is_async, inner)):
            raise PlanProblem(
                "multiple async calls in the same expression, which is not allowed",
                span=place_of(call),
                hint="call the inner one in a subquery",
            )
    if len(calls) > 1:
        names = " and ".join(call.name for call in calls[:2])
        raise PlanProblem(
            "Projection contains multiple async UDFs, which is not supported (hint: "
            f"two async UDFs calls, {names}, appear in the same SELECT statement)",
            span=place_of(calls[1]),
            hint="call one of them in a subquery",
        )


def _is_async(call: exp.Expr) -> bool:
    function = call.meta.get(USER_FUNCTION)
    return function is not None and function.udf.is_async
