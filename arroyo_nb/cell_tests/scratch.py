"""The catalog of a test: that of the session, its sources replaced by the given rows.

A table that is declared keeps its columns, its event time and its watermark: only where
its records come from is different. Views are planned anew on what was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from arroyo_nb.catalog import (
    Catalog,
    ConnectorTable,
    LookupTable,
    MemoryTable,
    Relation,
    View,
)
from arroyo_nb.cell_tests import CellTest, Given
from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.formats import Framing, usual_format
from arroyo_nb.frames import lookup_table
from arroyo_nb.jobs import spec_file
from arroyo_nb.plan import Plan
from arroyo_nb.plan.nodes import LookupJoin, Source
from arroyo_nb.plan.planner import plan_script
from arroyo_nb.plan.tables.render_ddl import (
    written_columns,
    written_event_time,
    written_name,
    written_table,
)
from arroyo_nb.plan.tree import walk
from arroyo_nb.registry import did_you_mean
from arroyo_nb.row_tables import ARRIVES, StreamRows
from arroyo_nb.row_tables.define import (
    PLAYER,
    define_rows,
    read_rows,
    rows_statement,
)
from arroyo_nb.row_tables.disorder import OPTIONS as DISORDER
from arroyo_nb.row_tables.disorder import disordered
from arroyo_nb.row_tables.named_data import named_data
from arroyo_nb.run.interrupts import check_interrupts
from arroyo_nb.schema import Schema, arrow_schema
from arroyo_nb.source import ScriptText, Span
from arroyo_nb.sql.parse import parse_all, semicolons
from arroyo_nb.sql.statements import CreateTable, CreateView
from arroyo_nb.tape.format import HEADER

BLANK = re.compile(r"[^\n]")


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Setting:
    """Where a test is run.

    Parameters
    ----------
    catalog
        The tables and functions of the session.
    strict
        Whether what Arroyo would refuse is refused.
    plans
        The plans of runs, by their names.
    variables
        What FROM may name.
    bind
        Writes out the parameters of a script.
    base
        The folder from which paths lead; None: the working folder.
    """

    catalog: Catalog
    strict: bool = False
    plans: Mapping[str, Plan] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    bind: Callable[[str], str] = _unchanged
    base: Path | None = None

    def path(self, name: str) -> Path:
        """The path of a file that a test names."""
        path = user_path(name)
        return path if self.base is None else self.base / path


@dataclass(frozen=True)
class Query:
    """What a test runs.

    Parameters
    ----------
    script
        It declares no table that was given: those are blank.
    catalog
        The tables that it is planned against, before any rows are given.
    declared
        The tables of the script itself that were given, by their lower-case names.
    """

    script: ScriptText
    catalog: Catalog
    declared: Mapping[str, Relation]


@dataclass(frozen=True)
class Scratch:
    """The query of a test, planned on the given rows.

    Parameters
    ----------
    query
        What it runs.
    catalog
        The tables, those that were given among them.
    given
        Lower-case names of these.
    strict
        As of :class:`Setting`.
    """

    query: Query
    catalog: Catalog
    given: frozenset[str]
    strict: bool

    def plan(self) -> Plan:
        """Plan the query.

        Raises
        ------
        ArroyoError
            With its place in the query; also when it reads what was not given and is
            not the same each time.
        """
        script = self.query.script
        plan = plan_script(script, self.catalog, strict=self.strict)
        if not plan.sinks:
            whole = len(script.text) - len(script.text.lstrip())
            raise RunProblem(
                "the query of the test only declares: nothing runs",
                span=Span(whole, whole + 1),
                hint="end it with a SELECT or an INSERT",
            ).at(plan.source)
        for problem in _live(plan, self.given):
            raise problem.at(plan.source)
        return plan


def scratch(case: CellTest, setting: Setting, work: Path | None) -> Scratch:
    """Give a test its rows.

    Parameters
    ----------
    work
        Where the tapes of the rows are written, a folder for each; None: the rows are
        only checked.

    Raises
    ------
    ArroyoError
        When the rows are wrong, with their place; or when there is no such run.
    """
    query = _query(case, setting)
    catalog = query.catalog
    for given in case.given:
        declared = query.declared.get(given.table.lower())
        if declared is None and given.table in catalog:
            declared = catalog.get(given.table)
        try:
            catalog = _with_given(given, declared, catalog, setting, work)
        except ArroyoError as error:
            if error.source is None or error.span is None:
                error.span = given.span
                error.at(case.source)
            raise
    names = frozenset(given.table.lower() for given in case.given)
    return Scratch(query, _replanned(catalog, names), names, setting.strict)


def _query(case: CellTest, setting: Setting) -> Query:
    when = case.when
    catalog = setting.catalog
    if when.run is not None:
        script, catalog = _of_run(case, setting)
    elif when.job is not None:
        job = spec_file.load(setting.path(when.job))
        script = ScriptText(job.spec.script, job.spec.name)
        functions = {**catalog.functions}
        from arroyo_nb.udfs import registry

        functions |= registry.rows({udf.name: udf for udf in job.functions})
        catalog = Catalog(functions=functions)
    else:
        try:
            script = case.query_source.with_text(setting.bind(when.sql))
        except ArroyoError as error:
            raise error.at(case.query_source) from None
    given = {given.table.lower() for given in case.given}
    text, declared = _without_given(script, given, catalog)
    return Query(script.with_text(text), catalog, declared)


def _of_run(case: CellTest, setting: Setting) -> tuple[ScriptText, Catalog]:
    """The script of a run, or the query of all rows of a view."""
    name = case.when.run
    assert name is not None, "a run was named"
    if (plan := setting.plans.get(name)) is not None:
        functions = setting.catalog.functions
        script = ScriptText(plan.source.text, f"<{name}>")
        return script, plan.catalog.with_functions(functions)
    if name in setting.catalog and isinstance(setting.catalog.get(name), View):
        text = f"SELECT * FROM {written_name(name)}"
        return ScriptText(text, f"<{name}>"), setting.catalog
    views = [t.name for t in setting.catalog.tables.values() if isinstance(t, View)]
    raise RunProblem(
        f"there is no run and no view '{name}'",
        span=case.when.span,
        hint=did_you_mean(name, (*setting.plans, *views))
        or f"run its cell before, which begins with %%arroyo {name} <<",
    ).at(case.query_source)


def _without_given(
    source: ScriptText, given: set[str], catalog: Catalog
) -> tuple[str, dict[str, Relation]]:
    """A script without the tables that were given, and what it declares them as."""
    text, declared = source.text, dict[str, Relation]()
    try:
        statements = parse_all(source).statements
        ends = semicolons(source)
    except ArroyoError:
        return text, declared  # told where the query is planned
    for statement in statements:
        if not isinstance(statement, CreateTable | CreateView):
            continue
        if statement.name.lower() not in given:
            continue
        span = statement.span
        own = source.text[span.start : span.end]
        padded = BLANK.sub(" ", source.text[: span.start]) + own
        after = plan_script(source.with_text(padded), catalog).catalog
        declared[statement.name.lower()] = after.get(statement.name)
        end = next((at + 1 for at in ends if at >= span.end), span.end)
        blank = BLANK.sub(" ", text[span.start : end])
        text = text[: span.start] + blank + text[end:]
    return text, declared


def _with_given(
    given: Given,
    declared: Relation | None,
    catalog: Catalog,
    setting: Setting,
    work: Path | None,
) -> Catalog:
    """The catalog in which a table has the given rows."""
    data = given.rows
    if given.origin is not None:
        data = _named(given.origin, setting)
        if isinstance(data, Path) and (data / HEADER).is_file():
            return _with_recording(given, declared, catalog, data)
    elif isinstance(data, Path):
        data = setting.path(str(data))
    named = given.options.get("event_time")
    arrives = given.options.get("arrives", ARRIVES)
    if declared is None:
        found = read_rows(data, named, arrives)
        return _defined(given, found, None, catalog, work)
    columns = _columns(declared)
    event_time = named or _event_time(declared)
    found = read_rows(data, event_time, arrives, columns)
    if isinstance(declared, LookupTable):
        return catalog.define(_lookup(given.table, found, declared))
    statement = partial(_statement, given, declared)
    return _defined(given, found, statement, catalog, work)


def _named(origin: str, setting: Setting) -> Any:
    if origin in setting.variables:
        return setting.variables[origin]
    path = setting.path(origin)
    return path if path.exists() else named_data(origin, setting.variables)


def _columns(declared: Relation) -> Schema:
    """The columns that rows of a table have; generated ones are computed."""
    if isinstance(declared, ConnectorTable):
        if declared.updating:
            raise RunProblem(
                f"the rows of '{declared.name}' are changes ({declared.format}), and "
                "rows that are given only come",
                hint=f"GIVEN {declared.name} FROM a recording of it",
            )
        return declared.physical
    return declared.schema


def _event_time(declared: Relation) -> str | None:
    """The column of a table that is its event time; None: the arrival is, or what is
    computed of a row."""
    if isinstance(declared, ConnectorTable):
        column = declared.watermark.column
        if column is not None:
            return column if column in declared.physical else None
        info = CONNECTORS.get(declared.connector).info
        # The event time of a message is when it was sent, and no column.
        if Framing.MESSAGES in info.framings or not info.has_event_time:
            return None
    elif isinstance(declared, LookupTable):
        return None
    from arroyo_nb.row_tables import event_time_column

    return event_time_column(declared.schema, None)


def _statement(given: Given, declared: Relation, found: StreamRows, place: Path) -> str:
    """The CREATE TABLE of given rows: that of the table, over a tape."""
    chooses = {"watermark", "event_time"} & given.options.keys()
    is_own = isinstance(declared, ConnectorTable) and (
        declared.watermark.column is not None
    )
    if not isinstance(declared, ConnectorTable) or chooses or not is_own:
        watermark: Any = given.options.get("watermark")
        if watermark is None and isinstance(declared, ConnectorTable):
            watermark = declared.watermark.fixed_delay if found.event_time else None
        return rows_statement(given.table, found, watermark, place)
    return columns_statement(declared, place, found.schema)


def columns_statement(
    declared: ConnectorTable, place: Path | None = None, columns: Schema | None = None
) -> str:
    """The CREATE TABLE of a table's columns and watermark, over a tape.

    Parameters
    ----------
    declared
        The table. What comes beside its records is a column like others.
    place
        Where the tape is; None: anywhere, as it is not read.
    columns
        The columns of its rows, of which some may be NULL; None: as declared.
    """
    path = str(place or f"{declared.name}.tape")
    options = {"connector": PLAYER, "path": path, "format": usual_format()}
    options |= written_event_time(declared)
    physical = columns or declared.physical
    spec = replace(declared.spec, physical=physical, metadata={})
    written = written_columns(replace(declared, spec=spec))
    return written_table(written_name(declared.name), written, options)


def _with_recording(
    given: Given, declared: Relation | None, catalog: Catalog, tape: Path
) -> Catalog:
    """The catalog in which a declared table is read from a recording."""
    if not isinstance(declared, ConnectorTable):
        raise RunProblem(
            f"'{given.table}' is not declared, and a recording does not say its "
            "columns",
            hint=f"CREATE TABLE {given.table} in a cell before, or in the query",
        )
    if given.options:
        raise RunProblem(
            "a recording has its own batches and the table its own watermark",
            hint="leave the options out",
        )
    options = {
        name: _written(value)
        for name, value in declared.spec.options.items()
        if _is_of_format(name, declared.connector)
    }
    options |= {"connector": PLAYER, "path": str(tape)}
    options |= written_event_time(declared)
    columns = written_columns(declared)
    text = written_table(written_name(declared.name), columns, options)
    return plan_script(text, catalog).catalog


def _is_of_format(option: str, connector: str) -> bool:
    """Whether an option says how records are read, not where they are."""
    own = {o.name for o in CONNECTORS.get(connector).info.options}
    tape = {o.name for o in CONNECTORS.get(PLAYER).info.options}
    return option not in {"connector", "type"} and (option not in own or option in tape)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lookup(name: str, found: StreamRows, declared: LookupTable) -> LookupTable:
    import pyarrow as pa

    rows = pa.Table.from_pylist([*found.rows], schema=arrow_schema(found.schema))
    return lookup_table(name, rows, declared.keys)


def _defined(
    given: Given,
    found: StreamRows,
    statement: Callable[[StreamRows, Path], str] | None,
    catalog: Catalog,
    work: Path | None,
) -> Catalog:
    """The catalog with a table of rows; their tape is written where there is a
    folder."""

    def plan(text: str) -> Plan:
        return plan_script(text, catalog)

    watermark = given.options.get("watermark")
    disorder = {key: v for key, v in given.options.items() if key in DISORDER}
    if work is None:
        found = disordered(found, disorder)
        place = Path(f"{given.table}.tape")
        text = (
            rows_statement(given.table, found, watermark, place)
            if statement is None
            else statement(found, place)
        )
        return plan(text).catalog
    after, _ = define_rows(
        given.table,
        found,
        watermark=watermark,
        disorder=disorder,
        catalog=catalog,
        plan=plan,
        readers=lambda _: (),
        work=work / given.table.lower().encode().hex(),
        path=None,
        write_statement=statement,
        look=check_interrupts,
    )
    return after


def _replanned(catalog: Catalog, names: frozenset[str]) -> Catalog:
    """The catalog with the views and tables of memory on the given rows."""
    done = set(names)

    def reads(table: Relation) -> tuple[Relation, ...]:
        return table.definition.reads if table.definition is not None else ()

    def is_affected(table: Relation) -> bool:
        return any(r.name.lower() in names or is_affected(r) for r in reads(table))

    def redo(catalog: Catalog, table: Relation) -> Catalog:
        if table.name.lower() in done or not isinstance(table, View | MemoryTable):
            return catalog
        done.add(table.name.lower())
        for below in reads(table):
            if is_affected(below):
                catalog = redo(catalog, below)
        assert table.definition is not None, "it reads something"
        return plan_script(table.definition.text, catalog, name=table.name).catalog

    for table in catalog.tables.values():
        if is_affected(table):
            catalog = redo(catalog, table)
    return catalog


def _live(plan: Plan, given: frozenset[str]) -> Iterator[ArroyoError]:
    """What a plan reads that was not given, and is not the same each time."""
    for sink in plan.sinks:
        for node in walk(sink):
            if isinstance(node, Source):
                table: ConnectorTable | LookupTable = node.table
                is_live = not CONNECTORS.get(table.connector).info.bounded
            elif isinstance(node, LookupJoin):
                table, is_live = node.table, node.table.asked
            else:
                continue
            if is_live and table.name.lower() not in given:
                yield RunProblem(
                    f"the test reads '{table.name}' ({table.connector}), which has "
                    "other rows each time",
                    span=node.span,
                    hint=f"write its rows into the test: GIVEN {table.name}; or GIVEN "
                    f"{table.name} FROM a recording",
                )
