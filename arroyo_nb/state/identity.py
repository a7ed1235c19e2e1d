"""What a query's state belongs to: its streaming plan as canonical, versioned data.

A run resumes from a checkpoint only where the identity of its plan is that of the plan
that made it. The identity is JSON that is made for this purpose: stable names of the
kinds of nodes, expressions in our own form (:mod:`arroyo_nb.state.canonical`), columns,
and the options of tables that decide which rows there are and differ from their
default. So neither the text of EXPLAIN, nor the name of a class, nor a template of a
function, nor an option that did not exist before, nor a newer sqlglot can refuse a
state.

The nodes are a list, inputs before their readers, which name them by their number: a
view that is read twice is there once.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING

from arroyo_nb.catalog import ConnectorTable, LookupTable
from arroyo_nb.connectors import CONNECTORS, format_options
from arroyo_nb.over.frame import Edge, OverFrame
from arroyo_nb.plan import Plan
from arroyo_nb.plan.nodes import (
    Filter,
    Hop,
    LatestRow,
    LookupJoin,
    Node,
    OverColumn,
    Project,
    SessionWindow,
    Sink,
    Source,
    Stateful,
    Tumble,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    Watermark,
    Window,
    WindowAggregate,
    WindowJoin,
    WindowOver,
)
from arroyo_nb.plan.tables.create_table import COMMON_OPTIONS
from arroyo_nb.plan.tables.disorder import DISORDER_OPTIONS
from arroyo_nb.plan.tables.lookup_tables import CACHE_OPTIONS
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import Schema
from arroyo_nb.sql.parse import deep_stack
from arroyo_nb.state.canonical import (
    Canonical,
    Json,
    canonical_value,
)
from arroyo_nb.with_options import Option

if TYPE_CHECKING:
    from sqlglot import exp

VERSION = 1
"""Of the identity. A state of another version is judged by planning its script anew."""


def plan_identity(plan: Plan, *, previewed: bool = False) -> str:
    """The canonical JSON text of what runs.

    Parameters
    ----------
    plan
        The plan; what is SET, such as the time to live, is no part of its identity.
    previewed
        Whether its sinks are not written: rows that were only looked at have been read,
        and a run that writes may not resume behind them.
    """
    numbers: dict[int, int] = {}
    values: list[Json] = []
    # Views over views nest deeper than Python's usual limit.
    with deep_stack():
        for sink in plan.sinks:
            for node in walk(sink):
                # By object: two nodes may be equal and still be read apart, each with a
                # state of its own.
                if id(node) not in numbers:
                    inputs: list[Json] = [numbers[id(child)] for child in node.inputs]
                    values.append(_value(node) | {"inputs": inputs})
                    numbers[id(node)] = len(numbers)
    outputs: list[Json] = [numbers[id(sink)] for sink in plan.sinks]
    identity: dict[str, Json] = {"version": VERSION, "nodes": values}
    # What is not so is left out, here and below: a fact that a later version adds must
    # not change the identity of those that lack it.
    identity |= {"outputs": outputs} | ({"previewed": True} if previewed else {})
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))


def fingerprint(identity: str) -> str:
    """A short name of an identity; equal ones have equal state.

    >>> len(fingerprint("{}"))
    16
    """
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _value(node: Node) -> dict[str, Json]:
    """What a node does, without what it reads."""
    over = Canonical(name for child in node.inputs for name in child.schema.names)
    match node:
        case Source(table=table):
            return {"kind": "source", "table": _table(table)}
        case Watermark(event_time=time, delay=delay, expression=expression):
            return {
                "kind": "watermark",
                "event_time": _optional(over, time),
                "delay": canonical_value(delay),
                "expression": _optional(over, expression),
            }
        case LatestRow(table=name, keys=keys):
            # The names of kinds are not those of classes, which may be renamed.
            return _timed(node) | {"kind": "latest_row", "table": name, "keys": [*keys]}
        case Project(items=items):
            return {"kind": "project", "columns": over.columns(items)}
        case Filter(predicate=predicate):
            return {"kind": "filter", "predicate": over.expression(predicate)}
        case Unnest(list=unnested, element=element):
            return {
                "kind": "unnest",
                "list": over.expression(unnested),
                "column": element.name,
            }
        case Union():
            # Which branches it has, and in which order, its inputs say.
            return {"kind": "union"}
        case WindowAggregate(assign=window):
            of_window: dict[str, Json] = {"window": _window(window)}
            return _grouped(node, over) | {"kind": "window_aggregate"} | of_window
        case UpdatingAggregate():
            kind: dict[str, Json] = {"kind": "updating_aggregate"}
            return _grouped(node, over) | _timed(node) | kind
        case WindowOver():
            return _windowed_over(node, over) | {"kind": "window_over"}
        case UpdatingRank():
            return _ranked(node, over) | _timed(node) | {"kind": "updating_rank"}
        case UpdatingJoin():
            return _joined(node) | _timed(node) | {"kind": "updating_join"}
        case WindowJoin():
            return _joined(node) | {"kind": "window_join"}
        case LookupJoin(table=lookup, how=how, keys=found_by, columns=columns):
            return {
                "kind": "lookup_join",
                "table": _table(lookup),
                "how": how,
                "keys": [[over.expression(key), name] for key, name in found_by],
                "columns": [name for _, name in columns],
            }
        case Sink():
            return _written(node) | {"kind": "sink"}
    raise TypeError(f"{type(node).__name__} is no node of a streaming plan")


def _grouped(
    node: WindowAggregate | UpdatingAggregate, over: Canonical
) -> dict[str, Json]:
    measures: list[Json] = [over.measure(measure) for measure in node.measures]
    return {"keys": over.columns(node.keys), "measures": measures}


def _ranked(node: UpdatingRank, over: Canonical) -> dict[str, Json]:
    limit = node.limit
    return {
        "keys": [over.expression(key) for key in node.keys],
        "order": over.order(node.order),
        "numbers": [number.function for number in node.numbers],
        "limit": None if limit is None else [limit.function, limit.last],
    }


def _windowed_over(node: WindowOver, over: Canonical) -> dict[str, Json]:
    value: dict[str, Json] = {
        "keys": [over.expression(key) for key in node.keys],
        "order": over.order(node.order),
        "columns": [_over_column(column, over) for column in node.columns],
    }
    if node.limit is not None:
        value["limit"] = [node.limit.function, node.limit.last]
    return value


def _over_column(column: OverColumn, over: Canonical) -> Json:
    # As with measures, what a column does not have is left out.
    value: dict[str, Json] = {"call": over.measure(column.measure)}
    if column.frame is not None:
        value["frame"] = _frame(column.frame)
    if column.ignores_nulls:
        value["ignores_nulls"] = True
    return value


def _frame(frame: OverFrame) -> Json:
    """Not its text, which is made for people."""
    edges: list[Json] = [_edge(frame.start), _edge(frame.end)]
    return [frame.unit, edges, frame.exclude]


def _edge(edge: Edge) -> Json:
    offset = edge.offset
    if isinstance(offset, Decimal):
        return [edge.side, {"decimal": str(offset.normalize())}]
    return [edge.side, canonical_value(offset)]


def _joined(node: UpdatingJoin | WindowJoin) -> dict[str, Json]:
    left, right = (Canonical(side.schema.names) for side in node.inputs)
    # Keys are read from one side each, the condition from the pair.
    pairs = Canonical(node.schema.names)
    keys: list[Json] = [
        [left.expression(one), right.expression(other)] for one, other in node.keys
    ]
    condition = _optional(pairs, node.condition)
    return {"how": node.how, "keys": keys, "condition": condition}


def _written(node: Sink) -> dict[str, Json]:
    order: list[Json] = [
        [key.column, key.descending, key.nulls_first] for key in node.order
    ]
    return {
        "name": node.name,
        "table": None if node.table is None else _table(node.table),
        "columns": _columns(node.schema),
        "order": order,
        "limit": node.limit,
    }


def _timed(node: Stateful) -> dict[str, Json]:
    return {"timed": True} if node.timed else {}


def _window(window: Window | None) -> Json:
    match window:
        case Tumble(width):
            return ["tumble", canonical_value(width)]
        case Hop(slide, width):
            return ["hop", canonical_value(slide), canonical_value(width)]
        case SessionWindow(gap):
            return ["session", canonical_value(gap)]
        case None:
            return None


def _optional(over: Canonical, expression: exp.Expr | None) -> Json:
    return None if expression is None else over.expression(expression)


def _table(table: ConnectorTable | LookupTable) -> Json:
    """What a table is to the state: which rows it has, and where they are."""
    spec = table.spec
    return {
        "name": spec.name,
        "connector": table.connector,
        "columns": _columns(spec.physical),
        "primary_key": [*spec.primary_key],
        "metadata": dict(spec.metadata),
        "event_time": spec.event_time,
        "options": _options(table),
    }


def _columns(schema: Schema) -> Json:
    return [[field.name, str(field.type), field.nullable] for field in schema]


def _options(table: ConnectorTable | LookupTable) -> dict[str, Json]:
    """The options that decide which rows there are, but for those at their default."""
    declared = _declared(table)
    return {
        name: canonical_value(value)
        for name, value in table.spec.options.items()
        # What nobody declared may mean anything: it counts.
        if name not in declared
        or (declared[name].in_identity and value != declared[name].default)
    }


def _declared(table: ConnectorTable | LookupTable) -> dict[str, Option]:
    if table.connector not in CONNECTORS.names:  # a DataFrame of the notebook
        return {}
    connector = CONNECTORS.get(table.connector)
    options = [
        *COMMON_OPTIONS,
        *DISORDER_OPTIONS,
        *CACHE_OPTIONS,
        *connector.info.options,
    ]
    if "format" in table.spec.options:
        options += format_options(connector, str(table.spec.options["format"]))
    return {option.name: option for option in options}
