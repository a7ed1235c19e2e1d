"""Patterns of dates and times: Arroyo's are strftime as chrono has it, Spark's Java's.

Only what both can say is translated. By another pattern DataFusion writes and reads,
and the names of folders have none.
"""

from __future__ import annotations

import re

from arroyo_nb.errors import CatalogProblem, Unsupported

_JAVA = {
    "Y": "yyyy",
    "y": "yy",
    "m": "MM",
    "-m": "M",
    "b": "MMM",
    "h": "MMM",
    "B": "MMMM",
    "d": "dd",
    "-d": "d",
    "j": "DDD",
    "a": "EEE",
    "A": "EEEE",
    "H": "HH",
    "-H": "H",
    "I": "hh",
    "-I": "h",
    "M": "mm",
    "-M": "m",
    "S": "ss",
    "-S": "s",
    "p": "a",
    # Nanoseconds, not Python's microseconds.
    "f": "SSSSSSSSS",
    "3f": "SSS",
    "6f": "SSSSSS",
    "9f": "SSSSSSSSS",
    ".3f": ".SSS",
    ".6f": ".SSSSSS",
    ".9f": ".SSSSSSSSS",
    "F": "yyyy-MM-dd",
    "T": "HH:mm:ss",
    "X": "HH:mm:ss",
    "R": "HH:mm",
    "D": "MM/dd/yy",
    "x": "MM/dd/yy",
    "z": "xx",
    ":z": "xxx",
}
_TOKEN = re.compile(r"%([-:.]?\d?[A-Za-z%])|([^%]+)|(%)")
_ANY_SPECIFIER = re.compile(
    r"%(?:(?P<name>[-_0]?[YCyqmbBhdeaAwuUWGgVjDxFvHkIlPpMSfRTXrcst]|\.?[369]?f|[nt%])"
    r"|(?P<zone>:{0,3}z|\#z|Z|\+))|%.?",
    re.DOTALL,
)
_OF_DAYS = re.compile(r"(?:%-?[Ymbhd]|%[yBjaAFDx]|%%|[^%])*")


def check_pattern(chrono: str, *, reads: bool = False) -> None:
    """Check that chrono knows a pattern, by which text is read or a time written.

    Raises
    ------
    CatalogProblem
        For a specifier that it does not know, or one of a zone where a time is written:
        it has none.
    """
    for found in _ANY_SPECIFIER.finditer(chrono):
        if found["zone"] and not reads:
            raise CatalogProblem(
                f"the specifier '{found[0]}' is a zone, and a TIMESTAMP has none",
                hint="a TIMESTAMP is in UTC: write the zone as text, as in '%H:%M UTC'",
            )
        if not found["name"] and not found["zone"]:
            raise CatalogProblem(
                f"the specifier '{found[0]}' of a time pattern is not known",
                hint="those of Rust's chrono are, such as %Y %m %d %H %M %S %f %s %j",
            )


def common_pattern(chrono: str, *, of_days: bool = False) -> str | None:
    """What Spark writes by as chrono does by a strftime pattern; None where it cannot.

    Parameters
    ----------
    of_days
        Of a DATE, which has no time of day.
    """
    if of_days and not _OF_DAYS.fullmatch(chrono):
        return None
    try:
        return java_pattern(chrono)
    except Unsupported:
        return None


def java_pattern(chrono: str) -> str:
    """A strftime pattern as Spark has it.

    >>> java_pattern("%Y-%m-%dT%H:%M:%S%.3f")
    "yyyy-MM-dd'T'HH:mm:ss.SSS"

    Raises
    ------
    Unsupported
        For a specifier that has no counterpart.
    """
    pieces = ""
    text = ""
    for token in _TOKEN.finditer(chrono):
        plain = "%" if token[1] == "%" else token[2]
        if plain is not None:
            text += plain
        else:
            pieces += _quoted(text) + _java(token)
            text = ""
    return pieces + _quoted(text)


def _java(token: re.Match[str]) -> str:
    java = _JAVA.get(token[1] or "")
    if java is None:
        raise Unsupported(
            f"the specifier '{token[0]}' of a time pattern is not supported",
            hint="known: " + " ".join(f"%{name}" for name in _JAVA),
        )
    return java


def _quoted(text: str) -> str:
    """Text that Java would read as letters of a pattern is quoted, the rest plain."""
    if not re.search(r"[A-Za-z'\[\]{}#]", text):
        return text
    return "'" + text.replace("'", "''") + "'"
