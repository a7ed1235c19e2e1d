"""A plan as text: readers come first, inputs stand below them, further in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import is_
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS, Direction, guarantee_of
from arroyo_nb.plan import description
from arroyo_nb.plan.append_joins import append_joins
from arroyo_nb.plan.explain.differences import differences
from arroyo_nb.plan.explain.lookups import keeping, lookup_spark
from arroyo_nb.plan.explain.node_lines import described
from arroyo_nb.plan.expressions.intervals import in_words
from arroyo_nb.plan.lowered import lowered
from arroyo_nb.plan.nodes import (
    Filter,
    LatestRow,
    LookupJoin,
    Node,
    Project,
    Sink,
    Source,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    Watermark,
    WindowAggregate,
    WindowJoin,
    WindowOver,
    is_updating,
)
from arroyo_nb.plan.real_time import real_time_note
from arroyo_nb.plan.tree import NodeMap, walk
from arroyo_nb.plan.user_functions import user_functions

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

_BUCKETS = "transformWithState over buckets"
_CHANGES = f"{_BUCKETS} of keys, Arrow in and out: retracts before appends"
_CLOSING = f"{_BUCKETS} of keys, Arrow in and out: one row per closed window"
_APPEND_JOIN = "join, append mode: all rows of both sides are kept in memory"
_KEPT = "no key is forgotten: the sources end, and no time to live is chosen"
_SPARK: dict[type[Node], str] = {
    Watermark: "withWatermark",
    LatestRow: f"{_BUCKETS} of primary keys, Arrow in and out",
    Project: "select",
    Filter: "where",
    Unnest: "explode",
    Union: "union",
    WindowAggregate: "groupBy(window).agg, append mode: one row per closed window",
    UpdatingAggregate: _CHANGES,
    UpdatingRank: _CHANGES,
    WindowOver: "groupBy(keys).applyInArrow, no state: the rows of a closed window "
    "come in one batch",
    UpdatingJoin: f"{_BUCKETS} of keys, rows of both sides in Arrow: "
    "retracts before appends",
    WindowJoin: "join on the window, append mode: in the batch that closes it",
    Sink: "writeStream, append mode",
}
"""What Spark does for a node."""

_FORGETS: dict[type[Node], str] = {
    UpdatingAggregate: "aggregate retracts",
    UpdatingRank: "rank retracts the rows of",
    UpdatingJoin: "join forgets the rows of",
}


def explain(plan: Plan) -> str:
    """The text of :meth:`arroyo_nb.plan.Plan.explain`."""
    parts = [_section("Statements", _statements(plan))] if plan.statements else []
    before: tuple[Sink, ...] | None = None
    for stage in plan.stages:
        # By identity: to compare plans by value recurses as deep as they are.
        if stage.sinks and not _are_same(stage.sinks, before):
            # What was built is no pass: it has no reason.
            title = f"Plan after {stage.name}" + (f": {stage.reason}" * bool(before))
            parts.append(_section(title, _forest(stage.sinks)))
        before = stage.sinks
    if plan.sinks:
        forgets = plan.forgets_idle_keys
        sinks = [lowered(sink, NodeMap(), forgets=forgets) for sink in plan.sinks]
        joins = (append_joins(sink, forgets=forgets) for sink in sinks)
        line = partial(_with_spark, joins=frozenset[int]().union(*joins))
        parts.append(_section("Spark", _forest(sinks, line)))
    udfs = user_functions(plan.sinks)
    if udfs:
        lines = (f"{u.signature}: {u.language}, called {u.called}" for u in udfs)
        parts.append(_section("User-defined functions", lines))
    if notes := all_notes(plan):
        parts.append(_section("Notes", notes))
    return "\n".join(parts)


def all_notes(plan: Plan) -> list[str]:
    """What the reader of a plan should know: what was probably overlooked, what will be
    forgotten or may come twice, and where the results differ from Arroyo's."""
    notes = [*plan.hints, *plan.notes, *_forgotten(plan), *_lookup_notes(plan)]
    notes += _guarantees(plan)
    notes += differences(node for sink in plan.sinks for node in walk(sink))
    notes += filter(None, map(real_time_note, plan.sinks))
    return notes


