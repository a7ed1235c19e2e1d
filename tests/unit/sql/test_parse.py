from __future__ import annotations

import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import ArroyoError, SyntaxProblem, raise_all
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.ddl import StatementParser
from arroyo_nb.sql.dialect import ArroyoDialect, span_of
from arroyo_nb.sql.parse import parse_all
from arroyo_nb.sql.statements import (
    CreateTable,
    CreateView,
    Insert,
    Query,
    SetOption,
    Statement,
)

MANY = 2_000


def parse(source: ScriptText) -> tuple[Statement, ...]:
    """The statements of a script, all of which can be read."""
    parsed = parse_all(source)
    raise_all(parsed.problems)
    return parsed.statements


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("SELECT dest count(*) FROM a", "count"),
        ("SELECT n, tumble(INTERVAL '1 hour') AS w dest, n FROM a", "dest"),
        ("SELECT n FROM (SELECT n AS m dest FROM a) b", "dest"),
        ("SELECT extract(hour FROM t) AS h dest FROM a", "dest"),
        ("SELECT CASE WHEN n THEN 1 END x 5 FROM a", "5"),
        ("SELECT n 'x' FROM a", "x"),
        ("SELECT n FROM a GROUP BY n dest", "dest"),
        ("SELECT n FROM a GROUP BY n dest HAVING n > 1", "dest"),
    ],
)
def test_a_missing_comma_is_guessed(text: str, item: str) -> None:
    (problem,) = parse_all(ScriptText(text)).problems
    assert problem.hint == f"is a comma missing before '{item}'?"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n dest FORM a",
        "SELECT n, dest FORM a",
        "SELECT n AS FROM a",
        "SELECT (n dest m) FROM a",
        "SELECT sum(n dest) FROM a",
        "SELECT CASE WHEN n m THEN 1 END FROM a",
        "SELECT count(*) OVR (PARTITION BY n) FROM a",
        "SELECT count(*) FILTR (WHERE n > 1) FROM a",
        "SELECT n FROM a WHERE n dest",
        "SELECT n FROM a b c",
        "SELECT n FROM a GROUP BY n HAVNG n > 1",
        "SELECT n FROM a LIMIT 5 6",
        "SELECT n +",
        "SELECT n m o",
    ],
)
def test_a_comma_is_not_guessed_where_something_else_is_wrong(text: str) -> None:
    (problem,) = parse_all(ScriptText(text)).problems
    assert "comma" not in str(problem.hint)


def test_statements_know_their_names_and_places() -> None:
    text = (
        "CREATE TABLE a (x INT) WITH (connector = 'stdout');\n"
        "CREATE VIEW b AS SELECT 1 FROM a; CREATE TABLE c AS (SELECT 1 FROM a);\n"
        "INSERT INTO d SELECT 1 FROM a;; SET updating_ttl = '1 hour'; SELECT 1 FROM a"
    )
    statements = parse(ScriptText(text))
    kinds = [CreateTable, CreateView, CreateView, Insert, SetOption, Query]
    assert [type(s) for s in statements] == kinds
    assert [s.name for s in statements] == ["a", "b", "c", "d", "updating_ttl", ""]
    places = [text[s.span.start : s.span.end] for s in statements]
    assert [p.split()[0] for p in places] == [
        *("CREATE", "CREATE", "CREATE"),
        *("INSERT", "SET", "SELECT"),
    ]


def test_an_expression_covers_its_text() -> None:
    text = "SELECT a + upper(b.c, 'x') FROM t"
    (statement,) = parse(ScriptText(text))
    (item,) = statement.expression.expressions
    span = span_of(item)
    assert span is not None
    assert text[span.start : span.end] == "a + upper(b.c, 'x')"


NESTED = {
    "brackets": "SELECT " + "(" * MANY + "1" + ")" * MANY,
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * MANY + "t" + ")" * MANY,
    "case": "SELECT " + "CASE WHEN a THEN " * MANY + "1" + " END" * MANY,
    "calls": "SELECT " + "f(" * MANY + "1" + ")" * MANY,
    "not": "SELECT " + "NOT " * MANY + "a",
    "minus": "SELECT " + "- " * MANY + "a",
    "additions": "SELECT a" + " + a" * MANY,
    "conditions": "SELECT a FROM t WHERE a" + " AND a" * MANY,
    "unions": " UNION ALL ".join(["SELECT a FROM t"] * MANY),
    "casts": "SELECT a" + "::INT" * MANY,
    "indexes": "SELECT a" + "[1]" * MANY,
    "indexes of indexes": "SELECT " + "a[" * MANY + "1" + "]" * MANY,
    "fields": "SELECT a" + ".b" * MANY,
    "structs": "CREATE TABLE t (a " + "STRUCT<a " * MANY + "INT" + ">" * MANY + ")",
    "lists": "CREATE TABLE t (a INT" + "[]" * MANY + ")",
    "is null": "SELECT a" + " IS NULL" * MANY,
    "in": "SELECT " + "a IN (" * MANY + "1" + ")" * MANY,
    "ctes": "WITH " + "a AS (WITH " * MANY + "b AS (SELECT 1) SELECT 1",
    "joins": "SELECT * FROM a" + " JOIN (b" * MANY + ")" * MANY,
    "texts": "SELECT 'a'" + " || 'a'" * MANY,
}


