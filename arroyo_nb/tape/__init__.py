"""Recorded streams: every source that Spark does not read itself is a tape.

A tape is an ordered run of Arrow chunks, each row with its arrival time. A recorder
makes the chunks of one source, vectorised and in arrival order; the conductor moves
them, at the chosen pace, into the folder that Spark watches. One chunk is one
micro-batch, so the same tape gives the same batches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from operator import add, sub
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from arroyo_nb.schema import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

ARRIVAL = "_arrival"
"""Column of a chunk: when the row arrived, timestamp[us, UTC]."""


class Clock(Enum):
    """The time that a paced tape follows; its value is the column."""

    EVENT_TIME = TIMESTAMP
    ARRIVAL = ARRIVAL


KEPT_BAD_ROWS = 1_000
"""How many records that could not be read are kept as a sample: of a chunk, and of a
source of a run."""

SHOWN_BAD_ROWS = 20
"""How many of them a snapshot has."""

SHOWN_CHARS = 200
"""How much of the text of one is kept."""

CUT = "…"
"""The end of a text that is longer than :data:`SHOWN_CHARS`."""

UNREAD = "_unread"
"""Hidden column of rows that Spark reads itself, or looks up: the bad record that a row
stands for, or met, where such are dropped, as :meth:`BadRow.to_json` writes it."""

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
    """A record that could not be read.

    Parameters
    ----------
    place
        Where it stood, in words; empty: unknown.
    text
        The record, see :func:`shown_text`.
    reason
        Why it could not be read.
    origin
        The topic, the file, or the key of a lookup table; empty: unknown.
    partition, offset
        Where it stood in a topic.
    line
        Where it stood in a file; of Parquet and Avro, its row. Counted from 1.
    """

    place: str
    text: str
    reason: str
    origin: str = ""
    partition: int | None = None
    offset: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.place, self.reason, self.text)))

    def to_json(self) -> str:
        """All of it as one text, for a column of Spark."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> BadRow:
        """What :meth:`to_json` wrote, or ``to_json`` of Spark, which leaves NULLs
        out."""
        return cls(**json.loads(text))

    @classmethod
    def in_file(cls, origin: str, line: int, text: str, reason: str) -> BadRow:
        """A record of a file."""
        return cls(f"{origin}:{line}", text, reason, origin, line=line)


def _text_of(record: bytes) -> str:
    """A record as text; as its bytes where a tenth of that would be no characters."""
    text = record.decode("utf-8", "replace")
    strange = sum(
        char == "\ufffd" or (char < " " and char not in "\t\r\n") for char in text
    )
    return text if 10 * strange <= len(text) else f"0x{record.hex()}"


def shown_text(record: str | bytes) -> str:
    """The text of a record up to :data:`SHOWN_CHARS`; one that is cut ends in
    :data:`CUT`.

    >>> shown_text(b' {"id": 1}')
    '{"id": 1}'
    >>> len(shown_text("x" * 201)), shown_text("x" * 201)[-1]
    (200, '…')
    >>> shown_text(bytes([2, 248, 187, 198, 3]))
    '0x02f8bbc603'
    """
    if isinstance(record, bytes):
        # A character has four bytes at most.
        record = _text_of(record[: 4 * (SHOWN_CHARS + 1)])
    text = record.strip()
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + CUT


@dataclass(frozen=True)
class RecordCounts:
    """What is counted of the records of a source beside its rows and its bad records.

    Parameters
    ----------
    unknown
        Records with fields that the schema of their reader does not know.
    empty
        Records without content, such as tombstones, which give no row.
    plain_decimals
        Texts of DECIMALs that were taken for numbers because they are nothing else.
    unsent
        Changes that have a placeholder for a value which the database did not send.
    """

    unknown: int = 0
    empty: int = 0
    plain_decimals: int = 0
    unsent: int = 0

    def __add__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(*map(sub, astuple(self), astuple(other)))

    def __bool__(self) -> bool:
        return any(astuple(self))


NO_COUNTS = RecordCounts()


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
    counts
        What was counted of its records, also of those that gave no row.
    durable
        Whether it must survive a power cut before the next one is asked for: its server
        is then told that it need not keep the rows.
    """

    rows: pa.Table
    position: Position
    dropped_rows: int = 0
    bad: tuple[BadRow, ...] = field(default=())
    quiet: bool = False
    counts: RecordCounts = NO_COUNTS
    durable: bool = False

    @property
    def empty(self) -> bool:
        """Whether no batch is made of it."""
        return self.rows.num_rows == 0 and not self.quiet


class Recorder(Protocol):
    """What turns one source into chunks."""

    bounded: bool
    """Whether the stream ends by itself; of a feed that has ended it becomes so with
    its last chunk."""
    live: bool
    """Whether its rows come as time passes, whoever waits for them. Those of another
    recorder may be held back until they are a batch
    (:func:`arroyo_nb.tape.speed.merged`)."""

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


@runtime_checkable
class Recorded(Protocol):
    """A recorder of what was recorded before, which may say nothing by its arrival."""

    @property
    def arrived_at_once(self) -> bool:
        """Whether its records arrived all at once: such as rows that were emitted to a
        tape, or a topic that was full when its recording began."""

    @property
    def is_of_rows(self) -> bool:
        """Whether a user wrote its rows down, and with them the micro-batches."""

    @property
    def has_times(self) -> bool:
        """Whether the records' own times are spread over more than a moment."""
