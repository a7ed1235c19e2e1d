"""What a session does with topics and tapes beside its queries: record and emit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.jars import Check, Tell
from arroyo_nb.errors import ArroyoError, RunProblem
from arroyo_nb.feeds.recording import feed_records, feed_table
from arroyo_nb.kafka.emit.rows import incoming
from arroyo_nb.kafka.emit.targets import EmitOptions, Names
from arroyo_nb.kafka.recording import topic_records
from arroyo_nb.run.emission import Emission, EmissionPace
from arroyo_nb.run.interrupts import Interrupted, defer_interrupts
from arroyo_nb.run.option_values import duration
from arroyo_nb.run.recording import Recording, RecordingLimits, TapeRecording
from arroyo_nb.tape.redaction import Redactor

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.tape.records import ArrivedRecord

BEGINNINGS = (None, "latest", "earliest")


def record(
    names: Names,
    topic: str,
    path: Path,
    *,
    begin: str | None,
    limits: RecordingLimits,
    redact: Sequence[str],
    tell: Tell,
) -> Recording:
    """Record a topic onto a tape, as :meth:`arroyo_nb.session.Session.record` does.

    Raises
    ------
    RunProblem
        When nothing can be recorded, or no more: what came before is kept.
    Interrupted
        When it was interrupted: what came is kept.
    """
    if begin not in BEGINNINGS:
        raise RunProblem(f"begin is neither 'latest' nor 'earliest': '{begin}'")
    fields = Redactor(redact) if redact else None
    with defer_interrupts() as interrupts:
        table, arrivals = _arrivals(names, topic, begin, interrupts.check)
        recording = TapeRecording(topic, arrivals, path, limits, fields)
        made = recording.record(tell=tell, check=interrupts.check, table=table)
    if isinstance(made.error, KeyboardInterrupt):
        raise Interrupted(f"stopped by interrupt; recorded {made}")
    if isinstance(problem := made.error, ArroyoError):
        raise RunProblem(f"{problem.message}; recorded {made}", hint=problem.hint)
    if problem is not None:
        raise RunProblem(f"{problem}; recorded {made}")
    return made


def _arrivals(
    names: Names, target: str, begin: str | None, check: Check
) -> tuple[ConnectorTable | None, Iterator[ArrivedRecord]]:
    """The records of a topic or of a feed, and its table where it has one."""
    if (table := feed_table(names.tables, target)) is None:
        declared, stream = names.source(target, begin, check)
        return declared, topic_records(stream)
    if begin is not None:
        raise RunProblem(
            f"'{target}' is a feed: it is recorded from now on",
            hint="leave begin out",
        )
    if table.spec.metadata:
        raise RunProblem(
            f"'{target}' has a METADATA column, which a tape of a feed does not keep",
            hint="record a table without it",
        )
    return table, feed_records(table)


def limits(stop_after: str | timedelta, most: int) -> RecordingLimits:
    """After what a recording ends.

    Raises
    ------
    RunProblem
        When one is none.
    """
    if most < 1:
        raise RunProblem(f"most must be a number of records, from 1 on: {most}")
    length = duration(stop_after)
    assert length is not None, "it is given"
    return RecordingLimits(length, most)


@contextmanager
def emit(
    names: Names, target: str | Path, rows: Any, wish: EmitOptions, *, wait: bool | None
) -> Iterator[Emission]:
    """Send rows, as :meth:`arroyo_nb.session.Session.emit` does: what has begun is
    given, and waited for at the end where that is asked for.

    Raises
    ------
    RunProblem
        When nothing can be sent; where it is waited for also when a row could not be.
    """
    source, there = incoming(rows)
    with defer_interrupts() as interrupts:
        place = names.destination(target, wish, interrupts.check)
        pace = EmissionPace(wish.rate, there, held_back=not (there and place.is_tape))
        emission = Emission(place.name, source, place.records, place.target, pace)
        yield emission.start()
        if (there and wish.rate is None) if wait is None else wait:
            emission.wait_for(interrupts.check)


def emit_options(
    rate: float | None, key: str | None, timestamp: str | None, columns: Sequence[str]
) -> EmitOptions:
    """How rows are to be sent.

    Raises
    ------
    RunProblem
        When the rate is none.
    """
    is_number = isinstance(rate, int | float) and 0 < rate < float("inf")
    if rate is not None and not is_number:
        raise RunProblem(
            f"the rate {rate!r} is not a positive number of rows a second",
            hint="leave it out to send as fast as can be",
        )
    return EmitOptions(rate, key, timestamp, tuple(columns))
