"""The lookup tables of a run that are read whole: once, when it first starts.

Their rows are kept in the run's folder, and one that goes on finds what it found
before: a row that is taken back had the same row beside it when it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.frames import keyed
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.snapshot import SourceProgress
from arroyo_nb.schema import arrow_schema
from arroyo_nb.spark.lookups import static_frame
from arroyo_nb.tape import KEPT_BAD_ROWS, SHOWN_BAD_ROWS, BadRow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import LookupTable

_LEFT_OUT = b"left_out"
"""Metadata of a kept table: bad records that were left out, how many and some of them.
Who goes on with the run does not read them again."""


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
        # The rows of each, and whether the run has read them in an earlier process: set
        # at once, as other threads ask meanwhile.
        self._read: list[tuple[pa.Table, bool]] = []
        tables = dict.fromkeys(node.table.name for node in _lookups(sinks))
        self._names = tuple(tables)

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
        paths = [folder / f"{number}.parquet" for number in range(len(self._nodes))]
        read_before = [path.exists() for path in paths]
        rows = [
            _kept(path, node) for path, node in zip(paths, self._nodes, strict=True)
        ]
        self._read = list(zip(rows, read_before, strict=True))

    def frame(self, spark: SparkSession, table: LookupTable) -> DataFrame:
        """The rows of one of them."""
        rows, _ = self._read[self._tables.index(table)]
        return static_frame(spark, rows, table.schema)

    def bad_rows(self, name: str) -> tuple[BadRow, ...]:
        """A sample of the records that were left out of a table."""
        rows, _ = self._read_by_name.get(name, (None, False))
        return _bad_rows(rows)

    def sources(self) -> Iterator[SourceProgress]:
        """Each table that is looked up, with the records that were left out of it; what
        was asked for, the queries know."""
        read = self._read_by_name
        for name in self._names:
            yield _progress(name, *read.get(name, (None, False)))

    @property
    def _read_by_name(self) -> Mapping[str, tuple[pa.Table, bool]]:
        # None of them where they are not read yet.
        names = (table.name for table in self._tables)
        return dict(zip(names, self._read, strict=False))


def _left_out(rows: pa.Table | None) -> dict[str, Any]:
    metadata = (rows.schema.metadata or {}) if rows is not None else {}
    left: dict[str, Any] = json.loads(metadata.get(_LEFT_OUT, "{}"))
    return left


def _bad_rows(rows: pa.Table | None) -> tuple[BadRow, ...]:
    # In a state folder of an earlier version each is one text.
    return tuple(
        BadRow("", row, "") if isinstance(row, str) else BadRow(**row)
        for row in _left_out(rows).get("bad", ())
    )


def _progress(name: str, rows: pa.Table | None, kept: bool) -> SourceProgress:
    dropped_rows = _left_out(rows).get("rows", 0)
    return SourceProgress(
        name=name,
        rows=0 if rows is None else rows.num_rows,
        max_event_time=None,
        delay=timedelta(),
        bounded=True,
        ended=True,
        dropped_rows=dropped_rows,
        # A run that is resumed finds the table as it was read before.
        dropped_before=dropped_rows if kept else 0,
        bad=tuple(map(str, _bad_rows(rows)[:SHOWN_BAD_ROWS])),
        looked_up=True,
    )


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
    chunks = list(recorder.chunks(None))
    found = (chunk.rows.select(wanted.names).cast(wanted) for chunk in chunks)
    bad = [asdict(row) for chunk in chunks for row in chunk.bad]
    left = {
        "rows": sum(chunk.dropped_rows for chunk in chunks),
        "bad": bad[:KEPT_BAD_ROWS],
    }
    rows = pa.concat_tables([wanted.empty_table(), *found])
    return rows.replace_schema_metadata({_LEFT_OUT: json.dumps(left)})
