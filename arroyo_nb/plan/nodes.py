"""The streaming plan: frozen nodes that say which rows flow and what they mean.

Each node answers three questions as derived attributes: ``schema`` (which columns),
``changelog`` (which changes) and ``window`` (which window its rows belong to). The
rules of the dialect are comparisons of these three.

Expressions inside a node are *bound*: sqlglot expressions of the node's own (they
are mutable, so they are copied on entry) in which every column is a bare quoted name
of the input's schema and every sub-expression has a type that :func:`type_of` reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.schema import WINDOW_STRUCT, Field, Schema, Type
from arroyo_nb.source import Span

if TYPE_CHECKING:
    from sqlglot import exp

    from arroyo_nb.catalog import ConnectorTable


class Changelog(Enum):
    """Which changes a relation sends."""

    APPEND = "append"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class Tumble:
    """Windows ``[n * width, (n + 1) * width)`` since the epoch, in UTC."""

    width: timedelta


@dataclass(frozen=True, slots=True)
class Hop:
    """Windows of ``width`` that start every ``slide``; a row lies in width / slide."""

    slide: timedelta
    width: timedelta


@dataclass(frozen=True, slots=True)
class Session:
    """Per key, runs of rows less than ``gap`` apart; end = last event time + gap."""

    gap: timedelta


Window: TypeAlias = Tumble | Hop | Session


@dataclass(frozen=True)
class Named:
    """An output column: a bound expression under the name a sink would see."""

    name: str
    expression: exp.Expr
    type: Type
    nullable: bool = True

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)


@dataclass(frozen=True)
class Measure:
    """One aggregate of a group.

    Parameters
    ----------
    name
        Output column.
    function
        Lower-case Arroyo name: count, sum, min, max, avg.
    arguments
        Bound expressions over the input; none for ``count(*)``.
    type
        Type of the result; ``nullable`` likewise.
    distinct
        Each distinct argument counts once.
    where
        The FILTER predicate, bound; rows for which it is not true do not count.
    """

    name: str
    function: str
    arguments: tuple[exp.Expr, ...]
    type: Type
    nullable: bool = True
    distinct: bool = False
    where: exp.Expr | None = None

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.nullable)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A relation. Inputs are the fields that are Nodes or tuples of Nodes."""

    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> Schema:
        """Visible columns; ``_timestamp`` is always there beside them."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Nodes that this one reads, left to right."""
        return ()

    @cached_property
    def changelog(self) -> Changelog:
        """Whether rows are ever taken back."""
        retracts = any(i.changelog is Changelog.RETRACT for i in self.inputs)
        return Changelog.RETRACT if retracts else Changelog.APPEND

    @cached_property
    def window(self) -> Window | None:
        """The window that each row belongs to; sticky once there is one. Kept: shared
        inputs would else be asked twice at each level of a union."""
        return next((i.window for i in self.inputs if i.window), None)

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """Names of the columns that are the window struct itself."""
        return frozenset()


@dataclass(frozen=True)
class Scan(Node):
    """A table of the catalog, before ``event_time`` gives it its watermark.

    Exists between build and rewrites only.
    """

    table: ConnectorTable

    @property
    def schema(self) -> Schema:
        return self.table.schema


@dataclass(frozen=True)
class Source(Node):
    """Rows as the connector delivers them: physical columns and ``_timestamp``,
    which is the connector's own event time (arrival where it has none)."""

    table: ConnectorTable

    @property
    def schema(self) -> Schema:
        return self.table.physical


@dataclass(frozen=True)
class Watermark(Node):
    """Sets ``_timestamp`` and the watermark that follows it; drops nothing.

    Parameters
    ----------
    event_time
        Bound expression for ``_timestamp``; None keeps the connector's.
    delay
        The watermark is the newest event time less this.
    expression
        Where the watermark is not a fixed delay: a bound timestamp expression whose
        maximum so far is the watermark. ``delay`` is then zero.
    """

    input: Node
    event_time: exp.Expr | None
    delay: timedelta
    expression: exp.Expr | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Project(Node):
    """One row out per row in; keeps ``_timestamp`` and the window."""

    input: Node
    items: tuple[Named, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return Schema(tuple(item.field for item in self.items))

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """Plain references to a window column of the input stay window columns."""
        inner = self.input.window_columns
        return frozenset(
            item.name
            for item in self.items
            if item.expression.key == "column" and item.expression.name in inner
        )


@dataclass(frozen=True)
class Filter(Node):
    """Rows for which the predicate is true; NULL is not true."""

    input: Node
    predicate: exp.Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @cached_property
    def window_columns(self) -> frozenset[str]:
        return self.input.window_columns


@dataclass(frozen=True)
class Union(Node):
    """UNION ALL: every row of every branch; the watermark is the least of theirs.

    Branches have the same column names and types in the same order (build casts).
    """

    branches: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @property
    def schema(self) -> Schema:
        return self.branches[0].schema

    @cached_property
    def window_columns(self) -> frozenset[str]:
        return frozenset.intersection(*(b.window_columns for b in self.branches))


@dataclass(frozen=True)
class Aggregate(Node):
    """GROUP BY as written, before ``windowed_group_by`` decides what it means.

    Exists between build and rewrites only. ``keys`` may hold one window call.
    """

    input: Node
    keys: tuple[Named, ...]
    measures: tuple[Measure, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        columns = [k.field for k in self.keys] + [m.field for m in self.measures]
        return Schema(tuple(columns))


@dataclass(frozen=True)
class WindowAggregate(Node):
    """One final row per key and window, sent when the watermark reaches its end.

    State: one accumulator per key and open window, held until the window closes.
    ``_timestamp`` of a row is the window's end less the smallest unit of time.

    Parameters
    ----------
    assign
        The window that each input row is put into; None where the input is already
        windowed, whose window is kept.
    window_name
        Output column of the window struct, which comes first.
    keys, measures
        The other group keys and the aggregates; output columns in this order.
    """

    input: Node
    assign: Window | None
    window_name: str
    keys: tuple[Named, ...]
    measures: tuple[Measure, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        window = Field(self.window_name, WINDOW_STRUCT, False)
        columns = [k.field for k in self.keys] + [m.field for m in self.measures]
        return Schema((window, *columns))

    @cached_property
    def window(self) -> Window | None:
        return self.assign or self.input.window

    @cached_property
    def window_columns(self) -> frozenset[str]:
        return frozenset((self.window_name,))


@dataclass(frozen=True)
class Sink(Node):
    """Where rows leave: a table, or the preview where ``table`` is None.

    The input already has the sink's column names and types, by position.
    """

    input: Node
    table: ConnectorTable | None
    name: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @cached_property
    def window_columns(self) -> frozenset[str]:
        return self.input.window_columns
