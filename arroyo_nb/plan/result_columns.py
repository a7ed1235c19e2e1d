"""The columns of a result as its reader sees them, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.plan.nodes import Node, Project, Sink, Source, Union, Watermark
from arroyo_nb.plan.nodes.base import PassedThrough


@dataclass(frozen=True)
class OutputColumn:
    """A column of a result: its header, its type, and whether it is the event time of
    its row."""

    name: str
    type: str
    nullable: bool
    event_time: bool


def result_columns(sink: Sink) -> tuple[OutputColumn, ...]:
    """The columns of what leaves by a sink."""
    schema = sink.schema
    headers = sink.headers or schema.names
    return tuple(
        OutputColumn(
            header,
            str(field.type),
            field.nullable,
            _is_event_time(sink.input, field.name),
        )
        for header, field in zip(headers, schema, strict=True)
    )


def _is_event_time(node: Node, column: str) -> bool:
    """Whether a column is one that a table declares as its event time, under whatever
    name a select list gave it."""
    match node:
        case Source(table=table):
            return table.watermark.column == column
        case Project(input=below, items=items):
            made = next((i.expression for i in items if i.name == column), None)
            # A generated column may be the time that the watermark follows.
            followed = below.event_time if isinstance(below, Watermark) else None
            if followed is not None and made == followed:
                return True
            return isinstance(made, exp.Column) and _is_event_time(below, made.name)
        case Union(branches=branches):
            # Branches agree by position, and have the names of the first.
            place = node.schema.names.index(column)
            return all(_is_event_time(b, b.schema.names[place]) for b in branches)
        case Watermark(input=below, event_time=exp.Column(this=_) as time):
            return time.name == column or _is_event_time(below, column)
        case Watermark(input=below) | PassedThrough(input=below):
            return _is_event_time(below, column)
        case _:
            return False
