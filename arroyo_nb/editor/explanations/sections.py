"""The lines of ``%%arroyo_test`` around the query: GIVEN, WHEN and EXPECT."""

from __future__ import annotations

import re

from arroyo_nb.cell_magics import Content
from arroyo_nb.cell_tests.parse import EXPECT, GIVEN, OPTIONS, WHEN
from arroyo_nb.editor.answers import EditorContext, Hover
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.explanations.tables import table_explanation
from arroyo_nb.editor.sql_parts import cell_sections
from arroyo_nb.magic_options import ROWS_FLAGS_BY_NAME

_WORD = re.compile(r"[^\s|]+")
_HEADS = {
    GIVEN: (
        "GIVEN TABLE [FROM FILE|TAPE|VARIABLE] [OPTIONS]",
        "The rows of a table, below; a declared table keeps its types and watermark.",
    ),
    WHEN: (
        "WHEN",
        "The query, below; or RUN and the name of a run or of a view.",
    ),
    EXPECT: (
        "EXPECT TABLE, CHANGELOG, LATE, WATERMARK or ERROR",
        "What must come out: rows of the columns that matter, below.",
    ),
}
_KINDS = {
    "TABLE": "The result, when all rows have been read.",
    "CHANGELOG": "Each change of the result, in order.",
    "LATE": "The rows that came too late for their windows.",
    "WATERMARK": "The watermark at the end.",
    "ERROR": "The query is refused with a message that has this text.",
    "ORDERED": "The rows must come in this order.",
    "EMPTY": "There must be no row.",
    "WITHIN": "How far a FLOAT or DOUBLE may be off.",
    "FROM": "The rows are those of a file, a recording or a variable.",
    "RUN": "The query of a run, or of a view.",
}


def explain_section(cell: CellText, at: int, context: EditorContext) -> Hover | None:
    """The word of a line GIVEN, WHEN or EXPECT at a place, or a column below GIVEN."""
    if cell.magic.content is not Content.TEST:
        return None
    for section in cell_sections(cell):
        is_head = section.head.start <= at <= section.head.end
        place = section.head if is_head else section.body
        if not place.start <= at <= place.end:
            continue
        words = _WORD.finditer(cell.text, place.start, place.end)
        found = next((w for w in words if w.start() <= at <= w.end()), None)
        if found is None:
            return None
        given = cell.text[section.head.start : section.head.end].split()
        table = context.catalog.tables.get(given[1].lower()) if len(given) > 1 else None
        if not is_head:
            field = table.schema.get(found[0]) if table is not None else None
            if section.word != GIVEN or table is None or field is None:
                return None
            return Hover(*found.span(), str(field), (f"A column of {table.name}.",))
        return _of_head(section.word, found) or (
            Hover(*found.span(), made.title, made.lines)
            if table is not None
            and section.word == GIVEN
            and found[0] == given[1]
            and (made := table_explanation(table))
            else None
        )
    return None


def _of_head(word: str, found: re.Match[str]) -> Hover | None:
    if found[0] == word:
        title, line = _HEADS[word]
        return Hover(*found.span(), title, (line,))
    if found[0] in OPTIONS and found[0] in ROWS_FLAGS_BY_NAME:
        flag = ROWS_FLAGS_BY_NAME[found[0]]
        return Hover(
            *found.span(), f"{found[0]} {flag.value or ''}".rstrip(), (flag.doc,)
        )
    if found[0] in _KINDS:
        return Hover(*found.span(), found[0], (_KINDS[found[0]],))
    return None
