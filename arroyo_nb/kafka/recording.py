"""Records a topic: what comes to it, onto a tape.

The records are read by a client that joins no group and commits nothing, and are
written as they come: their bytes are decoded only to redact fields in them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.jars import Check, Tell
from arroyo_nb.errors import RunProblem
from arroyo_nb.kafka.errors import UNREACHABLE, problem
from arroyo_nb.kafka.peek.create_table import tape_table, tape_table_like
from arroyo_nb.kafka.peek.guess import guess
from arroyo_nb.kafka.peek.topics import SAMPLE
from arroyo_nb.kafka.topic_reader import (
    POLL_S,
    AddedPartitions,
    open_reader,
    record_of,
)
from arroyo_nb.tape.records import RecordWriter, TapeRecord, Unwritten
from arroyo_nb.tape.redaction import EMPTIED, Redactor

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.connectors import Offsets
    from arroyo_nb.kafka.source import KafkaStream

TELL_S = 0.25
"""How often the progress is reported."""


@dataclass(frozen=True)
class RecordingLimits:
    """When a recording ends: by the first limit that it reaches.

    Parameters
    ----------
    length
        Wall time.
    records
        How many.
    """

    length: timedelta = timedelta(seconds=30)
    records: int = 100_000


@dataclass(frozen=True)
class Recording:
    """A tape that was recorded.

    Parameters
    ----------
    path, topic
        Where it is, and of what.
    records, partitions
        How many there are, and of how many partitions they are.
    seconds
        How long it took.
    size_bytes
        What the tape takes on disk.
    emptied
        Values that could not be looked into, and of which nothing was kept.
    unmet
        Names of fields to be redacted that none of the records had. Whoever misspelt
        one finds its values on the tape; it is kept all the same, as a field may be
        rare.
    error
        What ended it before it was enough.
    statement
        A CREATE TABLE that reads it.
    """

    path: Path
    topic: str
    records: int
    partitions: int
    seconds: float
    size_bytes: int
    emptied: int
    unmet: tuple[str, ...]
    error: BaseException | None = field(repr=False)
    statement: str = field(repr=False)

    def __str__(self) -> str:
        text = (
            f"{counted(self.records, 'record')} of "
            f"{counted(self.partitions, 'partition')} of '{self.topic}' in "
            f"{self.seconds:.1f} s: {counted(self.size_bytes, 'byte')} in "
            f"'{self.path}'"
        )
        if self.emptied:
            text += (
                f"; {counted(self.emptied, 'value')} of no JSON object, in which no "
                "field can be redacted, left empty"
            )
        if self.unmet:
            names = " or ".join(f"'{name}'" for name in self.unmet)
            text += (
                f"; no record has a field {names} to be redacted: if that is misspelt, "
                "what it was to hide is on the tape"
            )
        return text


class TopicRecorder:
    """Records one topic, once.

    Parameters
    ----------
    stream
        The topic, how it is reached, and where to begin.
    path
        Where the tape will be.
    limits
        When it ends.
    redact
        Replaces what is not to be kept; None: everything is.
    """

    def __init__(
        self,
        stream: KafkaStream,
        path: Path,
        limits: RecordingLimits,
        redact: Redactor | None = None,
    ) -> None:
        self._stream = stream
        self._path = path
        self._limits = limits
        self._redact = redact
        self._sample: list[TapeRecord] = []

    def record(
        self, *, tell: Tell, check: Check, table: ConnectorTable | None = None
    ) -> Recording:
        """Record until it is enough, or something ends it: what came is kept.

        Parameters
        ----------
        tell
            Is told how far it is.
        check
            Is called again and again; the interrupt that it raises ends the recording.
        table
            The table that the tape is declared like; None: as it seems to be.

        Raises
        ------
        RunProblem
            When the tape cannot be written, or the broker does not say where to begin.
        """
        # In this order: what comes between the two counts as there already, and what
        # was there is never taken for live.
        begin = self._stream.begin().offsets
        ends = self._stream.ends()
        arrivals = Arrivals(begin, ends.offsets if ends is not None else {})
        added = AddedPartitions(self._stream.topic, begin)
        fields = sorted(self._redact.fields) if self._redact else ()
        with (
            RecordWriter(self._path, self._stream.topic, redacted=fields) as writer,
            open_reader(self._stream, begin) as consumer,
        ):
            began_s = time.monotonic()
            errors: list[BaseException] = []
            with _ended_by(errors):
                for _ in self._until_limit(writer, began_s, tell, check):
                    added.assign_new(consumer)
                    record = self._record(consumer.poll(POLL_S))
                    if record is not None:
                        writer.append(record, arrivals(record))
                    # A pause is a fact of the stream once it is live; before that it
                    # is only the client that fetches.
                    elif arrivals.are_live:
                        writer.rest(arrivals.now_us())
            # An interrupt may come here too: the tape is finished all the same.
            with _ended_by(errors):
                writer.flush()
            size_bytes = writer.finish()
            return Recording(
                self._path,
                self._stream.topic,
                writer.records,
                len(writer.partitions),
                time.monotonic() - began_s,
                size_bytes,
                self._redact.emptied if self._redact else 0,
                self._redact.unmet if self._redact and writer.records else (),
                next(iter(errors), None),
                self._statement(table),
            )

    def _statement(self, table: ConnectorTable | None) -> str:
        topic, path = self._stream.topic, str(self._path)
        if table is not None:
            return tape_table_like(table, path)
        guessed = guess(
            (record.value for record in self._sample if record.value != EMPTIED),
            (record.key for record in self._sample),
        )
        return tape_table(topic, path, guessed)

    def _until_limit(
        self, writer: RecordWriter, began_s: float, tell: Tell, check: Check
    ) -> Iterator[None]:
        """Until it is enough; says how far it is meanwhile."""
        length_s = self._limits.length.total_seconds()
        reported_s = began_s - TELL_S
        while writer.records < self._limits.records:
            now_s = time.monotonic()
            if now_s - began_s >= length_s:
                return
            check()
            if now_s - reported_s >= TELL_S:
                reported_s = now_s
                tell(
                    f"recording '{self._stream.topic}': "
                    f"{counted(writer.records, 'record')} of at most "
                    f"{self._limits.records:,}, {now_s - began_s:.0f} s of {length_s:g}"
                )
            yield

    def _record(self, message: Any) -> TapeRecord | None:
        """What a message is; None: nothing that is kept.

        Raises
        ------
        Unreadable
            When no more will come.
        """
        if message is None:
            return None
        if (error := message.error()) is not None:
            # The client reconnects by itself; what came meanwhile is read then.
            if error.name() in UNREACHABLE:
                return None
            worded = problem(error, self._stream.subject)
            raise Unreadable(worded.message, hint=worded.hint)
        record = record_of(message)
        if self._redact is not None:
            record = self._redact(record)
        if len(self._sample) < SAMPLE:
            # After redaction: the statement must not quote what the tape hides.
            self._sample.append(record)
        return record


class Unreadable(RunProblem):
    """The broker gives no more records."""


@contextmanager
def _ended_by(errors: list[BaseException]) -> Iterator[None]:
    """Collect what ends a recording: what came before is kept."""
    try:
        yield
    except (KeyboardInterrupt, Unreadable, Unwritten) as problem:
        errors.append(problem)


class Arrivals:
    """When records arrive, in microseconds after the epoch; it never goes back.

    Parameters
    ----------
    begin, ends
        Where each partition is read from, and where it ended when that began: what is
        between was there then, however long it takes to be read.
    """

    def __init__(self, begin: Offsets, ends: Offsets) -> None:
        self._ends = ends
        self._left = {n for n, end in ends.items() if begin.get(n, end) < end}
        # The wall clock may be set meanwhile, and arrivals must not go back.
        self._offset_us = time.time_ns() // 1000 - time.monotonic_ns() // 1000
        self._last_us = self.now_us()

    def now_us(self) -> int:
        """Now, in microseconds after the epoch, by a clock that is never set back."""
        return self._offset_us + time.monotonic_ns() // 1000

    @property
    def are_live(self) -> bool:
        """Whether all that was there has been read. A partition that ends with what is
        no record, as a transaction does, is not known to be."""
        return not self._left

    def __call__(self, record: TapeRecord) -> int:
        """When a record arrived that is here now."""
        end = self._ends.get(record.partition, 0)
        # Its last record of before: from here on the partition is live.
        if record.offset >= end - 1:
            self._left.discard(record.partition)
        if record.offset >= end:
            self._last_us = self.now_us()
        return self._last_us


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
