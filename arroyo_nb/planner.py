"""Text -> :class:`Plan`: parse, build, rewrite, verify; no JVM, milliseconds.

Names and types are checked over the whole script before any rule of streaming is, as
in Arroyo: an unknown column in the last statement is told before a missing window in
the first. A view is the exception, its rules are checked where it is declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar, cast

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError, PlanProblem, Unsupported
from arroyo_nb.plan import DEFAULT_TTL, UPDATING_TTL, Plan, Stage
from arroyo_nb.plan.build import Script, file_of
from arroyo_nb.plan.nodes import Node, Sink, Union
from arroyo_nb.plan.scope import Collected
from arroyo_nb.plan.tree import size
from arroyo_nb.plan.verify import verify
from arroyo_nb.rewrites import PASSES
from arroyo_nb.rewrites.strict import refused_by_arroyo
from arroyo_nb.source import Source
from arroyo_nb.sql.parse import deep_stack, parse_all

MOST_NODES = 5_000
"""Most nodes of a plan, a view counted wherever it is read; Spark plans some thousand
in minutes."""

T = TypeVar("T", bound=Node)


def plan_script(
    text: str, catalog: Catalog, *, strict: bool = False, name: str = "<cell>"
) -> Plan:
    """Plan a script against the tables that are there.

    Parameters
    ----------
    text
        The script.
    catalog
        Tables of earlier cells; it is not changed.
    strict
        Refuse what Arroyo itself refuses, also where it has one clear meaning here.
    name
        What errors call the script: a path, or ``<cell>``.

    Returns
    -------
    Plan
        Its ``sinks`` are ready to be lowered, its ``catalog`` is the new one.

    Raises
    ------
    ArroyoError
        Every independent error of the script, with its place.
    """
    source = Source(text, name)
    try:
        with deep_stack():
            return _planned(source, catalog, strict=strict)
    except ArroyoError as error:
        raise error.at(source) from None


def _planned(source: Source, catalog: Catalog, *, strict: bool) -> Plan:
    parsed = parse_all(source)
    statements = parsed.statements
    script = Script(
        catalog,
        partial(_streamed, strict=strict),
        source.text,
        broken=set(parsed.unread),
    )
    script.problems.extend(parsed.problems)
    for statement in statements:
        script.read(statement)
    script.problems.raise_all()
    stages = _stages(_merged(script.sinks), strict=strict)
    sinks = stages[-1].sinks
    _check_files(sinks)
    return Plan(
        source,
        statements,
        sinks,
        script.catalog,
        MappingProxyType({UPDATING_TTL: DEFAULT_TTL, **script.options}),
        (*script.notes, *_strict_notes(sinks)),
        stages,
        tuple(script.read_before),
        strict,
    )


def _merged(sinks: Sequence[Sink]) -> list[Sink]:
    """One sink for all INSERTs into one file, in the place of the first: what they
    write is a union, written by one query. Other sinks take several writers."""
    merged: list[Sink] = []
    for sink in sinks:
        same = (i for i, s in enumerate(merged) if s.table is sink.table)
        place = next(same, None) if file_of(sink.table) else None
        if place is None:
            merged.append(sink)
        else:
            before = merged[place]
            inner = before.input
            merges = isinstance(inner, Union) and inner.of_inserts
            branches = inner.inputs if merges else (inner,)
            union = Union((*branches, sink.input), of_inserts=True, span=sink.span)
            merged[place] = replace(before, input=union)
    return merged


def _check_files(sinks: Sequence[Sink]) -> None:
    """Refuse a file that two tables write.

    Raises
    ------
    PlanProblem
        With the names of both tables.
    """
    written: dict[str, str] = {}
    for sink in sinks:
        path = file_of(sink.table)
        if path in written:
            raise PlanProblem(
                f"the tables '{written[path]}' and '{sink.name}' write one file",
                span=sink.span,
                hint="write both INSERTs into one table, or give each its own path",
            )
        if path:
            written[path] = sink.name


def _stages(sinks: Sequence[Sink], *, strict: bool) -> tuple[Stage, ...]:
    """The sinks after each pass; a sink that breaks a rule does not hide the next."""
    problems = Collected()
    histories = []
    for sink in sinks:
        history = problems.attempt(partial(_streamed, sink, strict=strict))
        histories.append(history or ())
    problems.raise_all()
    columns = zip(*histories, strict=True) if histories else [()] * (len(PASSES) + 1)
    names = [("build", ""), *((p.name, p.reason) for p in PASSES)]
    return tuple(
        Stage(name, reason, tuple(column))
        for (name, reason), column in zip(names, columns, strict=True)
    )


def _streamed(root: T, *, strict: bool) -> tuple[T, ...]:
    """The plan as it was built and after each pass.

    Raises
    ------
    PlanProblem
        When it breaks a rule of streaming.
    """
    _check_size(root)
    verify(root)
    plans: list[T] = [root]
    gone: set[type[Node]] = set()
    for step in PASSES:
        gone.update(step.gone)
        plans.append(cast(T, step.rewrite(plans[-1])))
        # The plan of before holds what it held, unless more may be gone from it.
        if plans[-1] is not plans[-2] or step.gone:
            verify(plans[-1], gone=gone)
    if strict:
        for node, message in refused_by_arroyo(plans[-1]):
            raise PlanProblem(
                message,
                span=node.span,
                hint="this runs without the strict option, which refuses what Arroyo "
                "refuses",
            )
    return tuple(plans)


def _check_size(root: Node) -> None:
    nodes = size(root)
    if nodes > MOST_NODES:
        raise Unsupported(
            f"the query reads its views over and over: it is a plan of {nodes:,} "
            f"nodes, more than {MOST_NODES:,}",
            span=root.span,
            hint="write what a view holds to a table, and read that",
        )


def _strict_notes(sinks: Sequence[Sink]) -> list[str]:
    messages = [message for sink in sinks for _, message in refused_by_arroyo(sink)]
    return [f"Arroyo would refuse this: {text}" for text in dict.fromkeys(messages)]
