"""A cell's plan -> a job, with the tables of earlier cells that it uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import arroyo_nb
from arroyo_nb.catalog import LookupTable, Relation
from arroyo_nb.errors import PromoteProblem, raise_all
from arroyo_nb.plan import Plan
from arroyo_nb.plan.nodes import LookupJoin, Sink, Source
from arroyo_nb.plan.tree import walk
from arroyo_nb.promote.jobfile import JobFile, read
from arroyo_nb.promote.jobspec import JobOptions, JobSpec, Origin, Table
from arroyo_nb.promote.lint import denied, lint
from arroyo_nb.source import Source as Text
from arroyo_nb.sql.parse import deep_stack
from arroyo_nb.sql.statements import CreateTable, CreateView

_PACKAGES = ("pyspark", "pyarrow", "sqlglot")
_OF_CONNECTORS = {
    "confluent": "confluent-kafka",
    "kafka": "confluent-kafka",
    "redis": "redis",
}
_AGAIN = "run the cells that declare them again, in the notebook's order"


def promoted(
    plan: Plan,
    name: str,
    options: JobOptions,
    *,
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
    options
        Those of the cell.
    before
        The spec that this one replaces. What no cell says it keeps: parallelism, state,
        functions and tags, and the options that the cell leaves out.
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
    spec = replace(
        kept,
        name=name,
        sql=plan.source.text.removeprefix("\ufeff").strip() + "\n",
        tables=tuple(earlier_tables(plan)),
        origin=origin or kept.origin,
        options=_merged(kept.options, options),
        packages=_packages(plan),
    )
    made = read(Text(spec.text, file))
    again = made.plan()
    with deep_stack():
        is_same = again.sinks == plan.sinks
    if not is_same:
        raise PromoteProblem(
            f"'{name}' by itself is not what the cell runs: tables were declared again "
            "since",
            hint=_AGAIN,
        )
    raise_all(
        PromoteProblem(f.message, span=f.span).at(f.source)
        for f in denied(lint(made, again), ())
    )
    return made


def earlier_tables(plan: Plan) -> Iterable[Table]:
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
    return [Table(table.name, _statement(table)) for table in ordered.values()]


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
        f"'{table.name}' is a DataFrame of the notebook, which a job has not",
        hint="write it to a file, and declare it with CREATE TEMPORARY TABLE",
    )


def _merged(kept: JobOptions, said: JobOptions) -> JobOptions:
    return JobOptions(
        strict=said.strict,
        parallelism=said.parallelism or kept.parallelism,
        trigger=said.trigger or kept.trigger,
        ttl=said.ttl or kept.ttl,
    )


def _packages(plan: Plan) -> dict[str, str]:
    """The versions of what a job is run with."""
    nodes = (node for sink in plan.sinks for node in walk(sink))
    tables = (n.table for n in nodes if isinstance(n, Source | Sink | LookupJoin))
    kinds = {table.connector for table in tables if table is not None}
    needed = {_OF_CONNECTORS[kind] for kind in kinds & _OF_CONNECTORS.keys()}
    found = {"arroyo-nb": arroyo_nb.__version__}
    for package in (*_PACKAGES, *sorted(needed)):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # needed where it runs, not to plan it
            continue
    return found
