"""A cell's plan -> a job, with the tables of earlier cells that it uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from arroyo_nb.catalog import LookupTable, Relation
from arroyo_nb.errors import PromoteProblem
from arroyo_nb.jobs.lint import lint, refuse
from arroyo_nb.jobs.spec import JobSpec, Origin, TableDefinition, Udf
from arroyo_nb.jobs.spec_file import JobFile, read
from arroyo_nb.jobs.versions import packages
from arroyo_nb.plan import Plan
from arroyo_nb.plan.user_functions import place_of_call, user_functions
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import deep_stack, semicolons
from arroyo_nb.sql.show_statements import ARROYO_SAYS
from arroyo_nb.sql.statements import CreateTable, CreateView

_AGAIN = "run the cells that declare them again, in the notebook's order"


def promoted(
    plan: Plan,
    name: str,
    *,
    trigger: timedelta | None = None,
    real_time: bool = False,
    origin: Origin | None = None,
    before: JobSpec | None = None,
    file: str = "job.yaml",
) -> JobFile:
    """The job that runs what a cell runs.

    Parameters
    ----------
    plan
        The cell's.
    name
        The job's.
    trigger
        Least time between micro-batches, where the cell says one.
    real_time
        Whether the cell runs in Spark's real-time mode.
    before
        The spec that this one replaces. What no cell says it keeps: parallelism, state
        and tags, and the options that the cell leaves out.
    file
        What errors and findings call the spec.

    Raises
    ------
    PromoteProblem
        When the cell cannot run apart from its notebook, or has a secret in it.
    """
    if not plan.sinks:
        raise PromoteProblem(f"'{name}' only declares: there is nothing to run")
    kept = before or JobSpec(name, "")
    # A job that was attached, and is given back as it was.
    is_same = before is not None and plan.source.text == before.script
    _refuse_shapes(plan)
    sql = without_asides(plan).removeprefix("\ufeff").strip() + "\n"
    spec = replace(
        kept,
        name=name,
        sql=kept.sql if is_same else sql,
        tables=kept.tables if is_same else tuple(earlier_tables(plan)),
        origin=origin or kept.origin,
        options=replace(
            kept.options,
            strict=plan.strict,
            trigger=trigger or kept.options.trigger,
            real_time=real_time or kept.options.real_time,
            ttl=None,
        ),
        packages=packages(plan),
        udfs=_udfs(plan),
    )
    made = read(ScriptText(spec.text, file))
    again = made.plan()
    _check(made, again, plan)
    # What the script does not SET is an option: of the cell, or else of before.
    is_set = again.options == plan.options
    ttl = kept.options.ttl if is_set else plan.updating_ttl
    spec = replace(spec, options=replace(spec.options, ttl=ttl))
    return read(ScriptText(spec.text, file))


def _check(made: JobFile, again: Plan, plan: Plan) -> None:
    """Refuse a job that is another than its cell, or has a finding that is an error."""
    with deep_stack():
        is_same = again.sinks == plan.sinks
    if not is_same:
        raise PromoteProblem(
            f"'{made.spec.name}' by itself is not what the cell runs: tables were "
            "declared again since",
            hint=_AGAIN,
        )
    refuse(lint(made, again))


def earlier_tables(plan: Plan) -> Iterable[TableDefinition]:
    """The tables and views of earlier cells that a script uses, directly or not, each
    after those that it reads.

    Raises
    ------
    PromoteProblem
        When one has no statement, or a name means two tables.
    """
    own = {
        s.name.lower()
        for s in plan.statements
        if isinstance(s, CreateTable | CreateView)
    }
    ordered: dict[str, Relation] = {}
    for table in _inputs_first(plan.read_before):
        name = table.name.lower()
        if name in own or ordered.get(name, table) != table:
            raise PromoteProblem(
                f"the name '{table.name}' means two tables: one was declared again "
                "after a view of it was made",
                hint=_AGAIN,
            )
        ordered[name] = table
    return [
        TableDefinition(table.name, _statement(table)) for table in ordered.values()
    ]


def _inputs_first(tables: Iterable[Relation]) -> Iterable[Relation]:
    seen: set[int] = set()
    stack = [(table, False) for table in reversed([*tables])]
    while stack:
        table, ready = stack.pop()
        if ready:
            yield table
        elif id(table) not in seen:
            seen.add(id(table))
            stack.append((table, True))
            reads = table.definition.reads if table.definition else ()
            stack.extend((below, False) for below in reversed(reads))


def _statement(table: Relation) -> str:
    if table.definition is not None:
        return table.definition.text
    assert isinstance(table, LookupTable), "no statement makes a DataFrame a table"
    raise PromoteProblem(
        f"'{table.name}' is a DataFrame: it exists only in the notebook",
        hint="write it to a file, and declare it with CREATE TEMPORARY TABLE",
    )


def without_asides(plan: Plan) -> str:
    """The script without what only asks or tidies up: SHOW TABLES, DROP and the like
    mean nothing where no notebook is."""
    text, parts, end = plan.source.text, list[str](), 0
    ends = semicolons(plan.source)
    for statement in plan.statements:
        if type(statement) in ARROYO_SAYS:
            parts.append(text[end : statement.span.start])
            after = (place + 1 for place in ends if place >= statement.span.end)
            end = next(after, len(text))
    return "".join((*parts, text[end:]))


def _udfs(plan: Plan) -> tuple[Udf, ...]:
    """The UDFs that a plan calls.

    Raises
    ------
    PromoteProblem
        When one means nothing without its notebook, or two have one name.
    """
    found: dict[str, Udf] = {}
    for udf in user_functions(plan.sinks):
        if udf.not_portable:
            raise PromoteProblem(
                f"the function '{udf.name}' cannot leave its notebook: "
                f"{udf.not_portable}",
                span=place_of_call(plan.sinks, udf.name),
                hint="write into the function what it uses, or import it",
            ).at(plan.source)
        if udf.name in found:
            raise PromoteProblem(
                f"the name '{udf.name}' means two functions: one was defined again "
                "after a view of it was made",
                hint=_AGAIN,
            )
        found[udf.name] = Udf(udf.name, udf.language, udf.text)
    return tuple(found.values())


def _refuse_shapes(plan: Plan) -> None:
    for sink in plan.sinks:
        if sink.order or sink.limit is not None:
            raise PromoteProblem(
                "a job has no end and no order: ORDER BY and LIMIT are of a cell whose "
                "rows are looked at",
                span=sink.span,
                hint="leave them out, or keep the first rows of an order with "
                "row_number() OVER (ORDER BY ...)",
            ).at(plan.source)
