"""Statements of a cell, each read when it is asked for."""

from __future__ import annotations

import pytest

from arroyo_nb.editor.cell_statements import CellStatements
from arroyo_nb.source import Span

TEXT = """%%arroyo
CREATE TABLE a (x INT); -- then; a view
/* nothing */;
CREATE OR REPLACE VIEW "B" AS SELECT ';' FROM a;
SELECT x FROM b"""
FOUND = CellStatements(TEXT, Span(9, len(TEXT)))


def test_what_is_comments_only_is_none() -> None:
    assert len(FOUND) == 3
    assert FOUND.declared == {"a": [0], "b": [1]}
    assert [FOUND[n][-1].text for n in range(3)] == [")", "a", "b"]


@pytest.mark.parametrize(
    ("word", "number", "before"),
    [
        ("x INT", 0, 0),
        ("then", None, 0),
        ("nothing", None, 0),
        ('"B"', 1, 1),
        ("SELECT x", 2, 1),
        ("FROM b", 2, 2),
    ],
)
def test_a_place_is_in_one_of_them(word: str, number: int, before: int) -> None:
    at = TEXT.index(word)
    assert FOUND.number_at(at) == number
    assert FOUND.last_before(at) == before
    assert any(token.touches(at) for token in FOUND.tokens_around(at))


def test_nothing_is_around_a_place_of_an_empty_cell() -> None:
    empty = CellStatements("%%arroyo\n", Span(9, 9))
    assert (len(empty), empty.number_at(9), empty.last_before(9)) == (0, None, None)
    assert empty.tokens_around(9) == ()
