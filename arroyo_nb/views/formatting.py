"""Values as words: the one place where data becomes text on a page.

Everything a view shows of the user's data, names and errors goes through
:func:`escaped`. Instants are naive UTC; a clock shows as many digits as the moments
around it need.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))

CELL_CHARS = 80
"""A longer cell is cut on the page."""

NAME_CHARS = 80
"""A longer name of a run or a source is cut."""

# Control characters are drawn, not obeyed: XML refuses them, terminals act on them.
# Bidirectional overrides would let a value reorder the text around it.
_CONTROLS = {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421}
_BIDI = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_DRAWN = _CONTROLS | _BIDI | dict.fromkeys((*range(0x80, 0xA0), 0xFFFE, 0xFFFF), 0xFFFD)

FLOAT_DIGITS = 3
"""Digits after the point of a number that has more than :data:`WHOLE_DIGITS`: one that
was computed. Fewer where the whole column needs fewer."""

WHOLE_DIGITS = 7
"""A number with so many digits after the point is shown as it is: a coordinate, a rate
of exchange."""


def plain(text: str, limit: int = CELL_CHARS) -> str:
    """One line of text that any page, XML file or terminal can hold.

    >>> plain("a\\tb")
    'a␉b'
    >>> plain("abcdef", 4)
    'abc…'
    """
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return cut.translate(_DRAWN).encode("utf-8", "replace").decode("utf-8")


def escaped(text: str, limit: int = CELL_CHARS) -> str:
    """Text for HTML and SVG, in an element or in a double-quoted attribute.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(plain(text, limit))


def lines(text: str, limit: int) -> str:
    """Like :func:`escaped`, for a block that keeps its line ends."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "\n".join(escaped(line, limit) for line in cut.splitlines())


def count(number: int, noun: str = "") -> str:
    """A counter with its noun.

    >>> count(1815), count(1, "row"), count(2, "row")
    ('1,815', '1 row', '2 rows')
    """
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun if number == 1 else plural(noun)}"


STRETCH = "stretch of sessions"
"""What a trace counts in place of the sessions of keys."""


def plural(noun: str) -> str:
    """More than one of it.

    >>> plural("row"), plural("micro-batch"), plural(STRETCH)
    ('rows', 'micro-batches', 'stretches of sessions')
    """
    head, of, rest = noun.partition(" of ")
    return f"{head}{'es' if head.endswith('ch') else 's'}{of}{rest}"


def pace(per_s: float) -> str:
    """A rate with three digits.

    >>> pace(0.0), pace(7.25), pace(12_430), pace(2_500_000)
    ('0', '7.2', '12.4k', '2.5M')
    """
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if per_s >= size:
            return f"{per_s / size:.3g}{unit}"
    return "0" if per_s <= 0 else f"{per_s:.2g}" if per_s < 10 else f"{per_s:.0f}"


def duration(length: timedelta) -> str:
    """A length of time in its two largest units.

    >>> duration(timedelta(hours=1, minutes=9, seconds=3))
    '1 h 9 min'
    >>> duration(timedelta(seconds=1.25)), duration(timedelta(milliseconds=40))
    ('1.2 s', '40 ms')
    """
    if length < timedelta():
        return f"-{duration(-length)}"
    if length < SECOND:
        return f"{length / timedelta(milliseconds=1):.0f} ms"
    if length < 10 * SECOND:
        return f"{length.total_seconds():.1f}".removesuffix(".0") + " s"
    parts: list[str] = []
    for size, unit in UNITS:
        number, length = divmod(length, size)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(part for part in parts[:2] if part)


def duration_at_least(length: timedelta) -> str:
    """The same, rounded up: for a limit that must be exceeded.

    >>> duration_at_least(timedelta(seconds=11.4)), duration_at_least(2 * HOUR)
    ('12 s', '2 h')
    """
    if length < SECOND:
        unit = timedelta(milliseconds=1)
    elif length < 10 * SECOND:
        unit = SECOND / 10
    else:
        sizes = [size for size, _ in UNITS]
        largest = next(i for i, size in enumerate(sizes) if length >= size)
        unit = sizes[min(largest + 1, len(sizes) - 1)]
    return duration(-(-length // unit) * unit)


def late_for_sessions(gap: timedelta) -> str:
    """When a row is too late for sessions of a gap."""
    return (
        "A row is late where the watermark had reached its event time plus the gap "
        f"({duration(gap)}), whichever sessions are open."
    )


def values_in_words(values: Mapping[str, str | None]) -> str:
    """Some values of a row, by column; not escaped.

    >>> values_in_words({"user": "ann", "fare": None})
    'user ann, fare NULL'
    """
    said = ((k, "NULL" if v is None else v) for k, v in values.items())
    return ", ".join(f"{name} {value}" for name, value in said)


def clock(moment: datetime, like: Iterable[datetime] = ()) -> str:
    """Time of day, with the digits that it and the moments like it need.

    >>> clock(datetime(2013, 1, 1, 10)), clock(datetime(2013, 1, 1, 10, 0, 30))
    ('10:00', '10:00:30')
    >>> clock(datetime(2013, 1, 1, 10), like=[datetime(2013, 1, 1, 10, 0, 0, 5000)])
    '10:00:00.000'
    """
    moments = (moment, *like)
    if any(m.microsecond % 1000 for m in moments):
        return f"{moment:%H:%M:%S.%f}"
    if any(m.microsecond for m in moments):
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%H:%M:%S}" if any(m.second for m in moments) else f"{moment:%H:%M}"


def clock_within(moment: datetime, span: timedelta) -> str:
    """Time of day beside an axis of such a length; of more than a day with the day.

    >>> clock_within(datetime(2013, 1, 6, 10, 0, 30), timedelta(hours=3))
    '10:00:30'
    >>> clock_within(datetime(2013, 1, 6, 10, 0, 30), timedelta(days=3))
    'Jan 6, 10:00'
    """
    if span <= timedelta(days=1):
        return clock(moment)
    return f"{moment:%b} {moment.day}, {moment:%H:%M}"


def instant(moment: datetime, like: Iterable[datetime] = ()) -> str:
    """Date and time, with the digits that it and the moments like it need.

    >>> instant(datetime(2013, 1, 1, 10))
    '2013-01-01 10:00'
    """
    return f"{moment:%Y-%m-%d} {clock(moment, like)}"


def interval(start: datetime, end: datetime) -> str:
    """A window ``[start, end)``.

    >>> interval(datetime(2013, 1, 1, 10), datetime(2013, 1, 1, 11))
    '2013-01-01 10:00 – 11:00'
    >>> interval(datetime(2013, 1, 1, 23), datetime(2013, 1, 2))
    '2013-01-01 23:00 – 01-02 00:00'
    """
    first, last = clock(start, [end]), clock(end, [start])
    year = "" if end.year == start.year else f"{end:%Y}-"
    day = "" if end.date() == start.date() else f"{year}{end:%m-%d} "
    return f"{start:%Y-%m-%d} {first} – {day}{last}"


Shown: TypeAlias = str | None
"""A cell as text; None is SQL's NULL, which a view marks as such."""


