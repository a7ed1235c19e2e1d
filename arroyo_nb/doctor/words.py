"""Names, numbers and times in the sentences of the doctor; views escape them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from arroyo_nb.run.observe.build_snapshot import duration_text

MOST_NAMES = 3


def rows(number: int, noun: str = "row") -> str:
    """A count with its noun.

    >>> rows(1), rows(1815), rows(2, "record")
    ('1 row', '1,815 rows', '2 records')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def length(span: timedelta) -> str:
    """A length of time, without what is too small to matter.

    >>> length(timedelta(hours=1, seconds=3.5)), length(timedelta(seconds=2.5))
    ('1 h 3 s', '2.5 s')
    """
    if abs(span) >= timedelta(seconds=10):
        span = timedelta(seconds=int(span.total_seconds()))
    return duration_text(span)


def coarse(seconds: float) -> str:
    """A time to wait, in steps: a sentence that says it need not change each second.

    >>> coarse(7), coarse(42), coarse(3700)
    ('5 s', '40 s', '1 h 1 min')
    """
    step = 5 if seconds < 60 else 60
    return duration_text(timedelta(seconds=max(step, int(seconds) // step * step)))


def instant(moment: datetime) -> str:
    """A time, with the digits that it needs.

    >>> instant(datetime(2013, 1, 1, 10)), instant(datetime(2013, 1, 1, 10, 0, 0, 5000))
    ('2013-01-01 10:00:00', '2013-01-01 10:00:00.005')
    """
    text = f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{text}.{moment:%f}".rstrip("0") if moment.microsecond else text


def window(start: datetime, end: datetime) -> str:
    """A window ``[start, end)``.

    >>> window(datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 10, 0, 5))
    '2026-01-01 10:00:00 – 10:00:05'
    >>> window(datetime(2026, 1, 1, 23), datetime(2026, 1, 2))
    '2026-01-01 23:00:00 – 2026-01-02 00:00:00'
    """
    last = instant(end)
    if end.date() == start.date():
        _, _, last = last.partition(" ")
    return f"{instant(start)} – {last}"


def interval(span: timedelta) -> str:
    """A length of time as the dialect writes it.

    >>> interval(timedelta(minutes=1)), interval(timedelta(seconds=90))
    ("INTERVAL '1 minute'", "INTERVAL '90 seconds'")
    """
    seconds = int(span.total_seconds())
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    unit, size = next((u, n) for u, n in units if seconds % n == 0)
    number = seconds // size
    return f"INTERVAL '{number} {unit}{'' if number == 1 else 's'}'"


def names(of: Iterable[str]) -> str:
    """Names in quotes.

    >>> names(["a", "b"]), names("abcde")
    ("'a', 'b'", "'a', 'b', 'c', ...")
    """
    found = list(of)
    listed = ", ".join(f"'{name}'" for name in found[:MOST_NAMES])
    return f"{listed}, ..." if len(found) > MOST_NAMES else listed


def samples(of: Sequence[str]) -> str:
    """Values, as few as a sentence can hold."""
    return ", ".join(of[:MOST_NAMES]) + (", ..." if len(of) > MOST_NAMES else "")


def one_of(clauses: Sequence[str]) -> str:
    """The clauses of which one is meant.

    >>> one_of(["HAVING"]), one_of(["WHERE", "HAVING", "JOIN"]), one_of(["unnest"])
    ('a HAVING', 'a WHERE, HAVING or JOIN', 'an unnest')
    """
    article = "an" if clauses[0] == "unnest" else "a"
    before = ", ".join(clauses[:-1])
    return f"{article} {f'{before} or ' if before else ''}{clauses[-1]}"
