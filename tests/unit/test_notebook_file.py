"""The streaming cells of a notebook's file."""

import json

import pytest

from arroyo_nb.cli.notebook_file import find, streaming_cells
from arroyo_nb.errors import ArroyoError, PromoteProblem

TICKS = "%%arroyo\nCREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);"
FEW = "%%arroyo few << --rows 3\nSELECT counter FROM ticks WHERE counter < :least"


@pytest.fixture
def notebook(tmp_path):
    """Writes a notebook of code cells: texts, or a text and its tags."""

    def write(*cells):
        made = []
        for number, cell in enumerate(cells):
            text, *tags = (cell,) if isinstance(cell, str) else cell
            lines = text.splitlines(keepends=True)
            made.append({"cell_type": "code", "id": f"c{number}", "source": lines,
                         "metadata": {"tags": tags}})  # fmt: skip
        made.insert(1, {"cell_type": "markdown", "source": "%%arroyo is a magic"})
        path = tmp_path / "clock.ipynb"
        path.write_text(json.dumps({"cells": made, "nbformat": 4}))
        return path

    return write


def names(path, **values):
    return [(cell.id, cell.name) for cell in streaming_cells(path, values)]


def test_cells_are_planned_in_order_and_named_as_a_kernel_names_them(notebook):
    path = notebook(
        "%load_ext arroyo_nb",
        TICKS,
        "print('%%arroyo')",
        "%%arroyo_else x\nGIVEN",
        "%%arroyo --no-run\nSELECT nope FROM ticks",
        "%%arroyo --help",
        "\n\n%%arroyo\nSELECT counter FROM ticks",
        FEW,
    )
    assert names(path, least=3) == [("c1", "query_1"), ("c6", "query_2"), ("c7", "few")]
    few = find(streaming_cells(path, {"least": 3}), "few")
    assert few.plan.source.text.endswith("counter < 3")
    assert [table.name for table in few.plan.read_before] == ["ticks"]


ROWS = "%%arroyo_rows clicks --watermark '5 s' -o a.tape\nat|user\n10:00|ann\n"
USERS = "%%arroyo users <<\nSELECT user FROM clicks"


def test_rows_of_a_cell_are_a_table_and_no_tape_is_written(notebook, tmp_path):
    csv = tmp_path / "rows.csv"
    csv.write_text("user,n\nann,1\n")
    files = set(tmp_path.iterdir())
    path = notebook(ROWS, USERS, f"%%arroyo_rows clicks --from {csv}", USERS)
    first, second = streaming_cells(path)
    (clicks,) = first.plan.read_before
    assert clicks.watermark.fixed_delay.total_seconds() == 5
    assert clicks.spec.options["path"] == "a.tape"
    (clicks,) = second.plan.read_before
    assert str(clicks.schema) == "user TEXT, n BIGINT"
    assert set(tmp_path.iterdir()) == files | {path}


def test_what_is_wrong_with_rows_of_a_cell_is_told_once(notebook):
    wrong = ROWS.replace("10:00", "26:00")
    (cell,) = streaming_cells(notebook("%%arroyo_rows --help", wrong))
    assert str(cell.error).startswith("clock.ipynb cell 2:3:1: '26:00' is not a value")
    assert streaming_cells(notebook((wrong, "raises-exception"))) == []
    # What a variable has only Python knows.
    cell = streaming_cells(notebook("%%arroyo_rows clicks --from frame", USERS))[-1]
    assert "Table clicks not found" in str(cell.error)


def test_parameters_are_what_is_given_or_a_literal_that_is_assigned_once(notebook):
    def bound(*code, **values):
        cell = find(streaming_cells(notebook(TICKS, *code, FEW), values), "few")
        return cell.plan.source.text.rsplit("< ", 1)[1]

    assert bound("%matplotlib inline\nleast = 60  # minutes") == "60"
    assert bound("least = 60", least=5) == "5"
    for code in (
        ("least = 60", "least = 70"),
        ("least = 60\nleast += 1",),
        ("least = 60", "for least in range(3): pass"),
        ("least = input()", "least = 60"),
        ("least = 60", "del least"),
        ("least = 60 +",),
    ):
        with pytest.raises(ArroyoError, match="least"):
            bound(*code)


def test_nothing_of_a_notebook_is_run(notebook, tmp_path):
    there = tmp_path / "there"
    code = f"open({str(there)!r}, 'w')\nleast = 60"
    assert find(streaming_cells(notebook(TICKS, code, FEW)), "few").plan
    assert not there.exists()


def test_a_cell_that_fails_changes_nothing_and_is_told_when_it_is_asked_for(notebook):
    path = notebook(
        TICKS,
        "%%arroyo bad <<\nCREATE TABLE ticks WITH (connector = 'impulse');\nSELECT 1",
        ("%%arroyo\nSELECT nope FROM ticks", "raises-exception"),
        "%%arroyo --rwos 3\nSELECT 1",
        "%%arroyo good <<\nSELECT counter FROM ticks",
    )
    cells = streaming_cells(path)
    assert [(cell.name, cell.error is None) for cell in cells] == [
        ("query_1", True), ("bad", False), ("", False), ("good", True),
    ]  # fmt: skip
    assert find(cells, "good").plan
    with pytest.raises(ArroyoError, match=r"clock\.ipynb cell 2:"):
        find(cells, "bad")
    with pytest.raises(PromoteProblem, match="did you mean 'good'"):
        find(cells, "godo")
    assert find(cells, "c4").name == "good"


@pytest.mark.parametrize("text", ["{}", "[1]", "no", '{"cells": [{}]}', "\x00"])
def test_what_is_no_notebook_is_told(tmp_path, text):
    path = tmp_path / "x.ipynb"
    path.write_text(text)
    with pytest.raises(PromoteProblem, match="is not a notebook"):
        streaming_cells(path)
    with pytest.raises(PromoteProblem, match="cannot read"):
        streaming_cells(tmp_path / "none.ipynb")
