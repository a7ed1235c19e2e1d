"""Lines of ``%arroyo`` that a page puts into a cell."""

from __future__ import annotations

import shlex


def command_line(command: str, *words: str) -> str | None:
    """The line of a command, its words quoted; None where they fit in no line.

    >>> print(command_line("head", "flights"), command_line("stop", "a b"))
    %arroyo head flights %arroyo stop 'a b'
    >>> command_line("head", "two\\nlines")
    """
    if any(len(word.splitlines()) != 1 or word.startswith("-") for word in words):
        return None
    return shlex.join(("%arroyo", command, *words))
