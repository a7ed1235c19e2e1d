"""The tables that only GIVEN of a test defines: known to what stands below them."""

from __future__ import annotations

from dataclasses import replace

from arroyo_nb.catalog import Catalog
from arroyo_nb.cell_magics import Content
from arroyo_nb.cell_tests.parse import EXPECT, GIVEN, WHEN, parse_test
from arroyo_nb.cell_tests.scratch import Setting, scratch
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.sql_parts import cell_sections
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText

_REST = f"\n{WHEN}\nSELECT 1\n{EXPECT} TABLE EMPTY\n"
"""What makes a test of a GIVEN; it is not planned."""


def with_given(cell: CellText, context: EditorContext) -> EditorContext:
    """The context of a test's query: with the tables of GIVEN that are declared nowhere
    else. No file of rows is read."""
    if cell.magic.content is not Content.TEST:
        return context
    catalog = context.catalog
    for section in cell_sections(cell):
        words = cell.text[section.head.start : section.head.end].split()
        is_here = section.word == GIVEN and len(words) > 1 and "FROM" not in words[2:3]
        if is_here and words[1].lower() not in catalog.tables:
            text = cell.text[section.head.start : section.body.end]
            catalog = _with_rows(text, catalog)
    return replace(context, catalog=catalog)


def _with_rows(text: str, catalog: Catalog) -> Catalog:
    try:
        case = parse_test(ScriptText(text + _REST), "given")
        return scratch(case, Setting(catalog), None).catalog
    except ArroyoError:
        # Its rows are still being typed.
        return catalog
