"""One source of a run, however its rows come.

There are two kinds. A :class:`~arroyo_nb.run.sources.tape.TapeReader` plays a tape into
a folder that Spark watches; a :class:`~arroyo_nb.run.sources.stream.StreamReader` lets
Spark read, and looks on. What a run asks of either is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.connectors import Offsets
    from arroyo_nb.errors import ArroyoError
    from arroyo_nb.plan import nodes
    from arroyo_nb.run.observe.snapshot import SourceProgress
    from arroyo_nb.state.folder import StateFolder
    from arroyo_nb.tape import BadRow
    from arroyo_nb.tape.fit import Fit

SourceOffset: TypeAlias = "int | Offsets"
"""How far a source has been read: of a tape its chunks, of a topic its offsets."""

SourceOffsets: TypeAlias = Mapping[str, SourceOffset]
"""The same of each source, by :attr:`SourceReader.key`."""

OffsetRanges: TypeAlias = Mapping[str, tuple[SourceOffset, SourceOffset]]
"""What a batch has read of each source: from where, up to where."""


def topic_key(topic: str) -> str:
    """The key of every source that reads a topic: Spark's progress names it alone."""
    return f"topic {topic}"


def not_begun() -> RunProblem:
    """That a source cannot be read again before a resumed run has opened it."""
    return RunProblem(
        "the run has not begun to read again: what it read before it was "
        "resumed can be listed once it does"
    )


@dataclass(frozen=True)
class SourcePosition:
    """How far one query has read a source, and how many rows of it; None before it
    has begun."""

    place: SourceOffset | None = None
    rows: int = 0


class SourceReader(Protocol):
    """One source table of a run.

    Every method but those that are given a session may be called from any thread.
    """

    @property
    def key(self) -> str:
        """What Spark's progress knows it by."""

    @property
    def table(self) -> ConnectorTable:
        """The table that is read."""

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself."""

    @property
    def fit(self) -> Fit:
        """What is known here of its rows and their columns."""

    @property
    def streamed(self) -> StreamedReader | None:
        """It as a source that Spark itself reads; None: it is recorded."""

    @property
    def has_pace(self) -> bool:
        """Whether it is played at a speed, which can then be set."""

    def set_speed(self, speed: float | str) -> None:
        """Play what follows at another speed."""

    def check(self, cancel_check: Callable[[], None]) -> None:
        """Find out whether it can be read, where that can be known before; takes a few
        seconds at most.

        Parameters
        ----------
        cancel_check
            Is called again and again; what it raises ends the wait.

        Raises
        ------
        RunProblem
            When it cannot.
        """

    def open(self, folder: StateFolder, *, paused: bool, steps: int) -> None:
        """Take its place in a run's folder; nothing is released yet.

        Raises
        ------
        RunProblem
            When it cannot be told where to begin.
        """

    def start(self) -> None:
        """Start to feed the source; returns at once."""

    def read_stream(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """Its rows as a stream."""

    def read_again(
        self,
        spark: SparkSession,
        source: nodes.Source,
        stretch: tuple[SourceOffset, SourceOffset] | None,
    ) -> DataFrame:
        """Its rows of a stretch that was read before; None has none.

        Raises
        ------
        RunProblem
            When some of them are gone.
        """

    def has(self, stretch: tuple[SourceOffset, SourceOffset]) -> bool:
        """Whether they are all there, for :meth:`read_again`."""

    def consumed(self, reaches: Sequence[SourcePosition]) -> None:
        """Take note of how far each query that reads it has come."""

    def is_read(self, place: SourceOffset | None) -> bool:
        """Whether a query that stands there has read all there will ever be."""

    def ends_read(self, place: SourceOffset) -> int:
        """How many of the rows up to there only end the stream."""

    def pause(self) -> None:
        """Release nothing more until :meth:`resume` or :meth:`step`."""

    def resume(self) -> None:
        """Release rows again."""

    def step(self) -> None:
        """Release a little and nothing more."""

    def drain(self) -> None:
        """End here: what has come by now is all there will ever be. Waits for
        nobody."""

    def close(self) -> None:
        """Release nothing more at all; waits for nobody."""

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is done any more, after :meth:`close`; True when so."""

    @property
    def error(self) -> ArroyoError | None:
        """What ended it early."""

    @property
    def bad_rows(self) -> tuple[BadRow, ...]:
        """A sample of the bad records that it dropped before Spark read them."""

    @property
    def dropped_rows(self) -> int:
        """How many bad records it dropped before Spark read them."""

    def progress(self, reach: SourcePosition) -> SourceProgress | None:
        """Where a query stands that has come so far; None before that is known."""


class StreamedReader(SourceReader, Protocol):
    """A source that Spark itself reads, with a connector that the engine needs."""

    @property
    def partitions(self) -> int:
        """How many it has, as far as is known."""

    def meet_added(self) -> None:
        """Begin in the partitions too that were added since it was opened.

        Raises
        ------
        RunProblem
            When the broker does not say.
        """

    def read_in_real_time(self, spark: SparkSession, source: nodes.Source) -> DataFrame:
        """Its rows as a stream of Spark's real-time mode."""

    def hold(self, query: StreamingQuery) -> bool:
        """Have a query read no more of it; False: it has not begun yet."""

    def limit(self, query: StreamingQuery, records: int) -> None:
        """Have the micro-batches to come of a query read so many records at most."""

    def fix_end(self, query: StreamingQuery) -> None:
        """Have a query that is held read it to its end."""

    def release(self, query: StreamingQuery) -> None:
        """Free the thread of a query that is stopped, where it waits for the broker."""
