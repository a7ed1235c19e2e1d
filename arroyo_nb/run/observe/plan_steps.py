"""The operators of an output's plan as values, for the picture of the plan.

Their words and places are found once for an output. Counts are put beside them with
each picture, where Spark's progress says for certain which operator they are of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.snapshot import PlanStep

if TYPE_CHECKING:
    from arroyo_nb.plan import Plan
    from arroyo_nb.run.observe.progress import OperatorState
    from arroyo_nb.run.output import Output

MOST_NODES = 200
"""A plan with more nodes has no picture: nobody could read it."""

LINE_CHARS = 160

EXACT, MICRO_BATCH, DIFFERS = "exact", "micro-batch", "differs"

OWN_STATE = "transformWithStateInPySparkExec"
"""Spark's name of an operator of ours. It counts pieces of state, each of many keys."""

_JOIN = "symmetricHashJoin"
_GROUPS = "stateStoreSave"
_SESSIONS = "sessionWindowStateStoreSaveExec"

_BATCHED = (
    "changes are sent once a micro-batch: what comes and goes within one is not seen"
)
_MOVES = (
    "the watermark moves between micro-batches: rows of one batch are never late "
    "because of each other"
)


@dataclass(frozen=True)
class _Drawn:
    """The steps of an output; and in Spark's order those that keep state, each by its
    number, with the names that Spark may have for it."""

    steps: tuple[PlanStep, ...]
    stateful: tuple[tuple[int, frozenset[str]], ...]


_KNOWN: WeakKeyDictionary[Output, _Drawn] = WeakKeyDictionary()


def plan_steps(
    plan: Plan,
    output: Output,
    *,
    sources: Mapping[str, tuple[int, float | None]],
    rows_out: int,
) -> tuple[PlanStep, ...]:
    """The operators of an output with what is known of them, inputs before readers.

    Parameters
    ----------
    plan
        That of the script.
    output
        The output; its lock is held by the caller.
    sources
        By the name of a table: rows that were read of it, and rows a second.
    rows_out
        Rows, or changes, that the output has given.
    """
    drawn = _KNOWN.get(output)
    if drawn is None:
        drawn = _KNOWN[output] = _draw(plan, output.sink)
    progress = output.observation.progress
    states = _states(drawn, progress.states if progress else ())
    made = []
    for step in drawn.steps:
        if step.kind == "source" and step.table in sources:
            rows, rate = sources[step.table]
            step = replace(step, rows=rows, rows_per_s=rate)
        elif step.kind == "sink":
            step = replace(step, rows=rows_out)
        if step.number in states:
            state_rows, state_bytes = states[step.number]
            step = replace(step, state_rows=state_rows, state_bytes=state_bytes)
        made.append(step)
    return tuple(made)


