"""Where what stands below a magic is in its cell.

IPython gives a magic the lines below it. An error tells the line as the notebook
numbers it, with the magic's own line and those above it.
"""

from __future__ import annotations

from typing import Any

from arroyo_nb.source import ScriptText


def cell_body(shell: Any, body: str) -> ScriptText:
    """The lines below a magic, as a text that knows how many stand above it.

    Parameters
    ----------
    shell
        IPython's shell, which knows the whole cell where a front end sent it.
    body
        What the magic was given.
    """
    request: Any = getattr(shell, "get_parent", dict)()
    cell = str(request.get("content", {}).get("code") or "")
    return ScriptText(body, lines_above=lines_above(cell, body))


def lines_above(cell: str, body: str) -> int:
    """How many lines of a cell stand above its end, the body of a magic.

    >>> lines_above("%%time\\n%%arroyo\\nSELECT 1", "SELECT 1\\n")
    2

    1 where the cell is not known; 0 where the body is not in it: a program called the
    magic.
    """
    if not cell:
        return 1
    # IPython takes away an indent that all lines have, and adds a line end.
    whole, own = ([part.strip() for part in _lines(text)] for text in (cell, body))
    above = max(len(whole) - len(own), 0)
    return above if whole[above:] == own else 0


def _lines(text: str) -> list[str]:
    return text.rstrip().splitlines()
