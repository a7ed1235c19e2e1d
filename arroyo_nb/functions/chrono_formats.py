"""Patterns of dates and times: Arroyo's are strftime as chrono has it, Spark's Java's.

Only what both can say is translated; another specifier is refused by name.
"""

from __future__ import annotations

import re

from arroyo_nb.errors import Unsupported

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


# What Spark writes and does not read.
_WRITTEN_ONLY = frozenset("aA")


def java_pattern(chrono: str, *, reads: bool = False) -> str:
    """A strftime pattern as Spark has it; one that ``reads`` text, or writes it.

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
            pieces += _quoted(text) + _java(token, reads=reads)
            text = ""
    return pieces + _quoted(text)


def _java(token: re.Match[str], *, reads: bool) -> str:
    java = _JAVA.get(token[1] or "")
    if java is None or (reads and token[1] in _WRITTEN_ONLY):
        known = [name for name in _JAVA if not (reads and name in _WRITTEN_ONLY)]
        raise Unsupported(
            f"the specifier '{token[0]}' of a time pattern is not supported"
            + (" where text is read" if java else ""),
            hint="known: " + " ".join(f"%{name}" for name in known),
        )
    return java


def _quoted(text: str) -> str:
    """Text that Java would read as letters of a pattern is quoted, the rest plain."""
    if not re.search(r"[A-Za-z'\[\]{}#]", text):
        return text
    return "'" + text.replace("'", "''") + "'"
