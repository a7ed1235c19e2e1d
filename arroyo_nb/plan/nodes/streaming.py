"""Nodes that Spark runs: what is left of a plan after the rewrites."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes.base import (
    Changelog,
    Grouped,
    Node,
    Numbered,
    OverFunctions,
    PassedThrough,
    Stateful,
    TableRows,
    Unary,
    group_fields,
)
from arroyo_nb.plan.nodes.columns import Limit, Measure, Named
from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import WINDOW_STRUCT, Field, Schema

if TYPE_CHECKING:
    from sqlglot import exp

    from arroyo_nb.catalog import ConnectorTable


@dataclass(frozen=True)
class Source(TableRows):
    """Rows as the connector delivers them: physical columns and ``_timestamp``,
    which is the connector's own event time (arrival where it has none).

    Of a debezium table these are changes of the declared row: ``c`` and ``r`` append,
    ``d`` retracts, ``u`` does both; ``table.spec.primary_key`` names the row.
    """

    @cached_property
    def schema(self) -> Schema:
        """The columns that the connector delivers, generated ones left out."""
        return self.table.physical


@dataclass(frozen=True)
class Watermark(Unary):
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

    event_time: exp.Expr | None
    delay: timedelta
    expression: exp.Expr | None = None


@dataclass(frozen=True)
class Project(PassedThrough):
    """One row out per row in; keeps ``_timestamp`` and the window."""

    items: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        """A column for each item."""
        return Schema(tuple(item.field for item in self.items))

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """Plain references to a window column of the input stay window columns."""
        # The key names the class: sqlglot is not imported for it.
        inner = self.input.window_columns
        return frozenset(
            item.name
            for item in self.items
            if item.expression.key == "column" and item.expression.name in inner
        )


@dataclass(frozen=True)
class Filter(PassedThrough):
    """Rows for which the predicate is true; NULL is not true."""

    predicate: exp.Expr


@dataclass(frozen=True)
class Unnest(Unary):
    """A row for each element of a list, none where that is empty or NULL.

    An element that is taken back is that of the same place in the list.

    Parameters
    ----------
    list
        Bound over the input.
    element
        The output column behind those of the input.
    """

    list: exp.Expr
    element: Field

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, then the element."""
        return Schema((*self.input.schema, self.element))


@dataclass(frozen=True)
class Union(Node):
    """UNION ALL: every row of every branch; the watermark is the least of theirs.

    Branches have the same column names and types in the same order (build casts). Rows
    of branches that have different windows, or none, have none.

    Parameters
    ----------
    branches
        What is united.
    of_inserts
        Whether it was written as several INSERTs into one sink.
    """

    branches: tuple[Node, ...]
    of_inserts: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The branches, in the order they were written."""
        return self.branches

    @cached_property
    def schema(self) -> Schema:
        """The first branch's columns, NULL where those of any branch may be."""
        return reduce(Schema.with_nulls_of, (b.schema for b in self.branches))

    @cached_property
    def window(self) -> Window | None:
        """The window of every branch."""
        first, *others = (branch.window for branch in self.branches)
        return first if all(other == first for other in others) else None

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """What is a window column in every branch."""
        if self.window is None:
            return frozenset()
        return frozenset.intersection(*(b.window_columns for b in self.branches))


@dataclass(frozen=True)
class WindowAggregate(Unary):
    """One final row per key and window, sent when the watermark reaches its end.

    Rows of the input that are taken back before that leave their windows; what is
    taken back later is late, as rows are.

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

    assign: Window | None
    window_name: str
    keys: tuple[Named, ...]
    measures: tuple[Measure, ...]

    @cached_property
    def schema(self) -> Schema:
        """The window, then the keys, then the measures."""
        window = Field(self.window_name, WINDOW_STRUCT, False)
        return Schema((window, *group_fields(self.keys, self.measures)))

    @cached_property
    def changelog(self) -> Changelog:
        """What it sends is final."""
        return Changelog.APPEND

    @cached_property
    def window(self) -> Window | None:
        """The window that it assigns, else the one its input has."""
        return self.assign or self.input.window

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """The one column that holds the window."""
        return frozenset((self.window_name,))


@dataclass(frozen=True)
class UpdatingAggregate(Grouped, Stateful):
    """One row per key that has rows, retracted and sent anew whenever it changes.

    Changes are flushed at each trigger: what comes and goes between two of them is not
    seen, and a row that did not change is not sent again. Without keys there is one
    row, and none before the first input.

    State: per key what the aggregates need (under retraction a multiset of the values
    for those that do not subtract) and the row last sent. Where the plan forgets idle
    keys, one that gets no append for its ``updating_ttl`` is retracted and forgotten;
    it is processing time that counts. ``_timestamp`` of a timed row is the latest of
    its key's inputs.
    Rows have no window, also where those of the input have one.
    """

    @cached_property
    def changelog(self) -> Changelog:
        """It takes back what it sent."""
        return Changelog.RETRACT


@dataclass(frozen=True)
class WindowOver(OverFunctions):
    """The rows of a window with what functions with OVER give for each, once the
    watermark has closed it.

    All rows of a window come in one micro-batch, whatever the boundaries of batches:
    every node that sends windowed rows sends those of a window together. So there is
    no state. The window and ``_timestamp`` of a row are the input's.

    Parameters
    ----------
    limit
        Which rows are sent, by a function that is among the columns; None for all.
    """

    limit: Limit | None = None


@dataclass(frozen=True)
class UpdatingRank(Numbered, Stateful):
    """The rows of the input with their numbers, those that move sent anew.

    State: per key its rows. Where the input only appends, those that the limit lets
    through are enough. ``_timestamp`` of a timed row is the input's.

    Parameters
    ----------
    limit
        Which rows are sent; None for all.
    """

    limit: Limit | None = None


@dataclass(frozen=True)
class SortKey:
    """A column of a result that its rows are sorted by.

    Parameters
    ----------
    column
        Its name.
    descending, nulls_first
        In which order, and where NULL comes.
    """

    column: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        nulls = "FIRST" if self.nulls_first else "LAST"
        odd = f" NULLS {nulls}" if self.nulls_first != self.descending else ""
        return f"{self.column}{' DESC' if self.descending else ''}{odd}"


@dataclass(frozen=True)
class Sink(Unary):
    """Where rows leave: a table, or the preview where ``table`` is None.

    The input already has the sink's column names and types, by position. Of a preview
    ``order`` sorts what is kept, and ``limit`` is how many rows it has; ``headers`` has
    what its columns are called where they are shown: as the author typed them.
    """

    table: ConnectorTable | None
    name: str
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    # Nothing that is computed depends on it, and no state.
    headers: tuple[str, ...] = field(default=(), compare=False, repr=False)
