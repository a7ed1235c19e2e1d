"""Text -> :class:`Plan`: parse, build, rewrite, verify; no JVM, milliseconds.

Names and types are checked over the whole script before any rule of streaming is, as
in Arroyo: an unknown column in the last statement is told before a missing window in
the first. A view is the exception, its rules are checked where it is declared.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar, cast

from arroyo_nb.catalog import Catalog
from arroyo_nb.errors import ArroyoError, PlanProblem, Unsupported, raise_all
from arroyo_nb.functions.user_defined import user_defined
from arroyo_nb.plan import Plan, PlanStage
from arroyo_nb.plan.build import Script
from arroyo_nb.plan.expressions.arroyo_values import copying_arroyo
from arroyo_nb.plan.expressions.clock import at_one_time
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.nodes import Node, Sink, Union, is_updating
from arroyo_nb.plan.rewrites import PASSES
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.plan.script_files import ScriptFiles, file_of
from arroyo_nb.plan.show_statements import StatementAnswer
from arroyo_nb.plan.tree import NodeMap, size
from arroyo_nb.plan.verify import SoundParts, verify
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import deep_stack, parse_all
from arroyo_nb.sql.show_statements import ARROYO_SAYS
from arroyo_nb.sql.statements import Statement

MOST_NODES = 10_000
"""Most nodes of a plan, a view counted wherever it is read; Spark plans some thousand
in minutes."""

T = TypeVar("T", bound=Node)


def plan_script(
    text: str | ScriptText,
    catalog: Catalog,
    *,
    strict: bool = False,
    name: str = "<cell>",
) -> Plan:
    """Plan a script against the tables that are there.

    Parameters
    ----------
    text
        The script, with its place where it has one.
    catalog
        Tables of earlier cells; it is not changed.
    strict
        Refuse what Arroyo itself refuses, also where it has one clear meaning here, and
        give its value where ours differs deliberately.
    name
        What errors call a script without a place: a path, or ``<cell>``.

    Returns
    -------
    Plan
        Its ``sinks`` are ready to be lowered, its ``catalog`` is the new one.

    Raises
    ------
    ArroyoError
        Every independent error of the script, with its place.
    """
    source = ScriptText.of(text, name)
    try:
        with (
            deep_stack(),
            _no_collector(),
            at_one_time(),
            user_defined(catalog.functions),
            copying_arroyo(strict),
        ):
            return _planned(source, catalog, strict=strict)
    except ArroyoError as error:
        raise error.at(source) from None


@contextmanager
def _no_collector() -> Iterator[None]:
    """While in the block, Python looks for no cycles of objects that nobody uses.

    A plan is kept as a whole, and each search goes through all of it: a quarter of the
    time that thousands of views take.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _planned(source: ScriptText, catalog: Catalog, *, strict: bool) -> Plan:
    parsed = parse_all(source)
    statements = parsed.statements
    script = Script(
        catalog,
        _Rewriting(strict=strict).plans,
        source.text,
        broken=set(parsed.unread),
        strict=strict,
    )
    if strict:
        _refuse_asides(statements)
    script.problems.extend(parsed.problems)
    for statement in statements:
        script.read(statement)
    # Names and types of all statements first; the rules of streaming are looked at only
    # in a script that has no error of those.
    script.problems.raise_all()
    script.check_inserted()
    plan = _plan_of(script.sinks, source, statements, script, strict=strict)
    _check_files(plan.sinks)
    answers = [
        asked
        if isinstance(asked, StatementAnswer)
        else StatementAnswer(text=_explained(asked, source, script, strict=strict))
        for asked in script.asked
    ]
    return replace(plan, answers=tuple(answers))


def _plan_of(
    sinks: Sequence[Sink],
    source: ScriptText,
    statements: tuple[Statement, ...],
    script: Script,
    *,
    strict: bool,
) -> Plan:
    stages = _stages(_merged(sinks), strict=strict)
    return Plan(
        source,
        statements,
        stages[-1].sinks,
        script.catalog,
        MappingProxyType(script.options),
        (
            *script.notes,
            *_strict_notes(stages[-1].sinks),
            *_limit_notes(stages[-1].sinks),
        ),
        stages,
        tuple(script.read_before),
        strict,
    )


def _explained(
    sinks: Sequence[Sink], source: ScriptText, script: Script, *, strict: bool
) -> str:
    """The text of EXPLAIN."""
    return _plan_of(sinks, source, (), script, strict=strict).explain()


