"""What the author of a script has probably overlooked: nothing is wrong, and yet."""

from __future__ import annotations

from collections.abc import Iterable

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan.nodes import Sink, Source, WindowAggregate
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import Timestamp


def hints(sinks: Iterable[Sink]) -> list[str]:
    """One line for each source whose rows fall into windows by their arrival although
    they have a timestamp."""
    nodes = (node for sink in sinks for node in walk(sink))
    windows = (node for node in nodes if isinstance(node, WindowAggregate))
    below = (node for window in windows for node in walk(window))
    found = (_by_arrival(node) for node in below if isinstance(node, Source))
    return list(dict.fromkeys(filter(None, found)))


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
