"""Fields of structs, taken out below the watermark.

Spark reads only those fields of a struct that a query asks for, but it does not look
through a watermark for them: there the whole struct would be read, copied as a row of
its own and carried up, for one field of it.

::

    Project bid.price            Project _field_0
      Filter bid IS NOT NULL       Filter _field_1
        Watermark           -->      NarrowWatermark bid.price, bid IS NOT NULL
          Source bid, auction          Source bid, auction

Only what cannot fail is taken: it is computed of rows that a filter leaves out, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TypeVar

from sqlglot import exp

from arroyo_nb.plan import nodes
from arroyo_nb.plan.expressions.naming import free
from arroyo_nb.plan.expressions.typing import (
    column,
    is_nullable,
    replaced,
    type_of,
)
from arroyo_nb.plan.nodes import Named
from arroyo_nb.plan.tree import transform
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import Schema, StructOf
from arroyo_nb.sql.syntax_tree import all_in

T = TypeVar("T")


@dataclass(frozen=True)
class NarrowWatermark(nodes.Watermark):
    """A watermark above which there are other columns than below it.

    Parameters
    ----------
    items
        These columns, bound over its input.
    """

    items: tuple[Named, ...] = field(kw_only=True)

    @cached_property
    def schema(self) -> Schema:
        """A column for each item."""
        return Schema(tuple(item.field for item in self.items))


def narrow_watermarks(root: nodes.Node) -> nodes.Node:
    """The plan with fields in place of structs of which no more is read."""
    return transform(root, _narrowed)


def column_of(part: exp.Expr) -> exp.Column | None:
    """The column that an expression is, or a field of which it is."""
    while isinstance(part, exp.Dot):
        part = part.this
    return part if isinstance(part, exp.Column) else None


def _narrowed(node: nodes.Node) -> nodes.Node:
    # Others hand on columns that they do not name.
    if not isinstance(
        node, nodes.Project | nodes.WindowAggregate | nodes.UpdatingAggregate
    ):
        return node
    readers: list[nodes.Unary] = [node]
    while isinstance(readers[-1].input, nodes.Filter):
        readers.append(readers[-1].input)
    watermark = readers[-1].input
    if not isinstance(watermark, nodes.Watermark):
        return node
    items = _items(watermark.schema, [e for r in readers for _, e in expressions(r)])
    if all(isinstance(item.expression, exp.Column) for item in items):
        return node
    below: nodes.Node = NarrowWatermark(
        watermark.input,
        watermark.event_time,
        watermark.delay,
        watermark.expression,
        items=items,
        span=watermark.span,
    )
    made = {item.expression: column(item.field) for item in items}
    for reader in reversed(readers):
        below = replace(_with_expressions(reader, made.get), input=below)
    return below


def _items(schema: Schema, found: Iterable[exp.Expr]) -> tuple[Named, ...]:
    """What expressions read of a relation; of a struct that one of them reads whole
    nothing is taken out."""
    reads = [part for expression in found for part in _reads(expression)]
    whole = {part.name for part in reads if isinstance(part, exp.Column)}
    taken = dict.fromkeys(p for p in reads if whole.isdisjoint(_names(p)))
    return (
        *(_named(field.name, column(field)) for field in schema if field.name in whole),
        *(_named(free(f"_field_{n}", schema.names), p) for n, p in enumerate(taken)),
    )


def _named(name: str, value: exp.Expr) -> Named:
    return Named(name, value, type_of(value), is_nullable(value))


def _names(part: exp.Expr) -> Iterator[str]:
    return (found.name for found in all_in(part, exp.Column))


def _reads(expression: exp.Expr) -> list[exp.Expr]:
    """Columns, fields of them, and tests whether a struct is NULL."""
    found: list[exp.Expr] = []

    def note(part: exp.Expr) -> exp.Expr | None:
        if column_of(part) is None and not _tests_struct(part):
            return None
        found.append(part)
        return part

    replaced(expression, note)
    return found


def _tests_struct(part: exp.Expr) -> bool:
    match part:
        case exp.Is(this=exp.Column() as tested, expression=exp.Null()):
            return isinstance(type_of(tested), StructOf)
        case _:
            return False


def _with_expressions(value: T, swap: Callable[[exp.Expr], exp.Expr | None]) -> T:
    """A node, or a part of one, with other expressions; its inputs stay."""

    def changed(item: object) -> object:
        match item:
            case exp.Expr():
                return replaced(item, swap)
            case tuple():
                return tuple(map(changed, item))
            case Named() | nodes.Measure() | nodes.Ordering():
                return _with_expressions(item, swap)
            case _:
                return item

    parts = {f.name: changed(getattr(value, f.name)) for f in fields(value)}  # type: ignore[arg-type]
    return replace(value, **parts)  # type: ignore[type-var]
