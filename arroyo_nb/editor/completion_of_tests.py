"""Completion in ``%%arroyo_test`` around the query, and of nothing in rows of data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arroyo_nb.catalog import Catalog
from arroyo_nb.cell_magics import Content
from arroyo_nb.cell_tests import Expected
from arroyo_nb.cell_tests.parse import EXPECT, GIVEN, HINT, OPTIONS, WHEN
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.editor.explanations import shortened
from arroyo_nb.editor.sql_parts import CellSection, cell_sections
from arroyo_nb.plan.show_statements import kind

_TYPE_CHARS = 48


def around_query(
    cell: CellText, at: int, line: str, catalog: Catalog
) -> Iterator[tuple[str, str]] | None:
    """What fits at a place of a test that is not of its query, with its kind; None:
    the cell is no test.

    Parameters
    ----------
    line
        The line of the place, up to it.
    """
    if cell.magic.content is not Content.TEST:
        return None
    return _found(cell, at, line, catalog)


def _found(
    cell: CellText, at: int, line: str, catalog: Catalog
) -> Iterator[tuple[str, str]]:
    if re.fullmatch(r"\w*", line):
        yield from ((word, "keyword") for word in (GIVEN, WHEN, EXPECT, HINT))
    section = next(
        (s for s in cell_sections(cell) if s.head.start <= at <= s.body.end), None
    )
    if section is None:
        return
    if at <= section.head.end:
        yield from _head(section, line.split(), catalog, is_new=line[-1:].isspace())
    elif section.word == GIVEN and "\n" not in cell.text[section.body.start : at]:
        # The first line below GIVEN names the columns.
        words = cell.text[section.head.start : section.head.end].split()
        table = catalog.tables.get(words[1].lower()) if len(words) > 1 else None
        for field in () if table is None else table.schema:
            yield field.name, f"column {shortened(str(field.type), _TYPE_CHARS)}"


def _head(
    section: CellSection, words: list[str], catalog: Catalog, *, is_new: bool
) -> Iterator[tuple[str, str]]:
    place = len(words) if is_new else len(words) - 1
    if section.word == GIVEN and place == 1:
        for table in catalog.tables.values():
            yield table.name, f"table {kind(table)}"
    elif section.word == GIVEN:
        yield "FROM", "keyword"
        yield from ((name, "option") for name in OPTIONS)
    elif section.word == EXPECT and place == 1:
        yield from ((expected.value, "keyword") for expected in Expected)
    elif section.word == EXPECT:
        yield from ((word, "keyword") for word in ("ORDERED", "EMPTY", "WITHIN", "OF"))
