"""What every node answers, and what those of one kind answer alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes.columns import (
    Measure,
    Named,
    Number,
    Ordering,
    OverColumn,
)
from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import Field, Schema
from arroyo_nb.source import Span

if TYPE_CHECKING:
    from sqlglot import exp

    from arroyo_nb.catalog import ConnectorTable


class Changelog(Enum):
    """Which changes a relation sends: rows alone, or rows that are taken back too.

    A relation of retracts is *updating*; an update is a retract of the old row and an
    append of the new one. Which of the two a row is stands beside its columns, never
    in the schema.
    """

    APPEND = "append"
    RETRACT = "retract"


_DERIVED = ("kinds", "schema", "changelog", "window", "window_columns", "origin")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A relation. Inputs are the fields that are Nodes or tuples of Nodes.

    Each derived attribute is computed once, when the node is made: the inputs have
    theirs by then. Computed when they are first read, they would recurse through a
    lineage of thousands of views.
    """

    # Equal nodes mean the same, wherever in the script they were written.
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in _DERIVED:
            getattr(self, name)

    @cached_property
    def schema(self) -> Schema:
        """Visible columns; ``_timestamp`` is always there beside them."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Nodes that this one reads, left to right."""
        return ()

    @cached_property
    def kinds(self) -> frozenset[type[Node]]:
        """The classes of this node and of all below it."""
        return frozenset((type(self),)).union(*(i.kinds for i in self.inputs))

    @cached_property
    def changelog(self) -> Changelog:
        """Whether rows are ever taken back."""
        return changes(retracts=any(map(is_updating, self.inputs)))

    @cached_property
    def window(self) -> Window | None:
        """The window that each row belongs to; sticky once there is one."""
        return next((i.window for i in self.inputs if i.window), None)

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """Names of the columns that are the window struct itself."""
        return frozenset()

    @property
    def origin(self) -> Node:
        """The node that makes the rows: the first one below filters and select lists.
        A rewrite that passes through these asks it before it descends."""
        return self


def changes(*, retracts: bool) -> Changelog:
    """The changelog of a relation that takes rows back, or of one that never does."""
    return Changelog.RETRACT if retracts else Changelog.APPEND


def is_updating(node: Node) -> bool:
    """Whether rows of the relation are ever taken back."""
    return node.changelog is Changelog.RETRACT


@dataclass(frozen=True)
class Unary(Node):
    """A node over one input; its rows are the input's, unless it says otherwise."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        """The input's columns."""
        return self.input.schema

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """The input's window columns."""
        return self.input.window_columns


@dataclass(frozen=True)
class PassedThrough(Unary):
    """A node that hands on rows of its input, with the same or other columns."""

    @cached_property
    def origin(self) -> Node:
        """The node that the input's rows come from, below filters and select lists."""
        return self.input.origin


@dataclass(frozen=True, kw_only=True)
class Stateful(Node):
    """A node whose state is kept by an operator of :mod:`arroyo_nb.changelog`.

    Parameters
    ----------
    timed
        Whether the event time is a part of a row that may be taken back: a row that
        has another one is sent anew, and a retract has that of its append. Else rows
        that may be taken back have no event time that means anything: nobody asks it.
    """

    timed: bool = False


@dataclass(frozen=True)
class TableRows(Node):
    """Rows of a table of the catalog."""

    table: ConnectorTable

    @cached_property
    def changelog(self) -> Changelog:
        """How the table's rows change: append or retract."""
        return changes(retracts=self.table.updating)


@dataclass(frozen=True)
class Unwindowed(Unary):
    """A node whose rows have no window, also where those of its input have one."""

    @cached_property
    def window(self) -> Window | None:
        """None: a key has rows of many windows."""
        return None

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """None: what was a window is a struct like any other."""
        return frozenset()


@dataclass(frozen=True)
class Grouped(Unwindowed):
    """One row per key, of no window.

    Parameters
    ----------
    keys, measures
        The group keys and the aggregates; output columns in this order. SELECT
        DISTINCT and UNION have no measures.
    """

    keys: tuple[Named, ...]
    measures: tuple[Measure, ...]

    @cached_property
    def schema(self) -> Schema:
        """The keys, then the measures."""
        return Schema(group_fields(self.keys, self.measures))


@dataclass(frozen=True)
class OverFunctions(Unary):
    """The rows of the input with what functions with one OVER give for each.

    Parameters
    ----------
    keys, order
        PARTITION BY and ORDER BY, bound over the input. Rows that are equal in the
        order are in the order of all their columns.
    columns
        The functions; output columns behind those of the input.
    """

    keys: tuple[exp.Expr, ...]
    order: tuple[Ordering, ...]
    columns: tuple[OverColumn, ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, then the functions."""
        made = (column.field for column in self.columns)
        return Schema((*self.input.schema, *made))

    @cached_property
    def window_keys(self) -> tuple[exp.Expr, ...]:
        """Those of the keys that are the input's window."""
        # The key names the class: sqlglot is not imported for it.
        windows = self.input.window_columns
        return tuple(k for k in self.keys if k.key == "column" and k.name in windows)


@dataclass(frozen=True)
class Numbered(Unwindowed):
    """The rows of the input with their numbers in an order, of no window.

    Parameters
    ----------
    keys, order
        PARTITION BY and ORDER BY, bound over the input. Rows that are equal in the
        order are numbered in the order of their columns.
    numbers
        The numbers; output columns behind those of the input.
    """

    keys: tuple[exp.Expr, ...]
    order: tuple[Ordering, ...]
    numbers: tuple[Number, ...]

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, then the numbers."""
        numbers = (number.field for number in self.numbers)
        return Schema((*self.input.schema, *numbers))

    @cached_property
    def changelog(self) -> Changelog:
        """A row that comes moves those after it."""
        return Changelog.RETRACT


def group_fields(
    keys: tuple[Named, ...], measures: tuple[Measure, ...]
) -> tuple[Field, ...]:
    """The output columns of an aggregate."""
    return (*(key.field for key in keys), *(measure.field for measure in measures))
