"""Statements -> catalog and logical sinks; the first pass over a script.

A bad statement does not stop the next: every independent error is collected, and a
table that failed to be created raises no further errors where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import assert_never

from sqlglot import exp

from arroyo_nb.catalog import (
    Catalog,
    ConnectorTable,
    Definition,
    LookupTable,
    MemoryTable,
    Relation,
    View,
)
from arroyo_nb.connectors import Direction
from arroyo_nb.errors import CatalogProblem, PlanProblem
from arroyo_nb.formats import usual_format
from arroyo_nb.plan import UPDATING_TTL
from arroyo_nb.plan import show_statements as answers
from arroyo_nb.plan.expressions.scope import ErrorCollector, SuppressedError
from arroyo_nb.plan.expressions.typing import (
    cast,
    is_nullable,
    place_of,
    type_of,
    typed,
)
from arroyo_nb.plan.nodes import (
    Named,
    Node,
    NotInserted,
    Project,
    Sink,
)
from arroyo_nb.plan.queries.ordering import OrderByClause, sort_keys, split_ordering
from arroyo_nb.plan.queries.select import Relations, plan_query, selected
from arroyo_nb.plan.refusals import refuse_clauses
from arroyo_nb.plan.script_files import ScriptFiles, SinkFiles
from arroyo_nb.plan.show_statements import StatementAnswer
from arroyo_nb.plan.tables.create_table import check_inferred, create_table
from arroyo_nb.plan.tables.memory_tables import without_effect
from arroyo_nb.plan.tables.options import read_interval
from arroyo_nb.registry import did_you_mean, nearest
from arroyo_nb.schema import NULL, WINDOW_STRUCT, Field, Schema
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import name_span, span_of
from arroyo_nb.sql.other_dialects import explain_error, setting_hint
from arroyo_nb.sql.statements import (
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Query,
    SetOption,
    ShowTables,
    Statement,
)

PREVIEW = "preview"
"""What the sink of a bare SELECT is called."""


_WINDOW_TYPE = str(WINDOW_STRUCT)


@dataclass
class Script:
    """What a script has said so far.

    Parameters
    ----------
    catalog
        The tables that were there before, and those that are declared.
    streamed
        Raises when a query breaks a rule of streaming.
    text
        The script's.
    broken
        Tables and views whose definition failed: an error that is already reported.
    strict
        Whether what Arroyo would refuse is refused.
    sinks
        What runs: one for each INSERT and bare SELECT, in order.
    options
        What was SET, the last value of each.
    notes
        What the reader should know, a sentence each.
    read_before
        The tables and views of before that statements name.
    asked
        The answers to SHOW TABLES and DESCRIBE; of EXPLAIN what would run.
    problems
        The errors so far, each with its place.
    """

    catalog: Catalog
    streamed: Callable[[Node], object]
    text: str
    broken: set[str] = field(default_factory=set)
    strict: bool = False
    sinks: list[Sink] = field(default_factory=list)
    options: dict[str, timedelta] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    read_before: list[Relation] = field(default_factory=list)
    asked: list[StatementAnswer | list[Sink]] = field(default_factory=list)
    problems: ErrorCollector = field(default_factory=ErrorCollector)
    _files: ScriptFiles = field(default_factory=ScriptFiles)
    _declared: set[str] = field(default_factory=set)
    _own: dict[str, Relation] = field(default_factory=dict)
    _not_inserted: list[NotInserted] = field(default_factory=list)

    def read(self, statement: Statement) -> None:
        """Take in one statement; its errors are collected, each with a place."""
        before = len(self.problems)
        self._read(statement)
        for problem in self.problems[before:]:
            problem.span = problem.span or statement.span
            explain_error(problem, self.text[statement.span.start : statement.span.end])

    def _read(self, statement: Statement) -> None:
        match statement:
            case CreateTable() | CreateView():
                self._define(statement)
            case SetOption():
                self.problems.attempt(partial(self._set, statement))
            case Insert():
                self.problems.attempt(partial(self._insert, statement))
            case Query():
                self.problems.attempt(partial(self._query, statement))
            case ShowTables():
                self.asked.append(answers.tables(self.catalog))
            case Describe() | Drop():
                self.problems.attempt(partial(self._about, statement))
            case Explain():
                self._explain(statement)
            case _:
                assert_never(statement)

    def _keep(self, sink: Sink) -> None:
        self._files.add(SinkFiles.of(sink))
        self.sinks.append(sink)

    def _relations(self) -> Relations:
        return Relations(
            self.catalog,
            broken=frozenset(self.broken),
            not_inserted=self._not_inserted,
        )

    def _planned(
        self, query: exp.Expr, *, outermost: bool = True
    ) -> tuple[Node, Relations]:
        """A query's plan, and the tables and views that it names."""
        relations = replace(self._relations(), outermost=outermost)
        node = plan_query(query, relations)
        for table in relations.found:
            self._met(table)
        return node, relations

    def _met(self, table: Relation) -> None:
        if self._own.get(table.name.lower()) is not table:
            self.read_before.append(table)

    def _define(self, statement: CreateTable | CreateView) -> None:
        name = statement.name.lower()
        if name in self._declared:
            place = name_span(statement.expression)
            self.problems.append(declared_twice(statement.name, place))
            return
        self._declared.add(name)
        made = self.problems.attempt(partial(self._declared_relation, statement))
        if made is None:
            self.broken.add(name)
            return
        if made.name in self.catalog:
            self.notes.append(f"{made.name} replaces the table of an earlier cell")
        self.catalog = self.catalog.define(made)
        self._own[name] = made

    def _declared_relation(self, statement: CreateTable | CreateView) -> Relation:
        text = self.text[statement.span.start : statement.span.end]
        if isinstance(statement, CreateTable):
            table = create_table(statement)
            if isinstance(table, MemoryTable):
                self.notes.extend(without_effect(statement))
            return replace(table, definition=Definition(text))
        return self._view(statement, text)

    def _view(self, statement: CreateView, text: str) -> View:
        create = statement.expression
        properties = create.args["properties"].expressions
        if properties or not isinstance(create.this, exp.Table):
            is_view = create.args.get("kind") == "VIEW"
            what = "a view" if is_view else "a table made with CREATE TABLE AS"
            raise PlanProblem(
                f"{what} takes its columns from its query: it has no column list and "
                "no options",
                span=span_of(create.this),
                hint=_of_query_hint(statement.name, writes=bool(properties)),
            )
        refuse_clauses(create.this)
        plan, read = self._planned(create.expression, outermost=False)
        memory = (t for t in read.found if isinstance(t, MemoryTable))
        for table in memory:
            self._check_view_of_memory(table, span_of(create.this))
        # Here, not where it is read: a view that nobody reads is checked as well. What
        # is not inserted has no rules yet, and is told by itself.
        if not self._not_inserted:
            self.streamed(plan)
        names = set(plan.schema.names)
        headers = {name: h for name, h in read.headers.items() if name in names}
        definition = Definition(text, tuple(read.found))
        return View(statement.name, plan, definition, headers)

    def _check_view_of_memory(self, table: MemoryTable, span: Span | None) -> None:
        """Arroyo plans views before it fills memory tables."""
        message = _not_inserted_yet(table)
        if self.strict:
            raise PlanProblem(
                message,
                span=span,
                hint=f"read {table.name} in the queries themselves: a view of a memory "
                "table runs without the strict option",
            )
        self.notes.append(f"Arroyo would refuse this: {message}")

    def check_inserted(self) -> None:
        """Refuse to read memory tables that have no INSERT before; for a script that
        has no other error.

        Raises
        ------
        PlanProblem
            For each place where one is read.
        """
        for node in self._not_inserted:
            name = node.table.name
            self.problems.append(
                PlanProblem(
                    _not_inserted_yet(node.table),
                    span=node.span,
                    hint=f"write INSERT INTO {name} SELECT ... before this query",
                )
            )
        self.problems.raise_all()

    def _set(self, statement: SetOption) -> None:
        (item,) = statement.expression.expressions
        if not isinstance(item, exp.SetItem):
            raise PlanProblem("invalid syntax for `SET` call", span=statement.span)
        if statement.name.lower() != UPDATING_TTL:
            raise PlanProblem(
                f"invalid option '{statement.name}'; supported options are "
                f"'{UPDATING_TTL}'",
                span=span_of(item.this),
                hint=nearest(statement.name, [UPDATING_TTL])
                or setting_hint(statement.name),
            )
        if len(item.expressions) != 1:
            raise PlanProblem(
                "invalid `SET updating_ttl` call; expected exactly one expression",
                span=statement.span,
            )
        self.options[UPDATING_TTL] = read_interval(item.expressions[0])

    def _about(self, statement: Describe | Drop) -> None:
        name = statement.name
        if name.lower() in self.broken:
            raise SuppressedError(f"Table {name} failed to be created")
        if isinstance(statement, Drop):
            self._drop(statement)
            return
        table = self.catalog.get(name, span=statement.span)
        self.asked.append(answers.description(table))

    def _drop(self, statement: Drop) -> None:
        """Forget a table; views that read it, and runs, have it still."""
        if statement.if_exists and statement.name not in self.catalog:
            return
        table = self.catalog.get(statement.name, span=statement.span)
        if statement.view_only and not isinstance(table, View):
            raise CatalogProblem(
                f"'{table.name}' is a table, not a view",
                span=statement.span,
                hint=f"write DROP TABLE {table.name}",
            )
        self.catalog = self.catalog.without(table.name)
        self._declared.discard(table.name.lower())
        self._own.pop(table.name.lower(), None)
        readers = [v.name for v in self.catalog.tables.values() if _reads(v, table)]
        if readers:
            self.notes.append(
                f"{table.name} is dropped; {', '.join(readers)} still reads it as it "
                "was"
            )

    def _explain(self, statement: Explain) -> None:
        sinks, self.sinks = self.sinks, []
        explained, before, own = statement.statement, self.catalog, dict(self._own)
        self._read(explained)
        sinks, self.sinks = self.sinks, sinks
        if isinstance(explained, Insert) and self.catalog is not before:
            table = self.catalog.get(explained.name)
            assert isinstance(table, MemoryTable)
            assert isinstance(table.plan, Node)
            sinks = [Sink(table.plan, None, table.name, span=statement.span)]
            # Nothing is inserted: what would be is told.
            self.catalog, self._own = before, own
        self.asked.append(sinks)

    def _query(self, statement: Query) -> None:
        # In strict mode they stay, and are refused as anywhere else.
        whole = OrderByClause(statement.expression)
        ordering = whole if self.strict else split_ordering(statement.expression)
        node, read = self._planned(ordering.query)
        order = sort_keys(ordering.keys, node.schema)
        limit, span = ordering.limit, statement.span
        headers = tuple(read.headers.get(name, name) for name in node.schema.names)
        self._keep(Sink(node, None, PREVIEW, order, limit, headers, span=span))

    def _insert(self, statement: Insert) -> None:
        insert = statement.expression
        refuse_clauses(insert)
        target = insert.find(exp.Table)
        assert target is not None
        span = span_of(target)
        refuse_clauses(target)
        node, read = self._planned(insert.expression)
        table = self._target(statement.name, span)
        # A target with a list of columns is a Schema to sqlglot.
        columns = insert.this.expressions if isinstance(insert.this, exp.Schema) else []
        if isinstance(table, MemoryTable):
            node = _mapped(node, table.schema, columns, span)
            text = self.text[statement.span.start : statement.span.end]
            self._fill(table.filled(node, Definition(text, tuple(read.found))))
            return
        if not table.order:
            table = self._inferred(table, node, span)
        node = _mapped(node, table.physical, columns, span)
        self._keep(Sink(node, table, table.name, span=statement.span))

    def _fill(self, table: MemoryTable) -> None:
        self.catalog = self.catalog.define(table)
        self._own[table.name.lower()] = table

    def _target(self, name: str, span: Span | None) -> ConnectorTable | MemoryTable:
        if name.lower() in self.broken:
            raise SuppressedError(f"Table {name} failed to be created")
        if name not in self.catalog:
            raise CatalogProblem(
                f"Connection {name} not found",
                span=span,
                hint=nearest(name, self.catalog.names)
                or f"declare it first: CREATE TABLE {name} WITH (connector = '...', "
                f"type = 'sink', format = '{usual_format()}', ...)",
            )
        table = self.catalog.get(name, span=span)
        self._met(table)
        if isinstance(table, View):
            raise PlanProblem(
                "shouldn't be inserting more data into a table made with CREATE TABLE "
                "AS",
                span=span,
                hint=f"'{table.name}' is a view: INSERT INTO a table of a connector",
            )
        if isinstance(table, LookupTable):
            raise PlanProblem(
                "lookup (temporary) tables cannot be inserted into",
                span=span,
                hint=f"'{table.name}' is only looked up, in a JOIN",
            )
        if isinstance(table, MemoryTable):
            if table.plan is not None:
                raise PlanProblem(
                    "Can only insert into a memory table once",
                    span=span,
                    hint="write one INSERT of the queries with UNION ALL; in a later "
                    f"cell declare it again first: CREATE TABLE {table.name} (...)",
                )
            return table
        if table.direction is Direction.SOURCE:
            raise PlanProblem(
                f"attempted to insert into table '{table.name}', but it is a source",
                span=span,
            )
        return table

    def _inferred(
        self, table: ConnectorTable, node: Node, span: Span | None
    ) -> ConnectorTable:
        """A sink without columns has those of the query; all its inserts agree."""
        tables = (sink.table for sink in self.sinks if sink.table is not None)
        before = next((t for t in tables if t.name == table.name), None)
        schema = node.schema
        if before is not None:
            schema = _agreed(before.physical, schema, span)
        spec = replace(table.spec, physical=schema)
        table = replace(table, spec=spec, order=schema.names)
        check_inferred(table, span)
        if before is not None:
            self.sinks = [
                replace(sink, table=table) if sink.table is before else sink
                for sink in self.sinks
            ]
        return table


