"""Formatting changes no meaning and no comment, and does nothing the second time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.format_sql import format_cell, format_sql
from arroyo_nb.editor.layout import WIDTH
from arroyo_nb.editor.tokens import TokenKind, tokens_of
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText
from arroyo_nb.sql.parse import parse_all

ROOT = Path(__file__).parents[3]
RESULT = "-" * 40


def scripts() -> Iterator[tuple[str, str]]:
    """The golden scripts and the cells of the notebooks."""
    golden = ROOT / "tests" / "golden"
    for path in sorted([*golden.rglob("*.sql"), *golden.rglob("*.txt")]):
        yield path.name, path.read_text("utf-8").split(RESULT)[0]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
            found = read_cell("".join(cell["source"]))
            if found is not None and found.magic.name == "arroyo":
                yield f"{path.name}:{number}", found.body


def parses(sql: str) -> bool:
    try:
        return not parse_all(
            ScriptText(re.sub(r"(?<![:\w]):(?=\w)", "_", sql))
        ).problems
    except ArroyoError:
        return False


SCRIPTS = dict(scripts())
GOOD = {name: sql for name, sql in SCRIPTS.items() if parses(sql)}


def comments(sql: str) -> list[str]:
    tokens = tokens_of(sql)
    return [t.text.rstrip() for t in tokens if t.kind is TokenKind.COMMENT]


def trees(sql: str) -> list[exp.Expr]:
    text = re.sub(r"(?<![:\w]):(?=\w)", "_", sql)
    statements = parse_all(ScriptText(text)).statements
    return [s.expression for s in statements]


def test_there_are_scripts() -> None:
    assert len(GOOD) > 400
    assert any(".ipynb" in name for name in GOOD)


@pytest.mark.parametrize("name", GOOD)
def test_the_same_statements_and_comments_in_one_style(name: str) -> None:
    sql = GOOD[name]
    made = format_sql(sql)
    assert trees(made) == trees(sql)
    assert comments(made) == comments(sql)
    assert format_sql(made) == made
    long = [line for line in made.split("\n") if len(line) > WIDTH]
    assert all("--" in line for line in long), "only a comment is longer"
    assert not any(line != line.rstrip() for line in made.split("\n"))


@pytest.mark.parametrize(
    "name",
    [n for n, sql in GOOD.items() if not comments(sql) and len(trees(sql)) == 1][::10],
)
def test_how_it_was_laid_out_does_not_matter(name: str) -> None:
    made = format_sql(GOOD[name])
    tokens = tokens_of(made)
    words = [
        token.text.lower()
        if token.kind is TokenKind.WORD and token.text.isupper() and len(token.text) > 1
        else token.text
        for token in tokens
    ]
    gaps = [made[a.end : b.start] for a, b in pairwise(tokens)]
    on_one_line = "".join(
        word + (" " if gap else "")
        for word, gap in zip(words, [*gaps, ""], strict=True)
    )
    # A name in capitals is no keyword: it stays in the case that it was given.
    assert format_sql(on_one_line).lower() == made.lower()


@settings(max_examples=60)
@given(st.data())
def test_comments_may_stand_anywhere(data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(sorted(GOOD.values(), key=len)[20:200]))
    tokens = tokens_of(sql)
    place = data.draw(st.integers(0, len(tokens) - 1))
    comment = data.draw(
        st.sampled_from(
            ["-- a\n", "\n-- a\n", "/* a */", "/* a\n  b */", "\n/* a */\n"]
        )
    )
    at = tokens[place].start
    with_comment = f"{sql[:at]} {comment} {sql[at:]}"
    # Between the words of ORDER BY the planner takes none.
    assume(parses(with_comment))
    made = format_sql(with_comment)
    assert comments(made) == comments(with_comment)
    assert trees(made) == trees(sql)
    assert format_sql(made) == made


def test_the_style() -> None:
    sql = (
        "-- what leaves late\ncreate table Kept (a text, at timestamp not null) with "
        "(connector = 'single_file', path = '{{ FOLDER }}/a.json', type = 'sink', "
        "format = 'json'); insert into kept select carrier, sum(case when "
        "dep_delay > :least and origin <> 'Jfk' then 1 else 0 end) late, -- a reason\n"
        '"X" from flights f left join airlines as a on f.carrier=a.carrier and '
        "a.name is not null where "
        "dep_delay between -1 and 5 or dest in ('a','b') group by carrier"
    )
    assert format_sql(sql) == (
        "-- what leaves late\n"
        "CREATE TABLE Kept (a TEXT, at TIMESTAMP NOT NULL) WITH (\n"
        "    connector = 'single_file',\n"
        "    path = '{{ FOLDER }}/a.json',\n"
        "    type = 'sink',\n"
        "    format = 'json'\n"
        ");\n"
        "\n"
        "INSERT INTO kept\n"
        "SELECT\n"
        "    carrier,\n"
        "    sum(CASE WHEN dep_delay > :least AND origin <> 'Jfk' THEN 1 ELSE 0 END) "
        "late,\n".replace("late,\n", "late, -- a reason\n")
        + '    "X"\n'
        "FROM flights f\n"
        "LEFT JOIN airlines AS a ON f.carrier = a.carrier AND a.name IS NOT NULL\n"
        "WHERE dep_delay BETWEEN -1 AND 5 OR dest IN ('a', 'b')\n"
        "GROUP BY carrier"
    )


def test_a_long_condition_has_a_line_for_each_part() -> None:
    parts = [f"a_long_name_{n} = {n}" for n in range(6)]
    made = format_sql(f"SELECT a FROM t WHERE {' and '.join(parts)}")
    assert made.split("\n")[2:] == [
        f"WHERE {parts[0]}",
        *(f"    AND {part}" for part in parts[1:]),
    ]


def test_a_text_of_several_lines_stays() -> None:
    sql = "SELECT 'a\n   b  ', e'x\\'y', $$ z $$ FROM t"
    assert "'a\n   b  '" in format_sql(sql)
    long = "x" * 200
    assert f"'{long}'" in format_sql(f"SELECT '{long}' FROM t")


def test_a_name_that_is_a_keyword_elsewhere_stays() -> None:
    sql = "SELECT date, first, row, key, a.left FROM t AS window WHERE set > 1"
    if parses(sql):
        assert format_sql(sql).startswith("SELECT date, first, row, key")
    assert format_sql("select a from tri🦆 x") == "SELECT a\nFROM tri🦆 x"
    assert format_sql("select Date from t as Key") == "SELECT Date\nFROM t AS Key"


@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("%%arroyo --wait\nselect 1 from t", "%%arroyo --wait\nSELECT 1\nFROM t"),
        ("%%arroyo\n", "%%arroyo\n"),
        ("%%arroyo\n-- a", "%%arroyo\n-- a"),
        (
            "%%arroyo_test x\nGIVEN t\na\n1\n\nWHEN\nselect  a from t\n"
            "EXPECT TABLE\na\n1",
            "%%arroyo_test x\nGIVEN t\na\n1\n\nWHEN\nSELECT a\nFROM t\n\n"
            "EXPECT TABLE\na\n1",
        ),
        (
            "%%arroyo_test x\nWHEN select a from t\n\nEXPECT TABLE EMPTY",
            "%%arroyo_test x\nWHEN\nSELECT a\nFROM t\n\nEXPECT TABLE EMPTY",
        ),
        ("%%arroyo\nshow tables;\ndrop view if exists V", None),
    ],
)
def test_of_a_cell_the_sql_alone_is_formatted(cell: str, made: str | None) -> None:
    found = read_cell(cell)
    assert found is not None
    wanted = made or "%%arroyo\nSHOW TABLES;\nDROP VIEW IF EXISTS V"
    assert format_cell(found) == wanted
    again = read_cell(wanted)
    assert again is not None
    assert format_cell(again) == wanted


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%arroyo\nselect from where", "syntax error"),
        ("%%arroyo\nselect 'a", "unterminated"),
        ("%%arroyo_rows t\na\n1", "no SQL"),
        ("%%arroyo_udf\nselect 1", "no SQL"),
        ("%%arroyo_test t\nGIVEN t\na\n1", "no SQL"),
    ],
)
def test_what_cannot_be_formatted_says_why(cell: str, message: str) -> None:
    found = read_cell(cell)
    assert found is not None
    with pytest.raises(ArroyoError, match=message):
        format_cell(found)


def test_is_quick_at_200_statements() -> None:
    sql = ";\n".join(
        f"create view v{n} as select a, count(*) as c from t where a > {n} group by a"
        for n in range(200)
    )
    begun = time.process_time()
    format_sql(sql)
    assert time.process_time() - begun < 2.0
