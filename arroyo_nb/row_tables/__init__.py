"""Tables of rows that a user has written: a tape, and a table that reads it.

::

    text, CSV (grid, from_text, values) --+
                                          +-> StreamRows -> tape, table (define)
    DataFrame, list (from_data) ----------+
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.registry import did_you_mean
from arroyo_nb.schema import EPOCH, MICROSECOND, Field, Schema, Timestamp, maybe_null

FIXED_DAY = date(2026, 1, 1)
"""The day of a time that is written without one, and of rows without any time: always
the same one, so that the same rows make the same tape."""

ARRIVES = "arrives"
"""The column of the time of arrival, where no other is named."""

APART_US = 1_000_000
"""How far apart rows arrive that do not say when."""

MOST_BATCHES = 1_000
"""More rows than that are not a micro-batch each: a chunk of a tape is a file."""


@dataclass(frozen=True)
class StreamRows:
    """Rows in the order of their arrival.

    Parameters
    ----------
    schema
        Their columns.
    rows
        Their values by column, as Python has them; times are UTC without a zone.
    arrivals_us
        When each arrives, in microseconds after the epoch; they never go back.
    batches
        The micro-batch of each, from 0 on; they never go back.
    event_time
        The column that is the event time; None: a row's arrival is.
    are_grouped
        Whether who wrote the rows said what the micro-batches are.
    notes
        How the text was read, where another way may be meant.
    """

    schema: Schema
    rows: Sequence[Mapping[str, Any]]
    arrivals_us: Sequence[int]
    batches: Sequence[int]
    event_time: str | None
    are_grouped: bool = False
    notes: tuple[str, ...] = ()


def instant_us(value: datetime) -> int:
    """A time, UTC where it has no zone, in microseconds after the epoch."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - EPOCH) // MICROSECOND


def is_utf8(text: str) -> bool:
    """Whether UTF-8 has each character: of a lone surrogate, half of one, it has
    none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def stream_rows(
    schema: Schema,
    rows: Sequence[Mapping[str, Any]],
    event_time: str | None,
    arrivals_us: Sequence[int] | None = None,
    batches: Sequence[int] | None = None,
) -> StreamRows:
    """Rows with what they do not say themselves.

    Parameters
    ----------
    arrivals_us
        When each arrives; they are put in that order. None: one second after the other,
        the first at its own event time.
    batches
        The micro-batch of each; the arrivals are in order then. None: what arrives at
        the same moment is one, up to :data:`MOST_BATCHES`.
    """
    if arrivals_us is None:
        first = rows[0][event_time] if rows and event_time else None
        begin = instant_us(first or datetime.combine(FIXED_DAY, datetime.min.time()))
        arrivals_us = [begin + n * APART_US for n in range(len(rows))]
    elif batches is None:
        order = sorted(range(len(rows)), key=arrivals_us.__getitem__)
        rows = [rows[n] for n in order]
        arrivals_us = [arrivals_us[n] for n in order]
    return StreamRows(
        schema,
        rows,
        arrivals_us,
        _batches(arrivals_us) if batches is None else batches,
        event_time,
        are_grouped=batches is not None,
    )


def _batches(arrivals_us: Sequence[int]) -> list[int]:
    moments: dict[int, int] = {}
    numbers = [moments.setdefault(us, len(moments)) for us in arrivals_us]
    if len(moments) <= MOST_BATCHES:
        return numbers
    together = -(-len(numbers) // MOST_BATCHES)
    return [n // together for n in range(len(numbers))]


def event_time_column(schema: Schema, named: str | None) -> str | None:
    """The column of the event time: the named one, else the only one of type TIMESTAMP;
    None: there is none.

    Raises
    ------
    CatalogProblem
        When the named one is none of type TIMESTAMP, or there are several.
    """
    times = [field.name for field in schema if isinstance(field.type, Timestamp)]
    if named is None:
        if len(times) > 1:
            raise CatalogProblem(
                f"{len(times)} columns may be the event time: {', '.join(times)}",
                hint="name it with --event-time, and the time at which rows came with "
                "--arrives; in Python event_time= and arrives=",
            )
        return times[0] if times else None
    if named in times:
        return named
    if (field := schema.get(named)) is not None:
        raise CatalogProblem(
            f"the event time '{named}' is {field.type}",
            hint="an event time is a TIMESTAMP, such as 2026-01-31 10:00:00",
        )
    raise CatalogProblem(
        f"there is no column '{named}' for the event time",
        hint=did_you_mean(named, times or schema.names),
    )


def with_event_time(schema: Schema, name: str | None) -> Schema:
    """The columns, the event time NOT NULL: no row goes without."""
    return Schema(
        tuple(
            Field(field.name, field.type, nullable=False)
            if field.name == name
            else field
            for field in schema
        )
    )


def with_left_out(declared: Schema, found: Schema) -> Schema:
    """The columns of a table; those that its rows leave out may be NULL."""
    return Schema(tuple(f if f.name in found else maybe_null(f) for f in declared))


def watermark_delay(given: str | timedelta | None) -> timedelta | None:
    """The delay of a watermark, such as ``"10 seconds"``; None: the one of a table that
    declares none.

    Raises
    ------
    CatalogProblem
        When it is no length of time, or a negative one.
    """
    delay = None if given is None else length_of_time("watermark", given, _DELAY)
    if delay is not None and delay < timedelta():
        raise CatalogProblem("the delay of a watermark is not negative", hint=_DELAY)
    return delay


def length_of_time(what: str, given: str | timedelta, hint: str) -> timedelta:
    """A length of time, such as ``"10 seconds"``; it may be negative.

    Parameters
    ----------
    what, hint
        What it is, and what to write instead, for errors.

    Raises
    ------
    CatalogProblem
        When it is none, or has months.
    """
    from arroyo_nb.plan.expressions.intervals import parse_interval

    if isinstance(given, timedelta):
        return given
    wrong = CatalogProblem(f"the {what} '{given}' is no length of time", hint=hint)
    if not isinstance(given, str):
        raise wrong
    try:
        interval = parse_interval(given)
    except CatalogProblem as problem:
        raise wrong from problem
    if interval.months:
        raise CatalogProblem(
            f"the {what} '{given}' has months, which differ in length", hint=hint
        )
    return interval.duration


_DELAY = "write how late a row may be, such as '10 seconds' or '0 seconds'"
