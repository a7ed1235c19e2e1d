"""The lookup tables of a run that are read whole: once, when it first starts.

Their rows are kept in the run's folder, and one that goes on finds what it found
before: a row that is taken back had the same row beside it when it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.frames import keyed
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.spark.lookups import static_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import LookupTable
    from arroyo_nb.tape import Recorder


class StaticTables:
    """What a run looks up in tables that are read whole.

    Parameters
    ----------
    sinks
        The plan's sinks.

    Raises
    ------
    ArroyoError
        When it can be told at once that a table cannot be read or asked.
    """

    def __init__(self, sinks: Sequence[nodes.Sink]) -> None:
        found = list(_lookups(sinks))
        for node in found:
            if node.table.asked:
                spec = node.table.spec.resolved(node.span)
                CONNECTORS.get(node.table.connector).asker(spec)
        self._tables: list[LookupTable] = []
        self._readers: list[Recorder | None] = []
        for node in found:
            if not node.table.asked and node.table not in self._tables:
                self._tables.append(node.table)
                self._readers.append(_recorder(node))
        self._rows: list[pa.Table] = []

    def start(self, folder: Path) -> None:
        """Read every table, or what the run has read of it before.

        Parameters
        ----------
        folder
            Survives the run.

        Raises
        ------
        RunProblem
            When a table cannot be read, or has two rows of one key.
        """
        self._rows = [
            _kept(folder / f"{number}.parquet", table, recorder)
            for number, (table, recorder) in enumerate(
                zip(self._tables, self._readers, strict=True)
            )
        ]

    def frame(self, spark: SparkSession, table: LookupTable) -> DataFrame:
        """The rows of one of them."""
        rows = self._rows[self._tables.index(table)]
        return static_frame(spark, rows, table.schema)


def _lookups(sinks: Iterable[nodes.Sink]) -> Iterator[nodes.LookupJoin]:
    for sink in sinks:
        for node in walk(sink):
            if isinstance(node, nodes.LookupJoin):
                yield node


def _recorder(node: nodes.LookupJoin) -> Recorder | None:
    """What reads a table; None where its rows were handed in."""
    if node.table.rows is not None:
        return None
    spec = node.table.spec.resolved(node.span)
    # The key is no part of how records are read.
    return CONNECTORS.get(node.table.connector).recorder(replace(spec, primary_key=()))


def _kept(path: Path, table: LookupTable, recorder: Recorder | None) -> pa.Table:
    import pyarrow.parquet as pq

    if not path.exists():
        draft = path.with_suffix(".draft")
        pq.write_table(keyed(_read(table, recorder), table.keys, table.name), draft)
        draft.replace(path)
    return pq.read_table(path)


def _read(table: LookupTable, recorder: Recorder | None) -> pa.Table:
    import pyarrow as pa

    from arroyo_nb.schema import arrow_schema

    if recorder is None:
        assert table.rows is not None
        return table.rows
    names = list(table.schema.names)
    chunks = [chunk.rows.select(names) for chunk in recorder.chunks(None)]
    return pa.concat_tables([arrow_schema(table.schema).empty_table(), *chunks])
