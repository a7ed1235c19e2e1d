"""What feeds a run: one conductor per source table, shared by all its queries.

A source that several queries read is recorded once; its chunks are let go when the
slowest of them has read them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.lookups import StaticTables
from arroyo_nb.run.snapshot import SourceProgress, naive
from arroyo_nb.schema import TIMESTAMP, quoted, spark_schema
from arroyo_nb.spark.lower import told_columns
from arroyo_nb.tape.conductor import Conductor
from arroyo_nb.tape.format import chunk_path
from arroyo_nb.tape.pace import MAX, Clock, Pace
from arroyo_nb.tape.window_times import WindowTimes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.run.folder import RunFolder
    from arroyo_nb.tape import Recorder


FILES_REMEMBERED = "1000s"
"""How many chunks Spark remembers to have read, each a second of their modification
times. Later ones are always newer, so none that is not read is ever passed over."""


@dataclass(frozen=True)
class Feed:
    """One source table of a run; ``key`` names its folder and is a plain word."""

    key: str
    table: ConnectorTable
    recorder: Recorder


class Feeds:
    """The sources of a run.

    Parameters
    ----------
    sinks
        The plan's sinks; every source below them is fed.
    speed
        ``"max"``, or a factor on event time.
    tick
        At such a factor, the wall time between two releases.
    stepping
        Whether nothing is released until :meth:`step`.

    Raises
    ------
    ArroyoError
        When it can be told at once that a source cannot be read, or not at that speed.
    """

    def __init__(
        self,
        sinks: Sequence[nodes.Sink],
        *,
        speed: float | str,
        tick: timedelta,
        stepping: bool,
    ) -> None:
        self._pace = MAX
        if speed != "max":
            # A micro-batch reads one slice: one a tick keeps up with a trigger.
            tick_s = tick.total_seconds()
            self._pace = Pace(Clock.EVENT_TIME, float(speed), tick_s)
        self._feeds = tuple(_feeds(sinks, self._pace))
        self._tables = StaticTables(sinks)
        # What was asked for before there was a conductor to hear it.
        self._lock = threading.Lock()
        self._paused = stepping
        self._steps = 0
        self._folders: dict[str, Path] = {}
        self._conductors: dict[str, Conductor] = {}

    def start(self, folder: RunFolder) -> None:
        """Start to record every source into the run's folder.

        Raises
        ------
        RunProblem
            When a lookup table cannot be read.
        """
        self._tables.start(folder.lookups())
        self._folders = {feed.key: folder.source(feed.key) for feed in self._feeds}
        with self._lock:
            # At once: other threads look at this mapping while it is filled.
            self._conductors = {feed.key: self._conductor(feed) for feed in self._feeds}
        for conductor in self._conductors.values():
            conductor.start()

    def _conductor(self, feed: Feed) -> Conductor:
        conductor = Conductor(
            feed.recorder,
            self._folders[feed.key],
            schema=feed.table.physical,
            source=feed.table.name,
            pace=self._pace,
            paused=self._paused,
        )
        conductor.step(self._steps)
        return conductor

    def read_stream(
        self, spark: SparkSession, source: nodes.Source | nodes.LookupJoin
    ) -> DataFrame:
        """A source's rows as a stream, one chunk one micro-batch; or the rows of a
        lookup table."""
        if isinstance(source, nodes.LookupJoin):
            return self._tables.frame(spark, source.table)
        reader = spark.readStream.schema(_stored_columns(source))
        folder = self._folders[self._key(source)]
        reader = reader.option("maxFilesPerTrigger", 1)
        return reader.option("maxFileAge", FILES_REMEMBERED).parquet(folder.as_uri())

    def read_chunks(
        self,
        spark: SparkSession,
        chunks: Mapping[str, tuple[int, int]],
        source: nodes.Source | nodes.LookupJoin,
    ) -> DataFrame:
        """A source's rows of the chunks [first, after last), counted from 0; or the
        rows of a lookup table.

        Raises
        ------
        RunProblem
            When one of them is gone; :meth:`has_chunks` tells before.
        """
        if isinstance(source, nodes.LookupJoin):
            return self._tables.frame(spark, source.table)
        paths = self._paths(chunks, self._key(source))
        if not all(path.exists() for path in paths):
            raise RunProblem(
                f"rows that '{source.table.name}' gave are gone: a run keeps the newest"
            )
        columns = _stored_columns(source)
        if not paths:
            return spark.createDataFrame([], columns)
        return spark.read.schema(columns).parquet(*(path.as_uri() for path in paths))

    def has_chunks(self, chunks: Mapping[str, tuple[int, int]]) -> bool:
        """Whether all these chunks are still there, for :meth:`read_chunks`."""
        return all(p.exists() for key in chunks for p in self._paths(chunks, key))

    def _paths(
        self, chunks: Mapping[str, tuple[int, int]], key: str
    ) -> tuple[Path, ...]:
        numbers = range(*chunks.get(key, (0, 0)))
        if numbers and key not in self._folders:
            raise RunProblem(
                "the run has not begun to read again: what it read before it was "
                "resumed can be listed once it does"
            )
        return tuple(chunk_path(self._folders[key], n + 1) for n in numbers)

    def consumed(
        self, reads: Iterable[tuple[nodes.Sink, Mapping[str, int] | None]]
    ) -> None:
        """Let chunks go that every query has read.

        Parameters
        ----------
        reads
            Each sink with how many chunks of each source its query has read; None
            where it has not begun.
        """
        least: dict[str, int] = {}
        for sink, chunks in reads:
            for key in self._keys(sink):
                count = (chunks or {}).get(key, 0)
                least[key] = min(count, least.get(key, count))
        for key, count in least.items():
            if count:
                self._conductors[key].consumed(count)

    def is_read(self, chunks: Mapping[str, int], sink: nodes.Sink) -> bool:
        """Whether a query has read all there will ever be of its sources."""
        return all(self._ends_at(key, chunks.get(key, 0)) for key in self._keys(sink))

    def is_endless(self, sink: nodes.Sink) -> bool:
        """Whether a source of a query never ends by itself."""
        keys = self._keys(sink)
        return not all(f.recorder.bounded for f in self._feeds if f.key in keys)

    def ends_read(self, chunks: Mapping[str, int]) -> int:
        """How many of the end-of-stream rows a query has read."""
        # A resumed run remembers what it read before its sources have started.
        conductors = self._conductors
        states = (
            (conductors[key].state, count)
            for key, count in chunks.items()
            if key in conductors
        )
        return sum(
            max(0, count - (state.chunks - state.end_chunks)) for state, count in states
        )

    def _ends_at(self, key: str, count: int) -> bool:
        state = self._conductors[key].state
        return state.ended and count >= state.chunks

    def _keys(self, sink: nodes.Sink) -> set[str]:
        return {self._key(source) for source in sources(sink)}

    def _key(self, source: nodes.Source) -> str:
        return next(f.key for f in self._feeds if f.table == source.table)

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`."""
        with self._lock:
            self._paused = True
            for conductor in self._conductors.values():
                conductor.pause()

    def resume(self) -> None:
        """Release chunks again."""
        with self._lock:
            self._paused, self._steps = False, 0
            for conductor in self._conductors.values():
                conductor.resume()

    def step(self) -> None:
        """Release one chunk of each source and nothing more."""
        with self._lock:
            self._paused = True
            self._steps += 1
            for conductor in self._conductors.values():
                if not conductor.state.paused:
                    conductor.pause()
                conductor.step()

    def close(self) -> None:
        """Release nothing more at all; what is released stays. Waits for nobody."""
        for conductor in self._conductors.values():
            conductor.stop()

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is written any more, after :meth:`close`; True when so."""
        deadline = time.monotonic() + timeout_s
        return all(
            conductor.join(max(0.0, deadline - time.monotonic()))
            for conductor in self._conductors.values()
        )

    @property
    def paused(self) -> bool:
        """Whether the sources are paused, or will be once they start."""
        return self._paused

    @property
    def error(self) -> ArroyoError | None:
        """What ended a source early."""
        errors = (c.error for c in self._conductors.values())
        return next((error for error in errors if error is not None), None)

    def sources(self) -> tuple[SourceProgress, ...]:
        """Where each source stands, and then what is looked up."""
        conductors = self._conductors
        played = (
            _source_progress(feed.table, conductors[feed.key])
            for feed in self._feeds
            if feed.key in conductors
        )
        return (*played, *self._tables.sources())


def _feeds(sinks: Sequence[nodes.Sink], pace: Pace) -> Iterator[Feed]:
    """One feed a table. A view may still read the table that its name meant before,
    so two tables can have one name."""
    first: list[nodes.Source] = []
    windowed: list[ConnectorTable] = []
    for sink in sinks:
        has_window = any(isinstance(n, nodes.WindowAggregate) for n in walk(sink))
        for source in sources(sink):
            if source.table not in [known.table for known in first]:
                first.append(source)
            if has_window:
                windowed.append(source.table)
    for number, source in enumerate(first):
        if pace.clock is not None:
            _refuse_pace(source)
        table, spec = source.table, source.table.spec.resolved(source.span)
        word = re.sub(r"\W", "_", table.name, flags=re.ASCII)[:60]
        recorder = CONNECTORS.get(table.connector).recorder(spec)
        if table in windowed:
            drop = spec.options.get("bad_data") == "drop"
            recorder = WindowTimes(recorder, table.name, drop=drop)
        yield Feed(f"{number}-{word}", table, recorder)


def _refuse_pace(source: nodes.Source) -> None:
    """A generated time is Spark's to compute: a recorder has only the arrival."""
    if (column := _generated_time(source.table)) is not None:
        raise RunProblem(
            f"'{source.table.name}' cannot be played at a speed: its event time "
            f"'{column}' is a generated column",
            hint="declare the time as a physical column, or leave the speed out",
            span=source.span,
        )


def _generated_time(table: ConnectorTable) -> str | None:
    """The event time where the recorder does not know it."""
    return table.watermark.column if table.spec.event_time is None else None


def sources(sink: nodes.Sink) -> Iterator[nodes.Source]:
    """The sources that a sink is fed from; one that is read twice comes twice."""
    return (node for node in walk(sink) if isinstance(node, nodes.Source))


def _stored_columns(source: nodes.Source) -> str:
    told = "".join(f", {name} bigint" for name in told_columns(source))
    return f"{spark_schema(source.schema)}, {quoted(TIMESTAMP)} timestamp{told}"


def _source_progress(table: ConnectorTable, conductor: Conductor) -> SourceProgress:
    state = conductor.state
    newest = None if _generated_time(table) else state.max_event_time
    return SourceProgress(
        name=table.name,
        rows=state.rows,
        max_event_time=naive(newest),
        delay=table.watermark.delay,
        bounded=conductor.bounded,
        ended=state.ended,
        paused=state.paused,
        dropped_rows=state.dropped_rows,
        bad=tuple(map(str, state.bad)),
    )