def _refuse_asides(statements: Sequence[Statement]) -> None:
    """Refuse what Arroyo has not, in the strict mode.

    Raises
    ------
    Unsupported
        For each, in Arroyo's words.
    """
    raise_all(
        Unsupported(ARROYO_SAYS[type(statement)], span=statement.span)
        for statement in statements
        if type(statement) in ARROYO_SAYS
    )


def _merged(sinks: Sequence[Sink]) -> list[Sink]:
    """One sink for all INSERTs into one file, in the place of the first: what they
    write is a union, written by one query. Other sinks take several writers."""
    merged: list[Sink] = []
    for sink in sinks:
        # The very same table: two that are declared alike write two files, or are
        # refused below.
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
    """Refuse each file that two tables write.

    Raises
    ------
    PlanProblem
        With the names of both tables.
    """
    files, problems = ScriptFiles(), ErrorCollector()
    for sink in sinks:
        problems.attempt(partial(files.add_writer, sink))
    problems.raise_all()


def _stages(sinks: Sequence[Sink], *, strict: bool) -> tuple[PlanStage, ...]:
    """The sinks after each pass; a sink that breaks a rule does not hide the next."""
    # Each sink is tried: one cell tells all that is wrong with it.
    problems = ErrorCollector()
    histories = []
    for sink in sinks:
        # Each sink is a query by itself: it shares no source with another.
        rewriting = _Rewriting(strict=strict)
        history = problems.attempt(partial(rewriting.plans, sink))
        histories.append(history or ())
    problems.raise_all()
    columns = zip(*histories, strict=True) if histories else [()] * (len(PASSES) + 1)
    names = [("build", ""), *((p.name, p.reason) for p in PASSES)]
    return tuple(
        PlanStage(name, reason, tuple(column))
        for (name, reason), column in zip(names, columns, strict=True)
    )


class _Rewriting:
    """The passes over plans that share nodes: those of the views of a script.

    A view's plan is a part of the plans that read it. What each pass made of it, and
    that it was checked, is kept: it is rewritten once, however many views are above.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._sizes: NodeMap[int] = NodeMap()
        self._made: list[NodeMap[Node]] = [NodeMap() for _ in PASSES]
        self._sound = SoundParts()
        self._accepted: NodeMap[None] = NodeMap()

    def plans(self, root: T) -> tuple[T, ...]:
        """The plan as it was built and after each pass.

        Raises
        ------
        PlanProblem
            When it breaks a rule of streaming.
        """
        self._check_size(root)
        verify(root, sound=self._sound)
        plans: list[T] = [root]
        gone: set[type[Node]] = set()
        # Checked after each pass and not at the end: a pass that breaks a rule is named
        # by its place.
        for step, made in zip(PASSES, self._made, strict=True):
            gone.update(step.gone)
            plans.append(cast(T, step.rewritten(plans[-1], made)))
            verify(plans[-1], gone=gone, sound=self._sound)
        if self._strict:
            self._check_strict(plans[-1])
        return tuple(plans)

    def _check_size(self, root: Node) -> None:
        nodes = size(root, self._sizes)
        if nodes > MOST_NODES:
            raise Unsupported(
                f"the query and the views that it reads are a plan of {nodes:,} nodes, "
                f"more than {MOST_NODES:,}: a view counts as often as it is read",
                span=root.span,
                hint="write what a view holds to a table, and read that",
            )

    def _check_strict(self, root: Node) -> None:
        for node, message in refused_by_arroyo(root, self._accepted):
            raise PlanProblem(
                message,
                span=node.span,
                hint="this runs without the strict option, which refuses what Arroyo "
                "refuses",
            )


def _limit_notes(sinks: Sequence[Sink]) -> list[str]:
    """Where a LIMIT does not end its run."""
    return [
        f"LIMIT {sink.limit} is how many rows of the result are shown: it does not end "
        "the run, as any row to come may be among them"
        for sink in sinks
        if sink.limit is not None and (sink.order or is_updating(sink))
    ]


def _strict_notes(sinks: Sequence[Sink]) -> list[str]:
    known: NodeMap[None] = NodeMap()
    found = (refused_by_arroyo(sink, known) for sink in sinks)
    messages = [message for refused in found for _, message in refused]
    return [f"Arroyo would refuse this: {text}" for text in dict.fromkeys(messages)]
