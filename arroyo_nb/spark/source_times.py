"""The newest event time of each source of a query that has several, with each
micro-batch.

Spark tells the newest event time of a query as a whole. Of a tape its reader knows it;
of a topic, and of a source whose event time Spark computes, it is observed where the
rows get their time: on the executors, in the pass that the query makes anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import is_streamed
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import EPOCH, MICROSECOND, TIMESTAMP, quoted
from arroyo_nb.spark.windows import END_OF_TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.catalog import ConnectorTable

_NEWEST = "newest:"
"""Observation of the newest event time of a table: a number, the table's name."""


class SourceTimes:
    """Observes the newest event times of the sources of one plan.

    Parameters
    ----------
    root
        The plan. The times of its only source are those of the query: they are not
        observed once more.
    """

    def __init__(self, root: nodes.Node) -> None:
        tables = _tables(root)
        self._left: list[ConnectorTable] = list(tables) if len(tables) > 1 else []

    def observed(self, frame: DataFrame, node: nodes.Watermark) -> DataFrame:
        """The rows of a source with their event time, which is observed where nobody
        else knows it."""
        tables = _tables(node)
        if len(tables) != 1 or tables[0] not in self._left:
            return frame
        (table,) = tables
        if node.event_time is None and not is_streamed(table.connector):
            return frame
        from pyspark.sql import functions as F  # noqa: N812

        # Read twice it is lowered twice, but an observation has one name.
        self._left.remove(table)
        time = quoted(TIMESTAMP)
        newest = f"max(IF({time} < {END_OF_TIME}, unix_micros({time}), NULL))"
        name = f"{_NEWEST}{len(self._left)}:{table.name}"
        return frame.observe(name, F.expr(newest).alias("max_us"))


def _tables(root: nodes.Node) -> Sequence[ConnectorTable]:
    """The tables that are read as streams below a node, each once."""
    found: list[ConnectorTable] = []
    for node in walk(root):
        if isinstance(node, nodes.Source) and node.table not in found:
            found.append(node.table)
    return found


def read_source_times(observed: Mapping[str, Any]) -> Iterator[tuple[str, datetime]]:
    """The newest event time of a micro-batch by the table's name, aware UTC; of a
    table without rows none.

    Parameters
    ----------
    observed
        ``observedMetrics`` of Spark's progress.

    >>> dict(read_source_times({"newest:0:clicks": {"max_us": 1_000_000}}))
    {'clicks': datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)}
    """
    for name, values in observed.items():
        if name.startswith(_NEWEST) and values and values["max_us"] is not None:
            _, _, table = name.removeprefix(_NEWEST).partition(":")
            yield table, EPOCH + values["max_us"] * MICROSECOND
