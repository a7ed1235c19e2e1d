"""A plan as text: readers come first, inputs stand below them, further in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import is_
from typing import TYPE_CHECKING

from sqlglot import exp

from arroyo_nb.connectors import is_streamed
from arroyo_nb.functions.types import is_integer
from arroyo_nb.plan.explain.format import described
from arroyo_nb.plan.explain.lookups import keeping, lookup_spark
from arroyo_nb.plan.names.intervals import in_words
from arroyo_nb.plan.names.typing import type_of
from arroyo_nb.plan.nodes import (
    Filter,
    Hop,
    LatestRow,
    LookupJoin,
    Node,
    Project,
    Sink,
    Source,
    Union,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingRank,
    Watermark,
    WindowAggregate,
    is_updating,
)
from arroyo_nb.plan.real_time import real_time_note
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan

_BUCKETS = "transformWithState over buckets"
_CHANGES = f"{_BUCKETS} of keys, Arrow in and out: retracts before appends"
_CLOSING = f"{_BUCKETS} of keys, Arrow in and out: one row per closed window"
_STREAMED = "readStream.kafka, then mapInArrow: records decoded in Python workers"
_SPARK: dict[type[Node], str] = {
    Source: "readStream.parquet over the source's tape, one chunk a batch",
    Watermark: "withWatermark",
    LatestRow: f"{_BUCKETS} of primary keys, Arrow in and out",
    Project: "select",
    Filter: "where",
    Union: "union",
    WindowAggregate: "groupBy(window).agg, append mode: one row per closed window",
    UpdatingAggregate: _CHANGES,
    UpdatingRank: _CHANGES,
    UpdatingJoin: f"{_BUCKETS} of keys, rows of both sides in Arrow: "
    "retracts before appends",
    Sink: "writeStream, append mode",
}
"""What Spark does for a node."""

_FORGETS: dict[type[Node], str] = {
    UpdatingAggregate: "aggregate retracts",
    UpdatingRank: "rank retracts the rows of",
    UpdatingJoin: "join forgets the rows of",
}

_SLOW_WATERMARK = (
    "differs from Arroyo: the watermark follows the newest row so far; Arroyo's "
    "follows the oldest row of each batch"
)
_LATE_HOP = (
    "differs from Arroyo: a late row still counts in those of its windows that are "
    "open; Arroyo drops it from all of them"
)

_LATEST_ROW = (
    "differs from Arroyo: a source of changes retracts the row that it sent, by its "
    "primary key; Arroyo retracts what 'before' says"
)
_TAKEN_BACK = (
    "differs from Arroyo: a row that is taken back leaves its windows while they are "
    "open; Arroyo counts it once more"
)
_WRAPS = (
    "a whole number that leaves its type by +, -, * or sum() wraps around, as Arroyo's "
    "does; by /, abs() or a cast it is an error"
)


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
        parts.append(_section("Spark", _forest(plan.sinks, _with_spark)))
    notes = [*plan.hints, *plan.notes, *_forgotten(plan), *_kept(plan)]
    notes += _differences(plan.sinks)
    notes += filter(None, map(real_time_note, plan.sinks))
    if notes:
        parts.append(_section("Notes", notes))
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


def _with_spark(node: Node) -> str:
    if isinstance(node, WindowAggregate) and is_updating(node.input):
        return f"{type(node).__name__}: {_CLOSING}"
    if isinstance(node, LookupJoin):
        return f"LookupJoin: {lookup_spark(node)}"
    if isinstance(node, Source) and is_streamed(node.table.connector):
        return f"Source: {_STREAMED}"
    return f"{type(node).__name__}: {_SPARK[type(node)]}"


def _forgotten(plan: Plan) -> list[str]:
    """What becomes of keys that are idle."""
    kinds = {type(node) for sink in plan.sinks for node in walk(sink)}
    ttl = in_words(plan.updating_ttl)
    return [
        f"an updating {words} a key that is idle for {ttl}"
        for kind, words in _FORGETS.items()
        if kind in kinds
    ]


def _kept(plan: Plan) -> Iterable[str]:
    nodes = (node for sink in plan.sinks for node in walk(sink))
    found = (keeping(node.table) for node in nodes if isinstance(node, LookupJoin))
    return dict.fromkeys(found)


def _differences(sinks: Iterable[Node]) -> list[str]:
    nodes = [node for sink in sinks for node in walk(sink)]
    found = []
    if any(isinstance(node, WindowAggregate) for node in nodes):
        found.append(_SLOW_WATERMARK)
    if any(isinstance(n, WindowAggregate) and isinstance(n.assign, Hop) for n in nodes):
        found.append(_LATE_HOP)
    if any(isinstance(n, WindowAggregate) and is_updating(n.input) for n in nodes):
        found.append(_TAKEN_BACK)
    if any(isinstance(node, LatestRow) for node in nodes):
        found.append(_LATEST_ROW)
    if any(_calculates(node) or _sums_whole_numbers(node) for node in nodes):
        found.append(_WRAPS)
    return found


def _sums_whole_numbers(node: Node) -> bool:
    if not isinstance(node, WindowAggregate | UpdatingAggregate):
        return False
    return any(m.function == "sum" and is_integer(m.type) for m in node.measures)


def _calculates(node: Node) -> bool:
    """Whether whole numbers are added, multiplied or negated in an expression."""
    return any(
        is_integer(type_of(part))
        for _, expression in expressions(node)
        for part in expression.find_all(exp.Add, exp.Sub, exp.Mul, exp.Neg)
    )
