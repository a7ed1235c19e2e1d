"""A cell that is being edited: which magic it is of, and where its body begins."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arroyo_nb.cell_magics import CELL_MAGICS, CellMagic

LONGEST = 200_000
"""Cells of more characters hold data: the editor leaves them alone, as to read one at
each key would keep the kernel from its work."""

_FIRST_LINE = re.compile(r"%%(\w+)(?=\s|\Z)(?P<line>[^\r\n]*)(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True)
class CellText:
    """The text of a cell of ours.

    Parameters
    ----------
    text
        The whole cell, its first line included.
    magic
        Whose cell it is.
    line
        What is written behind the magic's name.
    start
        Where the body begins, in characters from the beginning of the cell.
    """

    text: str
    magic: CellMagic
    line: str
    start: int

    @property
    def body(self) -> str:
        """What is below the first line."""
        return self.text[self.start :]


def read_cell(text: str) -> CellText | None:
    """The cell, or None where it is not one of ours.

    >>> cell = read_cell("%%arroyo --wait\\nSELECT 1")
    >>> cell.magic.name, cell.line, cell.body
    ('arroyo', ' --wait', 'SELECT 1')
    >>> read_cell("SELECT 1") is None
    True
    """
    found = _FIRST_LINE.match(text)
    magic = CELL_MAGICS.get(found[1]) if found else None
    if found is None or magic is None:
        return None
    return CellText(text, magic, found["line"], found.end())


def read_short_cell(text: str) -> CellText | None:
    """The cell that an editor is asked about while somebody types; None where it is not
    one of ours, or longer than :data:`LONGEST`."""
    return read_cell(text) if len(text) <= LONGEST else None
