"""The first line of a cell: the magic and its options."""

from __future__ import annotations

import re

from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.answers import Hover
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.option_flags import Flag

_WORD = re.compile(r"\S+")
_MAGICS = {
    Content.SQL: "Streaming SQL. [NAME <<] names the run and its variable.",
    Content.TEST: "A test of a query: GIVEN rows, WHEN it runs, EXPECT rows.",
    Content.ROWS: "A table that plays the rows below as a stream.",
    Content.PYTHON: "Functions of SQL, in Python or Rust.",
}


def explain_first_line(cell: CellText, at: int) -> Hover | None:
    """The word of a cell's first line at a place."""
    end = cell.text.find("\n")
    line = cell.text if end < 0 else cell.text[:end]
    words = [w for w in _WORD.finditer(line) if w.start() <= at <= w.end()]
    if not words:
        return None
    found = words[-1]
    if found.start() == 0:
        return Hover(0, found.end(), found[0], (_MAGICS[cell.magic.content],))
    if found[0] == "<<":
        return Hover(*found.span(), "NAME <<", ("Names the run and its variable.",))
    # The value of an option is explained by the option.
    before = line[: found.start()].split()
    flag = flag_at(cell, found[0]) or (
        flag_at(cell, before[-1], takes_value=True) if before else None
    )
    if flag is None:
        return None
    return Hover(*found.span(), flag_title(flag), (_sentence(flag.doc),))


def flag_at(cell: CellText, word: str, *, takes_value: bool = False) -> Flag | None:
    """The option that a word of the first line is; None: it is none."""
    flag = cell.magic.flags.get(word.partition("=")[0])
    if flag is not None and takes_value and flag.value is None:
        return None
    return flag


def flag_title(flag: Flag) -> str:
    """The spellings of an option, and what its value is called."""
    return f"{', '.join(flag.names)} {flag.value or ''}".rstrip()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
