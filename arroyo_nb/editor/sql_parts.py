"""Which part of a cell is SQL: all of ``%%arroyo``, below WHEN in ``%%arroyo_test``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arroyo_nb.cell_magics import Content
from arroyo_nb.cell_tests.parse import EXPECT, GIVEN, WHEN
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.source import Span

_HEAD = re.compile(rf"({GIVEN}|{WHEN}|{EXPECT})(?![\w.])(?!\s*[|,])")


@dataclass(frozen=True)
class CellSection:
    """A section of a test, while it is being written; places are the cell's.

    Parameters
    ----------
    word
        GIVEN, WHEN or EXPECT.
    head
        Its first line, the word included.
    body
        The lines below.
    """

    word: str
    head: Span
    body: Span


def cell_sections(cell: CellText) -> Iterator[CellSection]:
    """The sections of a ``%%arroyo_test`` cell."""
    heads: list[tuple[str, Span]] = []
    at, word = cell.start, ""
    for line in cell.body.split("\n"):
        match = _HEAD.match(line)
        # The query ends with EXPECT: CASE has a WHEN, and a name may be GIVEN.
        if match and (word != WHEN or match[1] == EXPECT):
            word = match[1]
            heads.append((word, Span(at, at + len(line))))
        at += len(line) + 1
    ends = [*(head.start for _, head in heads[1:]), len(cell.text)]
    for (word, head), end in zip(heads, ends, strict=False):
        yield CellSection(word, head, Span(min(head.end + 1, end), end))


def sql_span(cell: CellText) -> Span | None:
    """Where the SQL of a cell is; None: it has none."""
    if cell.magic.content is Content.SQL:
        return Span(cell.start, len(cell.text))
    if cell.magic.content is Content.TEST:
        for section in cell_sections(cell):
            if section.word == WHEN:
                # The query may begin on the line of WHEN; RUN names another one's.
                return Span(section.head.start + len(WHEN), section.body.end)
    return None
