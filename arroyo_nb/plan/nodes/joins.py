"""Two relations side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from arroyo_nb.plan.nodes.base import Changelog, Node, Stateful, changes, is_updating
from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import Field, Schema

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
        left = _padded(self.left.schema, self.how in ("right", "full"))
        return Schema(
            (*left, *_padded(self.right.schema, self.how in ("left", "full")))
        )

    @cached_property
    def changelog(self) -> Changelog:
        """Pairs of rows that stay do stay; a padded row goes when a match comes."""
        retracts = self.how != "inner" or any(map(is_updating, self.inputs))
        return changes(retracts=retracts)


@dataclass(frozen=True)
class Join(Joining):
    """JOIN as written, before ``updating_joins`` decides what it means."""


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


def _padded(fields: Iterable[Field], padded: bool) -> Iterable[Field]:
    return (replace(f, nullable=f.nullable or padded) for f in fields)