def checked(plan: Plan) -> str:
    """The text of :meth:`arroyo_nb.plan.Plan.checked`."""
    notes = all_notes(plan)
    parts = [_section("Notes", notes)] if notes else []
    if plan.sinks:
        parts.append(description.described(plan)["text/plain"] + "\n")
    parts.append("no problem was found, and nothing was run; --explain shows the plan")
    return "\n".join(parts)


def _are_same(sinks: tuple[Sink, ...], before: tuple[Sink, ...] | None) -> bool:
    return before is not None and all(map(is_, sinks, before))


def streaming_plan(plan: Plan) -> list[str]:
    """The lines of what runs."""
    return _forest(plan.sinks)


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) + "\n"


def _statements(plan: Plan) -> list[str]:
    lines = []
    for number, statement in enumerate(plan.statements, 1):
        text = plan.source.text[statement.span.start : statement.span.end]
        first, *rest = re.sub(r"\s+", " ", text).split(" WITH (", 1)
        shown = first if len(first) <= 70 else first[:67] + "..."
        lines.append(f"{number}  {shown}" + (" WITH (...)" if rest else ""))
    return lines


def _forest(
    sinks: Iterable[Node], line: Callable[[Node], str] | None = None
) -> list[str]:
    """Each tree's lines; a node that was already shown is named with its number."""
    numbers: dict[int, int] = {}
    lines: list[str] = []
    shared = _shared(sinks)
    for sink in sinks:
        stack: list[tuple[Node, int]] = [(sink, 0)]
        while stack:
            node, depth = stack.pop()
            text = (line or described)(node)
            if id(node) in numbers:
                lines.append(
                    "  " * depth + f"{type(node).__name__} #{numbers[id(node)]}"
                )
                continue
            if id(node) in shared:
                numbers[id(node)] = len(numbers) + 1
                text += f"  #{numbers[id(node)]}"
            lines.append("  " * depth + text)
            stack.extend((child, depth + 1) for child in reversed(node.inputs))
    return lines


def _shared(sinks: Iterable[Node]) -> set[int]:
    """Nodes with several readers."""
    seen: set[int] = set()
    shared: set[int] = set()
    for sink in sinks:
        for node in walk(sink):
            for child in node.inputs:
                (shared if id(child) in seen else seen).add(id(child))
    return shared


def _with_spark(node: Node, *, joins: frozenset[int]) -> str:
    if isinstance(node, WindowAggregate) and is_updating(node.input):
        return f"{type(node).__name__}: {_CLOSING}"
    if isinstance(node, LookupJoin):
        return f"LookupJoin: {lookup_spark(node)}"
    if isinstance(node, Source):
        info = CONNECTORS.get(node.table.connector).info
        return f"Source: {info.reading if info.runs else 'runs in Arroyo only'}"
    if id(node) in joins:
        return f"UpdatingJoin: {_APPEND_JOIN}"
    return f"{type(node).__name__}: {_SPARK[type(node)]}"


def _forgotten(plan: Plan) -> list[str]:
    """What becomes of keys that are idle."""
    kinds = {type(node) for sink in plan.sinks for node in walk(sink)}
    if not plan.forgets_idle_keys:
        return [] if kinds.isdisjoint(_FORGETS) else [_KEPT]
    ttl = in_words(plan.updating_ttl)
    return [
        f"an updating {words} a key that is idle for {ttl}"
        for kind, words in _FORGETS.items()
        if kind in kinds
    ]


def _lookup_notes(plan: Plan) -> Iterable[str]:
    nodes = (node for sink in plan.sinks for node in walk(sink))
    found = (keeping(node.table) for node in nodes if isinstance(node, LookupJoin))
    return dict.fromkeys(found)


def _guarantees(plan: Plan) -> Iterable[str]:
    """What of each source and each sink may be missing or come twice."""
    nodes = [node for sink in plan.sinks for node in walk(sink)]
    sources = ((n.table, Direction.SOURCE) for n in nodes if isinstance(n, Source))
    sinks = ((sink.table, Direction.SINK) for sink in plan.sinks if sink.table)
    said = (
        f"'{table.name}' ({table.connector}): {guarantee}"
        for table, direction in (*sources, *sinks)
        if (guarantee := guarantee_of(table.connector, direction)) is not None
    )
    return dict.fromkeys(said)
