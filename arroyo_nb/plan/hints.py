"""What the author of a script has probably overlooked: nothing is wrong, and yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan.naming import shown
from arroyo_nb.plan.nodes import Node, Sink, Source, WindowAggregate
from arroyo_nb.plan.operators import AS_TEXT
from arroyo_nb.plan.tree import walk
from arroyo_nb.plan.verify import expressions
from arroyo_nb.schema import Timestamp


def hints(sinks: Iterable[Sink]) -> list[str]:
    """One line for each source whose rows fall into windows by their arrival although
    they have a timestamp, and for each number that is compared as text."""
    nodes = [node for sink in sinks for node in walk(sink)]
    windows = (node for node in nodes if isinstance(node, WindowAggregate))
    below = (node for window in windows for node in walk(window))
    by_arrival = (_by_arrival(node) for node in below if isinstance(node, Source))
    as_text = (said for node in nodes for said in _compared_as_text(node))
    return list(dict.fromkeys(filter(None, (*by_arrival, *as_text))))


def _compared_as_text(node: Node) -> Iterator[str]:
    for _, expression in expressions(node):
        for cast in expression.find_all(exp.Cast):
            if cast.meta.get(AS_TEXT) and isinstance(cast.parent, exp.Predicate):
                yield _text_comparison(cast, cast.parent)


def _text_comparison(cast: exp.Cast, comparison: exp.Expr) -> str:
    number = cast.this
    named = number.name if isinstance(number, exp.Column) else shown(number)
    texts = [t for t in comparison.find_all(exp.Literal) if t.is_string]
    said = f"the number {named} is compared as text, as in Arroyo"
    if not texts:
        return f"{said}: cast the text to a number, as in CAST(a AS BIGINT)"
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


def _by_arrival(source: Source) -> str | None:
    table = source.table
    marked = table.watermark.column or table.watermark.expression
    # Changes of rows have no event time, nor may they be given one.
    if marked or table.updating or CONNECTORS.get(table.connector).has_event_time:
        return None
    times = [field.name for field in table.schema if isinstance(field.type, Timestamp)]
    if not times:
        return None
    time = times[0]
    return (
        f"{table.name} has no WATERMARK: its rows fall into windows by when they "
        f"arrive. WATERMARK FOR {time} AS {time} - INTERVAL '1 minute' takes the time "
        f"in them, where {time} is NOT NULL"
    )
