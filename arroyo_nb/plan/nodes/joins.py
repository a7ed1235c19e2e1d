"""Two relations side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from arroyo_nb.plan.nodes.base import Changelog, Node, Stateful, changes, is_updating
from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import Field, Schema, maybe_null

if TYPE_CHECKING:
    from sqlglot import exp

How: TypeAlias = Literal["inner", "left", "right", "full"]


@dataclass(frozen=True)
class Joining(Node):
    """A row for each pair that matches, and for each row without a match of a side
    whose rows are all kept, which is then padded with NULLs.

    Parameters
    ----------
    left, right
        What is joined; no column name is in both.
    how
        Which sides' rows are all kept.
    keys
        Bound expressions of equal type, one over each side, that must be equal; NULL
        equals nothing.
    condition
        What else must be true of a pair, bound over the columns of both; an inner join
        has a filter above it instead.
    """

    left: Node
    right: Node
    how: How
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    condition: exp.Expr | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The left side, then the right one."""
        return (self.left, self.right)

    @cached_property
    def schema(self) -> Schema:
        """The left columns, then the right ones; a side that is padded has NULLs."""
        columns = (_padded(side.schema, padded) for side, padded in self.sides)
        return Schema(tuple(chain.from_iterable(columns)))

    @property
    def sides(self) -> tuple[tuple[Node, bool], ...]:
        """Each side, and whether it is padded where a row of the other has no match."""
        left, right = self.how in ("right", "full"), self.how in ("left", "full")
        return ((self.left, left), (self.right, right))

    @cached_property
    def changelog(self) -> Changelog:
        """Pairs of rows that stay do stay; a padded row goes when a match comes. Within
        a window all rows are known when the first pair is sent."""
        may_match_later = self.how != "inner" and self.window is None
        retracts = may_match_later or any(map(is_updating, self.inputs))
        return changes(retracts=retracts)

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """The window columns of the sides; one that is padded is NULL in some rows,
        and their window is another one."""
        return frozenset().union(
            *(side.window_columns for side, padded in self.sides if not padded)
        )


@dataclass(frozen=True)
class Join(Joining):
    """JOIN as written, before ``windowed_joins`` and ``updating_joins`` decide what it
    means."""


@dataclass(frozen=True)
class WindowJoin(Joining):
    """Pairs of rows of one window, whatever ``keys`` say, and the padded rows of each
    window; all of them are final.

    Sent when the watermark reaches the window's end, together with the rows that the
    sides send then. State: the rows of both sides, within the micro-batch that closes
    their window. The window of a pair is that of its rows, also where a side is padded;
    ``_timestamp`` is its end less the smallest unit of time.
    """


@dataclass(frozen=True)
class UpdatingJoin(Joining, Stateful):
    """A pair is sent as soon as both its rows have come, whatever their event times.

    State: all rows of both sides, by key. Changes are flushed at each trigger: what
    comes and goes between two of them is not seen. ``_timestamp`` of a pair is the
    later one, of a padded row its own, where it is timed or only appends. Rows have no
    window.
    """

    @cached_property
    def window(self) -> Window | None:
        """None: neither side has one."""
        return None

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """None: neither side has one."""
        return frozenset()


def _padded(fields: Iterable[Field], padded: bool) -> Iterable[Field]:
    # Most joins pad no side, and are made anew by several passes.
    return map(maybe_null, fields) if padded else fields
