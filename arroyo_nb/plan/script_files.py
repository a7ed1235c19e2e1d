"""The files of a script: none is both read and written, or written by two tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from arroyo_nb.catalog import ConnectorTable, LookupTable
from arroyo_nb.errors import PlanProblem
from arroyo_nb.outside_reads import may_wait
from arroyo_nb.plan.nodes import Lookup, Scan, Sink
from arroyo_nb.plan.tree import walk
from arroyo_nb.with_options import substituted


def file_of(table: ConnectorTable | LookupTable | None) -> str:
    """The file behind a table, whatever links lead there; no name: there is none."""
    path = _path(table)
    if not path:
        return ""
    # Links are on a disk, which may be one of a network.
    real = os.path.realpath if may_wait() else os.path.abspath
    return real(substituted(path))


def _path(table: ConnectorTable | LookupTable | None) -> str:
    return "" if table is None else str(table.spec.options.get("path", ""))


@dataclass(frozen=True)
class SinkFiles:
    """The files of one sink of a script.

    Parameters
    ----------
    sink
        As it was built: a pass may leave out what it reads.
    paths
        The paths of all of them as they are declared, by file.
    reads
        Those that it reads, or looks up.
    writes
        That which it writes; no name: none.
    """

    sink: Sink
    paths: Mapping[str, str]
    reads: frozenset[str]
    writes: str

    @classmethod
    def of(cls, sink: Sink) -> SinkFiles:
        """Find them."""
        tables = [n.table for n in walk(sink) if isinstance(n, Scan | Lookup)]
        reads = {file_of(table): _path(table) for table in tables}
        writes = file_of(sink.table)
        paths = dict(reads)
        paths.setdefault(writes, _path(sink.table))
        return cls(sink, paths, frozenset(reads) - {""}, writes)


class ScriptFiles:
    """What the sinks of a script do with files, so far."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._writers: dict[str, Sink] = {}

    def add(self, files: SinkFiles) -> None:
        """Take in the files of a sink.

        Raises
        ------
        PlanProblem
            When the script reads, or looks up, a file that it writes: what is still to
            be read would be gone.
        """
        self._read |= files.reads
        if files.writes:
            self._written.add(files.writes)
        clash = self._read & self._written
        if clash:
            # Told once: the next statement with the file is not wrong again.
            self._written -= clash
            path = next(path for file, path in files.paths.items() if file in clash)
            raise PlanProblem(
                f"the script both reads and writes '{path}'",
                span=files.sink.span,
                hint="write to another file: writing begins by emptying it",
            )

    def add_writer(self, sink: Sink) -> None:
        """Take in the table that a sink writes; the very same table may be written by
        several.

        Raises
        ------
        PlanProblem
            When another table writes its file; with the names of both.
        """
        path = file_of(sink.table)
        if not path:
            return
        before = self._writers.setdefault(path, sink)
        if before.table is not sink.table:
            raise PlanProblem(
                f"the tables '{before.name}' and '{sink.name}' write one file",
                span=sink.span,
                hint="write both INSERTs into one table, or give each its own path",
            )
