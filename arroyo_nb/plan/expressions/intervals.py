"""Interval texts: ``5 minutes``, ``1 hour 30 minutes``, ``1.5 s``.

An interval is months, days and the rest, as Arrow reads and holds it. Months have no
length, so everything that needs a duration refuses them. An exact duration has Spark's
bound: its intervals count microseconds in 64 bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from arroyo_nb.errors import CatalogProblem, Unsupported
from arroyo_nb.functions.time_units import DAY_US

_MONTHS = {
    **dict.fromkeys(("month", "mon"), 1),
    **dict.fromkeys(("year", "yr", "y"), 12),
    **dict.fromkeys(("decade", "dec"), 120),
    **dict.fromkeys(("century", "centurie", "cent", "c"), 1200),
}
_DAYS = {**dict.fromkeys(("day", "d"), 1), **dict.fromkeys(("week", "w"), 7)}
_DAYS_OF_A_MONTH = 30
_MICROSECONDS = {
    **dict.fromkeys(("nanosecond", "nanosec", "ns"), Decimal("0.001")),
    **dict.fromkeys(("microsecond", "microsec", "us"), Decimal(1)),
    **dict.fromkeys(("millisecond", "millisec", "msec", "ms"), Decimal(10**3)),
    **dict.fromkeys(("second", "sec", "s"), Decimal(10**6)),
    **dict.fromkeys(("minute", "min", "m"), Decimal(60 * 10**6)),
    **dict.fromkeys(("hour", "hr", "h"), Decimal(3600 * 10**6)),
}
_PART = re.compile(
    r"\s*([+-]?)\s*(\d+\.?\d*|\.\d+)\s*([a-z]+)?", re.IGNORECASE | re.ASCII
)

LONGEST = timedelta(microseconds=2**63 - 1)
"""The longest duration of an interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Calendar months and a duration; both may be negative.

    Parameters
    ----------
    days
        Those of the duration that are whole days of the calendar: a DATE is moved by
        them and by the whole days of the rest.
    """

    months: int
    duration: timedelta
    days: int = 0

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.duration, -self.days)

    def __add__(self, other: Interval) -> Interval:
        duration = bounded(self.duration + other.duration)
        return Interval(self.months + other.months, duration, self.days + other.days)

    @property
    def moved_days(self) -> int:
        """By how many days it moves a DATE, its months aside."""
        rest = self.duration - timedelta(days=self.days)
        whole = abs(rest) // timedelta(days=1)
        return self.days + (-whole if rest < timedelta() else whole)

    @property
    def text(self) -> str:
        """Its text, as Arrow reads it: each part apart.

        >>> parse_interval("1 year 36 hours").text
        '12 months 129600000000 microseconds'
        """
        rest = self.duration - timedelta(days=self.days)
        counts = (self.months, self.days, rest // timedelta(microseconds=1))
        named = zip(counts, ("months", "days", "microseconds"), strict=True)
        return " ".join(f"{n} {unit}" for n, unit in named if n) or "0 days"


def parse_interval(text: str, unit: str | None = None) -> Interval:
    """Read an interval.

    Parameters
    ----------
    text
        What stands between the quotes.
    unit
        The unit of numbers that have none; seconds where it is not given.

    Raises
    ------
    CatalogProblem
        When the text is no interval.

    Examples
    --------
    >>> parse_interval("1 hour 30 minutes").duration
    datetime.timedelta(seconds=5400)
    >>> parse_interval("1", "MONTH")
    Interval(months=1, duration=datetime.timedelta(0), days=0)
    """
    months, days, micros, position = 0, 0, Decimal(0), 0
    while position < len(text.rstrip()):
        part = _PART.match(text, position)
        if part is None:
            raise _unreadable(text)
        number = Decimal(part[1] + part[2])
        name = (part[3] or unit or "second").lower()
        # In `s`, `ms` and `us` the last letter is no plural.
        name = name if name in _MICROSECONDS else name.removesuffix("s")
        # What is left of a year is cut off to months, and of a month to days.
        if name in _MONTHS:
            in_months = number * _MONTHS[name]
            months += int(in_months)
            if _MONTHS[name] == 1:
                days += int((in_months - int(in_months)) * _DAYS_OF_A_MONTH)
        elif name in _DAYS:
            days += int(number) * _DAYS[name]
            micros += (number - int(number)) * _DAYS[name] * DAY_US
        elif name in _MICROSECONDS:
            micros += number * _MICROSECONDS[name]
        else:
            raise _unreadable(text)
        position = part.end()
    if position == 0:
        raise _unreadable(text)
    return _checked(months, days, micros)


def exact(interval: Interval) -> timedelta:
    """The duration of an interval.

    Raises
    ------
    Unsupported
        When it has months.
    """
    if interval.months:
        raise Unsupported(
            "an interval with months is not supported: it has no exact duration",
            hint="write a number of days",
        )
    return interval.duration


def _checked(months: int, days: int, micros: Decimal) -> Interval:
    micros += days * DAY_US
    if abs(micros) > LONGEST // timedelta(microseconds=1) or abs(months) >= 2**31:
        raise _too_long()
    return Interval(months, timedelta(microseconds=int(micros)), days)


def bounded(duration: timedelta) -> timedelta:
    """The duration itself.

    Raises
    ------
    CatalogProblem
        When it is longer than :data:`LONGEST`, forwards or backwards.
    """
    if abs(duration) > LONGEST:
        raise _too_long()
    return duration


def _too_long() -> CatalogProblem:
    return CatalogProblem(f"an interval is longer than {LONGEST.days:,} days")


def _unreadable(text: str) -> CatalogProblem:
    return CatalogProblem(
        f"expected an interval, but found '{text}'",
        hint="write it as in INTERVAL '5 minutes'",
    )


_UNITS = (("hours", 3600 * 10**6), ("minutes", 60 * 10**6), ("seconds", 10**6))


def interval_text(duration: timedelta) -> str:
    """The text of an interval literal, exact, in the largest unit that divides it.

    >>> interval_text(timedelta(minutes=90)), interval_text(timedelta(microseconds=1))
    ('90 minutes', '1 microseconds')
    """
    micros = duration // timedelta(microseconds=1)
    for unit, size in (*_UNITS, ("milliseconds", 1000)):
        if micros % size == 0:
            return f"{micros // size} {unit}"
    return f"{micros} microseconds"


def in_words(duration: timedelta) -> str:
    """A duration as Arroyo prints it.

    >>> in_words(timedelta(minutes=10)), in_words(timedelta(milliseconds=1500))
    ('600s', '1.5s')
    >>> in_words(timedelta(milliseconds=500))
    '500ms'
    """
    micros = Decimal(duration // timedelta(microseconds=1))
    for name, size in (("s", 10**6), ("ms", 10**3)):
        if abs(micros) >= size or not micros:
            return f"{(micros / size).normalize():f}{name}"
    return f"{micros}µs"
