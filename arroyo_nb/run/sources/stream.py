"""A source that Spark reads itself: where it begins, and how far it lags behind.

Spark's progress says where a batch ended; only the broker knows where the topic ends
now. So a thread asks it, beside the run, and sees too when the broker is away or the
topic gone. Nothing that is read goes this way.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import TopicOffsets
from arroyo_nb.durable_files import read_checked, state_disk, write_checked
from arroyo_nb.errors import RunProblem, StateProblem
from arroyo_nb.run.observe.snapshot import PartitionProgress, SourceProgress
from arroyo_nb.run.sources.reader import (
    SourceOffset,
    SourcePosition,
    not_begun,
    topic_key,
)
from arroyo_nb.tape import BadRow
from arroyo_nb.tape.fit import Fit

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.connectors import Offsets, Stream
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.plan import nodes
    from arroyo_nb.state.folder import StateFolder

LOOK_S = 1.0
"""How often the broker is asked."""

IDLE_S = 10.0
"""A partition to which nothing came for so long is idle."""

GONE_LOOKS = 3
"""How often a topic must be missing to be gone: a broker that has just come back may
not know it yet."""

RATE_S = 2.0
"""The time over which the rate is taken."""

_TICK_S = 0.1
_BEGIN = "_begin.json"
_BEGUN = "it says which topic is read, and where that was begun"


@dataclass(frozen=True)
class Looked:
    """What the broker said last.

    Parameters
    ----------
    ends
        The end of each partition.
    moved_s
        When that moved last, on the monotonic clock.
    away_s
        Since when there is no answer; None: there is.
    missing_looks
        How often in a row there was no such topic.
    """

    ends: Offsets = field(default_factory=dict)
    moved_s: Mapping[int, float] = field(default_factory=dict)
    away_s: float | None = None
    missing_looks: int = 0

    def found(self, ends: Offsets, now_s: float) -> Looked:
        """After an answer."""
        moved = {
            number: self.moved_s[number] if self.ends.get(number) == end else now_s
            for number, end in ends.items()
        }
        return Looked(ends, moved)

    def missed(self) -> Looked:
        """After an answer that there is no such topic."""
        return replace(self, missing_looks=self.missing_looks + 1, away_s=None)

    def unanswered(self, now_s: float) -> Looked:
        """The state after a request that the broker did not answer."""
        return replace(self, away_s=now_s if self.away_s is None else self.away_s)


class StreamReader:
    """A topic that Spark reads.

    Parameters
    ----------
    folder
        Names its folder, and is a plain word.
    table
        The source.
    stream
        How it is read.
    windowed
        Whether its rows get windows.
    ends_after
        None: it never ends. Else it ends where the topic does when it is opened, and no
        record behind that is read; it is over once no batch has come for so long.
    """

    def __init__(
        self,
        folder: str,
        table: ConnectorTable,
        stream: Stream,
        *,
        windowed: bool,
        ends_after: timedelta | None = None,
    ) -> None:
        self._folder = folder
        self.key = topic_key(stream.topic)
        self.table = table
        self._stream = stream
        self._windowed = windowed
        self._ends_after = ends_after
        self._ends: Offsets = {}
        self._news_s = time.monotonic()
        self._topic_id = ""
        self._begin: Offsets | None = None
        self._reach = SourcePosition()
        self._rates: deque[tuple[float, int]] = deque()
        self._looked = Looked()
        self._error: RunProblem | None = None
        self._stopping = False
        self._draining = False

    has_pace = False

    @property
    def streamed(self) -> StreamReader:
        """Itself."""
        return self

    def set_speed(self, speed: float | str) -> None:  # noqa: ARG002
        """Refused before: Spark reads as fast as it can."""
        raise AssertionError("it has no pace")

    @property
    def bounded(self) -> bool:
        """Whether it is read to its end only."""
        return self._ends_after is not None

    @property
    def fit(self) -> Fit:
        """Nothing: its queries know it."""
        return Fit()

    def check(self, look: Callable[[], None]) -> None:
        """Find out whether it can be read.

        Raises
        ------
        RunProblem
            When it cannot.
        """
        self._stream.check(look)

    def open(self, folder: StateFolder, *, paused: bool, steps: int) -> None:  # noqa: ARG002
        """Find out where to begin; a run that is resumed began where it did before.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """
        kept = folder.source(self._folder) / _BEGIN
        if not kept.exists():
            # Batches were committed, so offsets were read from somewhere: beginning
            # anew would read records twice, or leave some out.
            if folder.has_batches:
                raise StateProblem(kept, "is gone", _BEGUN)
            begin = self._stream.begin()
            _write(kept, begin)
        else:
            begin = self._with_added(_read(kept))
        self._topic_id, self._begin = begin
        if self.bounded:
            ends = self._stream.ends()
            if ends is None or ends.topic_id != self._topic_id:
                raise self._deleted()
            # A partition that is added from now on is behind the end.
            begun = begin.offsets.items()
            self._ends = {n: ends.offsets.get(n, at) for n, at in begun}

    def meet_added(self) -> None:
        """Begin in the partitions too that were added since it was opened.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """
        self._begin = self._with_added(
            TopicOffsets(self._topic_id, self._begun)
        ).offsets

    def _with_added(self, begun: TopicOffsets) -> TopicOffsets:
        """A partition that was added meanwhile is read from its oldest record."""
        oldest = self._stream.beginnings()
        if begun.topic_id != oldest.topic_id:
            raise self._deleted()
        # What was begun wins: the oldest record of a partition moves with retention.
        return TopicOffsets(begun.topic_id, {**oldest.offsets, **begun.offsets})

    def start(self) -> None:
        """Begin to look."""
        thread = threading.Thread(
            target=self._look_on, name=f"topic {self._stream.topic}", daemon=True
        )
        thread.start()

    @property
    def _begun(self) -> Offsets:
        if self._begin is None:
            raise not_begun()
        return self._begin

    def read_stream(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """Its rows as a stream."""
        reader = spark.readStream.format(self._stream.format)
        options = self._stream.options(self._begun, held=self.bounded)
        return self._rows(reader, options, source)

    def read_in_real_time(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """Its rows as a stream of Spark's real-time mode."""
        from arroyo_nb.spark.real_time import decoded

        options = self._stream.options(self._begun, real_time=True)
        records = spark.readStream.format(self._stream.format).options(**options)
        return decoded(records.load(), self._stream, source)

    @property
    def partitions(self) -> int:
        """How many it has, as the broker told last."""
        return max(len(self._begun), len(self._looked.ends))

    def read_again(
        self,
        spark: SparkSession,
        source: nodes.Source,
        stretch: tuple[SourceOffset, SourceOffset] | None,
    ) -> DataFrame:
        """Its rows of a stretch of offsets.

        Raises
        ------
        RunProblem
            When some of them are gone; :meth:`has` tells before.
        """
        first, after = self._stretch(stretch or (self._begun, self._begun))
        reader = spark.read.format(self._stream.format)
        return self._rows(reader, self._stream.options_between(first, after), source)

    def _rows(
        self, reader: Any, options: Mapping[str, str], source: nodes.Source
    ) -> DataFrame:
        from arroyo_nb.spark.topics import decoded

        records = reader.options(**options).load()
        return decoded(records, self._stream, source, windowed=self._windowed)

    def hold(self, query: StreamingQuery) -> bool:
        """Have a query read no more of it; False: it has not begun yet."""
        return self._stream.hold(query)

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Have the micro-batches to come of a query read so many records at most."""
        self._stream.limit(query, records)

    def fix_end(self, query: StreamingQuery) -> None:
        """Have a query that is held read it to its end. One that is drained may have
        been read beyond where it ended when that was asked."""
        self._stream.fix_end(query, None if self._draining else self._ends)

    def release(self, query: StreamingQuery) -> None:
        """Free the thread of a query that is stopped, where it waits for the broker."""
        self._stream.release(query)

    def has(self, stretch: tuple[SourceOffset, SourceOffset]) -> bool:
        """Whether the topic still keeps all these records."""
        first, after = self._stretch(stretch)
        topic_id, oldest = self._stream.beginnings()
        return topic_id == self._topic_id and all(
            first[number] == end or oldest.get(number, end) <= first[number]
            for number, end in after.items()
        )

    def _stretch(
        self, stretch: tuple[SourceOffset, SourceOffset]
    ) -> tuple[Offsets, Offsets]:
        """The stretch, each partition with its first offset: of the first batch Spark
        does not tell it, nor of a partition that was added."""
        first, after = map(_offsets, stretch)
        begun = self._begun
        return {n: first.get(n, begun.get(n, 0)) for n in after}, after

    def consumed(self, reaches: Sequence[SourcePosition]) -> None:
        """Take note of how far the slowest query has come."""
        places = [_offsets(reach.place) for reach in reaches]
        # Before each query has met a partition, nobody knows who is the slowest there.
        known = set.intersection(*(set(place) for place in places))
        least = {n: min(place[n] for place in places) for n in known}
        self._reach = SourcePosition(least, min(reach.rows for reach in reaches))
        self._news_s = time.monotonic()

    def is_read(self, place: SourceOffset | None) -> bool:
        """Whether it has come to the end, where there is one."""
        if self._ends_after is None:
            return False
        read = {**self._begun, **_offsets(place)}
        silent_s = time.monotonic() - self._news_s
        return silent_s >= self._ends_after.total_seconds() and all(
            read.get(number, 0) >= end for number, end in self._ends.items()
        )

    def ends_read(self, place: SourceOffset) -> int:  # noqa: ARG002
        """None: it has no end."""
        return 0

    def pause(self) -> None:
        """Nothing: Spark reads it, so the batches are held instead."""

    resume = step = pause

    def drain(self) -> None:
        """End where the topic does at the next look."""
        self._draining = not self.bounded

    def close(self) -> None:
        """Look no more; waits for nobody."""
        self._stopping = True

    def join(self, timeout_s: float) -> bool:  # noqa: ARG002
        """True: who looks writes nothing, and may wait for a broker that is away."""
        return True

    @property
    def error(self) -> ArroyoError | None:
        """That the topic is gone."""
        return self._error

    def _look_on(self) -> None:
        # No Event: whoever sets it may be interrupted while it holds its lock.
        next_s = time.monotonic()
        while not self._stopping:
            if time.monotonic() >= next_s:
                self._look()
                next_s = time.monotonic() + LOOK_S
            time.sleep(_TICK_S)

    def _look(self) -> None:
        draining = self._draining  # before it is asked: it ends no earlier than that
        try:
            found = self._stream.ends()
        except RunProblem:
            self._looked = self._looked.unanswered(time.monotonic())
            return
        if found is None:
            self._looked = self._looked.missed()
            is_gone = self._looked.missing_looks == GONE_LOOKS
        else:
            self._looked = self._looked.found(found.offsets, time.monotonic())
            is_gone = found.topic_id != self._topic_id
            if draining and not self.bounded:
                self._ends, self._ends_after = found.offsets, timedelta()
        if is_gone:
            self._error = self._deleted()

    def _deleted(self) -> RunProblem:
        return self._stream.deleted(self.table.name)

    @property
    def bad_rows(self) -> tuple[BadRow, ...]:
        """None: Spark reads all records, and its queries know the bad ones."""
        return ()

    @property
    def dropped_rows(self) -> int:
        """None, as of :attr:`bad_rows`."""
        return 0

    def progress(self, reach: SourcePosition) -> SourceProgress | None:
        """Where a query stands that has come so far; None before it is open."""
        if self._begin is None:
            return None
        looked, now_s = self._looked, time.monotonic()
        away_s = 0.0 if looked.away_s is None else now_s - looked.away_s
        partitions = tuple(self._partitions(reach, looked, now_s))
        return SourceProgress(
            name=self.table.name,
            rows=reach.rows,
            max_event_time=None,
            delay=self.table.watermark.fixed_delay,
            bounded=self.bounded,
            partitions=partitions,
            idle_partitions=tuple(p.number for p in partitions if p.idle),
            rows_per_s=self._rate(now_s),
            away_s=away_s,
            older_records=self._stream.older_records,
            ends_known=self.bounded or bool(looked.ends),
        )

    def _partitions(
        self, reach: SourcePosition, looked: Looked, now_s: float
    ) -> Sequence[PartitionProgress]:
        # One that was added is read from its beginning.
        added = dict.fromkeys(looked.ends, 0)
        # What comes behind the end of a run that has one is not its to read.
        ends = self._ends if self.bounded else looked.ends
        read = {**added, **self._begun, **_offsets(reach.place)}
        return [
            PartitionProgress(
                number,
                offset,
                # What was read is there, though the broker may have been asked before.
                max(offset, ends.get(number, offset)),
                now_s - looked.moved_s.get(number, now_s) > IDLE_S,
            )
            for number, offset in sorted(read.items())
        ]

    def _rate(self, now_s: float) -> float:
        """Rows a second, over the last looks at it."""
        rates = self._rates
        rates.append((now_s, self._reach.rows))
        while len(rates) > 2 and now_s - rates[1][0] >= RATE_S:
            rates.popleft()
        first_s, first_rows = rates[0]
        return (self._reach.rows - first_rows) / max(now_s - first_s, 1e-3)


def _offsets(place: SourceOffset | None) -> Offsets:
    assert not isinstance(place, int), "of a topic"
    return place or {}


def _write(path: Path, begin: TopicOffsets) -> None:
    with state_disk(path):
        offsets = {str(number): at for number, at in begin.offsets.items()}
        write_checked(path, {"topic_id": begin.topic_id, "offsets": offsets})


def _read(path: Path) -> TopicOffsets:
    try:
        if path.read_bytes().startswith(b"["):  # of an earlier version
            topic_id, offsets = json.loads(path.read_text())
        else:
            found = read_checked(path, _BEGUN)
            topic_id, offsets = found["topic_id"], found["offsets"]
        return TopicOffsets(topic_id, {int(n): at for n, at in offsets.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateProblem(path, "is damaged", _BEGUN) from None
