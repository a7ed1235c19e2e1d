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
from arroyo_nb.errors import RunProblem
from arroyo_nb.frames import keyed
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.schema import arrow_schema
from arroyo_nb.spark.lookups import static_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import LookupTable


class StaticTables:
    """What a run looks up in tables that are read whole.

    Parameters
    ----------
    sinks
        The plan's sinks.

    Raises
    ------
    ArroyoError
        When it can be told at once that a table cannot be asked.
    """

    def __init__(self, sinks: Sequence[nodes.Sink]) -> None:
        self._nodes: list[nodes.LookupJoin] = []
        for node in _lookups(sinks):
            if node.table.asked:
                spec = node.table.spec.resolved(node.span)
                CONNECTORS.get(node.table.connector).asker(spec)
            elif node.table not in self._tables:
                self._nodes.append(node)
        self._rows: list[pa.Table] = []

    @property
    def _tables(self) -> list[LookupTable]:
        return [node.table for node in self._nodes]

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
            _kept(folder / f"{number}.parquet", node)
            for number, node in enumerate(self._nodes)
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


def _kept(path: Path, node: nodes.LookupJoin) -> pa.Table:
    import pyarrow.parquet as pq

    if not path.exists():
        table, draft = node.table, path.with_suffix(".draft")
        try:
            rows = keyed(_read(node), table.keys, table.name)
        except RunProblem as problem:
            problem.span = problem.span or node.span
            raise
        pq.write_table(rows, draft)
        draft.replace(path)
    return pq.read_table(path)


def _read(node: nodes.LookupJoin) -> pa.Table:
    import pyarrow as pa

    table = node.table
    if table.rows is not None:
        return table.rows
    # The key is no part of how records are read.
    spec = replace(table.spec.resolved(node.span), primary_key=())
    recorder = CONNECTORS.get(table.connector).recorder(spec)
    # A tape does not say which of its columns are never NULL.
    wanted = pa.schema([f.with_nullable(True) for f in arrow_schema(table.schema)])
    chunks = (chunk.rows.select(wanted.names) for chunk in recorder.chunks(None))
    return pa.concat_tables([wanted.empty_table(), *(c.cast(wanted) for c in chunks)])
