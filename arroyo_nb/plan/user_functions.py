"""The UDFs that a plan calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from arroyo_nb.functions.user_defined import UserDefined
from arroyo_nb.plan.expressions.functions import USER_FUNCTION, calls_udf
from arroyo_nb.plan.expressions.typing import place_of
from arroyo_nb.plan.nodes import Measure, Node, OverFunctions
from arroyo_nb.plan.nodes import WindowAggregate as Windowed
from arroyo_nb.plan.nodes.streaming import UpdatingAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.source import Span
from arroyo_nb.sql.syntax_tree import all_in


def user_functions(nodes: Iterable[Node]) -> tuple[UserDefined, ...]:
    """The functions that plans call, each definition once, in the order of names."""
    found = {
        (udf.name, udf.version): udf
        for root in nodes
        for node in walk(root)
        for udf in functions_of(node)
    }
    return tuple(found[key] for key in sorted(found))


def place_of_call(nodes: Iterable[Node], name: str) -> Span | None:
    """Where in the script the function of that name is first called."""
    for root in nodes:
        for node in walk(root):
            for call in calls_of(node):
                if call.name == name:
                    return place_of(call)
            for measure in measures_of(node):
                if measure.user is not None and measure.function == name:
                    return measure.span
    return None


def calls_of(node: Node) -> Iterator[exp.Anonymous]:
    """The calls of scalar UDFs in a node's own expressions."""
    for _, expression in expressions(node):
        for call in all_in(expression, exp.Anonymous):
            if calls_udf(call):
                yield call


def functions_of(node: Node) -> Iterator[UserDefined]:
    """The functions that a node itself calls, each as often as it does."""
    for call in calls_of(node):
        yield call.meta[USER_FUNCTION].udf
    for measure in measures_of(node):
        if measure.user is not None and measure.user.udf is not None:
            yield measure.user.udf


def measures_of(node: Node) -> tuple[Measure, ...]:
    """The aggregates of a node."""
    match node:
        case Windowed() | UpdatingAggregate():
            return node.measures
        case OverFunctions():
            return tuple(column.measure for column in node.columns)
        case _:
            return ()
