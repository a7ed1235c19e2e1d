"""Tests that are looked at and not run: their text, their rows, their query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from arroyo_nb.catalog import Catalog
from arroyo_nb.cell_tests import CellTest, Expected
from arroyo_nb.cell_tests.parse import parse_test
from arroyo_nb.cell_tests.scratch import Setting, scratch
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.spec_file import read_text
from arroyo_nb.source import ScriptText


def check_test(case: CellTest, setting: Setting) -> None:
    """Find out what is wrong with a test. Of rows of a variable, which only Python
    knows, nothing is known.

    Raises
    ------
    ArroyoError
        With its place; an error of the query that is expected is none.
    """
    origins = [given.origin for given in case.given if given.origin is not None]
    if any(not setting.path(origin).exists() for origin in origins):
        return
    made = scratch(case, setting, None)
    if all(expected.kind is not Expected.ERROR for expected in case.expected):
        made.plan()


def check_test_file(path: Path) -> list[ArroyoError]:
    """What is wrong with a test in a file, which needs nothing beside its folder."""
    source = ScriptText(read_text(path), str(path))
    setting = replace(Setting(Catalog()), base=path.absolute().parent)
    try:
        check_test(parse_test(source, path.stem), setting)
    except ArroyoError as error:
        return [*error.problems]
    return []
