"""Tables get their event time and their watermark."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from arroyo_nb.catalog import ConnectorTable
from arroyo_nb.plan.expressions.typing import column
from arroyo_nb.plan.nodes import (
    LatestRow,
    Named,
    Node,
    Project,
    Scan,
    Source,
    Watermark,
)
from arroyo_nb.plan.tree import NodeMap, transform


def event_time(root: Node, made: NodeMap[Node]) -> Node:
    """A scan becomes a source with a watermark and its generated columns.

    Before::

        Scan trips

    After::

        Project id, at, seconds
          Watermark at, delay 5s
            Source trips

    Generated columns are computed above the watermark. Where one of them is the event
    time, the watermark evaluates its expression over the physical columns; a physical
    one is stamped on the rows by their recorder. Of a table of changes the latest row
    of each primary key is kept: what it tells of the row before may be less.
    """
    sources = made.part("sources")

    def change(node: Node) -> Node:
        if not isinstance(node, Scan):
            return node
        # One source for each table, however often it is read. Not by name: a view of
        # an earlier cell keeps its table when a later cell gives the name to another.
        if node.table not in sources:
            sources[node.table] = _source(node)
        return sources[node.table]

    return transform(root, change, made)


def _source(scan: Scan) -> Node:
    table = scan.table
    clause = table.watermark
    node: Node = Watermark(
        Source(table, span=scan.span),
        _event_time(table),
        clause.delay if clause.expression is None else timedelta(),
        clause.expression,
        span=scan.span,
    )
    if table.updating:  # has no generated columns
        return LatestRow(node, table.name, table.spec.primary_key, span=scan.span)
    if not table.generated:
        return node
    items = tuple(
        Named(name, _value(table, name), field.type, field.nullable)
        for name, field in zip(table.order, table.schema, strict=True)
    )
    return Project(node, items, span=scan.span)


def _event_time(table: ConnectorTable) -> exp.Expr | None:
    name = table.watermark.column
    # A physical event time is on the rows already.
    return None if name in (None, table.spec.event_time) else _value(table, str(name))


def _value(table: ConnectorTable, name: str) -> exp.Expr:
    """A column as an expression over the physical ones."""
    for generated in table.generated:
        if generated.column.name == name:
            return generated.expression
    return column(table.physical[name])
