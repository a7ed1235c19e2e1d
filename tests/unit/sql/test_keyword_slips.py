"""Misspelt keywords: the error says which is meant, and a quick fix writes it."""

from __future__ import annotations

import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.repairs import Replace
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import parse_all


def problem(text) -> ArroyoError:
    try:
        (found,) = parse_all(ScriptText(text)).problems
    except ArroyoError as error:
        found = error
    return found


@pytest.mark.parametrize(
    ("text", "word", "meant"),
    [
        ("SELECT n FORM t", "FORM", "FROM"),
        ("selct n FROM t", "selct", "SELECT"),
        ("SELECT n FROM t GROPU BY n", "GROPU", "GROUP"),
        ("SELECT n FROM t whre n > 1", "whre", "WHERE"),
        ("SELECT n FROM t ORDR BY n", "ORDR", "ORDER"),
        ("SELECT n FROM t GROUP BY n HAVIN n > 1", "HAVIN", "HAVING"),
        ("SELECT tumble(INTERVL '1 minute') AS w FROM t", "INTERVL", "INTERVAL"),
        ("SELECT n FROM a JION b ON a.x = b.x", "JION", "JOIN"),
        ("CRAETE TABLE t (n INT)", "CRAETE", "CREATE"),
        ("CREATE TABEL t (n INT)", "TABEL", "TABLE"),
        ("CREATE TABLE t (n INT) WIHT (connector = 'impulse')", "WIHT", "WITH"),
        ("CREATE TABLE t (n INT, WATERMRK FOR n)", "WATERMRK", "WATERMARK"),
        ("INSERT INOT x SELECT 1", "INOT", "INTO"),
    ],
)
def test_the_keyword_that_is_meant_is_named(text, word, meant):
    found = problem(text)
    assert f"did you mean {meant}" in str(found.hint)
    (repair,) = found.repairs
    assert isinstance(repair, Replace)
    assert text[repair.span.start : repair.span.end] == word
    assert repair.text == meant


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT n FROM t GROUP n", "write GROUP BY n"),
        ("SELECT n FROM t ORDER n", "write ORDER BY n"),
        # A name is no slip, nor is one in quotes.
        ('SELECT n FROM "form" x y z', "is a comma missing"),
        ("SELECT formal b c FROM t", "is a comma missing"),
    ],
)
def test_what_is_no_slip(text, hint):
    found = problem(text)
    assert "did you mean" not in str(found.hint)
    assert hint in str(found.hint) or found.hint is None


@pytest.mark.parametrize("text", ["SELECT form FROM t", "SELECT n FROM tabel AS form"])
def test_names_like_keywords_stay_names(text):
    assert not parse_all(ScriptText(text)).problems
