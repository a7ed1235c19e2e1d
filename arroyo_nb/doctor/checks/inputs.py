"""Checks of what comes in: nothing, bad data only, columns without a value."""

from __future__ import annotations

import re
from datetime import timedelta

from arroyo_nb.doctor.examination import Examination, is_of_time
from arroyo_nb.doctor.words import length, names, rows
from arroyo_nb.run.observe.findings import Finding
from arroyo_nb.run.observe.snapshot import RunState, SourceProgress

AWAY_S = 1.0
"""A server that has been away for less may only have been slow."""


def unreached(exam: Examination) -> Finding | None:
    """A broker, or the server of a feed, does not answer."""
    away = next((s for s in exam.streams if s.away_s >= AWAY_S), None)
    if away is None or exam.is_over:
        return None
    since = length(timedelta(seconds=int(away.away_s)))
    what, why = "no broker answers", ""
    if away.is_feed:
        what = "there is no connection"
        why = f": {away.away_why}" if away.away_why else ""
    return Finding(
        "unreached",
        f"{what} for '{away.name}' since {since}{why}",
        "start the server, or correct its address in CREATE TABLE; the run goes on by "
        "itself once it answers",
    )


def first_batch(exam: Examination) -> Finding | None:
    """Rows are there, and Spark has not read them yet."""
    s = exam.snapshot
    waits = any(source.waiting for source in s.sources)
    has_read = s.rows_in or any(source.dropped_rows for source in exam.streams)
    if has_read or s.state is not RunState.RUNNING or s.paused or not waits:
        return None
    records = sum(source.lag for source in s.sources)
    wait = "waits" if records == 1 else "wait"
    there = f". {rows(records, 'record')} {wait} to be read" if records else ""
    return Finding(
        "first-batch",
        "Spark prepares the first micro-batch, which takes longer than those that "
        f"follow{there}",
        "wait for a few seconds",
    )


def no_usable_time(exam: Examination) -> Finding | None:
    """All records were left out as their event time cannot be used."""
    bad = _all_bad(exam)
    if bad is None or not is_of_time(bad):
        return None
    return Finding(
        "event-time",
        f"the event time of all {rows(bad.dropped_rows)} of '{bad.name}' cannot be "
        f"used (NULL, or where no window can be), and they were left out{_first(bad)}",
        "name a column in WATERMARK FOR that has a time in each row, or correct the "
        "expression that computes it",
    )


def all_bad(exam: Examination) -> Finding | None:
    """All records were left out as bad data."""
    bad = _all_bad(exam)
    if bad is None or is_of_time(bad):
        return None
    return Finding(
        "bad-data",
        f"{rows(bad.dropped_rows, 'record')} could not be read and none could: those "
        f"of '{bad.name}' are bad data{_first(bad)}",
        "compare the columns of CREATE TABLE, and its format, with that record",
    )


def _all_bad(exam: Examination) -> SourceProgress | None:
    failed = exam.snapshot.state in (RunState.FAILED, RunState.STARTING)
    return None if failed else exam.all_bad


def _first(bad: SourceProgress) -> str:
    return f"; the first: {bad.bad[0]}" if bad.bad else ""


def no_input(exam: Examination) -> Finding | None:
    """Nothing came."""
    s = exam.snapshot
    stands = s.state in (RunState.STARTING, RunState.FAILED) or s.paused
    if s.rows_in or stands or any(source.waiting for source in s.sources):
        return None
    if any(source.dropped_rows or source.due_s for source in exam.streams):
        return None
    listed = names(source.name for source in exam.streams) or "the source"
    source = next(iter(exam.streams), None)
    older = next((s.older_records for s in exam.streams if s.older_records), "")
    if source is not None and source.ended:
        message = f"no record has come from {listed}: it has ended without one"
        hint = f"look at what it reads: %arroyo head {source.name}"
    elif source is not None and _is_empty(source):
        message = f"no record has come from {listed}: its topic is empty"
        hint = "send a record to the topic: the run reads it as it comes"
    elif older:
        message = (
            f"no record has come from {listed}. A topic is read from its newest record "
            f"on unless {older}"
        )
        hint = f"write {older} in its WITH, or send a new record"
    elif source is not None and source.is_feed:
        message = f"no record has come from {listed}, which is connected"
        hint = "wait for the first message, or look what its server sends"
    else:
        message = f"no record has come from {listed}"
        hint = "wait for the first one, or look at its options: a path, a rate"
        if exam.is_over:
            hint = "run it for longer, or look at its options: a path, a rate"
    return Finding("no-input", message, hint)


def _is_empty(source: SourceProgress) -> bool:
    return bool(source.partitions) and not any(p.end for p in source.partitions)


def silent_source(exam: Examination) -> Finding | None:
    """Of several sources one has given nothing, and the query joins it."""
    s = exam.snapshot
    empty = [x for x in exam.streams if not x.rows and not x.waiting]
    if not exam.has_rows or not s.facts.joins or not empty:
        return None
    if len(empty) == len(exam.streams) or s.paused:
        return None
    return Finding(
        "empty-side",
        f"no record has come from {names(source.name for source in empty)}, and the "
        f"JOIN ON {s.facts.joins[0]} needs rows of both sides",
        "send records there, or write LEFT JOIN to keep rows that have no match",
    )


def column_without_values(exam: Examination) -> Finding | None:
    """A column that is NULL in all rows, where no row came out."""
    return _noted(exam) if exam.has_rows else None


def odd_column(exam: Examination) -> Finding | None:
    """The same, where rows came out."""
    return _noted(exam) if exam.gave_rows else None


def _noted(exam: Examination) -> Finding | None:
    for source in exam.snapshot.sources:
        for note in source.notes:
            message, hint = _advised(note)
            return Finding("column", f"'{source.name}': {message}", hint)
    return None


def _advised(note: str) -> tuple[str, str]:
    """A note on the rows of a source (:mod:`arroyo_nb.run.sources.fit_notes`), and what
    to do."""
    message, asks, advice = note.partition("? ")
    if asks:  # in which unit the times are
        return f"{message}?", advice
    if meant := re.search(r"did you mean '(.+)'\?$", note):
        return note, f"write {meant[1]} in CREATE TABLE, in the same case"
    if "the schema of the table" in note:
        return note, "declare the schema that these records were written with"
    return note, "write the column in CREATE TABLE as the records have it"


def some_bad(exam: Examination) -> Finding | None:
    """Some records were left out."""
    bad = next((s for s in exam.snapshot.sources if s.dropped_rows), None)
    if bad is None or _all_bad(exam) is bad:
        return None
    return Finding(
        "some-bad-data",
        f"{rows(bad.dropped_rows, 'record')} of '{bad.name}' are bad data and were "
        f"left out{_first(bad)}",
        f"look at them: {exam.snapshot.handle}.bad()",
    )


def gaps(exam: Examination) -> Finding | None:
    """Messages of a feed were lost."""
    source = next((s for s in exam.streams if s.gaps or s.lost_messages), None)
    if source is None:
        return None
    times = rows(source.gaps, "time")
    what = (
        f"{rows(source.lost_messages, 'message')} of '{source.name}' were lost: they "
        "came faster than they were read"
        if source.lost_messages
        else f"'{source.name}' was connected again {times}: messages may be missing"
    )
    return Finding(
        "lost-messages",
        what,
        "record the feed onto a tape and read that: %arroyo record",
    )


CHECKS = (
    unreached,
    first_batch,
    no_usable_time,
    all_bad,
    no_input,
    column_without_values,
    silent_source,
)
ODD_CHECKS = (odd_column, some_bad, gaps)
