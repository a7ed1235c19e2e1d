"""What the author of a script has probably overlooked: nothing is wrong, and yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan.expressions.naming import shown
from arroyo_nb.plan.expressions.operators import AS_TEXT
from arroyo_nb.plan.expressions.typing import place_of, whole_number
from arroyo_nb.plan.nodes import Node, Sink, Source, Watermark, WindowAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.repairs import AddWatermark, Repair
from arroyo_nb.schema import Timestamp
from arroyo_nb.source import Span


@dataclass(frozen=True)
class PlacedHint:
    """A hint, the place in the script that it is about, where there is one, and what
    an editor can change to that end."""

    text: str
    span: Span | None = None
    repairs: tuple[Repair, ...] = ()


def hints(sinks: Iterable[Sink]) -> list[str]:
    """One line for each source whose rows fall into windows by their arrival although
    they have a timestamp, and for each part of a query that is right and yet never what
    its author means."""
    return list(dict.fromkeys(hint.text for hint in placed_hints(sinks)))


def placed_hints(sinks: Iterable[Sink]) -> list[PlacedHint]:
    """The same, each with its place; those about expressions of a table's declaration
    have theirs in the script that declares it."""
    nodes = [node for sink in sinks for node in walk(sink)]
    windows = (node for node in nodes if isinstance(node, WindowAggregate))
    below = (node for window in windows for node in walk(window))
    by_arrival = (_by_arrival(node) for node in below if isinstance(node, Source))
    of_nodes = (said for node in nodes for said in _of_node(node))
    return list(filter(None, (*by_arrival, *of_nodes)))


def _of_node(node: Node) -> Iterator[PlacedHint]:
    if isinstance(node, Watermark):
        yield from (PlacedHint(text, node.span) for text in _watermark_ahead(node))
    for _, expression in expressions(node):
        for part in expression.walk():
            # What was made of a part by a rewrite may have no place of its own.
            span = place_of(part) or node.span
            yield from (PlacedHint(text, span) for text in _of_part(part))


def _of_part(part: exp.Expr) -> Iterator[str]:
    match part:
        case exp.Cast() if part.meta.get(AS_TEXT):
            if isinstance(part.parent, exp.Predicate):
                yield _text_comparison(part, part.parent)
        case exp.EQ() | exp.NEQ():
            yield from _null_comparison(part)
        case exp.Between():
            yield from _empty_range(part)
        case exp.Anonymous(this="to_char" | "date_format"):
            yield from _plain_format(part)


def _watermark_ahead(node: Watermark) -> Iterator[str]:
    made = node.expression
    if isinstance(made, exp.Add) and isinstance(made.right, exp.Interval):
        yield (
            f"the watermark {shown(made)} runs ahead of the event time: rows are late "
            "that are in order; write - in place of +"
        )


def _is_null(node: exp.Expr) -> bool:
    return isinstance(node.this if isinstance(node, exp.Cast) else node, exp.Null)


def _null_comparison(node: exp.Binary) -> Iterator[str]:
    sides = node.left, node.right
    if any(map(_is_null, sides)):
        other = next((side for side in sides if not _is_null(side)), sides[0])
        word = "IS NULL" if isinstance(node, exp.EQ) else "IS NOT NULL"
        yield f"a comparison with NULL is never true: write {shown(other)} {word}"


def _empty_range(node: exp.Between) -> Iterator[str]:
    low, high = (whole_number(node.args[side]) for side in ("low", "high"))
    if low is not None and high is not None and low > high:
        yield (
            f"BETWEEN {low} AND {high} is never true: write the smaller number first"
        )


def _plain_format(node: exp.Anonymous) -> Iterator[str]:
    pattern = node.expressions[1]
    if pattern.is_string and "%" not in pattern.name:
        yield (
            f"the format '{pattern.name}' is written as it stands: a field begins with "
            "%, as in '%Y-%m-%d %H:%M:%S'"
        )


def _text_comparison(cast: exp.Cast, comparison: exp.Expr) -> str:
    number = cast.this
    named = number.name if isinstance(number, exp.Column) else shown(number)
    texts = [t for t in comparison.find_all(exp.Literal) if t.is_string]
    said = f"the number {named} is compared as text, as in Arroyo"
    if not texts:
        # A text that is no number would end the run, if it were CAST.
        others = [c for c in comparison.find_all(exp.Column) if c is not number]
        other = others[0].name if others else "..."
        return (
            f"{said}: cast the text to a number, as in TRY_CAST({other} AS BIGINT), "
            "which gives NULL for a text that is none"
        )
    text = texts[0].name
    if _NUMBER.fullmatch(text):
        return f"{said}: write {text} without quotes"
    if _DAY.match(text):
        return (
            f"{said}, with '{text}': write to_timestamp_millis({named}) for "
            f"milliseconds, to_timestamp({named}) for seconds"
        )
    return f"{said}, with '{text}'"


_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")
_DAY = re.compile(r"\s*\d{4}-\d\d?-\d\d?")


def _by_arrival(source: Source) -> PlacedHint | None:
    table = source.table
    marked = table.watermark.column or table.watermark.expression
    # Changes of rows have no event time, nor may they be given one.
    if marked or table.updating or CONNECTORS.get(table.connector).info.has_event_time:
        return None
    times = [field.name for field in table.schema if isinstance(field.type, Timestamp)]
    if not times:
        return None
    time = times[0]
    text = (
        f"{table.name} has no WATERMARK: its rows fall into windows by when they "
        f"arrive. WATERMARK FOR {time} AS {time} - INTERVAL '1 minute' takes the time "
        f"in them, where {time} is NOT NULL"
    )
    return PlacedHint(text, source.span, (AddWatermark(table.name, time),))
