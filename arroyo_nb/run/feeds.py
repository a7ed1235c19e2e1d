"""What feeds a run: one conductor per source table, shared by all its queries.

A source that several queries read is recorded once; its chunks are let go when the
slowest of them has read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.snapshot import SourceProgress, naive
from arroyo_nb.schema import TIMESTAMP, quoted, spark_schema
from arroyo_nb.tape.conductor import Conductor
from arroyo_nb.tape.format import chunk_path
from arroyo_nb.tape.pace import MAX, Clock, Pace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.run.folder import RunFolder


class Feeds:
    """The sources of a run.

    Parameters
    ----------
    sinks
        The plan's sinks; every source below them is fed.
    speed
        ``"max"``, or a factor on event time.
    stepping
        Whether nothing is released until :meth:`step`.

    Raises
    ------
    ArroyoError
        When it can be told at once that a source cannot be read.
    """

    def __init__(
        self, sinks: Sequence[nodes.Sink], *, speed: float | str, stepping: bool
    ) -> None:
        self._tables = {s.table.name: s.table for sink in sinks for s in sources(sink)}
        self._recorders = {
            name: CONNECTORS.get(table.connector).recorder(table.spec)
            for name, table in self._tables.items()
        }
        self._pace = MAX if speed == "max" else Pace(Clock.EVENT_TIME, float(speed))
        self._stepping = stepping
        self._folders: dict[str, Path] = {}
        self._conductors: dict[str, Conductor] = {}

    def start(self, folder: RunFolder, *, on_change: Callable[[], None]) -> None:
        """Start to record every source into the run's folder."""
        self._folders = {name: folder.source(name) for name in self._tables}
        # At once: other threads look at this mapping while it is filled.
        self._conductors = {
            name: Conductor(
                self._recorders[name],
                self._folders[name],
                schema=table.physical,
                source=name,
                pace=self._pace,
                paused=self._stepping,
                on_change=on_change,
            )
            for name, table in self._tables.items()
        }
        for conductor in self._conductors.values():
            conductor.start()

    def read_stream(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """A source's rows as a stream: one chunk, one micro-batch."""
        reader = spark.readStream.schema(_stored_columns(source))
        folder = self._folders[source.table.name]
        return reader.option("maxFilesPerTrigger", 1).parquet(folder.as_uri())

    def read_chunks(
        self,
        spark: SparkSession,
        chunks: Mapping[str, tuple[int, int]],
        source: nodes.Source,
    ) -> DataFrame:
        """A source's rows of the chunks [first, after last), counted from 0."""
        first, end = chunks.get(source.table.name, (0, 0))
        folder = self._folders[source.table.name]
        paths = [chunk_path(folder, number + 1) for number in range(first, end)]
        there = [path.as_uri() for path in paths if path.exists()]
        columns = _stored_columns(source)
        if not there:
            return spark.createDataFrame([], columns)
        return spark.read.schema(columns).parquet(*there)

    def consumed(self, reads: Sequence[Mapping[str, int]]) -> None:
        """Take note of how many chunks each query has read, one mapping a query."""
        for name, conductor in self._conductors.items():
            counts = [read[name] for read in reads if name in read]
            if counts:
                conductor.consumed(min(counts))

    def is_read(self, chunks: Mapping[str, int], sink: nodes.Sink) -> bool:
        """Whether a query has read all there will ever be of its sources."""
        states = {
            s.table.name: self._conductors[s.table.name].state for s in sources(sink)
        }
        return all(
            state.ended and chunks.get(name, 0) >= state.chunks
            for name, state in states.items()
        )

    def ends_read(self, chunks: Mapping[str, int]) -> int:
        """How many of the end-of-stream rows a query has read."""
        states = {name: c.state for name, c in self._conductors.items()}
        return sum(
            states[name].ended and count >= states[name].chunks
            for name, count in chunks.items()
        )

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`."""
        for conductor in self._conductors.values():
            conductor.pause()

    def resume(self) -> None:
        """Release chunks again."""
        for conductor in self._conductors.values():
            conductor.resume()

    def step(self) -> None:
        """Release one chunk of each source and nothing more."""
        for conductor in self._conductors.values():
            if not conductor.state.paused:
                conductor.pause()
            conductor.step()

    def close(self) -> None:
        """Release nothing more at all; what is released stays. Waits for nobody."""
        for conductor in self._conductors.values():
            conductor.stop(timeout_s=0)

    def join(self, timeout_s: float) -> None:
        """Wait until nothing is written any more, after :meth:`close`."""
        for conductor in self._conductors.values():
            conductor.join(timeout_s)

    @property
    def paused(self) -> bool:
        """Whether a source is paused."""
        return any(c.state.paused for c in self._conductors.values())

    @property
    def error(self) -> ArroyoError | None:
        """What ended a source early."""
        errors = (c.error for c in self._conductors.values())
        return next((error for error in errors if error is not None), None)

    def sources(self) -> tuple[SourceProgress, ...]:
        """Where each source stands."""
        return tuple(
            _source_progress(self._tables[name], conductor)
            for name, conductor in self._conductors.items()
        )


def sources(sink: nodes.Sink) -> Iterator[nodes.Source]:
    """The sources that a sink is fed from; one that is read twice comes twice."""
    return (node for node in walk(sink) if isinstance(node, nodes.Source))


def _stored_columns(source: nodes.Source) -> str:
    return f"{spark_schema(source.schema)}, {quoted(TIMESTAMP)} timestamp"


def _source_progress(table: ConnectorTable, conductor: Conductor) -> SourceProgress:
    state = conductor.state
    return SourceProgress(
        name=table.name,
        rows=state.rows,
        max_event_time=naive(state.max_event_time),
        delay=table.watermark.delay,
        bounded=conductor.bounded,
        ended=state.ended,
        paused=state.paused,
        dropped_rows=state.dropped_rows,
        bad=tuple(f"{b.place}: {b.reason}: {b.text}" for b in state.bad),
    )
