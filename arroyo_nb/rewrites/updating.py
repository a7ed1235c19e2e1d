"""GROUP BY without a window, and where its changes may go (arroyo-semantics f)."""

from __future__ import annotations

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.plan.nodes import (
    Aggregate,
    LookupJoin,
    Node,
    Sink,
    Union,
    UpdatingAggregate,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.tree import transform
from arroyo_nb.plan.typing import place_of
from arroyo_nb.plan.verify import expressions
from arroyo_nb.rewrites.lookups import check_repeatable

NOT_UPDATING = "input is updating, but sink is not configured as an updating sink"
"""Why Arroyo refuses changes in a sink of rows."""

UNREPEATABLE = {
    "random": "gives another number",
    "uuid": "gives another text",
    "row_time": "may be another time",
}
"""A retract is found by its values: they must be the same when they are taken back."""


def updating_group_by(root: Node) -> Node:
    """An aggregate without a window becomes an updating aggregate.

    Before::

        Aggregate by carrier
          Watermark ...

    After::

        UpdatingAggregate by carrier
          Watermark ...

    SELECT DISTINCT and UNION are aggregates without measures. The input may be
    updating itself. It may be windowed too, where Arroyo insists on the window.

    Refuses, for now, a window aggregate over an updating input: Arroyo runs it, but
    counts what is taken back as if it came. Refuses in expressions and lookups over
    updating rows what is not the same again when a row is taken back.
    """

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            node = UpdatingAggregate(
                node.input, node.keys, node.measures, span=node.span
            )
        if any(map(is_updating, node.inputs)):
            _check_input(node)
        return node

    return transform(root, change)


def updating_sinks(root: Node) -> Node:
    """Changes go where they can be told; the plan stays as it is.

    Refuses updating rows in a table whose format writes rows alone. The preview shows
    them, and a table without a format (``blackhole``) has nothing to write wrong.
    """
    table = root.table if isinstance(root, Sink) else None
    if table is not None and is_updating(root) and table.format and not table.updating:
        raise PlanProblem(
            f"{NOT_UPDATING} (hint: use `format = 'debezium_json'`)",
            span=_updating_part(root).span,
            hint=f"the table '{table.name}' has format = '{table.format}'",
        )
    return root


def _updating_part(sink: Node) -> Node:
    """The sink, or the branch of its union that is updating."""
    (below,) = sink.inputs
    branches = below.branches if isinstance(below, Union) else ()
    return next(filter(is_updating, branches), sink)


def _check_input(node: Node) -> None:
    if isinstance(node, WindowAggregate):
        raise Unsupported(
            "a window aggregate over an updating input is not supported yet: rows that "
            "are taken back would have to leave their windows",
            span=node.span,
            hint="group by the window first, then without it",
        )
    if isinstance(node, LookupJoin):
        check_repeatable(node)
    for _, expression in expressions(node):
        for call in expression.find_all(exp.Anonymous):
            if call.name in UNREPEATABLE:
                raise Unsupported(
                    f"{call.name}() over updating rows is not supported: it "
                    f"{UNREPEATABLE[call.name]} when a row is taken back",
                    span=place_of(call),
                )
