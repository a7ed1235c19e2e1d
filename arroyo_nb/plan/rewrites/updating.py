"""GROUP BY without a window, and where its changes may go (arroyo-semantics f)."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from arroyo_nb.errors import PlanProblem, Unsupported
from arroyo_nb.formats import usual_format
from arroyo_nb.plan.expressions.functions import ROW_TIME, volatile
from arroyo_nb.plan.expressions.typing import place_of
from arroyo_nb.plan.nodes import (
    Aggregate,
    LookupJoin,
    Node,
    SessionWindow,
    Sink,
    Stateful,
    Union,
    UpdatingAggregate,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.rewrites.lookups import check_lookup_repeatable
from arroyo_nb.plan.tree import NodeMap, transform
from arroyo_nb.plan.verify import expressions
from arroyo_nb.sql.syntax_tree import all_in

NOT_UPDATING = "input is updating, but sink is not configured as an updating sink"
"""Why Arroyo refuses changes in a sink of rows."""


def unrepeatable(call: exp.Expr) -> str:
    """What a call does that is not the same again; empty: it is. A retract is found by
    its values, which must be the same when they are taken back."""
    if isinstance(call, exp.Anonymous) and call.name == ROW_TIME:
        return "may be another time"
    what = volatile(call)
    return f"gives {what}" if what else ""


def updating_group_by(root: Node, made: NodeMap[Node]) -> Node:
    """An aggregate without a window becomes an updating aggregate.

    Before::

        Aggregate by carrier
          Watermark ...

    After::

        UpdatingAggregate by carrier
          Watermark ...

    SELECT DISTINCT and UNION are aggregates without measures. The input may be
    updating itself. It may be windowed too, where Arroyo insists on the window.

    Refuses sessions of an updating input: a row that is taken back may split one.
    Refuses in expressions and lookups over updating rows what is not the same again
    when a row is taken back.
    """

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            node = UpdatingAggregate(
                node.input, node.keys, node.measures, span=node.span
            )
        # Inputs are rewritten before their readers: an aggregate below is updating by
        # now.
        if any(map(is_updating, node.inputs)):
            _check_sessions(node)
            if isinstance(node, LookupJoin):
                check_lookup_repeatable(node)
            check_repeatable(node, "over updating rows", "when a row is taken back")
        return node

    return transform(root, change, made)


def timed_changes(root: Node, made: NodeMap[Node]) -> Node:
    """Below a window, a row that is taken back leaves the window that it came into.

    Before::

        WindowAggregate tumble 3600s as window by city
          LatestRow of orders by id

    After::

        WindowAggregate tumble 3600s as window by city
          LatestRow of orders by id (timed)
    """

    def change(node: Node) -> Node:
        if isinstance(node, WindowAggregate) and is_updating(node.input):
            below = transform(node.input, _timed, made.part("timed"))
            return node if below is node.input else replace(node, input=below)
        return node

    return transform(root, change, made)


def _timed(node: Node) -> Node:
    if isinstance(node, Stateful) and is_updating(node) and not node.timed:
        return replace(node, timed=True)
    return node


def updating_sinks(root: Node, _made: NodeMap[Node]) -> Node:
    """Changes go where they can be told; the plan stays as it is.

    Refuses updating rows in a table whose format writes rows alone. The preview shows
    them, and a table without a format (``blackhole``) has nothing to write wrong.
    """
    table = root.table if isinstance(root, Sink) else None
    if table is not None and is_updating(root) and table.format and not table.updating:
        raise PlanProblem(
            f"{NOT_UPDATING} (hint: use `format = '{usual_format(updating=True)}'`)",
            span=_updating_part(root).span,
            hint=f"the table '{table.name}' has format = '{table.format}'",
        )
    return root


def _updating_part(sink: Node) -> Node:
    """The sink, or the branch of its union that is updating."""
    (below,) = sink.inputs
    branches = below.branches if isinstance(below, Union) else ()
    return next(filter(is_updating, branches), sink)


def check_repeatable(node: Node, where: str, when: str) -> None:
    """Refuse calls whose value would be another one, in the expressions of a node."""
    for _, expression in expressions(node):
        check_repeatable_in(expression, where, when)


def check_repeatable_in(expression: exp.Expr | None, where: str, when: str) -> None:
    """Refuse the same in one expression."""
    for call in all_in(expression, exp.Anonymous) if expression is not None else ():
        if why := unrepeatable(call):
            raise Unsupported(
                f"{call.name}() {where} is not supported: it {why} {when}",
                span=place_of(call),
            )


def _check_sessions(node: Node) -> None:
    if isinstance(node, WindowAggregate) and isinstance(node.assign, SessionWindow):
        raise Unsupported(
            "session() over an updating input is not supported: a row that is taken "
            "back may split a session",
            span=node.span,
            hint="use tumble() or hop()",
        )
