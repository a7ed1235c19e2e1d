"""The tables a script may name: an immutable map, swapped in when a cell succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.connectors import Direction, TableSpec
from arroyo_nb.schema import Field, Schema

if TYPE_CHECKING:
    from sqlglot import exp

DEFAULT_DELAY = timedelta(seconds=1)
"""What the watermark subtracts where no WATERMARK is declared."""


@dataclass(frozen=True)
class Generated:
    """A generated column: a bound expression over the physical columns."""

    column: Field
    expression: exp.Expression


@dataclass(frozen=True)
class WatermarkClause:
    """How ``_timestamp`` and the watermark of a source are made.

    ``column`` is the declared event-time column (physical or generated), None for the
    connector's own time. ``expression`` is set, bound over physical columns, where
    the watermark is not ``column`` less a fixed ``delay``.
    """

    column: str | None = None
    delay: timedelta = DEFAULT_DELAY
    expression: exp.Expression | None = None


@dataclass(frozen=True)
class ConnectorTable:
    """A CREATE TABLE with a connector, checked and ready to be read or written."""

    spec: TableSpec
    connector: str
    direction: Direction
    order: tuple[str, ...]
    generated: tuple[Generated, ...] = ()
    watermark: WatermarkClause = field(default_factory=WatermarkClause)

    @property
    def name(self) -> str:
        """Name as declared."""
        return self.spec.name

    @property
    def physical(self) -> Schema:
        """Columns that the connector reads or writes."""
        return self.spec.physical

    @property
    def schema(self) -> Schema:
        """All columns in declared order, generated ones among them."""
        made = {g.column.name: g.column for g in self.generated}
        return Schema(
            tuple(made.get(name) or self.physical[name] for name in self.order)
        )


@dataclass(frozen=True)
class Catalog:
    """Immutable name -> table; names are looked up case-insensitively."""

    tables: Mapping[str, ConnectorTable] = field(default_factory=dict)
