"""What a word of SQL is, a file for each kind of thing; each answers, or passes.

:func:`explain` asks them in order: a name behind AS is a name, whatever else there is
of that spelling; a function is looked for before a column only where brackets follow.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """What a thing is, without its place.

    Parameters
    ----------
    title
        Its name and type, or its signature.
    lines
        Sentences about it, or one column a line.
    example
        SQL that uses it.
    badge
        How exact it is: ``exact``, ``micro-batch`` or ``differs``.
    """

    title: str
    lines: tuple[str, ...] = ()
    example: str | None = None
    badge: str | None = None


def shortened(text: str, most: int = 120) -> str:
    """A text on one line, cut where it is long.

    >>> shortened("SELECT  a,\\n  b", 9)
    'SELECT a…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip(' ,')}…"
