"""Nodes that say what was written, before the rewrites decide what it means.

They exist between build and rewrites only: ``verify`` refuses them afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.plan.nodes.base import Node, Unary
from arroyo_nb.plan.nodes.columns import Measure, Named
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable


@dataclass(frozen=True)
class Scan(Node):
    """A table of the catalog, before ``event_time`` gives it its watermark."""

    table: ConnectorTable

    @property
    def schema(self) -> Schema:
        """The declared columns, generated ones among them."""
        return self.table.schema


@dataclass(frozen=True)
class Aggregate(Unary):
    """GROUP BY as written, before ``windowed_group_by`` decides what it means.

    ``keys`` may hold one window call.
    """

    keys: tuple[Named, ...]
    measures: tuple[Measure, ...]

    @property
    def schema(self) -> Schema:
        """The keys, then the measures."""
        columns = [k.field for k in self.keys] + [m.field for m in self.measures]
        return Schema(tuple(columns))

    @cached_property
    def window_columns(self) -> frozenset[str]:
        """None yet: which key is the window is for ``windowed_group_by`` to say."""
        return frozenset()
