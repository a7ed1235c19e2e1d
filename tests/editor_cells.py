"""Cells for tests of the editor: the ``|`` of a text is where the pointer is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_text import CellText, read_cell
from arroyo_nb.plan.planner import plan_script

TABLES = Path(__file__).parent / "golden" / "tables.sql"
"""The tables of an earlier cell."""


@cache
def known_tables() -> Catalog:
    """A session's tables."""
    return plan_script(TABLES.read_text("utf-8"), Catalog()).catalog


def context(**variables: Any) -> EditorContext:
    """What a cell of a test is planned against."""
    return EditorContext(known_tables(), variables=variables)


def pointed(text: str) -> tuple[CellText, int]:
    """A cell and the place of the ``|`` in it; of ``||`` one is of the cell."""
    before, found, after = text.replace("||", "\0").partition("|")
    assert found, "a cell of a test has a pointer"
    whole = (before + after).replace("\0", "|")
    cell = read_cell(whole)
    assert cell is not None, "a cell of ours"
    return cell, len(before)
