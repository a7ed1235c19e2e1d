"""What feeds a run: its sources, each shared by all its queries, and what they look up.

A source is a tape or a topic (:mod:`arroyo_nb.run.sources.reader`): which of the two is
asked in one place, where its feed is made.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from arroyo_nb.connectors import CONNECTORS, Connector, Streaming
from arroyo_nb.errors import RunProblem
from arroyo_nb.feeds import HasConnection
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tables.disorder import has_disorder, tape_disorder
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.snapshot import SourceProgress
from arroyo_nb.run.sources.fit_notes import FitNotes, fitted
from arroyo_nb.run.sources.generated_times import GeneratedTimes, event_time_of
from arroyo_nb.run.sources.lookups import StaticTables
from arroyo_nb.run.sources.reader import (
    OffsetRanges,
    SourceOffsets,
    SourcePosition,
    SourceReader,
    StreamedReader,
)
from arroyo_nb.run.sources.stream import StreamReader
from arroyo_nb.run.sources.tape import TapeReader, generated_time
from arroyo_nb.tape import Clock, Recorded, Recorder
from arroyo_nb.tape.disordered import Disordered
from arroyo_nb.tape.empty_batches import Quiet
from arroyo_nb.tape.fit import Fit
from arroyo_nb.tape.speed import Pace
from arroyo_nb.tape.window_times import WindowTimes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.source import Span
    from arroyo_nb.state.folder import StateFolder
    from arroyo_nb.tape import BadRow

MakeReader: TypeAlias = "Callable[[str, ConnectorTable], SourceReader]"
"""Gives the reader of a table by its key and the table."""


class Sources:
    """The sources of a run.

    Parameters
    ----------
    sinks
        The plan's sinks; every source below them is fed.
    speed
        ``"max"``, or a factor on event time, and of a recording on arrival time.
    tick
        At such a factor, the wall time between two releases.
    merge
        Whether small chunks go together where no speed paces them.
    stepping
        Whether nothing is released until :meth:`step`.
    ends_after
        None: topics never end. Else they end where they do when the run begins, which
        is over once no batch has come for so long.
    reader
        Gives the reader of a table, under the key that it is given; None: what its
        connector says.

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
        merge: bool,
        stepping: bool,
        ends_after: timedelta | None,
        reader: MakeReader | None = None,
    ) -> None:
        pace = Pace(merge=merge)
        if speed != "max":
            # A micro-batch reads one slice: one a tick keeps up with a trigger.
            pace = replace(
                pace,
                clock=Clock.EVENT_TIME,
                speed=float(speed),
                tick_s=tick.total_seconds(),
            )
        fed = tuple(_feeds(sinks, pace, ends_after, reader))
        self._feeds = tuple(feed for feed, _ in fed)
        self._spans = tuple(span for _, span in fed)
        self._fit_notes = tuple(FitNotes(feed.table) for feed in self._feeds)
        self._tables = StaticTables(sinks)
        # What was asked for before there was a conductor to hear it.
        self._lock = threading.Lock()
        self._paused = stepping
        self._steps = 0

    @property
    def readers(self) -> tuple[SourceReader, ...]:
        """The sources, one of each table."""
        return self._feeds

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether what Spark reads itself can be read; asks for seconds.

        Parameters
        ----------
        look
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When something cannot be read.
        """
        for feed, span in zip(self._feeds, self._spans, strict=True):
            with _used_at(span):
                feed.check(look)

    def start(self, folder: StateFolder) -> None:
        """Start to feed every source, in the run's folder.

        Raises
        ------
        RunProblem
            When a lookup table cannot be read, or a source has no beginning.
        """
        # Tables first, as queries look rows up from their first batch on. A source may
        # be refused as it is opened: none is fed before all of them are open.
        self._tables.start(folder.lookups())
        for feed, span in zip(self._feeds, self._spans, strict=True):
            with self._lock, _used_at(span):
                feed.open(folder, paused=self._paused, steps=self._steps)
        for feed in self._feeds:
            feed.start()

    def read_stream(
        self, spark: SparkSession, source: nodes.Source | nodes.LookupJoin
    ) -> DataFrame:
        """A source's rows as a stream; or the rows of a lookup table."""
        if isinstance(source, nodes.LookupJoin):
            return self._tables.frame(spark, source.table)
        return self._feed(source).read_stream(spark, source)

    def read_in_real_time(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """The rows of a topic as a stream of Spark's real-time mode."""
        return self._topic(source).read_in_real_time(spark, source)

    def partitions(self, sink: nodes.Sink) -> int:
        """How many partitions a query of topics reads at once."""
        return sum(self._topic(source).partitions for source in sources(sink))

    def read_again(
        self,
        spark: SparkSession,
        stretches: OffsetRanges,
        source: nodes.Source | nodes.LookupJoin,
    ) -> DataFrame:
        """A source's rows of what a batch has read; or the rows of a lookup table.

        Raises
        ------
        RunProblem
            When some of them are gone; :meth:`has` tells before.
        """
        if isinstance(source, nodes.LookupJoin):
            return self._tables.frame(spark, source.table)
        feed = self._feed(source)
        return feed.read_again(spark, source, stretches.get(feed.key))

    def has(self, stretches: OffsetRanges) -> bool:
        """Whether all that a batch has read is still there, for :meth:`read_again`."""
        return all(
            feed.has(stretches[feed.key])
            for feed in self._feeds
            if feed.key in stretches
        )

    def consumed(
        self, reaches: Iterable[tuple[nodes.Sink, Mapping[str, SourcePosition] | None]]
    ) -> None:
        """Tell every source how far its queries have come.

        Parameters
        ----------
        reaches
            Each sink with how far its query has read each source; None where it has
            not begun.
        """
        known = list(reaches)
        for feed in self._feeds:
            # A source that several queries read is told of all of them: it may let go
            # only of what the slowest has read.
            readers = (reach for sink, reach in known if feed in self._below(sink))
            found = [(reach or {}).get(feed.key, SourcePosition()) for reach in readers]
            if found:
                feed.consumed(found)

    def is_read(self, places: SourceOffsets, sink: nodes.Sink) -> bool:
        """Whether a query has read all there will ever be of its sources."""
        return all(feed.is_read(places.get(feed.key)) for feed in self._below(sink))

    def is_endless(self, sink: nodes.Sink) -> bool:
        """Whether a source of a query never ends by itself."""
        return not all(feed.bounded for feed in self._below(sink))

    def topics(self, sink: nodes.Sink) -> tuple[StreamedReader, ...]:
        """The sources below a sink that Spark itself reads."""
        return tuple(filter(None, (feed.streamed for feed in self._below(sink))))

    def fit_notes(
        self, fits: Callable[[str], Fit], wait_s: float = 0.0
    ) -> Mapping[str, tuple[str, ...]]:
        """What is odd in the rows of each source, by its name, as far as it is known.

        Parameters
        ----------
        fits
            What queries know of the rows of a source that Spark reads itself.
        wait_s
            How long to wait until records have been looked into.
        """
        return {
            feed.table.name: notes.notes(feed.fit + fits(feed.table.name), wait_s)
            for feed, notes in zip(self._feeds, self._fit_notes, strict=True)
        }

    def ending_topics(self, sink: nodes.Sink) -> tuple[StreamedReader, ...]:
        """The topics below a sink that are read to an end."""
        return tuple(feed for feed in self.topics(sink) if feed.bounded)

    def ends_read(self, places: SourceOffsets) -> int:
        """How many of the end-of-stream rows a query has read."""
        return sum(
            feed.ends_read(places[feed.key])
            for feed in self._feeds
            if feed.key in places
        )

    def _below(self, sink: nodes.Sink) -> tuple[SourceReader, ...]:
        # By table and not by name, which may mean another table by now (see _feeds).
        tables = [source.table for source in sources(sink)]
        return tuple(feed for feed in self._feeds if feed.table in tables)

    def _feed(self, source: nodes.Source) -> SourceReader:
        return next(feed for feed in self._feeds if feed.table == source.table)

    def _topic(self, source: nodes.Source) -> StreamedReader:
        topic = self._feed(source).streamed
        assert topic is not None, "checked by the planner"
        return topic

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`. Of topics Spark
        goes on reading: a run of them holds its batches too."""
        with self._lock:
            self._paused = True
            for feed in self._feeds:
                feed.pause()

    def resume(self) -> None:
        """Release rows again."""
        with self._lock:
            # The lock: what is asked before a feed is open is handed to it there, once.
            self._paused, self._steps = False, 0
            for feed in self._feeds:
                feed.resume()

    def step(self) -> None:
        """Release one chunk of each source and nothing more."""
        with self._lock:
            self._paused = True
            self._steps += 1
            for feed in self._feeds:
                feed.step()

    def set_speed(self, speed: float | str) -> None:
        """Play what follows at another speed.

        Raises
        ------
        RunProblem
            When it was started at no speed: its sources have no times to play by.
        """
        if not all(feed.has_pace for feed in self._feeds):
            raise RunProblem(
                "the speed of a run that was started without one cannot be set",
                hint="start it with --speed 60, or speed=60, and change that then",
            )
        with self._lock:
            for feed in self._feeds:
                feed.set_speed(speed)

    @property
    def streamed(self) -> bool:
        """Whether Spark itself reads one of them, and needs its connector."""
        return any(feed.streamed is not None for feed in self._feeds)

    def drain(self) -> None:
        """End every source here: what has come by now is all there will ever be, as
        :meth:`is_read` then says. Waits for nobody."""
        for feed in self._feeds:
            feed.drain()

    def close(self) -> None:
        """Release nothing more at all; what is released stays. Waits for nobody."""
        for feed in self._feeds:
            feed.close()

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is written any more, after :meth:`close`; True when so."""
        deadline = time.monotonic() + timeout_s
        return all(
            feed.join(max(0.0, deadline - time.monotonic())) for feed in self._feeds
        )

    @property
    def paused(self) -> bool:
        """Whether the sources are paused, or will be once they start."""
        return self._paused

    @property
    def error(self) -> ArroyoError | None:
        """What ended a source early."""
        errors = (feed.error for feed in self._feeds)
        return next((error for error in errors if error is not None), None)

    def dropped_rows(self, name: str) -> int:
        """How many bad records of a table were dropped before Spark read them."""
        feeds = (f.dropped_rows for f in self._feeds if f.table.name == name)
        tables = (t.dropped_rows for t in self._tables.sources() if t.name == name)
        return sum((*feeds, *tables))

    def fit(self, name: str) -> Fit:
        """What is known of the rows of a table before Spark reads them."""
        return sum((f.fit for f in self._feeds if f.table.name == name), Fit())

    def bad_rows(self, name: str) -> tuple[BadRow, ...]:
        """A sample of them."""
        feeds = (feed for feed in self._feeds if feed.table.name == name)
        found = (row for feed in feeds for row in feed.bad_rows)
        return (*found, *self._tables.bad_rows(name))

    def sources(
        self, reaches: Mapping[str, SourcePosition]
    ) -> tuple[SourceProgress, ...]:
        """Where a query stands in each source, and then what is looked up.

        Parameters
        ----------
        reaches
            How far the query has come in each source, by :attr:`SourceReader.key`.
        """
        found = (
            feed.progress(reaches.get(feed.key, SourcePosition()))
            for feed in self._feeds
        )
        return (*filter(None, found), *self._tables.sources())


def _feeds(
    sinks: Sequence[nodes.Sink],
    pace: Pace,
    ends_after: timedelta | None,
    reader: MakeReader | None,
) -> Iterator[tuple[SourceReader, Span | None]]:
    """One feed a table, and where that is used first. A view may still read the table
    that its name meant before, so two tables can have one name."""
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
        word = re.sub(r"\W", "_", source.table.name, flags=re.ASCII)[:60]
        folder, has_window = f"{number}-{word}", source.table in windowed
        if reader is not None:
            yield reader(folder, source.table), source.span
            continue
        with _used_at(source.span):
            feed = _feed(folder, source, pace, ends_after, windowed=has_window)
            if ends_after is not None and not feed.bounded:
                raise RunProblem(
                    f"'{source.table.name}' has no end",
                    hint="leave out until 'end', or say how long: --for, or stop_after",
                )
        yield feed, source.span


@contextmanager
def _used_at(span: Span | None) -> Iterator[None]:
    """Gives an error the place of the source that it is about."""
    try:
        yield
    except RunProblem as problem:
        problem.span = problem.span or span
        raise


def _feed(
    folder: str,
    source: nodes.Source,
    pace: Pace,
    ends_after: timedelta | None,
    *,
    windowed: bool,
) -> SourceReader:
    table, spec = source.table, source.table.spec.resolved(source.span)
    connector = CONNECTORS.get(table.connector)
    if isinstance(connector, Streaming):
        if pace.clock is not None:
            raise RunProblem(
                f"{_unpaced(table)} Spark reads its topic itself",
                hint="leave the speed out",
            )
        stream = connector.stream(spec)
        return StreamReader(
            folder, table, stream, windowed=windowed, ends_after=ends_after
        )
    recorder = connector.recorder(spec)
    connected = recorder if isinstance(recorder, HasConnection) else None
    if connected is not None and pace.clock is not None:
        raise RunProblem(
            f"{_unpaced(table)} its messages come as time passes",
            hint="leave the speed out; %arroyo record makes a tape of it that has one",
        )
    if _is_recorded(connector):
        # Its batches are those that the topic gave: what was late is late again.
        pace = replace(pace, merge=False)
    tape = recorder
    if has_disorder(spec.options):
        recorder = _disordered(recorder, table, connector)
        # Merged chunks would hide which rows come after which.
        pace = replace(pace, merge=False)
    if pace.clock is not None:
        pace = _paced_by(pace, table, connector, tape)
    # The order matters: the outer ones see rows as the inner ones leave them, and the
    # pace goes by the times that are left.
    if windowed:
        recorder = Quiet(recorder) if _is_recorded(connector) else recorder
        if not spec.computes_time:
            drop = spec.options.get("bad_data") == "drop"
            recorder = WindowTimes(recorder, table.name, drop=drop)
    if pace.clock is Clock.EVENT_TIME:
        recorder = _timed(recorder, table)
    return TapeReader(folder, table, fitted(recorder, table), pace, connected)


def _disordered(
    recorder: Recorder, table: ConnectorTable, connector: Connector
) -> Recorder:
    """The recorder, its rows in the disorder that the table asks for.

    Raises
    ------
    RunProblem
        When it is no tape, or nothing says when its rows arrive.
    """
    name = table.name
    if recorder.live:
        raise RunProblem(
            f"'{name}' is live: its rows cannot be put in disorder",
            hint="%arroyo record it, and set the options of the tape's table",
        )
    at_once = isinstance(recorder, Recorded) and recorder.arrived_at_once
    by_arrival = _is_recorded(connector) and not at_once
    own_time = connector.info.has_event_time or table.watermark.column is not None
    if not by_arrival and not own_time:
        raise RunProblem(
            f"nothing says when the rows of '{name}' arrive: they have no event time",
            hint="name the column of it: WATERMARK FOR the_column",
        )
    if not by_arrival and generated_time(table) is not None:
        recorder = _timed(recorder, table, f"'{name}' cannot be put in disorder:")
    return Disordered(
        recorder, tape_disorder(table.spec.options), by_arrival=by_arrival
    )


def _is_recorded(connector: Connector) -> bool:
    """Whether its rows come again when they came before, in the same chunks."""
    return connector.info.clock is Clock.ARRIVAL


def _paced_by(
    pace: Pace, table: ConnectorTable, connector: Connector, recorder: Recorder
) -> Pace:
    """By what a table plays: a recording by its arrival, unless that says nothing, and
    anything else by its event time.

    Raises
    ------
    RunProblem
        When its records have neither.
    """
    if not _is_recorded(connector):
        return replace(pace, clock=connector.info.clock)
    if not (isinstance(recorder, Recorded) and recorder.arrived_at_once):
        return replace(pace, clock=Clock.ARRIVAL, whole=True)
    if table.watermark.column is None and not recorder.has_times:
        raise RunProblem(
            f"{_unpaced(table)} its records arrived all at once",
            hint="name the column of its event time: WATERMARK FOR the_column; or "
            "leave the speed out",
        )
    return replace(pace, clock=Clock.EVENT_TIME)


def _timed(
    recorder: Recorder, table: ConnectorTable, what: str | None = None
) -> Recorder:
    """The recorder, its rows with the event time where that is a generated column.

    Raises
    ------
    RunProblem
        When that is more than a conversion: Spark alone can compute it.
    """
    name = generated_time(table)
    if name is None:
        return recorder
    made = next(g.expression for g in table.generated if g.column.name == name)
    compute = event_time_of(made)
    if compute is None:
        raise RunProblem(
            f"{what or _unpaced(table)} its event time '{name}' is computed by more "
            "than a conversion of a number or a time",
            hint="make it to_timestamp_millis(column), to_timestamp(column) or another "
            "conversion of one column, plus or minus an interval; declare a column of "
            "texts such as '2026-01-31T12:00:00' TIMESTAMP; or leave the speed out",
        )
    return GeneratedTimes(recorder, compute)


def _unpaced(table: ConnectorTable) -> str:
    return f"'{table.name}' cannot be played at a speed:"


def sources(sink: nodes.Sink) -> Iterator[nodes.Source]:
    """The sources that a sink is fed from; one that is read twice comes twice."""
    return (node for node in walk(sink) if isinstance(node, nodes.Source))