def _agreed(one: Schema, other: Schema, span: Span | None) -> Schema:
    """The columns of two inserts into one table: NULL may be in them where it may be in
    one of the two."""
    if not _converts_nothing(one, other):
        raise PlanProblem(
            f"all inserts into a table must share the same schema: ({one}) is not "
            f"({other})",
            span=span,
        )
    return one.with_nulls_of(other)


def _converts_nothing(one: Schema, other: Schema) -> bool:
    """Whether names and types are the same: that a column may be NULL, or not, converts
    no value."""
    return [(f.name, f.type) for f in one] == [(f.name, f.type) for f in other]


def _not_inserted_yet(table: MemoryTable) -> str:
    return (
        f"Can't query from memory table {table.name} without first inserting into it."
    )


def _of_query_hint(name: str, *, writes: bool) -> str:
    """What to write in place of CREATE TABLE AS with options, or with columns."""
    if writes:
        return f"CREATE TABLE {name} WITH (...), then INSERT INTO {name} SELECT ..."
    return f"write CREATE VIEW {name} AS SELECT ... AS column"


def _reads(view: Relation, table: Relation) -> bool:
    """Whether a view was made of a table, or of one that was."""
    is_query = isinstance(view, View | MemoryTable)
    definition = view.definition if is_query else None
    read = definition.reads if definition is not None else ()
    return any(one is table or _reads(one, table) for one in read)


