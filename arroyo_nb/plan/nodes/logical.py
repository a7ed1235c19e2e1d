"""Nodes that say what was written, before the rewrites decide what it means.

They exist between build and rewrites only: ``verify`` refuses them afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes.base import (
    Changelog,
    Grouped,
    Node,
    OverFunctions,
    TableRows,
    changes,
    is_updating,
)
from arroyo_nb.plan.nodes.windows import Window
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from arroyo_nb.catalog import LookupTable, MemoryTable


@dataclass(frozen=True)
class Scan(TableRows):
    """A table of the catalog, before ``event_time`` gives it its watermark."""

    @cached_property
    def schema(self) -> Schema:
        """The declared columns, generated ones among them."""
        return self.table.schema


@dataclass(frozen=True)
class Lookup(Node):
    """A lookup table in FROM, before ``lookup_joins`` puts it into its join."""

    table: LookupTable

    @cached_property
    def schema(self) -> Schema:
        """The declared columns."""
        return self.table.schema


@dataclass(frozen=True)
class NotInserted(Node):
    """A memory table that is read before its INSERT: an error, told once a script has
    no other."""

    table: MemoryTable

    @cached_property
    def schema(self) -> Schema:
        """The declared columns."""
        return self.table.schema


@dataclass(frozen=True)
class Aggregate(Grouped):
    """GROUP BY as written, before ``windowed_group_by`` and ``updating_group_by``
    decide what it means.

    ``keys`` may hold one window call: which key is the window is for
    ``windowed_group_by`` to say.
    """


@dataclass(frozen=True)
class Over(OverFunctions):
    """OVER as written, before ``windowed_over`` and ``updating_ranks`` decide what it
    means: within the window where that is among the keys, else over all rows."""

    @cached_property
    def changelog(self) -> Changelog:
        """Without a window, a row that comes may change those that are there."""
        return changes(retracts=not self.window_keys or is_updating(self.input))

    @cached_property
    def window(self) -> Window | None:
        """The input's, where it is among the keys."""
        return self.input.window if self.window_keys else None

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """The input's, where one is among the keys."""
        return self.input.window_columns if self.window_keys else frozenset()
