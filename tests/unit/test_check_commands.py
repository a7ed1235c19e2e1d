"""``%arroyo check`` in the cells of a shell, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.utils.capture import capture_output
from shells import new_shell

from arroyo_nb.editor.explanations import shortened
from arroyo_nb.extension import load, unload
from arroyo_nb.session import Session

TABLE = (
    "CREATE TABLE f (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at) WITH "
    "(connector = 'single_file', path = '/x', format = 'json', type = 'source');\n"
)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell with a session that never starts Spark."""
    monkeypatch.setattr(Session, "warm_up", lambda self: None)
    with new_shell() as shell:
        load(shell, Session())
        yield shell
        unload(shell)


def run(shell: Any, cell: str) -> str:
    """What a cell prints, or its error."""
    with capture_output() as captured:
        result = shell.run_cell(cell, store_history=True)
    error = result.error_in_exec or result.error_before_exec
    return str(error) if error is not None else str(captured.stdout)


def test_there_is_no_cell_yet(shell: Any) -> None:
    assert run(shell, "%arroyo check").startswith("no cell of Arroyo was run")


def test_the_problems_of_the_last_cell_are_told_with_fixes(shell: Any) -> None:
    run(shell, f"%%arroyo --wait\n{TABLE}SELECT\tidd, '😀', nme FROM f")
    run(shell, "print('another cell')")
    assert run(shell, "%arroyo check").split("\n") == [
        "<cell>:3:8: error: column 'idd' not found",
        "  SELECT\tidd, '😀', nme FROM f",
        "        \t^^^",
        "  hint: did you mean 'id'?",
        "  fix: change to 'id'",
        "<cell>:3:18: error: column 'nme' not found",
        "  SELECT\tidd, '😀', nme FROM f",
        "        \t          ^^^",
        "  hint: known: at, id",
        "",
    ]


def test_a_good_cell_has_the_columns_of_its_result(shell: Any) -> None:
    run(shell, f"%%arroyo --no-run\n{TABLE}SELECT id, at AS seen FROM f")
    cell = f"%%arroyo --no-run {TABLE}SELECT id, at AS seen FROM f"
    found = f"no problem was found: {shortened(cell, 60)}"
    assert run(shell, "%arroyo check").split("\n") == [
        found,
        "",
        "result",
        "column  type       null      role",
        "id      BIGINT     NOT NULL",
        "seen    TIMESTAMP  NOT NULL  event time",
        "",
    ]


def test_each_magic_has_its_checks(shell: Any) -> None:
    run(shell, "%%arroyo_rows clicks\nat TIMESTAMP | n INT\n10:00:00 | x")
    assert "<cell>:3:12: error: 'x' is not a value of 'n'" in run(
        shell, "%arroyo check"
    )
    run(shell, "%%arroyo_udf\n@udf\ndef f(x) -> int:\n    return x")
    assert ": error: Could not get name of type" in run(shell, "%arroyo check")


def test_a_variable_that_was_assigned_later_counts(shell: Any) -> None:
    cell = f"%%arroyo --no-run\n{TABLE}SELECT id FROM f WHERE id > :least"
    assert "parameter ':least' has no value" in run(shell, cell)
    run(shell, "least = 3")
    assert run(shell, "%arroyo check").startswith("no problem was found")


def test_strict_is_that_of_the_notebook(shell: Any) -> None:
    query = (
        "SELECT hop('3 minutes', '10 minutes') AS w, count(*) AS n FROM f GROUP BY w"
    )
    run(shell, f"%%arroyo --no-run\n{TABLE}{query}")
    assert ": hint: Arroyo would refuse this:" in run(shell, "%arroyo check")
    run(shell, "%config ArroyoMagics.strict = True")
    assert ": error: " in run(shell, "%arroyo check")


def test_a_word_is_explained(shell: Any) -> None:
    run(shell, f"%%arroyo\n{TABLE}")
    assert run(shell, "%arroyo check tumble").startswith("tumble(width INTERVAL)")
    assert "id BIGINT NOT NULL" in run(shell, "%arroyo check f")
    assert run(shell, "%arroyo check nonsense").startswith(
        "nothing is known of 'nonsense'"
    )
    assert run(shell, "%arroyo check a b") == "%arroyo check takes at most one word"
