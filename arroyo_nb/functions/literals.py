"""Texts of a script that are cast: those that no run could read are told at once.

Spark's reading decides, as patterns that are wider than it where it has odd corners: a
text that is refused here would have failed in the run, and what is let through may.
"""

from __future__ import annotations

import re
from calendar import monthrange

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.schema import BOOLEAN, DATE, DOUBLE, FLOAT, Decimal, Timestamp, Type
from arroyo_nb.source import Span

_MOST_DIGITS = 19
_SIZES = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
# Numbers are read by Java: to a DOUBLE 1d, 1f and 0x1p3 are some, to a DECIMAL the
# digits of any script are.
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?|0x.*|nan|inf(inity)?)",
    re.IGNORECASE,
)
_TRUTHS = frozenset(["t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"])
_DAY = re.compile(
    r"[+-]?(?P<year>\d{4,7})(-(?P<month>\d\d?)(-(?P<day>\d\d?)([ T](?P<time>.*))?)?)?",
    re.ASCII | re.DOTALL,
)
# A fraction of any length, then a zone, which is not looked at.
_TIME = re.compile(
    r"(?P<hour>\d\d?)(:(?P<minute>\d\d?)(:(?P<second>\d\d?)(\.\d*)?)?)?\s*([Z+\-A-Za-z].*)?",
    re.ASCII | re.DOTALL,
)
_MOST = {"hour": 23, "minute": 59, "second": 59}
# Spark reads these as moments, and a time alone as one of today.
_MOMENTS = re.compile(
    r"(epoch|now|today|tomorrow|yesterday)\b.*|T\d.*|\d\d?:.*",
    re.IGNORECASE | re.DOTALL,
)
_BLANKS = "".join(map(chr, range(33)))


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
    if not _is_readable(text.strip(_BLANKS), type_):
        hint = _EXAMPLES.get(
            "TIMESTAMP" if isinstance(type_, Timestamp) else str(type_)
        )
        raise CatalogProblem(f"'{text}' is not a valid {type_}", span=span, hint=hint)


_EXAMPLES = {
    "DATE": "write it as in '2024-01-31'",
    "TIMESTAMP": "write it as in '2024-01-31 12:30:00'",
    "BOOLEAN": "write true or false",
}


def _is_readable(text: str, type_: Type) -> bool:
    size = _SIZES.get(str(type_))
    if size is not None:
        return bool(_WHOLE.fullmatch(text)) and _is_within(text, size)
    if type_ in (FLOAT, DOUBLE) or isinstance(type_, Decimal):
        return bool(_NUMBER.fullmatch(text))
    if type_ == BOOLEAN:
        return text.lower() in _TRUTHS
    if type_ == DATE or isinstance(type_, Timestamp):
        return bool(_MOMENTS.fullmatch(text)) or _is_day(text, with_time=type_ != DATE)
    return True


def _is_within(text: str, bits: int) -> bool:
    digits = text.lstrip("+-0") or "0"
    # Python reads a whole number of some thousand digits at most.
    if len(digits) > _MOST_DIGITS:
        return False
    return int(digits) < (1 << (bits - 1)) + text.startswith("-")


def _is_day(text: str, *, with_time: bool) -> bool:
    found = _DAY.fullmatch(text)
    if found is None or not is_date(
        *(int(n or 1) for n in found.group("year", "month", "day"))
    ):
        return False
    time = found["time"]
    return not with_time or not time or _is_time(time)


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text.strip(_BLANKS))
    return found is not None and all(
        int(found[unit] or 0) <= most for unit, most in _MOST.items()
    )


def is_date(year: int, month: int, day: int) -> bool:
    """Is there such a day in the calendar?

    >>> is_date(2024, 2, 29), is_date(2023, 2, 29), is_date(2024, 13, 1)
    (True, False, False)
    """
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