def without_counts(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    """The steps alone."""
    none = dict.fromkeys(("rows", "rows_per_s", "state_rows", "state_bytes"))
    return (replace(step, **none) for step in steps)  # type: ignore[arg-type]


def _states(
    drawn: _Drawn, states: Sequence[OperatorState]
) -> dict[int, tuple[int | None, int]]:
    """Rows and bytes that each step keeps; of all together at the sink, where it is not
    certain which operator is which. Rows of operators of ours are not known."""
    expected = drawn.stateful
    is_certain = len(expected) == len(states) and all(
        state.operator in names
        for state, (_, names) in zip(states, expected, strict=True)
    )
    sink = drawn.steps[-1].number if drawn.steps else 0
    numbers = [number for number, _ in expected] if is_certain else [sink] * len(states)
    found: dict[int, tuple[int | None, int]] = {}
    for number, state in zip(numbers, states, strict=True):
        # A view that is read twice is computed twice, and has two states.
        rows, size_bytes = found.get(number, (0, 0))
        is_counted = rows is not None and state.operator != OWN_STATE
        together = (rows or 0) + state.rows if is_counted else None
        found[number] = together, size_bytes + state.size_bytes
    return found


def _draw(plan: Plan, sink: nodes.Sink) -> _Drawn:
    all_nodes = list(walk(sink))
    if len(all_nodes) > MOST_NODES:
        return _Drawn((), ())
    windowed = any(isinstance(node, nodes.WindowAggregate) for node in all_nodes)
    elsewhere = _spans_of_earlier_scripts(plan)
    # A node that is left out stands for its input.
    numbers: dict[int, int] = {}
    steps: list[PlanStep] = []
    for node in all_nodes:
        if _says_nothing(node):
            numbers[id(node)] = numbers[id(node.inputs[0])]
            continue
        numbers[id(node)] = len(steps) + 1
        badge, note = node_badge(node, windowed=windowed)
        line, sql = 0, ""
        if node.span is not None and node.span not in elsewhere:
            own, _ = plan.source.line_and_column(node.span.start)
            sql = plan.source.shown_line(own).strip()[:LINE_CHARS]
            line, _ = plan.source.place(node.span.start)
        steps.append(
            PlanStep(
                number=numbers[id(node)],
                text=_clause(node),
                kind=_kind(node),
                inputs=tuple(numbers[id(child)] for child in node.inputs),
                badge=badge,
                note=note,
                line=line,
                sql=sql,
                table=node.table.name if isinstance(node, nodes.Source) else "",
            )
        )
    stateful = tuple(
        (numbers[id(node)], names)
        for node in _as_planned(sink)
        if (names := _state_names(node))
    )
    return _Drawn(tuple(steps), stateful)


def _spans_of_earlier_scripts(plan: Plan) -> set[object]:
    """Places that are of another text: those of the views that it reads."""
    roots = (getattr(table, "plan", None) for table in plan.read_before)
    found = (node.span for root in roots if root is not None for node in walk(root))
    return {span for span in found if span is not None}


def _as_planned(sink: nodes.Sink) -> Iterator[nodes.Node]:
    """Readers before their inputs, left before right; what is read twice comes twice:
    the order in which Spark tells the state of operators."""
    stack: list[nodes.Node] = [sink]
    for _ in range(10 * MOST_NODES):
        if not stack:
            return
        node = stack.pop()
        yield node
        stack.extend(reversed(node.inputs))


def _state_names(node: nodes.Node) -> frozenset[str]:
    match node:
        case nodes.WindowAggregate() if nodes.is_updating(node.input):
            return frozenset((OWN_STATE,))
        case nodes.WindowAggregate(assign=nodes.SessionWindow()):
            return frozenset((_SESSIONS,))
        case nodes.WindowAggregate():
            return frozenset((_GROUPS,))
        case nodes.WindowJoin():
            return frozenset((_JOIN,))
        case nodes.UpdatingJoin():
            return frozenset((OWN_STATE, _JOIN))
        case nodes.LatestRow() | nodes.Stateful():
            return frozenset((OWN_STATE,))
        case _:
            return frozenset()


def _says_nothing(node: nodes.Node) -> bool:
    """Whether it only hands on columns of what has a list of columns itself."""
    return (
        isinstance(node, nodes.Project)
        and not isinstance(node.input, nodes.Source | nodes.Watermark | nodes.Filter)
        and all(item.expression.key == "column" for item in node.items)
    )


def node_badge(node: nodes.Node, *, windowed: bool) -> tuple[str, str]:
    """How an operator compares with Arroyo, and in which way it differs."""
    from arroyo_nb.plan.explain.differences import DIFFERENCES

    found = [row for row in DIFFERENCES if row.is_badge and row.applies(node)]
    if found:
        return DIFFERS, "; ".join(row.text for row in found)
    if isinstance(node, nodes.Stateful | nodes.UpdatingJoin):
        return MICRO_BATCH, _BATCHED
    if isinstance(node, nodes.Watermark) and windowed:
        return MICRO_BATCH, _MOVES
    return EXACT, ""


def worst(badges: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Of several badges the one that differs most; the others are as good or better."""
    order = (DIFFERS, MICRO_BATCH, EXACT)
    return min(badges, key=lambda badge: order.index(badge[0]))


def _kind(node: nodes.Node) -> str:
    match node:
        case nodes.Source():
            return "source"
        case nodes.Sink():
            return "sink"
        case nodes.Joining() | nodes.LookupJoin():
            return "join"
        case nodes.Union():
            return "union"
        case nodes.WindowAggregate() | nodes.UpdatingAggregate():
            return "aggregate"
        case nodes.Watermark():
            return "watermark"
        case nodes.Filter():
            return "filter"
        case nodes.Project():
            return "select"
        case _:
            return "operator"


_WORDS: Mapping[type[nodes.Node], str] = {
    nodes.Project: "SELECT",
    nodes.Filter: "WHERE",
    nodes.Union: "UNION ALL",
    nodes.Unnest: "UNNEST",
    nodes.LatestRow: "newest row",
}


def _with_typed_names(text: str) -> str:
    """A list of columns without the names that nobody typed.

    >>> _with_typed_names('sum(n) AS sum(t.n), n + 3 AS t.n + Int64(3), CAST(n AS INT)')
    'sum(n), n + 3, CAST(n AS INT)'
    """
    first, *others = text.split(" AS ")
    made = [first]
    for other in others:
        depth = end = 0
        # A name ends with its column: at a comma, or where the call around it does.
        for end, char in enumerate(f"{other},"):  # noqa: B007
            depth += (char == "(") - (char == ")")
            if depth < 0 or (depth == 0 and char in ",;"):
                break
        alias = other[:end]
        made.append(f" AS {other}" if _TYPED.fullmatch(alias) else other[end:])
    return "".join(made)


_TYPED = re.compile(r'\w+(\[\])?|"[^"()]*"')
"""A name, or a type, as an author writes it."""


def _clause(node: nodes.Node) -> str:
    """An operator in the words of the dialect."""
    from arroyo_nb.plan.explain.node_lines import described, sql_text
    from arroyo_nb.run.observe.build_snapshot import duration_text

    name = type(node).__name__
    rest = described(node).removeprefix(name).removesuffix(" (timed)").strip()
    rest = _with_typed_names(rest)
    match node:
        case nodes.Source(table=table):
            return f"FROM {table.name} ({table.connector})"
        case nodes.Watermark(expression=None, delay=delay):
            return f"WATERMARK newest event - {duration_text(delay)}"
        case nodes.Watermark(expression=expression):
            assert expression is not None
            return f"WATERMARK {sql_text(expression)}"
        case nodes.UpdatingAggregate(measures=()):
            return f"DISTINCT {rest.removeprefix('by ').partition(';')[0]}"
        case nodes.UpdatingAggregate():
            return f"GROUP BY {rest.removeprefix('by ')}"
        case nodes.WindowAggregate():
            window, _, groups = rest.partition("; by ")
            keys, _, measures = groups.rpartition("; ")
            by = "" if keys == "nothing" else f", {keys}"
            return f"GROUP BY {window}{by}; {measures}"
        case nodes.WindowOver() | nodes.UpdatingRank():
            keys, _, rank = rest.removeprefix("by ").partition(", ordered by ")
            order, _, functions = rank.partition("; ")
            by = "" if keys == "nothing" else f"PARTITION BY {keys} "
            return f"{functions} OVER ({by}ORDER BY {order})"
        case nodes.LookupJoin(how=how, table=table):
            on = rest.partition(" ON ")[2].partition(": ")[0]
            return f"{how.upper()} JOIN {table.name} (lookup) ON {on}"
        case nodes.Joining(how=how):
            return f"{how.upper()} JOIN {rest.removeprefix(how).strip()}"
        case nodes.Sink(table=None):
            order = rest.partition(" ORDER BY ")[2]
            return f"result ORDER BY {order}" if order else "result"
        case nodes.Sink(name=target):
            return f"INSERT INTO {target}"
        case _:
            return f"{_WORDS.get(type(node), name)} {rest}".strip()