@pytest.mark.parametrize("shape", NESTED)
def test_deep_nesting_is_an_error_with_a_place(shape: str) -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(SyntaxProblem, match="nested deeper than 100") as caught:
        parse(ScriptText(NESTED[shape]))
    assert caught.value.span is not None
    assert sys.getrecursionlimit() == before


ALLOWED = {
    "brackets": "SELECT " + "(" * 100 + "1" + ")" * 100,
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 60 + "t" + ")" * 60,
    "case": "SELECT " + "CASE WHEN a THEN " * 100 + "1" + " END" * 100,
    "additions": "SELECT a" + " + a" * 200,
    "joins": "SELECT * FROM a" + " JOIN b" * MANY,
    "columns": "SELECT " + ", ".join(["a"] * MANY),
    "in": "SELECT a IN (" + ", ".join(["1"] * MANY) + ")",
}


@pytest.mark.parametrize("shape", ALLOWED)
def test_wide_is_not_deep(shape: str) -> None:
    assert len(parse(ScriptText(ALLOWED[shape]))) == 1


def test_every_statement_with_a_syntax_error_is_reported() -> None:
    with pytest.raises(ArroyoError) as caught:
        parse(
            ScriptText(
                "SELECT f(;\nSELECT 1 FROM t;\nSELECT 1 FROM t x y z;\nTRUNCATE t"
            )
        )
    lines = [str(p).split(" ")[0] for p in caught.value.problems]
    assert lines == ["<cell>:1:9:", "<cell>:3:19:", "<cell>:4:1:"]


@given(st.text(alphabet="SELECT FROM()[]'\"`;,.*-/+$<>=:1aé\n\\{#}", max_size=40))
def test_any_text_is_parsed_or_told(text: str) -> None:
    with suppress(ArroyoError):
        assert parse(ScriptText(text))


NAMES = st.sampled_from(["a", "end", "window", '"Ab"', "t.b", "t.s.f", "session"])
LEAVES = NAMES | st.sampled_from(
    ["1", "2.5", "'it''s'", "TRUE", "NULL", "INTERVAL '5 minutes'", "count(*)"]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    infix = st.sampled_from(
        [
            *("+", "-", "*", "/", "%", "=", "<>", "<", ">=", "AND", "OR", "||"),
            *("LIKE", "ILIKE", "~", "~*", "&", "|", "#", "<<", ">>"),
            *("IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
        ]
    )
    return st.one_of(
        st.builds("({} {} {})".format, inner, infix, inner),
        st.builds("(NOT ({}))".format, inner),
        st.builds("(-({}))".format, inner),
        st.builds("f({}, {})".format, inner, inner),
        st.builds("sum(DISTINCT {}) FILTER (WHERE {})".format, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("(({}) IS NOT NULL)".format, inner),
        st.builds("(({}) IN ({}, {}))".format, inner, inner, inner),
        st.builds("(({}) BETWEEN ({}) AND ({}))".format, inner, inner, inner),
        st.builds("CAST({} AS INT)".format, inner),
        st.builds("TRY_CAST({} AS TEXT[])".format, inner),
        st.builds("({})[{}]".format, inner, inner),
    )


EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=12)


@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), EXPRESSIONS)
def test_printing_and_parsing_is_identity(items: list[str], where: str) -> None:
    text = f"SELECT {', '.join(items)} FROM t WHERE {where}"
    (first,) = parse(ScriptText(text))
    printed = first.expression.sql(dialect=ArroyoDialect)
    (second,) = parse(ScriptText(printed))
    assert second.expression == first.expression
    assert second.expression.sql(dialect=ArroyoDialect) == printed


def test_a_compiled_sqlglot_is_reported_once_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(StatementParser, "__init__", refuse)
    with pytest.raises(ArroyoError, match="sqlglotc is installed") as caught:
        parse_all(ScriptText("SELECT 1; SELECT 2"))
    assert "pip uninstall sqlglotc" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_another_error_of_the_parser_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("unexpected keyword argument")

    monkeypatch.setattr(StatementParser, "__init__", fail)
    with pytest.raises(TypeError, match="unexpected keyword"):
        parse_all(ScriptText("SELECT 1"))
