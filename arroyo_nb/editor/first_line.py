"""The first line of a cell: what is wrong with its options, each at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from arroyo_nb import magic_options as flags
from arroyo_nb.cell_magics import Content
from arroyo_nb.editor.cell_text import CellText
from arroyo_nb.errors import ArroyoError
from arroyo_nb.magic_options import CellLine
from arroyo_nb.option_flags import Flag, Word, split
from arroyo_nb.row_tables import watermark_delay
from arroyo_nb.row_tables.disorder import OPTIONS as DISORDER
from arroyo_nb.source import Span
from arroyo_nb.test_commands import parse_test_line
from arroyo_nb.udfs.languages import PYTHON, check_language


def read_first_line(cell: CellText) -> tuple[str, Mapping[str, Any]]:
    """The name on the first line, empty where it has none, and the options by key.

    Raises
    ------
    ArroyoError
        With its place in the first line, behind the magic's name.
    """
    return _READERS[cell.magic.content](cell.line)


def _sql(line: str) -> tuple[str, Mapping[str, Any]]:
    given = flags.parse_line(line).given
    # Each by itself: what is wrong with a value says nothing of the others.
    for key, value in given.items():
        with _placed(key, line, flags.FLAGS_BY_NAME):
            CellLine({key: value}).run_options(keep=True)
    return str(given.get("name", "")), given


def _rows(line: str) -> tuple[str, Mapping[str, Any]]:
    name, given = flags.parse_rows_line(line)
    for key, value in given.items():
        with _placed(key, line, flags.ROWS_FLAGS_BY_NAME):
            if key == "watermark":
                watermark_delay(value)
            elif key in DISORDER:
                DISORDER[key](key, value)
    return name, given


@contextmanager
def _placed(key: str, line: str, known: Mapping[str, Flag]) -> Iterator[None]:
    try:
        yield
    except ArroyoError as problem:
        problem.span = problem.span or _place(key, split(line), known)
        raise


def _place(key: str, words: list[Word], known: Mapping[str, Flag]) -> Span | None:
    """Where an option and its value stand."""
    for number, word in enumerate(words):
        name, equals, _ = word.partition("=")
        flag = known.get(name)
        if flag is not None and flag.key == key:
            last = word if equals or flag.value is None else words[number + 1]
            return word.span | last.span
    return None


def _python(line: str) -> tuple[str, Mapping[str, Any]]:
    language = line.strip().lower() or PYTHON
    check_language(language)
    return language, {}


_READERS: Mapping[Content, Callable[[str], tuple[str, Mapping[str, Any]]]] = {
    Content.SQL: _sql,
    Content.TEST: parse_test_line,
    Content.ROWS: _rows,
    Content.PYTHON: _python,
}
