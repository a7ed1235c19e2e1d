"""What is wrong with a script, and what its author should know, each at its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arroyo_nb.catalog import Catalog, Relation, View
from arroyo_nb.editor.answers import Severity
from arroyo_nb.editor.problems import CellProblem, problems_of, visible
from arroyo_nb.errors import ArroyoError, PlanProblem
from arroyo_nb.jobs.rules import LintedJob, LintRule
from arroyo_nb.jobs.rules.queries import non_deterministic, unbounded_state
from arroyo_nb.jobs.rules.rule import Severity as LintSeverity
from arroyo_nb.jobs.rules.tables import append_only_sink, inline_secret
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.plan import Plan
from arroyo_nb.plan.explain.differences import DIFFERENCES
from arroyo_nb.plan.explain.hints import placed_hints
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.rewrites.strict import refused_by_arroyo
from arroyo_nb.plan.tables.render_ddl import written_name
from arroyo_nb.plan.tree import walk
from arroyo_nb.repairs import Repair
from arroyo_nb.source import Span

QUERY_RULES = tuple(
    LintRule(check, LintSeverity.WARNING)
    for check in (inline_secret, append_only_sink, non_deterministic, unbounded_state)
)
"""The rules of a job that are about its SQL. The others are about where it will run: of
a cell that explores sample data each of them would say something."""

STRICT_HINT = "this runs here; %%arroyo --strict refuses what Arroyo refuses"


@dataclass(frozen=True)
class CheckedScript:
    """A script that was planned.

    Parameters
    ----------
    problems
        Errors, or else warnings and hints, in the order of their places.
    plan
        None: it has errors.
    """

    problems: tuple[CellProblem, ...]
    plan: Plan | None = None


def check_script(text: str, catalog: Catalog, *, strict: bool) -> CheckedScript:
    """Plan a script, and say what is wrong with it. No error is raised for that."""
    try:
        plan = plan_script(text, catalog, strict=strict)
    except ArroyoError as error:
        return CheckedScript(_ordered(problems_of(error, text)))
    found = [
        CellProblem(warning.error, visible(warning.span, text), warning.severity)
        for warning in _warnings(plan)
    ]
    if found:
        # Nodes of a view that an earlier cell has declared have their places there.
        elsewhere = {
            (w.error.message, w.error.span)
            for relation in _unique(plan.read_before)
            if isinstance(relation, View)
            for w in _warnings(_of_view(relation, plan.catalog))
        }
        found = [w for w in found if (w.error.message, w.error.span) not in elsewhere]
    return CheckedScript(_ordered(found), plan)


def _ordered(found: Iterable[CellProblem]) -> tuple[CellProblem, ...]:
    """Each once: a node with several readers is met by each of them."""
    unique = {(p.span, p.severity, p.error.message): p for p in found}
    return tuple(sorted(unique.values(), key=lambda p: (p.span, p.error.message)))


def _unique(relations: Iterable[Relation]) -> list[Relation]:
    return [*{id(relation): relation for relation in relations}.values()]


def _of_view(view: View, catalog: Catalog) -> Plan:
    every_row = f"SELECT * FROM {written_name(view.name)}"
    return plan_script(every_row, catalog.define(view))


@dataclass(frozen=True)
class _Warning:
    error: ArroyoError
    span: Span | None
    severity: Severity


def _warnings(plan: Plan) -> Iterator[_Warning]:
    for hint in placed_hints(plan.sinks):
        yield _warning(hint.text, hint.span, hint.repairs)
    nodes = {id(n): n for sink in plan.sinks for n in walk(sink)}.values()
    for node in nodes:
        for difference in DIFFERENCES:
            if (
                difference.is_badge
                and not difference.is_usual
                and difference.applies(node)
            ):
                yield _warning(difference.note, node.span)
    job = LintedJob(JobSpec("cell", plan.source.text, ()), plan)
    for rule in QUERY_RULES:
        for hit in rule.check(job):
            # What an earlier cell has declared was told there.
            if rule.check is not inline_secret or hit.span is not None:
                yield _warning(f"{hit.message} [{rule.code}]", hit.span)
    if plan.strict:
        return
    for sink in plan.sinks:
        for node, message in refused_by_arroyo(sink):
            said = f"Arroyo would refuse this: {message}"
            problem = PlanProblem(said, span=node.span, hint=STRICT_HINT)
            yield _Warning(problem, node.span, Severity.HINT)


def _warning(
    message: str, span: Span | None, repairs: Iterable[Repair] = ()
) -> _Warning:
    problem = PlanProblem(message, span=span, repairs=repairs)
    return _Warning(problem, span, Severity.WARNING)
