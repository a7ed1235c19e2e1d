"""A source that is a tape: a conductor plays it into a folder that Spark watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.paths import spark_pattern
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import ConnectionStatus, HasConnection
from arroyo_nb.run.observe.snapshot import SourceProgress, naive
from arroyo_nb.run.sources.fit_notes import fit_of
from arroyo_nb.run.sources.reader import (
    SourceOffset,
    SourcePosition,
    StreamedReader,
    not_begun,
)
from arroyo_nb.schema import TIMESTAMP, quoted, spark_schema
from arroyo_nb.spark.lower import changelog_columns
from arroyo_nb.tape import SHOWN_BAD_ROWS
from arroyo_nb.tape.conductor import Conductor, Playing
from arroyo_nb.tape.read_chunks import found_numbers, found_path
from arroyo_nb.tape.speed import Pace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.plan import nodes
    from arroyo_nb.state.folder import StateFolder
    from arroyo_nb.tape import BadRow, Recorder
    from arroyo_nb.tape.fit import Fit

FILES_REMEMBERED = "1000s"
"""How many chunks Spark remembers to have read, each a second of their modification
times. Later ones are always newer, so none that is not read is ever passed over."""


class TapeReader:
    """A source that is recorded; its chunks are let go when every query has read them.

    Parameters
    ----------
    key
        Names its folder, and is a plain word.
    table
        The source.
    recorder
        Makes its chunks.
    pace
        How fast they are released.
    connected
        What tells how a feed is connected; None: it is none.
    """

    def __init__(
        self,
        key: str,
        table: ConnectorTable,
        recorder: Recorder,
        pace: Pace,
        connected: HasConnection | None = None,
    ) -> None:
        self.key = key
        self.table = table
        self.recorder = recorder
        self._pace = pace
        self._connected = connected
        self._folder: Path | None = None
        self._conductor: Conductor | None = None
        self._drained = False

    @property
    def bounded(self) -> bool:
        """Whether the stream ends by itself."""
        return self.recorder.bounded

    @property
    def fit(self) -> Fit:
        """What is known of its rows, since this process has begun to read it."""
        return fit_of(self.recorder)

    streamed: StreamedReader | None = None

    @property
    def pace(self) -> Pace:
        """How fast its chunks are released, and how they are cut."""
        return self._pace

    @property
    def kept_chunks(self) -> Path | None:
        """The folder of its chunks where all of them are still there, and none will
        come; else None."""
        if self._folder is None or not self._folder.is_dir() or not self.join(0):
            return None
        numbers = found_numbers(self._folder)
        return self._folder if numbers == tuple(range(1, len(numbers) + 1)) else None

    def check(self, cancel_check: Callable[[], None]) -> None:
        """Nothing: what can be known of it was known when it was made."""

    def open(self, folder: StateFolder, *, paused: bool, steps: int) -> None:
        """Take its place in the run's folder."""
        self._folder = folder.source(self.key)
        read, logged = folder.chunks(self.key)
        conductor = Conductor(
            self.recorder,
            self._folder,
            schema=self.table.physical,
            source=self.table.name,
            pace=self._pace,
            paused=paused,
            read=read,
            logged=logged,
        )
        # Those that were asked for before there was a conductor.
        conductor.step(steps)
        self._conductor = conductor

    def start(self) -> None:
        """Start to record."""
        self._playing.start()

    @property
    def _playing(self) -> Conductor:
        assert self._conductor is not None, "it is open"
        return self._conductor

    def read_stream(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """Its rows, one chunk one micro-batch."""
        assert self._folder is not None, "it is open"
        reader = spark.readStream.schema(_stored_columns(source))
        # A chunk is a micro-batch: the same tape gives the same batches, and so the
        # same late rows and the same changes, however fast it is read.
        reader = reader.option("maxFilesPerTrigger", 1)
        reader = reader.option("maxFileAge", FILES_REMEMBERED)
        return reader.parquet(spark_pattern(self._folder))

    def read_again(
        self,
        spark: SparkSession,
        source: nodes.Source,
        stretch: tuple[SourceOffset, SourceOffset] | None,
    ) -> DataFrame:
        """Its rows of the chunks [first, after last), counted from 0.

        Raises
        ------
        RunProblem
            When one of them is gone; :meth:`has` tells before.
        """
        paths = () if stretch is None else self._paths(stretch)
        if not all(path.exists() for path in paths):
            raise RunProblem(
                f"rows that '{self.table.name}' gave are gone: a run keeps the newest"
            )
        columns = _stored_columns(source)
        if not paths:
            return spark.createDataFrame([], columns)
        return spark.read.schema(columns).parquet(*map(spark_pattern, paths))

    def has(self, stretch: tuple[SourceOffset, SourceOffset]) -> bool:
        """Whether all these chunks are still there."""
        return all(path.exists() for path in self._paths(stretch))

    def _paths(self, stretch: tuple[SourceOffset, SourceOffset]) -> tuple[Path, ...]:
        numbers = range(*map(_chunks, stretch))
        if numbers and self._folder is None:
            raise not_begun()
        # Spark's log counts chunks from 0, their files from 1.
        return tuple(found_path(self._folder or Path(), n + 1) for n in numbers)

    def consumed(self, reaches: Sequence[SourcePosition]) -> None:
        """Let chunks go that every query has read."""
        count = min(_chunks(reach.place) for reach in reaches)
        if count:
            self._playing.consumed(count)

    def is_read(self, place: SourceOffset | None) -> bool:
        """Whether a query that stands there has read all there will ever be."""
        state = self._playing.state
        # A conductor that was stopped may still be writing its last chunk.
        ended = state.ended or (self._drained and self.join(0))
        return ended and _chunks(place) >= state.chunks

    def ends_read(self, place: SourceOffset) -> int:
        """How many of the end-of-stream rows have been read."""
        chunks = _chunks(place)
        state = self._state_at(chunks)
        # End-of-stream rows are the last chunks of a tape, one each.
        return max(0, chunks - (state.chunks - state.end_chunks)) if state else 0

    def _state_at(self, chunks: int) -> Playing | None:
        """Where it stands, for a query that has read so many chunks.

        None while it is not known yet: a resumed query stands where it stood at once,
        and its chunks are looked through one by one as the conductor starts.
        """
        state = None if self._conductor is None else self._conductor.state
        return None if state is None or state.chunks < chunks else state

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`."""
        if self._conductor is not None:
            self._conductor.pause()

    def resume(self) -> None:
        """Release chunks again."""
        if self._conductor is not None:
            self._conductor.resume()

    def step(self) -> None:
        """Release one chunk and nothing more."""
        if self._conductor is None:
            return
        # Paused before it is stepped: in between, a conductor that runs could release
        # more than the one.
        if not self._conductor.state.paused:
            self._conductor.pause()
        self._conductor.step()

    @property
    def has_pace(self) -> bool:
        """Whether it is played by a time."""
        return self._pace.clock is not None

    def set_speed(self, speed: float | str) -> None:
        """Play what follows at another speed; of one that :attr:`has_pace`."""
        faster = {"clock": None} if speed == "max" else {"speed": float(speed)}
        pace = replace(self._pace, **faster)
        if self._conductor is not None:
            self._conductor.set_pace(pace)
        elif speed != "max":
            self._pace = pace

    def drain(self) -> None:
        """End here, with the chunks that are released."""
        self._drained = True
        self.close()

    def close(self) -> None:
        """Release nothing more at all; what is released stays."""
        if self._conductor is not None:
            self._conductor.stop()

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is written any more, after :meth:`close`; True when so."""
        return self._conductor is None or self._conductor.join(timeout_s)

    @property
    def error(self) -> ArroyoError | None:
        """What ended it early."""
        return None if self._conductor is None else self._conductor.error

    @property
    def bad_rows(self) -> tuple[BadRow, ...]:
        """A sample of the bad records that it dropped before Spark read them."""
        return () if self._conductor is None else self._conductor.state.bad

    @property
    def dropped_rows(self) -> int:
        """How many bad records it dropped before Spark read them."""
        return 0 if self._conductor is None else self._conductor.state.dropped_rows

    def progress(self, reach: SourcePosition) -> SourceProgress | None:
        """Where a query stands that has come so far; None before that is known."""
        table, chunks = self.table, _chunks(reach.place)
        state = self._state_at(chunks)
        if self._conductor is None or state is None:
            return None
        newest = self._conductor.max_event_time(chunks)
        feed = self._connected
        status = feed.connection_status if feed is not None else ConnectionStatus()
        return SourceProgress(
            name=table.name,
            rows=max(0, reach.rows - self.ends_read(chunks)),
            max_event_time=None if generated_time(table) else naive(newest),
            delay=table.watermark.fixed_delay,
            bounded=self.bounded,
            ended=state.ended and chunks >= state.chunks,
            paused=state.paused,
            unread=state.chunks > chunks,
            due_s=self._conductor.due_s,
            dropped_rows=state.dropped_rows,
            dropped_before=state.dropped_before,
            bad=tuple(map(str, state.bad[:SHOWN_BAD_ROWS])),
            is_feed=feed is not None,
            away_s=status.away_s,
            away_why=status.why,
            gaps=status.gaps,
            lost_messages=status.lost_messages,
        )


def generated_time(table: ConnectorTable) -> str | None:
    """The event time where the recorder does not know it."""
    return table.watermark.column if table.spec.event_time is None else None


def _chunks(place: SourceOffset | None) -> int:
    assert place is None or isinstance(place, int), "of a tape"
    return place or 0


def _stored_columns(source: nodes.Source) -> str:
    told = "".join(f", {name} bigint" for name in changelog_columns(source))
    return f"{spark_schema(source.schema)}, {quoted(TIMESTAMP)} timestamp{told}"
