"""Tapes of records: what came to a topic, byte by byte, in the order in which it came.

::

    partition, offset, timestamp (ms), key, headers, value | _arrival, _timestamp

What arrived within a quarter of a second is a chunk, and so a micro-batch of whoever
reads the tape: about what a query on the topic was given at once. What a topic already
had when somebody began to record it arrived, all of it, at that moment.

A tape is written beside its place and moved there when it is whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import is_full
from arroyo_nb.schema import (
    BIGINT,
    BYTEA,
    INT,
    TEXT,
    TIMESTAMP,
    Field,
    ListOf,
    Schema,
    StructOf,
    arrow_type,
)
from arroyo_nb.tape import ARRIVAL, END_OF_TIME_US, Chunk
from arroyo_nb.tape.format import (
    Header,
    chunk_numbers,
    read_chunk,
    read_header,
    read_mark,
)
from arroyo_nb.tape.writer import TapeWriter, stored, write_header

if TYPE_CHECKING:
    import pyarrow as pa

HEADERS = ListOf(StructOf((Field("key", TEXT), Field("value", BYTEA))))

RECORDS = Schema(
    (
        Field("partition", INT, nullable=False),
        Field("offset", BIGINT, nullable=False),
        Field("timestamp", BIGINT, nullable=False),
        Field("key", BYTEA),
        Field("headers", HEADERS),
        Field("value", BYTEA),
    )
)
"""The columns of a record; ``timestamp`` is in milliseconds after the epoch."""

TOGETHER_US = 250_000
"""What arrives within so long of the first record of a chunk is of that chunk."""

CHUNK_RECORDS, CHUNK_BYTES = 500_000, 64 * 2**20
"""More than that is several chunks: a query on a topic reads no more at once, and
nobody holds more in memory."""

PACKED = "zstd"

EMITTED, ROWS = "session.emit", "session.rows"
"""What the header of a tape says that rows of a program were written to, and that of
one which a user has written."""

RECORD_BYTES = 100
"""What a record takes beside its bytes, about."""

NO_TIME = -1
"""The time of a record that has none, as Kafka and Spark have it."""

_Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class TapeRecord(NamedTuple):
    """A record as a topic has it.

    Attributes
    ----------
    timestamp_ms
        Its own time, after the epoch; :data:`NO_TIME` where it has none.
    value
        None is a tombstone.
    headers
        Their names and values; None where there are none.
    """

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: _Headers | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes of its key, its value and its headers."""
        beside = sum(len(n) + len(value or b"") for n, value in self.headers or ())
        return len(self.key or b"") + len(self.value or b"") + beside


class ArrivedRecord(NamedTuple):
    """A record and when it arrived, in microseconds after the epoch; without a record:
    nothing had come by then. None: when that is says nothing of the stream."""

    record: TapeRecord | None
    arrival_us: int | None


RESERVE_BYTES = 64 * 2**10
"""What is set aside on the disk while a tape is written: where it is full, this much is
left to end the tape well."""


class Unwritten(RunProblem):
    """That a tape cannot be written on; what it has is whole."""


class Unreadable(RunProblem):
    """That no more records will come; those that came are kept."""


