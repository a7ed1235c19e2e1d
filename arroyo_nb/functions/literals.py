"""Texts of a script that are cast: those that no run could read are told at once, and
those of the common spelling are constants of Spark.

What can be read is Arrow's grammar of each type (the crate ``arrow``'s ``parse``), as
DataFusion has it: no blanks around a number, ``2024-2-9`` for a DATE alone. Only the
names of time zones are left to the run.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as Exact

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    TIME,
    Decimal,
    Timestamp,
    Type,
    quoted_text,
    spark_type,
)
from arroyo_nb.source import Span

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What Rust trims from a text."""

TRUE_WORDS = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
FALSE_WORDS = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")

_LIMITS = {
    **{
        name: (-(1 << bits - 1), (1 << bits - 1) - 1)
        for name, bits in (
            ("TINYINT", 8),
            ("SMALLINT", 16),
            ("INT", 32),
            ("BIGINT", 64),
        )
    },
    **{
        f"{name} UNSIGNED": (0, (1 << bits) - 1)
        for name, bits in (
            ("TINYINT", 8),
            ("SMALLINT", 16),
            ("INT", 32),
            ("BIGINT", 64),
        )
    },
}
_MOST_DIGITS = 20
_EXACT = Context(prec=1000)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FLOATING = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf(inity)?)", re.IGNORECASE | re.ASCII
)
_DECIMAL = re.compile(r"[+-]?\d*\.?\d*", re.ASCII)
# What stands behind a day of one digit, Arrow does not look at.
_DAY = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)\D*|(\d{4})(\d\d)(\d\d)", re.ASCII)
_FAR_DAY = re.compile(r"[+-]\d+-\d+-\d+", re.ASCII)
_LONGEST_DAY = 10
_INSTANT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"([Tt ](\d\d:\d\d:\d\d(\.\d+)?|\d{6})"
    r"(?P<zone>[Zz]|\s*[+-]\d\d(:?\d\d)?|\s*[A-Za-z][\w/+-]*)?)?",
    re.ASCII,
)
_CLOCK = re.compile(
    r"(?P<hour>\d?\d):(?P<minute>\d\d)(:(?P<second>\d\d)(\.\d+)?)?(?P<half> [ap]m)?",
    re.ASCII | re.IGNORECASE,
)
_HALF_DAY = 12

# What Spark reads alike.
_PLAIN_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_PLAIN_DECIMAL = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)
_PLAIN_DAY = re.compile(r"(?!0000)\d{4}-\d\d-\d\d", re.ASCII)
_PLAIN_INSTANT = re.compile(
    r"(?!0000)\d{4}-\d\d-\d\d"
    r"([T ]\d\d:\d\d:[0-5]\d(\.\d{1,9})?(Z|[+-][01]\d:[0-5]\d)?)?",
    re.ASCII,
)
_PLAIN_CLOCK = re.compile(r"\d\d:\d\d(:[0-5]\d(\.\d{1,6})?)?", re.ASCII)

# Those that nanoseconds of 64 bits count.
_FIRST = datetime(1677, 9, 21, 0, 12, 43, 145225)
_LAST = datetime(2262, 4, 11, 23, 47, 16, 854775)


def check_text(text: str, type_: Type, span: Span | None) -> None:
    """Check that the text of a literal can be read as a type.

    Raises
    ------
    CatalogProblem
        When CAST would fail on it, whatever else the query says.

    Examples
    --------
    >>> check_text("2024-02-29", DATE, None)
    >>> check_text("2023-02-29", DATE, None)
    Traceback (most recent call last):
    arroyo_nb.errors.CatalogProblem: '2023-02-29' is not a valid DATE
      hint: write it as in '2024-01-31'
    """
    if not is_readable(text, type_):
        hint = _EXAMPLES.get(
            "TIMESTAMP" if isinstance(type_, Timestamp) else str(type_)
        )
        raise CatalogProblem(f"'{text}' is not a valid {type_}", span=span, hint=hint)


_EXAMPLES = {
    "DATE": "write it as in '2024-01-31'",
    "TIMESTAMP": "write it as in '2024-01-31 12:30:00'",
    "TIME": "write it as in '12:30:00'",
    "BOOLEAN": "write true or false",
}


def is_readable(text: str, type_: Type) -> bool:
    """Whether a text is one of the type, as far as it is known before the run."""
    if (limits := _LIMITS.get(str(type_))) is not None:
        return bool(_WHOLE.fullmatch(text)) and _is_within(text, *limits)
    if type_ in (FLOAT, DOUBLE):
        return bool(_FLOATING.fullmatch(text))
    if isinstance(type_, Decimal):
        return read_decimal(text, type_) is not None
    if type_ == BOOLEAN:
        return text.strip(WHITE_SPACE).lower() in (*TRUE_WORDS, *FALSE_WORDS)
    if type_ == DATE:
        return _is_day(text)
    if type_ == TIME:
        return _is_clock(text) or is_readable(text, BIGINT)
    return not isinstance(type_, Timestamp) or _is_instant(text, type_)


