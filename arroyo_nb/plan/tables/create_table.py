"""CREATE TABLE -> a checked table of the catalog (arroyo-semantics a.4, a.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable, LookupTable, MemoryTable
from arroyo_nb.connectors import (
    CONNECTORS,
    Connector,
    Direction,
    TableSpec,
    ValidatesOptions,
    elsewhere_hint,
    format_options,
    only_connector,
)
from arroyo_nb.errors import ArroyoError, CatalogProblem, Unsupported, raise_all
from arroyo_nb.formats import (
    FORMATS,
    FRAMING,
    FRAMINGS,
    MAX_LENGTH,
    NEWLINE,
    column_problem,
    foreign_format_hint,
    format_columns,
    reading_problems,
    tells_changes,
)
from arroyo_nb.plan.expressions.scope import ErrorCollector
from arroyo_nb.plan.refusals import refuse_clauses
from arroyo_nb.plan.tables.change_tables import changes_problems
from arroyo_nb.plan.tables.columns import Declared, declared_columns
from arroyo_nb.plan.tables.disorder import (
    DISORDER_OPTIONS,
    check_disorder,
    has_disorder,
)
from arroyo_nb.plan.tables.lookup_tables import (
    CACHE_OPTIONS,
    check_temporary,
    lookup_table,
)
from arroyo_nb.plan.tables.memory_tables import is_memory_table, memory_table
from arroyo_nb.plan.tables.options import Options
from arroyo_nb.plan.tables.partitions import check_partitions, partitions
from arroyo_nb.plan.tables.watermarks import EVENT_TIME_OPTIONS, watermark_clause
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Schema, check_visible
from arroyo_nb.source import Span
from arroyo_nb.sql.dialect import name_span
from arroyo_nb.sql.statements import CreateTable
from arroyo_nb.with_options import Option, OptionKind, OptionValue

BAD_DATA = Option(
    "bad_data",
    OptionKind.ENUM,
    "a record that cannot be read: 'fail' ends the run, 'drop' leaves it out and "
    "counts it",
    default="fail",
    choices=("drop", "fail"),
)
IDLE = Option(
    "idle_micros",
    OptionKind.INT,
    "has no effect, as in Arroyo: when a source without rows would be left out of the "
    "watermark",
    in_identity=False,
)
COMMON_OPTIONS = (BAD_DATA, IDLE)
"""What tables of all connectors take."""

_DIRECTIONS = {direction.value: direction for direction in Direction}


def create_table(
    statement: CreateTable,
) -> ConnectorTable | LookupTable | MemoryTable:
    """The table that a statement declares.

    Raises
    ------
    ArroyoError
        For the errors of the statement, all that are independent; those of its
        options are wrapped as Arroyo wraps them.
    """
    create = statement.expression
    table_name = create.find(exp.Table)
    assert table_name is not None
    refuse_clauses(table_name)
    options_problems, problems = ErrorCollector(), ErrorCollector()
    properties = create.args["properties"].expressions
    options = Options.read(properties, options_problems)
    if is_memory_table(options) and not options_problems:
        return memory_table(statement, options)
    connector = options_problems.attempt(partial(_connector, options))
    if connector is None:
        raise _wrapped(statement, options_problems)
    table = _DeclaredTable(
        statement, options, connector, problems, options_problems
    ).build()
    if options_problems:
        problems.extend(_wrapped(statement, options_problems).problems)
    problems.raise_all()
    assert table is not None
    return table


def _wrapped(statement: CreateTable, problems: ErrorCollector) -> ArroyoError:
    """Arroyo names the table in front of each error of its options."""
    for problem in problems:
        _name_table(problem, statement.name)
        problem.span = problem.span or name_span(statement.expression)
    try:
        problems.raise_all()
    except ArroyoError as error:
        return error
    raise AssertionError("there is something to wrap")


def _name_table(problem: ArroyoError, table: str) -> None:
    problem.message = f"Failed to create table {table} caused by {problem.message}"


def _connector(options: Options) -> Connector:
    name = options.text("connector", required=True)
    profile = options.text("connection_profile")
    if profile is not None:
        raise CatalogProblem(
            f"connection profile '{profile}' not found",
            span=options.span("connection_profile"),
        )
    span = options.span("connector")
    try:
        return CONNECTORS.get(name or "", span=span)
    except CatalogProblem as problem:
        problem.hint = elsewhere_hint(name or "") or problem.hint
        raise


class _DeclaredTable:
    """One CREATE TABLE while it is read; errors go into two lists."""

    def __init__(
        self,
        statement: CreateTable,
        options: Options,
        connector: Connector,
        problems: ErrorCollector,
        option_problems: ErrorCollector,
    ) -> None:
        self._statement = statement
        self._options = options
        self._connector = connector
        self._info = connector.info
        self._problems = problems
        self._option_problems = option_problems
        schema = statement.expression.this
        self._entries = schema.expressions if isinstance(schema, exp.Schema) else []

    def build(self) -> ConnectorTable | LookupTable | None:
        """The table; None when an error is collected."""
        direction = self._option_problems.attempt(self._direction)
        values = self._values(direction)
        self._check_unknown(values)
        declared = declared_columns(
            self._entries,
            f"{self._statement.name} connector '{self._info.name}'",
            self._problems,
            self._info.metadata,
        )
        if direction is None or declared is None:
            return None
        declared = self._inferred(declared, values, direction) or declared
        if direction is Direction.LOOKUP:
            return self._lookup(declared, values)
        return self._stream(declared, values, direction)

    def _stream(
        self,
        declared: Declared,
        values: Mapping[str, OptionValue],
        direction: Direction,
    ) -> ConnectorTable | None:
        """A source or a sink."""
        create = self._statement.expression
        watermark = self._problems.attempt(
            partial(watermark_clause, self._entries, declared, self._options)
        )
        is_read = direction is Direction.SOURCE and not self._problems
        of_changes = tells_changes(str(values.get("format")))
        if watermark is not None and is_read and of_changes:
            self._option_problems.extend(
                changes_problems(create, declared, watermark, self._options)
            )
        by = self._problems.attempt(partial(partitions, create, self._info))
        if watermark is None or self._problems or self._option_problems:
            return None
        event_time = watermark.column
        # What is computed above the source cannot be stamped by its recorder.
        computes_time = event_time is not None and event_time not in declared.physical
        if computes_time:
            event_time = None
        spec = TableSpec(
            self._statement.name,
            declared.physical,
            values,
            event_time,
            declared.primary_key,
            metadata=declared.metadata,
            computes_time=computes_time,
        )
        table = ConnectorTable(
            spec,
            self._info.name,
            direction,
            declared.order,
            declared.generated,
            watermark,
            by or (),
        )
        self._check_table(table)
        return table

    def _check_table(self, table: ConnectorTable) -> None:
        """What its format, its connector and its partitions have against it."""
        # The columns of a sink may be those of a query that is still to come.
        inferred = table.direction is Direction.SINK and not table.order
        self._check_columns(table.spec if not inferred else None)
        if isinstance(self._connector, ValidatesOptions):
            for option, problem in self._connector.check(table.spec, table.direction):
                problem.span = self._options.span(option)
                self._option_problems.append(problem)
        if table.direction is Direction.SOURCE:
            self._option_problems.attempt(
                partial(
                    check_disorder,
                    table.spec.options,
                    self._connector,
                    table.physical,
                    self._options.span,
                )
            )
            for option, problem in reading_problems(table.spec.options):
                problem.span = self._options.span(option)
                self._option_problems.append(problem)
        # Columns that are not declared come with the first INSERT.
        if table.order:
            self._problems.attempt(partial(check_partitions, table))

    def _lookup(
        self, declared: Declared, values: Mapping[str, OptionValue]
    ) -> LookupTable | None:
        # Its key follows from its columns: with a bad one there is more to say of it.
        if self._problems or self._option_problems:
            return None
        spec = TableSpec(
            self._statement.name,
            declared.record,
            values,
            primary_key=declared.primary_key,
        )
        self._check_columns(spec)
        create, connector = self._statement.expression, self._connector
        return self._option_problems.attempt(
            partial(lookup_table, create, connector, spec, declared, self._options)
        )

    def _check_columns(self, spec: TableSpec | None) -> None:
        """That the format takes the columns of a record."""
        found = spec and column_problem(spec.record, spec.options)
        if found:
            option, what = found
            problem = CatalogProblem(what, span=self._options.span(option))
            self._option_problems.append(problem)

    def _check_unknown(self, values: Mapping[str, OptionValue]) -> None:
        """Options of a format that is not known cannot be told from unknown ones."""
        self._check_other_connectors()
        self._options.known.update(option.name for option in EVENT_TIME_OPTIONS)
        is_format_known = "format" in values or "format" not in self._options.given
        unknown = self._options.unknown(but="" if is_format_known else ".")
        if unknown is not None:
            self._option_problems.append(unknown)

    def _check_other_connectors(self) -> None:
        """Options of a format that only one connector, which is another, takes."""
        own = {option.name for option in self._info.options}
        for name in self._options.given:
            if name in own or name.partition(".")[0] not in FORMATS.names:
                continue
            if (other := only_connector(name)) is not None:
                self._options.known.add(name)
                self._option_problems.append(
                    CatalogProblem(
                        f"'{name}' is only supported for the {other} connector",
                        span=self._options.span(name),
                    )
                )

    def _direction(self) -> Direction:
        create, possible = self._statement.expression, self._info.directions
        # The grammar keeps TEMPORARY here.
        temporary = bool(create.args.get("unique"))
        if temporary:
            check_temporary(self._options)
        if temporary and Direction.LOOKUP not in possible:
            raise CatalogProblem(
                f"the connector '{self._info.name}' has no lookup (temporary) tables",
                span=self._options.span("connector"),
            )
        if temporary:
            return Direction.LOOKUP
        if not self._info.typed:
            (direction,) = possible - {Direction.LOOKUP}
            return direction
        word = self._options.text("type")
        if word is None:
            raise CatalogProblem(
                "required option 'type' not set",
                hint="write type = 'source' to read the table, type = 'sink' to write "
                "it",
            )
        wanted = _DIRECTIONS.get(word or "")
        if wanted is None or wanted not in self._info.directions:
            raise CatalogProblem(
                f"invalid value for 'type': `{word}`; the connector "
                f"'{self._info.name}' can be "
                + " or ".join(sorted(f"'{d.value}'" for d in self._info.directions)),
                span=self._options.span("type"),
            )
        return wanted

    def _of_direction(
        self, options: Iterable[Option], direction: Direction | None
    ) -> list[Option]:
        """The options that a table of a direction takes."""
        wanted = []
        for option in options:
            if direction is None or option.only in ("", direction.value):
                wanted.append(option)
            else:
                self._options.only[option.name] = option.only
        return wanted

    def _values(self, direction: Direction | None) -> dict[str, OptionValue]:
        problems = self._option_problems
        # Of a table that is neither, every option is known.
        wanted = self._of_direction(self._info.options, direction)
        values = self._options.take_all(wanted, problems)
        if direction is Direction.LOOKUP and self._info.looked_up_by_key:
            values |= self._options.take_all(CACHE_OPTIONS, problems)
        if self._info.formats:
            problems.attempt(partial(self._format, values, direction))
        # Any source can lack an event time, not only one that is decoded.
        if self._info.formats or Direction.SOURCE in self._info.directions:
            values |= self._options.take_all(COMMON_OPTIONS, problems)
        # Only where one is meant: they would drown the other options in a hint.
        if direction in (Direction.SOURCE, None) and has_disorder(self._options.given):
            values |= self._options.take_all(DISORDER_OPTIONS, problems)
        problems.attempt(partial(self._check_framing, values))
        return values

    def _check_framing(self, values: Mapping[str, OptionValue]) -> None:
        method, span = values.get(FRAMING.name), self._options.span(FRAMING.name)
        if method is not None and method not in FRAMINGS:
            raise CatalogProblem(
                f"Unknown framing method '{method}'",
                span=span,
                hint="write "
                + " or ".join(f"{FRAMING.name} = '{known}'" for known in FRAMINGS),
            )
        if method != NEWLINE and MAX_LENGTH.name in values:
            raise CatalogProblem(
                f"'{MAX_LENGTH.name}' is only of use with {FRAMING.name} = '{NEWLINE}'",
                span=self._options.span(MAX_LENGTH.name),
                hint=f"add {FRAMING.name} = '{NEWLINE}', or remove it",
            )
        name = str(values.get("format"))
        if method is not None and tells_changes(name):
            raise Unsupported(
                f"a message of the format '{name}' is one change: it takes no framing",
                span=span,
                hint="remove it",
            )

    def _formats_hint(self) -> str:
        known = self._info.formats
        usual = [name for name in known if FORMATS.get(name).usual]
        return "write " + " or ".join(f"format = '{name}'" for name in usual or known)

    def _format(
        self, values: dict[str, OptionValue], direction: Direction | None
    ) -> None:
        name = self._options.text("format")
        span = self._options.span("format")
        if name is None:
            kind = self._info.name.replace("_", " ").capitalize()
            raise CatalogProblem(
                f"'format' must be set for {kind} connection", hint=self._formats_hint()
            )
        if name not in FORMATS.names:
            raise CatalogProblem(
                f"unknown format '{name}'",
                span=span,
                hint=foreign_format_hint(name) or did_you_mean(name, FORMATS.names),
            )
        if name not in self._info.formats:
            raise Unsupported(
                f"the connector '{self._info.name}' does not take the format '{name}'",
                span=span,
                hint=self._formats_hint(),
            )
        values["format"] = name
        known = format_options(self._connector, name)
        options = self._of_direction(known, direction)
        values |= self._options.take_all(options, self._option_problems)

    def _inferred(
        self,
        declared: Declared,
        values: dict[str, OptionValue],
        direction: Direction,
    ) -> Declared | None:
        """Columns that the connector brings by itself."""
        # The columns follow from the options: with a bad one they would be wrong.
        if self._option_problems:
            return None
        try:
            own = self._connector.columns(values)
            if own is None and not declared.order and direction is Direction.SOURCE:
                own = format_columns(values)
            for name in () if own is None else own.names:
                check_visible(name)
        except ArroyoError as problem:
            # A connector knows no places, but quotes the value that it refuses.
            problem.span = problem.span or self._options.holding(problem.message)
            self._option_problems.append(problem)
            return None
        if own is not None and not declared.order:
            looked_up = direction is Direction.LOOKUP
            key = self._connector.key(values) if looked_up else ()
            return Declared(own.names, own, (), key)
        if own is not None and declared.physical != own:
            self._option_problems.append(_other_schema(self._info.name, own))
        if not declared.order and direction is not Direction.SINK:
            self._option_problems.append(
                CatalogProblem(
                    f"a {direction.value} needs its columns: only sources with "
                    "columns of their own can omit them"
                )
            )
        return None


def check_inferred(table: ConnectorTable, span: Span | None) -> None:
    """The columns of a query are those of a sink: they must fit its options.

    Raises
    ------
    ArroyoError
        For what does not, all of it; ``span`` is where the query is inserted.
    """
    check_partitions(table)
    connector = CONNECTORS.get(table.connector)
    problems: list[ArroyoError] = []
    if (found := column_problem(table.spec.record, table.spec.options)) is not None:
        problems.append(CatalogProblem(found[1]))
    if isinstance(connector, ValidatesOptions):
        problems += [p for _, p in connector.check(table.spec, table.direction)]
    for problem in problems:
        _name_table(problem, table.name)
        problem.span = span
    raise_all(problems)


def _other_schema(connector: str, own: Schema) -> CatalogProblem:
    return CatalogProblem(
        f"invalid schema for {connector} source; omit fields to rely on inference",
        hint=f"its columns are: {own}",
    )