class RecordWriter:
    """Writes one tape of records; a context manager that leaves nothing half written.

    Parameters
    ----------
    path
        Where the tape will be; folders above it are made.
    topic
        Where its records are from, and what places of them begin with.
    redacted
        The fields whose values were replaced, for the header.
    made_by
        What has made its records, for the header; empty: they are of a topic.
    together_us
        What arrives within so long of the first record of a chunk is of that chunk;
        None: :meth:`flush` alone ends one.

    Raises
    ------
    RunProblem
        When something is there already, or nothing can be written there.
    """

    def __init__(
        self,
        path: Path,
        topic: str,
        *,
        redacted: Sequence[str] = (),
        made_by: str = "",
        together_us: int | None = TOGETHER_US,
    ) -> None:
        self.path = path
        self.records = 0
        """How many it has taken, but for those that could not be written."""
        self.partitions: set[int] = set()
        """Of which partitions those are that are written."""
        header = Header(str(RECORDS), topic, bounded=True, redacted=(*redacted,))
        self._header = replace(header, made_by=made_by) if made_by else header
        self._together_us = together_us
        self._kept: list[tuple[TapeRecord, int]] = []
        self._kept_bytes = 0
        if path.exists():
            raise RunProblem(
                f"there is something at '{path}' already",
                hint="a tape is never written over: delete it, or name another",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._draft = Path(
                tempfile.mkdtemp(".part", f".{path.name}.", dir=path.parent)
            )
            self._writer = TapeWriter(self._draft, self._header, compression=PACKED)
            self._reserve = self._draft / ".reserve.tmp"
            # What is all zeros may take no room.
            self._reserve.write_bytes(os.urandom(RESERVE_BYTES))
        except OSError as problem:
            raise self._unwritten(problem) from None

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave nothing behind of a tape that was not finished."""
        shutil.rmtree(self._draft, ignore_errors=True)

    def append(self, record: TapeRecord, arrival_us: int) -> None:
        """Take a record that arrived then; instants never go back.

        Raises
        ------
        Unwritten
            When records cannot be written; those of the chunks before are whole, and
            :meth:`finish` makes a tape of them.
        """
        self.rest(arrival_us)
        self._kept.append((record, arrival_us))
        self._kept_bytes += record.size_bytes + RECORD_BYTES
        self.records += 1
        if len(self._kept) >= CHUNK_RECORDS or self._kept_bytes >= CHUNK_BYTES:
            self._write()

    def rest(self, now_us: int) -> None:
        """Write what is there, if what comes now is of another chunk."""
        # From its first record: measured from the last, a topic that never rests would
        # be one chunk.
        if self._together_us is None or not self._kept:
            return
        if now_us - self._kept[0][1] >= self._together_us:
            self._write()

    def flush(self) -> None:
        """Write what is there.

        Raises
        ------
        Unwritten
            As of :meth:`append`.
        """
        if self._kept:
            self._write()

    def finish(self) -> int:
        """Move the tape to its place; returns its size in bytes.

        Raises
        ------
        Unwritten
            When it cannot be, as where something has come there meanwhile.
        """
        self.flush()
        last = self._writer.last
        header = replace(self._header, chunks=last.number if last else 0)
        try:
            # Its room is for the header: on a full disk the tape is finished all the
            # same.
            self._reserve.unlink(missing_ok=True)
            write_header(self._draft, header)
            size_bytes = sum(entry.stat().st_size for entry in os.scandir(self._draft))
            # Of two that finish at once, one finds a folder that is not empty.
            self._draft.rename(self.path)
        except OSError as problem:
            raise self._unwritten(problem) from None
        return size_bytes

    def _write(self) -> None:
        kept, self._kept, self._kept_bytes = self._kept, [], 0
        try:
            self._writer.append(Chunk(record_table(kept), {}))
        except OSError as problem:
            # They are not on the tape: what it says of itself must be what it has.
            self.records -= len(kept)
            self._clear()
            raise self._unwritten(problem) from None
        self.partitions.update(record.partition for record, _ in kept)

    def _clear(self) -> None:
        """Remove what is half written."""
        for torn in self._draft.glob(".chunk-*.tmp"):
            with suppress(OSError):
                torn.unlink()

    def _unwritten(self, problem: OSError) -> Unwritten:
        # Arrow's words are its own.
        said = problem.strerror or str(problem)
        if is_full(problem):
            said = "the disk is full"
        return Unwritten(
            f"the tape '{self.path}' cannot be written: {said}",
            hint="what it has is whole; make space there and record on, or to another "
            "disk",
        )


def record_table(kept: Sequence[tuple[TapeRecord, int]]) -> pa.Table:
    """Records, each with when it arrived in microseconds, as a chunk has them."""
    import pyarrow as pa

    records = [record for record, _ in kept]
    headers = [
        None if r.headers is None else [{"key": n, "value": v} for n, v in r.headers]
        for r in records
    ]
    columns = {
        "partition": [record.partition for record in records],
        "offset": [record.offset for record in records],
        "timestamp": [record.timestamp_ms for record in records],
        "key": [record.key for record in records],
        "headers": headers,
        "value": [record.value for record in records],
    }
    made = {
        field.name: pa.array(columns[field.name], arrow_type(field.type))
        for field in RECORDS
    }
    made[ARRIVAL] = pa.array([us for _, us in kept], pa.timestamp("us", "UTC"))
    made[TIMESTAMP] = record_times(made["timestamp"])
    return pa.table(made)


def record_times(timestamps: pa.Array) -> pa.Array:
    """Times of records as instants; what Arrow cannot hold is the end of time, which is
    bad data."""
    import pyarrow as pa
    import pyarrow.compute as pc

    last_ms = END_OF_TIME_US // 1000
    # Bounded first: times a thousand, a wrong time would overflow int64.
    held = pc.min_element_wise(pc.max_element_wise(timestamps, -last_ms), last_ms)
    return pc.multiply(held, 1000).cast(pa.timestamp("us", "UTC"))


class RecordTape:
    """A tape of records on disk, opened for reading.

    Parameters
    ----------
    folder
        Where it lies.
    name
        What messages call it.

    Raises
    ------
    RunProblem
        When it is no such tape, or not whole.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        header = read_header(folder, name)
        if header.schema != str(RECORDS):
            raise RunProblem(
                f"the tape '{name}' does not hold records of a topic",
                hint="write one with %arroyo record, or session.record",
            )
        self.topic = header.source
        self.redacted = header.redacted
        self.made_by = header.made_by
        """What has made it."""
        self.emitted = header.made_by == EMITTED
        """Whether its records came from a program, and from no topic."""
        self._chunks = header.chunks or 0
        found = chunk_numbers(folder)
        if header.chunks is None or found != tuple(range(1, header.chunks + 1)):
            raise self._damaged("some of its chunks are missing")

    @property
    def records(self) -> int:
        """How many it has."""
        if not self._chunks:
            return 0
        return read_mark(self._folder, self._chunks).totals.rows

    def span_us(self, column: str) -> int:
        """About how long it is from the oldest of its arrivals, or of its records'
        times, to the newest; by the first and the last chunk.

        Raises
        ------
        RunProblem
            When one cannot be read.
        """
        import pyarrow.compute as pc

        ends: list[dict[str, int]] = []
        # Once where it is one chunk.
        for number in dict.fromkeys((1, self._chunks) if self._chunks else ()):
            _, records = next(self.chunks(number - 1))
            ends.append(pc.min_max(records[column].cast("int64")).as_py())
        if not ends:
            return 0
        return max(end["max"] for end in ends) - min(end["min"] for end in ends)

    def chunks(self, after: int = 0) -> Iterator[tuple[int, pa.Table]]:
        """Its records in chunks, with their numbers, those above ``after``.

        Raises
        ------
        RunProblem
            When one cannot be read.
        """
        expected = stored(record_table([])).schema
        for number in range(after + 1, self._chunks + 1):
            try:
                _, records = read_chunk(self._folder, number)
            except (RunProblem, ValueError):  # a name may be no UTF-8 any more
                raise self._damaged(f"its chunk {number} is") from None
            if not records.schema.equals(expected):
                raise self._damaged(f"its chunk {number} is")
            yield number, records

    def _damaged(self, what: str) -> RunProblem:
        return RunProblem(f"the tape '{self._name}' is damaged: {what}")
