"""Durations as the attributes of a function have them: ``10s``, ``500ms``."""

from __future__ import annotations

import re
from datetime import timedelta

from arroyo_nb.errors import CatalogProblem

_UNITS_US = {
    **dict.fromkeys(("ns", "nanos"), 1e-3),
    **dict.fromkeys(("us", "µs", "micros"), 1.0),
    **dict.fromkeys(("ms", "millis"), 1e3),
    **dict.fromkeys(("s", "secs", "seconds"), 1e6),
    **dict.fromkeys(("m", "mins", "minutes"), 6e7),
    **dict.fromkeys(("h", "hrs", "hours"), 3.6e9),
}


def read_duration(text: str) -> timedelta:
    """A duration with its unit.

    Raises
    ------
    CatalogProblem
        In Arroyo's words, when it is none.

    >>> read_duration("500ms")
    datetime.timedelta(microseconds=500000)
    """
    match = re.fullmatch(r"(\d+)\s*([a-zA-Zµ]+)", text.strip())
    if match is None:
        raise CatalogProblem(
            f"invalid duration specification '{text}'", hint="write one like 10s"
        )
    if match[2] not in _UNITS_US:
        raise CatalogProblem(
            f"unknown time unit '{match[2]}'", hint="known: ns, us, ms, s, m, h"
        )
    try:
        length = timedelta(microseconds=int(match[1]) * _UNITS_US[match[2]])
    except OverflowError:
        raise CatalogProblem(f"the duration '{text}' is too long") from None
    if length <= timedelta():
        raise CatalogProblem("a duration must be positive")
    return length
