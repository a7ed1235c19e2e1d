"""Numbers and times in notations that a cell does not have, and how a query reads them.

A column of them is TEXT, as nothing is guessed: ``2,288`` is 2288 in one country and
2.288 in another, and ``03/04/2024`` has two meanings. What they look like is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_CLOCK = re.compile(r"(?P<gap>[T ])\d{1,2}:\d\d(?P<seconds>:\d\d(?P<parts>\.\d+)?)?\Z")
_DAY = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})"
    r"(?=\Z|[T ])",
    re.ASCII,
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?\Z", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\Z", re.ASCII)
_MARKED = re.compile(r"([$€£¥] ?[+-]?\d[\d.,]*|[+-]?\d[\d.,]* ?[%$€£¥])\Z", re.ASCII)

_MOST_MONTHS = 12


class Notation(NamedTuple):
    """What some cells have in common, as the end of a sentence, and what to do."""

    reason: str
    todo: str


def is_other_number(text: str) -> bool:
    """Whether a text is a number with separators or marks that a cell does not have."""
    forms = (_THOUSANDS, _DECIMAL_COMMA, _MARKED)
    return any(form.match(text) for form in forms)


def is_other_time(text: str) -> bool:
    """Whether a text is a day whose year stands last, perhaps with a clock."""
    day = _DAY.match(text)
    return day is not None and (day.end() == len(text) or _clock(text, day) is not None)


def notation_of(name: str, texts: Sequence[str]) -> Notation | None:
    """How the texts of a column are written; None: as cells have numbers and times.

    Parameters
    ----------
    name
        The column, as a query writes it.
    texts
        Those of its texts that are of another notation, of one kind.
    """
    if not texts:
        return None
    if is_other_time(texts[0]):
        return _notation_of_times(name, texts)
    if all(_THOUSANDS.match(text) for text in texts):
        said = "has commas between thousands, or a decimal comma"
        cast = f"CAST(replace({name}, ',', '') AS DOUBLE), or replace({name}, ',', '.')"
        return Notation(said, f"for numbers write {cast} in the query")
    if all(is_decimal_comma(text) for text in texts):
        whole = name
        if any("." in text for text in texts):
            whole = f"replace({name}, '.', '')"
        cast = f"CAST(replace({whole}, ',', '.') AS DOUBLE)"
        return Notation("has a decimal comma", f"for numbers write {cast} in the query")
    return Notation(
        "has more than a number",
        "for numbers remove the rest before, or in the query: "
        f"CAST(replace({name}, '%', '') AS DOUBLE)",
    )


def is_decimal_comma(text: str) -> bool:
    """Whether a text is a number whose comma may stand before its fraction."""
    return _DECIMAL_COMMA.match(text) is not None


def _notation_of_times(name: str, texts: Sequence[str]) -> Notation:
    days = [day for text in texts if (day := _DAY.match(text))]
    may_be_day_first = all(int(day["second"]) <= _MOST_MONTHS for day in days)
    may_be_month_first = all(int(day["first"]) <= _MOST_MONTHS for day in days)
    mark = days[0]["mark"]
    behind = _clock_pattern(texts[0], days[0])
    orders = [
        f"'{one}{mark}{two}{mark}%Y{behind}'"
        for one, two, may_be in (
            ("%d", "%m", may_be_day_first),
            ("%m", "%d", may_be_month_first),
        )
        if may_be
    ]
    pattern = " or ".join(orders) or f"'%d{mark}%m{mark}%Y{behind}'"
    return Notation(
        "has its year last, and days and months in two possible orders"
        if len(orders) > 1
        else "has its year last",
        f"for times write to_timestamp({name}, {pattern}) in the query; an event time "
        "has to be written as 2026-01-31 10:00:00, or is converted with pandas: hand "
        "in the DataFrame",
    )


def _clock(text: str, day: re.Match[str]) -> re.Match[str] | None:
    return _CLOCK.match(text, day.end())


def _clock_pattern(text: str, day: re.Match[str]) -> str:
    found = _clock(text, day)
    if found is None:
        return ""
    seconds = "" if found["seconds"] is None else ":%S"
    return f"{found['gap']}%H:%M{seconds}{'%.f' if found['parts'] else ''}"