def text_constant(text: str, type_: Type) -> str | None:
    """The Spark SQL of a text literal as a type where it is spelled as usual, so that
    Spark reads it alike; None for others.

    >>> text_constant("2024-02-29", DATE), text_constant("20240229", DATE)
    ("CAST('2024-02-29' AS date)", None)
    """
    if not is_readable(text, type_):
        return None
    if type_ == TIME:
        return f"{_microseconds(text)}L" if _PLAIN_CLOCK.fullmatch(text) else None
    plain = _PLAIN.get("TIMESTAMP" if isinstance(type_, Timestamp) else str(type_))
    if isinstance(type_, Decimal):
        plain = _PLAIN_DECIMAL
    if plain is None or not plain.fullmatch(text):
        return None
    constant = f"CAST({quoted_text(text)} AS {spark_type(type_)})"
    unit = _TRUNCATED.get(type_.digits) if isinstance(type_, Timestamp) else None
    if unit is None or "." not in text:
        return constant
    return f"date_trunc('{unit}', {constant})"


_PLAIN = {
    **dict.fromkeys(_LIMITS, _PLAIN_NUMBER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _PLAIN_DECIMAL),
    "BOOLEAN": re.compile("true|false"),
    "DATE": _PLAIN_DAY,
    "TIMESTAMP": _PLAIN_INSTANT,
}
_TRUNCATED = {0: "SECOND", 3: "MILLISECOND"}


def _microseconds(clock: str) -> int:
    hour, minute, second = (*clock.split(":"), "0")[:3]
    whole, _, fraction = second.partition(".")
    time = timedelta(
        hours=int(hour),
        minutes=int(minute),
        seconds=int(whole),
        microseconds=int(fraction.ljust(6, "0")),
    )
    return time // timedelta(microseconds=1)


def _is_within(text: str, least: int, most: int) -> bool:
    digits = text.lstrip("+-0") or "0"
    # Python reads a whole number of some thousand digits at most.
    if len(digits) > _MOST_DIGITS:
        return False
    return least <= (-int(digits) if text.startswith("-") else int(digits)) <= most


def read_decimal(text: str, type_: Decimal) -> Exact | None:
    """A text as a DECIMAL, rounded; None where it is none, or does not fit.

    >>> read_decimal(" 1.005", Decimal(10, 2)), read_decimal("1e3", Decimal(10, 2))
    (Decimal('1.01'), None)
    """
    text = text.strip(WHITE_SPACE)
    if not _DECIMAL.fullmatch(text):
        return None
    if not any(map(str.isdigit, text)):
        # Arrow reads a text without a digit as 0, where it looks for a fraction.
        return Exact(0) if type_.scale else None
    scaled = _EXACT.scaleb(Exact(text), type_.scale)
    rounded = scaled.to_integral_value(ROUND_HALF_UP)
    fits = rounded.copy_abs() < 10**type_.precision
    return _EXACT.scaleb(rounded, -type_.scale) if fits else None


def _is_day(text: str) -> bool:
    if _FAR_DAY.fullmatch(text):
        return True
    if len(text) > _LONGEST_DAY:
        return _is_instant(text, Timestamp(6))
    found = _DAY.fullmatch(text)
    return found is not None and is_date(*(int(n) for n in found.groups() if n))


def _is_instant(text: str, type_: Timestamp) -> bool:
    found = _INSTANT.fullmatch(text)
    if found is None or not _is_day(found["day"]):
        return False
    digits = re.findall(r"\d\d", found[3] or "")[:3]
    hour, minute, second = map(int, digits or ("0", "0", "0"))
    if not _is_time(hour, minute, second):
        return False
    if type_.digits != Timestamp().digits or found["zone"]:
        return True
    year, month, day = map(int, found["day"].split("-"))
    if not year:
        return False
    micros = int((found[4] or "")[1:7].ljust(6, "0"))
    instant = datetime(year, month, day, hour, minute, min(second, 59), micros)
    return _FIRST <= instant <= _LAST


def _is_clock(text: str) -> bool:
    found = _CLOCK.fullmatch(text)
    if found is None:
        return False
    hour, minute, second = (int(found[n] or 0) for n in ("hour", "minute", "second"))
    if found["half"] and not 1 <= hour <= _HALF_DAY:
        return False
    return _is_time(hour, minute, second)


def _is_time(hour: int, minute: int, second: int) -> bool:
    """A leap second is one too."""
    return hour <= 23 and minute <= 59 and second <= 60


def is_date(year: int, month: int, day: int) -> bool:
    """Is there such a day in the calendar?

    >>> is_date(2024, 2, 29), is_date(2023, 2, 29), is_date(2024, 13, 1)
    (True, False, False)
    """
    # The calendar of the library has no year 0, which is a leap year as 2000 is.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]
