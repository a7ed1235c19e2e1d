"""Nodes that say what was written, before the rewrites decide what it means.

They exist between build and rewrites only: ``verify`` refuses them afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes.base import Grouped, Node, Numbered, TableRows
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from arroyo_nb.catalog import LookupTable


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
class Aggregate(Grouped):
    """GROUP BY as written, before ``windowed_group_by`` and ``updating_group_by``
    decide what it means.

    ``keys`` may hold one window call: which key is the window is for
    ``windowed_group_by`` to say.
    """


@dataclass(frozen=True)
class Rank(Numbered):
    """OVER as written, before ``updating_ranks`` decides what it means."""
