"""Recordings: what a topic or a feed sends, onto a tape, byte by byte.

Records are written as they come: their bytes are decoded only to redact fields in them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.engine.jars import Check, Tell
from arroyo_nb.kafka.peek.create_table import tape_table, tape_table_like
from arroyo_nb.kafka.peek.guess import guess
from arroyo_nb.kafka.peek.topics import SAMPLE
from arroyo_nb.tape.records import (
    ArrivedRecord,
    RecordWriter,
    TapeRecord,
    Unreadable,
    Unwritten,
)
from arroyo_nb.tape.redaction import EMPTIED, Redactor

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable

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


class TapeRecording:
    """Records one topic or feed, once.

    Parameters
    ----------
    name
        Of the topic, or of the feed's table; places of records begin with it.
    arrivals
        Its records as they come.
    path
        Where the tape will be.
    limits
        When it ends.
    redact
        Replaces what is not to be kept; None: everything is.
    """

    def __init__(
        self,
        name: str,
        arrivals: Iterator[ArrivedRecord],
        path: Path,
        limits: RecordingLimits,
        redact: Redactor | None = None,
    ) -> None:
        self._name = name
        self._arrivals = arrivals
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
            When the tape cannot be written, or nothing can be read at all.
        """
        fields = sorted(self._redact.fields) if self._redact else ()
        with RecordWriter(self._path, self._name, redacted=fields) as writer:
            began_s = time.monotonic()
            errors: list[BaseException] = []
            with _ended_by(errors), closing(self._arrivals):  # type: ignore[type-var]
                until = self._until_limit(writer, began_s, tell, check)
                for _, arrived in zip(until, self._arrivals, strict=False):
                    self._append(writer, *arrived)
            # An interrupt may come here too: the tape is finished all the same.
            with _ended_by(errors):
                writer.flush()
            size_bytes = writer.finish()
            return Recording(
                self._path,
                self._name,
                writer.records,
                len(writer.partitions),
                time.monotonic() - began_s,
                size_bytes,
                self._redact.emptied if self._redact else 0,
                self._redact.unmet if self._redact and writer.records else (),
                next(iter(errors), None),
                self._statement(table),
            )

    def _append(
        self, writer: RecordWriter, record: TapeRecord | None, arrival_us: int | None
    ) -> None:
        if record is None:
            if arrival_us is not None:
                writer.rest(arrival_us)
            return
        assert arrival_us is not None, "a record has arrived"
        if self._redact is not None:
            record = self._redact(record)
        if len(self._sample) < SAMPLE:
            # After redaction: the statement must not quote what the tape hides.
            self._sample.append(record)
        writer.append(record, arrival_us)

    def _statement(self, table: ConnectorTable | None) -> str:
        path = str(self._path)
        if table is not None:
            return tape_table_like(table, path)
        guessed = guess(
            (record.value for record in self._sample if record.value != EMPTIED),
            (record.key for record in self._sample),
        )
        return tape_table(self._name, path, guessed)

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
                    f"recording '{self._name}': "
                    f"{counted(writer.records, 'record')} of at most "
                    f"{self._limits.records:,}, {now_s - began_s:.0f} s of {length_s:g}"
                )
            yield


@contextmanager
def _ended_by(errors: list[BaseException]) -> Iterator[None]:
    """Collect what ends a recording: what came before is kept."""
    try:
        yield
    except (KeyboardInterrupt, Unreadable, Unwritten) as problem:
        errors.append(problem)


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