def declared_twice(name: str, span: Span | None) -> CatalogProblem:
    """The error for a second table of one name in a script."""
    return CatalogProblem(
        f"the table '{name}' is declared twice in this script",
        span=span,
        hint="give it another name: Arroyo would silently use the later one",
    )


def _mapped(
    node: Node, wanted: Schema, columns: list[exp.Expr], span: Span | None
) -> Node:
    """The query's columns as the sink's, by position."""
    targets = _targets(wanted, columns, span)
    if len(targets) != len(node.schema):
        raise PlanProblem(
            "Column count doesn't match insert query! The query has "
            f"{len(node.schema)} columns, the table takes {len(targets)}",
            span=span,
        )
    if _converts_nothing(wanted, node.schema):
        return node
    below, values = selected(node)
    given = {t.name: values[f.name] for t, f in zip(targets, node.schema, strict=True)}
    items = tuple(_item(field, given.get(field.name), span) for field in wanted)
    return Project(below, items, span=node.span)


def _targets(wanted: Schema, columns: list[exp.Expr], span: Span | None) -> list[Field]:
    if not columns:
        return list(wanted)
    targets = []
    for identifier in columns:
        named = wanted.get(identifier.name) or wanted.get(identifier.name.lower())
        if named is None or named in targets:
            what = "is named twice" if named else "not found"
            raise CatalogProblem(
                f"column '{identifier.name}' {what}",
                span=span_of(identifier) or span,
                hint=did_you_mean(identifier.name, wanted.names),
            )
        targets.append(named)
    return targets


def _item(field: Field, value: exp.Expr | None, span: Span | None) -> Named:
    if value is None and not field.nullable:
        raise PlanProblem(
            f"column '{field.name}' is NOT NULL, but the insert does not fill it",
            span=span,
        )
    value = typed(exp.Null(), NULL) if value is None else value
    # A window is one still in a memory table, though DDL cannot say that its start and
    # end are never NULL.
    is_window = type_of(value) == WINDOW_STRUCT and str(field.type) == _WINDOW_TYPE
    type_ = WINDOW_STRUCT if is_window else field.type
    try:
        converted = cast(value, type_)
    except CatalogProblem as problem:
        problem.message = f"column '{field.name}': {problem.message}"
        problem.span = place_of(value) or span
        raise
    return Named(field.name, converted, type_, is_nullable(value))
