"""Where a script names what it reads and writes, and which of it is not allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

from arroyo_nb.allowed_roots import Roots
from arroyo_nb.catalog import ConnectorTable, LookupTable, Relation
from arroyo_nb.connectors import CONNECTORS, OnDisk, TableSpec
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.formats import needed_schema_files, schema_paths
from arroyo_nb.frames import FRAME
from arroyo_nb.plan import Plan
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.nodes import LookupJoin, Sink, Source
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.plan.tree import walk
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import name_span
from arroyo_nb.sql.statements import CreateTable


def declared(plan: Plan, table: str) -> Span | None:
    """Where a table is declared: its name; None: by an earlier script."""
    statement = _statement(plan, table)
    return None if statement is None else name_span(statement.expression)


def option(plan: Plan, table: str, name: str) -> Span | None:
    """Where an option of a table stands; the table's name where it is not given."""
    statement = _statement(plan, table)
    if statement is None:
        return None
    properties = statement.expression.args["properties"].expressions
    span = Options.read(properties, ErrorCollector()).span(name)
    return span or name_span(statement.expression)


def uses(plan: Plan, table: Relation) -> bool:
    """Whether a plan reads, writes or looks up a table."""
    found = (node for sink in plan.sinks for node in walk(sink))
    return any(
        node.table == table
        for node in found
        if isinstance(node, Source | Sink | LookupJoin)
    )


def reads(plan: Plan, is_wanted: Callable[[Relation], bool]) -> bool:
    """Whether a plan reads a table of a certain kind."""
    found = (node for sink in plan.sinks for node in walk(sink))
    return any(is_wanted(node.table) for node in found if isinstance(node, Source))


def outside(plan: Plan, roots: Roots) -> list[ArroyoError]:
    """An error for each option by which a plan would read or write what is not allowed.

    Parameters
    ----------
    roots
        What is; options are asked for their values only where that is not everything.
    """
    if roots.folders is None:
        return []
    nodes = (node for sink in plan.sinks for node in walk(sink))
    found: dict[tuple[str, str], ArroyoError] = {}
    for node in nodes:
        if isinstance(node, Source | LookupJoin | Sink) and _is_declared(node.table):
            for name, problem in _outside(plan, node.table, node.span, roots):
                found.setdefault((node.table.name, name), problem)
    return [*found.values()]


def missing_files(plan: Plan, *, sinks: bool) -> list[ArroyoError]:
    """An error for each option that names a file of a schema which is not there.

    Parameters
    ----------
    sinks
        Whether the sinks are written; else nobody needs their schemas.
    """
    kinds = Source | LookupJoin | Sink if sinks else Source | LookupJoin
    found: dict[tuple[str, str], ArroyoError] = {}
    for node in (node for sink in plan.sinks for node in walk(sink)):
        if not isinstance(node, kinds) or not _is_declared(node.table):
            continue
        spec = node.table.spec
        if not needed_schema_files(spec.options):
            continue  # of other tables no variable is asked for here
        spec = spec.resolved(node.span)
        for name, path in needed_schema_files(spec.options):
            if not _is_there(path):
                place = option(plan, spec.name, name) or node.span
                problem = _no_file(spec, name, path, place)
                found.setdefault((spec.name, name), problem)
    return [*found.values()]


def _is_there(path: Path) -> bool:
    # Whoever opens it has words for any other reason.
    with suppress(OSError):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _no_file(spec: TableSpec, name: str, path: Path, span: Span | None) -> RunProblem:
    shown, hint = spec.shown(name), f"paths are relative to '{Path.cwd()}'"
    # The value of a variable may be a secret, and so may a path with it.
    if shown == str(spec.options[name]):
        hint = f"it was looked for at '{path.absolute()}': {hint}"
    return RunProblem(
        f"there is no file at '{name}' of '{spec.name}': '{shown}'",
        span=span,
        hint=hint,
    )


def _is_declared(
    table: ConnectorTable | LookupTable | None,
) -> TypeGuard[ConnectorTable | LookupTable]:
    """Whether a connector has it: neither a preview nor a DataFrame."""
    return table is not None and table.connector != FRAME


def _outside(
    plan: Plan, table: ConnectorTable | LookupTable, span: Span | None, roots: Roots
) -> Iterator[tuple[str, ArroyoError]]:
    """What is wrong with the paths of a table that is used there, by the option."""
    connector = CONNECTORS.get(table.connector)
    names_files = bool(schema_paths(table.spec.options))
    if not names_files and not isinstance(connector, OnDisk):
        return
    try:
        spec = table.spec.resolved(span)
        paths = [*connector.paths(spec)] if isinstance(connector, OnDisk) else []
        paths += schema_paths(spec.options)
    except ArroyoError as problem:  # a variable that is not set, an address
        problem.span = problem.span or span
        yield "", problem
        return
    for name, path in paths:
        if not roots.allow(path):
            refused = roots.refusal(f"the option '{name}' of '{table.name}'")
            refused.span = option(plan, table.name, name) or span
            yield name, refused


def _statement(plan: Plan, table: str) -> CreateTable | None:
    made = (s for s in plan.statements if isinstance(s, CreateTable))
    return next((s for s in made if s.name.lower() == table.lower()), None)
