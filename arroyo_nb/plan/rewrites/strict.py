"""What Arroyo itself refuses, where it has one clear meaning and is run here."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.connectors import CONNECTORS, stores_of_arroyo
from arroyo_nb.formats import refused_records
from arroyo_nb.functions.over import over_function
from arroyo_nb.over.frame import FIRST_ROW
from arroyo_nb.plan.nodes import (
    LookupJoin,
    Node,
    OverFunctions,
    SessionWindow,
    Sink,
    Source,
    Union,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    WindowAggregate,
    WindowOver,
    is_updating,
)
from arroyo_nb.plan.queries.aggregate_calls import NO_ORDER
from arroyo_nb.plan.rewrites.joins import NOT_INNER, UPDATING_SIDE
from arroyo_nb.plan.rewrites.lookups import NOT_ASKED
from arroyo_nb.plan.rewrites.over import NO_EXCLUDE, ONE_FUNCTION, SESSIONS
from arroyo_nb.plan.rewrites.ranks import NO_WINDOW_KEY, NOT_WINDOWED
from arroyo_nb.plan.rewrites.updating import NOT_UPDATING
from arroyo_nb.plan.rewrites.windows import NO_WINDOW, uneven_hop
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.user_functions import functions_of, measures_of

NO_DISTINCT = "{name}(DISTINCT) aggregations are not available"
NO_DEFAULT = "There is only support for literals as the default of {name}()"
NO_WITHIN_GROUP = "OVER and WITHIN GROUP clause can not be used together"
NOT_SLIDING = (
    "Aggregate can not be used as a sliding accumulator because `retract_batch` is not "
    "implemented: {name}"
)
_LITERALS = (exp.Literal, exp.Null, exp.Boolean, exp.Interval)
MIXED_UNION = (
    "can't union updating with append-only branches: their schemas differ by "
    "_updating_meta"
)


def refused_by_arroyo(
    root: Node, known: NodeMap[None] | None = None
) -> Iterator[tuple[Node, str]]:
    """The nodes of a streaming plan that Arroyo would not run, with its message; those
    that are ``known`` were asked before."""
    for node in walk(root, known):
        message = _message(node) or _function_message(node) or _aggregate_message(node)
        if message is not None:
            yield node, message
        if known is not None:
            known[node] = None


def _message(node: Node) -> str | None:
    match node:
        case Source(table=table) | Sink(table=ConnectorTable() as table) if (
            said := refused_records(
                table.spec.options, CONNECTORS.get(table.connector).info.framings
            )
        ):
            return said
        case WindowAggregate():
            return uneven_hop(node.assign)
        case UpdatingAggregate() if node.input.window is not None:
            return NO_WINDOW
        case UpdatingRank():
            return _rank_message(node)
        case WindowOver():
            return _over_message(node)
        case UpdatingJoin():
            return _join_message(node)
        case LookupJoin(table=table) if not table.asked:
            return NOT_ASKED.format(
                connector=table.connector, stores=" or ".join(stores_of_arroyo())
            )
        case Union(of_inserts=False) if len({b.changelog for b in node.branches}) > 1:
            return MIXED_UNION
        case Sink(table=table) if table is not None and is_updating(node):
            return None if table.updating else NOT_UPDATING
        case _:
            return None


def _function_message(node: Node) -> str | None:
    """What it says of the UDFs that a node calls."""
    refused = (udf for udf in functions_of(node) if udf.arroyo_refusal)
    return next((f"{udf.arroyo_refusal} (of {udf.name})" for udf in refused), None)


def _aggregate_message(node: Node) -> str | None:
    """What it says of DISTINCT in an aggregate that does not take it."""
    refused = (
        m.row.never_distinct
        for m in measures_of(node)
        if m.distinct and not isinstance(node, OverFunctions) and m.row.never_distinct
    )
    return next((NO_DISTINCT.format(name=name) for name in refused), None)


def _over_message(node: WindowOver) -> str | None:
    if isinstance(node.window, SessionWindow):
        return SESSIONS
    # Those of one SELECT are one above the other; between two there is a select list.
    if len(node.columns) > 1 or isinstance(node.input, WindowOver):
        return ONE_FUNCTION
    if len(node.window_keys) > 1:
        return NO_WINDOW_KEY
    (column,) = node.columns
    frame = column.frame
    if frame and frame.exclude != "no others":
        return NO_EXCLUDE
    name = column.measure.function
    if over_function(name) is not None:
        # The default of lag() and lead(), the one further argument that is none.
        defaults = column.measure.arguments[1:]
        is_literal = all(isinstance(d, _LITERALS) for d in map(_uncast, defaults))
        return None if is_literal else NO_DEFAULT.format(name=name)
    row = column.measure.row
    if row.within:
        return NO_WITHIN_GROUP
    if column.measure.order:
        return NO_ORDER
    slides = frame is not None and frame.start != FIRST_ROW
    return NOT_SLIDING.format(name=name) if slides and not row.slides else None


def _uncast(expression: exp.Expr) -> exp.Expr:
    while isinstance(expression, exp.Cast | exp.Neg):
        expression = expression.this
    return expression


def _rank_message(node: UpdatingRank) -> str:
    match node.input.window:
        case None:
            return NOT_WINDOWED
        case SessionWindow():
            return SESSIONS
        case _:
            return NO_WINDOW_KEY


def _join_message(node: UpdatingJoin) -> str | None:
    if node.how != "inner":
        return NOT_INNER
    if is_updating(node.left):
        return UPDATING_SIDE.format(side="left")
    return UPDATING_SIDE.format(side="right") if is_updating(node.right) else None