def column(values: Sequence[Any]) -> list[Shown]:
    """The cells of one column, floats and times with the same number of digits.

    >>> column([9.5, 12.25, None])
    ['9.50', '12.25', None]
    >>> column([35.00085, 1 / 3])
    ['35.00085', '0.33333']
    >>> column([1 / 3])
    ['0.333']
    >>> column([datetime(2013, 1, 1, 10), datetime(2013, 1, 1, 10, 0, 30)])
    ['2013-01-01 10:00:00', '2013-01-01 10:00:30']
    """
    digits = max((_digits(v) for v in values if isinstance(v, float)), default=0)
    moments = [v for v in values if isinstance(v, datetime)]
    finest = {(m.second, m.microsecond): m for m in moments}.values()
    return [None if v is None else _cell(v, digits, finest) for v in values]


def _digits(value: float) -> int:
    if not math.isfinite(value) or abs(value) >= 1e15:
        return 0
    fraction = f"{value:.{WHOLE_DIGITS}f}".rstrip("0").partition(".")[2]
    if float(f"{value:.{len(fraction)}f}") == value:
        return len(fraction)
    return len(f"{value:.{FLOAT_DIGITS}f}".rstrip("0").partition(".")[2])


def _cell(value: Any, digits: int, like: Iterable[datetime] = ()) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value, digits)
        case datetime():
            return instant(value, like)
        case date():
            return value.isoformat()
        case timedelta():
            return duration(value)
        case bytes():
            return "0x" + value[:CELL_CHARS].hex()
        case {"start": datetime() as start, "end": datetime() as end, **rest} if (
            not rest
        ):
            return interval(start, end)
        case Mapping():
            inner = (f"{k}: {_inner(v)}" for k, v in value.items())
            return "{" + ", ".join(inner) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_inner, value)) + "]"
        case _:
            return str(value)


def _inner(value: Any) -> str:
    if value is None:
        return "NULL"
    return _cell(value, _digits(value) if isinstance(value, float) else 0)


def _float(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    tiny = (
        value != 0
        and abs(value) < 10**-FLOAT_DIGITS
        and float(f"{value:.{digits}f}") != value
    )
    return f"{value:.3g}" if tiny or abs(value) >= 1e15 else f"{value:.{digits}f}"
