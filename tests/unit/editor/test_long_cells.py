"""Cells of many statements: checked one by one, and only what changes is planned."""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace
from typing import cast

import pytest
from IPython.core.completer import CompletionContext

from arroyo_nb.catalog import Catalog
from arroyo_nb.editor import sql_check
from arroyo_nb.editor.answers import EditorContext
from arroyo_nb.editor.cell_text import read_cell
from arroyo_nb.editor.completion import complete
from arroyo_nb.editor.diagnostics import diagnose
from arroyo_nb.editor.result_schema import result_schema
from arroyo_nb.editor.script_check import CheckedScript
from arroyo_nb.editor.signature import signature
from arroyo_nb.session import Session

STATEMENTS = 200


def statements() -> list[str]:
    made: list[str] = []
    for n in range(STATEMENTS // 3):
        made += (
            f"CREATE TABLE s{n} (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, name TEXT, "
            "fare DOUBLE, WATERMARK FOR at AS at - INTERVAL '5 seconds') WITH "
            f"(connector = 'single_file', path = '/data/{n}', type = 'source', "
            "format = 'json')",
            f"CREATE VIEW v{n} AS SELECT tumble(INTERVAL '1 hour') AS window, name, "
            f"count(*) AS n FROM s{n} GROUP BY window, name",
            f"SELECT window, name, n FROM v{n} WHERE n > {n}",
        )
    return [*made, "SELECT id FROM s0", "SELECT id FROM s1"]


def problems(parts: list[str]) -> list[tuple[str, str]]:
    text = "%%arroyo\n" + ";\n".join(parts)
    cell = read_cell(text)
    assert cell is not None
    found = diagnose(cell, EditorContext(Catalog()))
    return [(text[d.start : d.end], d.message) for d in found]


def test_an_error_is_told_where_it_is_and_goes_with_it() -> None:
    parts = statements()
    assert problems(parts) == []
    before = parts[100]
    parts[100] = before.replace("name", "nme", 1)
    assert [place for place, _ in problems(parts)][:1] == ["nme"]
    parts[100] = before
    assert problems(parts) == []


def test_what_reads_a_table_is_checked_again_when_it_changes() -> None:
    parts = statements()
    assert problems(parts) == []
    parts[0] = parts[0].replace("name TEXT", "label TEXT")
    # The view cannot be made then, and what reads it is told nothing.
    assert [place for place, _ in problems(parts)] == ["name"]
    parts[0] = parts[0].replace("BIGINT", "BIGNT")
    assert [place for place, _ in problems(parts)] == ["BIGNT"]


def test_a_second_table_of_a_name_is_told() -> None:
    parts = statements()
    parts.append(parts[0])
    ((place, message),) = problems(parts)
    assert (place, message) == ("s0", "the table 's0' is declared twice in this script")


def test_a_name_with_blanks_is_read_too() -> None:
    parts = statements()
    parts[0] = parts[0].replace("s0", '"my s0"')
    parts[1] = parts[1].replace("FROM s0", 'FROM "my s0"')
    parts[-2] = 'SELECT id FROM "my s0"'
    assert problems(parts) == []
    parts[0] = parts[0].replace("id BIGINT", "idd BIGINT")
    assert [place for place, _ in problems(parts)] == ["id"]


def test_short_and_long_scripts_are_told_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = statements()[:6]
    parts[1] = parts[1].replace("count(*)", "cnt(*)")
    parts[4] = parts[4].replace("name,", "nme,")
    whole = problems(parts)
    monkeypatch.setattr(sql_check, "WHOLE", 0)
    assert problems(parts) == whole
    assert len(whole) == 2


@pytest.mark.parametrize(
    ("added", "told"),
    [
        (
            ["INSERT INTO out SELECT id FROM s2", "SELECT id FROM written"],
            ["the script both reads and writes '/data/out'"],
        ),
        (
            ["INSERT INTO out SELECT id FROM s2", "INSERT INTO too SELECT id FROM s2"],
            ["the tables 'out' and 'too' write one file"],
        ),
        (["INSERT INTO out SELECT id FROM s2", "INSERT INTO out SELECT 1 FROM s2"], []),
    ],
)
def test_the_files_of_all_statements_are_compared(
    added: list[str], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "connector = 'single_file', path = '/data/out', format = 'json'"
    parts = [
        *statements()[:9],
        f"CREATE TABLE written (id BIGINT) WITH ({options}, type = 'source')",
        f"CREATE TABLE out (id BIGINT) WITH ({options}, type = 'sink')",
        f"CREATE TABLE too (id BIGINT) WITH ({options}, type = 'sink')",
    ]
    assert problems([*parts, added[0]]) == []
    for _ in range(2):  # the second time from what is kept
        one_by_one = problems(parts + added)
        assert [message for _, message in one_by_one] == told
        assert all(place == added[1] for place, _ in one_by_one)
    monkeypatch.setattr(sql_check, "WHOLE", 100)
    assert problems(parts + added) == one_by_one


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_check, "MOST_KEPT", 50)
    assert problems(statements()) == []
    assert len(sql_check._KEPT) <= 50


def test_a_keystroke_in_a_long_cell_costs_little_of_a_whole_check() -> None:
    parts = statements()

    def cost() -> float:
        # Of this thread alone: other processes share the machine.
        start = time.thread_time()
        problems(parts)
        return time.thread_time() - start

    whole: list[float] = []
    for _ in range(3):
        sql_check._KEPT.clear()
        whole.append(cost())
    keys: list[float] = []
    for n in range(60):
        place = (n * 37) % len(parts)
        before = parts[place]
        parts[place] = f"{before} {'x' * (n % 3)}"
        keys.append(cost())
        parts[place] = before
    # One to twenty on a quiet machine; in milliseconds, benchmarks/editor.py.
    assert statistics.median(keys) <= min(whole) / 8, (keys, whole)


def test_the_result_of_a_cell_needs_no_second_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned: list[str] = []
    check = sql_check.check_script

    def counted(text: str, catalog: Catalog, *, strict: bool) -> CheckedScript:
        planned.append(text)
        return check(text, catalog, strict=strict)

    monkeypatch.setattr(sql_check, "check_script", counted)
    cell = read_cell(f"%%arroyo\n{statements()[0]};\nSELECT id AS once FROM s0")
    assert cell is not None
    context = EditorContext(Catalog())
    assert diagnose(cell, context) == ()
    assert [column.name for column in result_schema(cell, context)] == ["once"]
    assert len(planned) == 1
    # Other tables, or a function that was edited, are asked again.
    assert diagnose(cell, EditorContext(Catalog(), strict=True)) == ()
    assert len(planned) == 2


@pytest.mark.parametrize("piece", ["(", "{", "WITH (", "abs(", "f("])
def test_many_open_brackets_take_no_time(piece: str) -> None:
    text = "%%arroyo\nSELECT " + piece * 5_000
    cell = read_cell(text)
    assert cell is not None
    begin = time.process_time()
    signature(cell, len(text), EditorContext(Catalog()))
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("before", ["SELECT ", "CREATE TABLE t (a INT) WITH (", "-- "])
def test_a_long_word_is_completed_in_no_time(before: str) -> None:
    text = f"%%arroyo\n{before}{'x' * 100_000} = 1, "
    session = SimpleNamespace(catalog=Catalog(), function_rows=dict)
    column = len(text) - len("%%arroyo\n")
    place = CompletionContext("", text, column, 1, None)
    begin = time.process_time()
    complete(cast(Session, session), place)
    assert time.process_time() - begin < 5
