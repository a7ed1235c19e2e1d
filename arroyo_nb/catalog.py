"""The tables a script may name: an immutable map, swapped in when a cell succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeAlias

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import Field, Schema
from arroyo_nb.source import Span

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    # The extension loads a catalog, and no plug-in before a cell asks for one.
    from arroyo_nb.connectors import Direction, TableSpec
    from arroyo_nb.functions.user_defined import UserFunction

DEFAULT_DELAY = timedelta(seconds=1)
"""What the watermark subtracts where no WATERMARK is declared."""

UNDECLARED = (
    "write CREATE TABLE {0}; if the kernel was restarted, run the cell that declares "
    "it again. A script with an error declares none"
)


@dataclass(frozen=True)
class Definition:
    """How a table came about, so that it can be made again somewhere else.

    Parameters
    ----------
    text
        The statement, without a semicolon. It has the secrets that its author wrote.
    reads
        The tables and views that it named, as they were then.
    """

    text: str = field(repr=False)
    reads: tuple[Relation, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Generated:
    """A generated column: a bound expression over the physical columns."""

    column: Field
    expression: exp.Expr


@dataclass(frozen=True)
class WatermarkClause:
    """How ``_timestamp`` and the watermark of a source are made.

    ``column`` is the declared event-time column (physical or generated), None for the
    connector's own time. ``expression`` is set, bound over physical columns, where
    the watermark is not ``column`` less a fixed ``delay``.
    """

    column: str | None = None
    delay: timedelta = DEFAULT_DELAY
    expression: exp.Expr | None = None

    @property
    def fixed_delay(self) -> timedelta | None:
        """What the watermark lies behind the newest event; None: an expression says."""
        return self.delay if self.expression is None else None


@dataclass(frozen=True)
class PartitionField:
    """An item of PARTITIONED BY: a transform of a column, which may have to be a
    time."""

    transform: str
    column: str
    of_times: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ConnectorTable:
    """A CREATE TABLE with a connector, checked and ready to be read or written."""

    spec: TableSpec
    connector: str
    direction: Direction
    order: tuple[str, ...]
    generated: tuple[Generated, ...] = ()
    watermark: WatermarkClause = field(default_factory=WatermarkClause)
    partitions: tuple[PartitionField, ...] = ()
    # Equal tables mean the same, however they were written.
    definition: Definition | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name as declared."""
        return self.spec.name

    @property
    def physical(self) -> Schema:
        """Columns that the connector reads or writes."""
        return self.spec.physical

    @property
    def format(self) -> str | None:
        """Its format; None where its connector takes none."""
        name = self.spec.options.get("format")
        return None if name is None else str(name)

    @property
    def updating(self) -> bool:
        """Whether its records are changes of rows instead of rows."""
        from arroyo_nb.formats import tells_changes

        return tells_changes(self.format)

    @property
    def schema(self) -> Schema:
        """All columns in declared order, generated ones among them."""
        made = {g.column.name: g.column for g in self.generated}
        return Schema(
            tuple(made.get(name) or self.physical[name] for name in self.order)
        )


LOOKUP_CACHE_BYTES, LOOKUP_CACHE_TTL = "lookup.cache.max_bytes", "lookup.cache.ttl"
"""Options of a lookup table that is asked by key."""


@dataclass(frozen=True)
class LookupTable:
    """A table whose rows a stream looks up by key (CREATE TEMPORARY TABLE).

    Parameters
    ----------
    spec
        Its physical columns are what a record holds, or for a table that is read
        whole, all; ``primary_key`` are the columns it is looked up by.
    connector
        Where its rows are.
    order
        Names of all columns, as they were declared.
    metadata
        Columns that are no part of a record: the key itself.
    asked
        Whether rows are asked for by key, and may be others the next time; else the
        table is read whole when a run first starts, and stays as it is.
    rows
        Rows that were handed in, where no connector reads them.
    """

    spec: TableSpec
    connector: str
    order: tuple[str, ...]
    metadata: tuple[Field, ...] = ()
    asked: bool = False
    rows: pa.Table | None = field(default=None, compare=False, repr=False)
    definition: Definition | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name as declared."""
        return self.spec.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns it is looked up by."""
        return self.spec.primary_key

    @property
    def schema(self) -> Schema:
        """All columns in declared order."""
        apart = {field.name: field for field in self.metadata}
        return Schema(
            tuple(apart.get(name) or self.spec.physical[name] for name in self.order)
        )

    @property
    def cache_bytes(self) -> int:
        """How much of what was found is kept; 0 keeps nothing."""
        return int(str(self.spec.options[LOOKUP_CACHE_BYTES]))

    @property
    def cache_ttl(self) -> timedelta | None:
        """How long what was found holds; None holds for ever."""
        ttl = self.spec.options.get(LOOKUP_CACHE_TTL)
        return ttl if isinstance(ttl, timedelta) else None


class LogicalPlan(Protocol):
    """What the catalog knows of a view's plan; the planner knows it as a Node."""

    @property
    def schema(self) -> Schema:
        """Columns of the query."""


@dataclass(frozen=True)
class View:
    """A named query (CREATE VIEW, CREATE TABLE AS); its plan is made once.

    ``headers`` has how its columns without a name of their own were typed.
    """

    name: str
    plan: LogicalPlan
    definition: Definition | None = field(default=None, compare=False, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def schema(self) -> Schema:
        """Columns of the query."""
        return self.plan.schema


@dataclass(frozen=True)
class MemoryTable:
    """A CREATE TABLE without a connector: a named edge of the dataflow, not storage.

    Parameters
    ----------
    name
        Name as declared.
    schema
        The declared columns.
    plan
        The query of its one INSERT, with those columns; None: it has none yet.
    """

    name: str
    schema: Schema
    plan: LogicalPlan | None = None
    definition: Definition | None = field(default=None, compare=False, repr=False)

    def filled(self, plan: LogicalPlan, insert: Definition) -> MemoryTable:
        """The table once it has its INSERT."""
        assert self.definition is not None
        text = f"{self.definition.text};\n{insert.text}"
        definition = Definition(text, insert.reads)
        return MemoryTable(self.name, self.schema, plan, definition)


Relation: TypeAlias = ConnectorTable | LookupTable | View | MemoryTable


@dataclass(frozen=True)
class Catalog:
    """Immutable name -> table; names are looked up case-insensitively. And the
    UDFs, by their lower-case names.

    >>> Catalog().names
    ()
    """

    tables: Mapping[str, Relation] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names as declared, in order of declaration."""
        return tuple(table.name for table in self.tables.values())

    def __contains__(self, name: str) -> bool:
        return name.lower() in self.tables

    def define(self, table: Relation) -> Catalog:
        """A catalog in which the name means this table, whatever it meant before."""
        return replace(self, tables={**self.tables, table.name.lower(): table})

    def without(self, name: str) -> Catalog:
        """A catalog in which the name means nothing."""
        tables = {n: t for n, t in self.tables.items() if n != name.lower()}
        return replace(self, tables=tables)

    def with_functions(self, functions: Mapping[str, UserFunction]) -> Catalog:
        """A catalog in which scripts may call these UDFs alone."""
        return replace(self, functions=functions)

    def get(self, name: str, *, span: Span | None = None) -> Relation:
        """The table of that name.

        Raises
        ------
        CatalogProblem
            When there is none; the hint names the nearest, or how there is one.
        """
        table = self.tables.get(name.lower())
        if table is None:
            raise CatalogProblem(
                f"Table {name} not found",
                span=span,
                hint=did_you_mean(name, self.names) or UNDECLARED.format(name),
            )
        return table
