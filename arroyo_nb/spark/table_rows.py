"""Which rows a query without a window has read of each table, with each micro-batch.

Where a query has a window its rows are counted at the input of the aggregate
(:mod:`arroyo_nb.spark.observe`). Without one they are counted where they get their
event time, before any filter: a view then has what has come, whatever becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arroyo_nb.plan.nodes import Node, Source, Watermark
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.observe import numbered_assigners

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable

ALL_TIME_US = 2**61
"""A pane that any event time lies in, or the one before it: only the sum is read."""


@dataclass(frozen=True)
class ObservedRows:
    """What one micro-batch has read of a table.

    Parameters
    ----------
    rows
        How many; of changes those that append.
    sample_us
        Event times of some of them in the order in which they were read, evenly drawn,
        in microseconds since the epoch.
    sample_values
        What is kept of each of them; nothing where nothing is.
    """

    rows: int = 0
    sample_us: Sequence[int] = ()
    sample_values: Sequence[str] = ()


def observed_tables(root: Node) -> tuple[ConnectorTable, ...]:
    """The tables whose rows are observed, each once; none where the query has a
    window."""
    if any(True for _ in numbered_assigners(root)):
        return ()
    found: list[ConnectorTable] = []
    for node in walk(root):
        if isinstance(node, Watermark) and (table := table_of(node)) not in found:
            found.append(table)
    return tuple(found)


def table_of(node: Watermark) -> ConnectorTable:
    """The table whose event time a watermark follows."""
    return next(below.table for below in walk(node) if isinstance(below, Source))


def observation_of(number: int) -> str:
    """What the observation of a table is called."""
    return f"table:{number}"


def read_rows(observed: Mapping[str, Any], number: int) -> ObservedRows:
    """What a batch has read of a table, by its place in :func:`observed_tables`.

    Parameters
    ----------
    observed
        As of :func:`arroyo_nb.spark.observe.read_observed`.
    number
        Which table.
    """
    if not (values := observed.get(observation_of(number))):
        return ObservedRows()
    rows = sum(pane["y"] for pane in values["panes"])
    return ObservedRows(rows, values["sample_us"], values["sample_values"])
