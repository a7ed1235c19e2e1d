"""Recorded streams: every source that Spark does not read itself is a tape.

A tape is an ordered run of Arrow chunks, each row with its arrival time. A recorder
makes the chunks of one source, vectorised and in arrival order; the conductor moves
them, at the chosen pace, into the folder that Spark watches. One chunk is one
micro-batch, so the same tape gives the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from arroyo_nb.schema import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

ARRIVAL = "_arrival"
"""Column of a chunk: when the row arrived, timestamp[us, UTC]."""


class Clock(Enum):
    """The time that a paced tape follows; its value is the column."""

    EVENT_TIME = TIMESTAMP
    ARRIVAL = ARRIVAL


KEPT_BAD_ROWS = 20
"""How many records that could not be read are kept as a sample."""

SHOWN_CHARS = 200
"""How much of the text of one is kept."""

UNREAD = "_unread"
"""Hidden column of rows that Spark reads itself, or looks up: what is wrong with the
bad record that a row stands for, or met, where such are dropped."""

END_OF_TIME_US = 253_370_764_800_000_000
"""9999-01-01T00:00:00Z in microseconds: the ``_timestamp`` of the one row of an
end-of-stream chunk. It moves the watermark past every window and is then removed by
a predicate on ``_timestamp``; its other columns are NULL."""

LONGEST_WAIT = timedelta(days=36_525)
"""A century: a window, a session's gap or a watermark's delay is no longer."""

LAST_WINDOW = datetime(9700, 1, 1, tzinfo=UTC)
"""Rows of windows are older: with a wait for the window's end and one for the watermark
they are told well before the end of time."""


def outside_windows(*, early: bool) -> str:
    """Where a time lies that no window can hold, in words."""
    return "before 1970" if early else f"after the year {LAST_WINDOW.year - 1}"


END_CHUNKS = 2
"""End-of-stream chunks of a bounded source. The first moves the watermark to the end of
time, the second is the batch in which that watermark closes the windows: Spark runs no
batch without rows here (engine.config), so the same tape always makes the same ones."""

Position: TypeAlias = Mapping[str, Any]
"""Where a recorder stands, as plain JSON values: enough to go on after a chunk."""


@dataclass(frozen=True)
class BadRow:
    """A record that could not be read: where it stood, its text (cut), and why."""

    place: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}: {self.text}"


@dataclass(frozen=True)
class Chunk:
    """Rows that arrive together.

    Parameters
    ----------
    rows
        The source's columns, then ``_arrival`` and ``_timestamp`` (both
        timestamp[us, UTC]; the latter is the source's own event time, the arrival
        where it has none).
    position
        Where the recorder stands after these rows.
    dropped_rows
        How many bad records were left out since the chunk before.
    bad
        A bounded sample of them.
    quiet
        Whether it is a batch though it has no rows; else it is none.
    """

    rows: pa.Table
    position: Position
    dropped_rows: int = 0
    bad: tuple[BadRow, ...] = field(default=())
    quiet: bool = False

    @property
    def empty(self) -> bool:
        """Whether no batch is made of it."""
        return self.rows.num_rows == 0 and not self.quiet


class Recorder(Protocol):
    """What turns one source into chunks."""

    bounded: bool
    """Whether the stream ends by itself."""
    live: bool
    """Whether its rows come as time passes, whoever waits for them."""

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The chunks after a position (None: from the start), in arrival order.

        Deterministic for a bounded source: the same position gives the same chunks.
        A live source blocks between chunks for at most 0.1 s at a time and then
        yields an empty chunk, so that a stop is heard.

        Raises
        ------
        RunProblem
            When the source cannot be read, or holds bad data and ``bad_data`` is
            ``fail``; the message has the place.
        """
