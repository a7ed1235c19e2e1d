"""A table as text is cut into cells: bars, Markdown, CSV, quotes, places."""

import pytest

from arroyo_nb.errors import ArroyoError
from arroyo_nb.row_tables.grid import read_grid
from arroyo_nb.source import ScriptText


def texts(text, **options):
    grid = read_grid(ScriptText(text), **options)
    lines = (grid.header, *(row.cells for row in grid.rows))
    return [[None if c.is_null else c.text for c in cells] for cells in lines]


@pytest.mark.parametrize(
    "text",
    [
        "a | b\n1 | x\n2 |\n",
        "a|b\n1|x\n2|NULL",
        "\n\n  a | b\n  1 | x\n  2 | null\n\n",
        "| a | b |\n|---|:-:|\n| 1 | x |\n| 2 |   |\n",
        "| a | b |\n| 1 | x |\n| 2 | |\n",
        "a | b\n---|---\n1 | x\n2 |",
        "a,b\n1,x\n2,\n",
        "a,b\r\n1,x\r\n2,NULL\r\n",
    ],
)
def test_one_table_in_its_forms(text):
    assert texts(text) == [["a", "b"], ["1", "x"], ["2", None]]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("sym\n-\n+", [["-"], ["+"]]),
        ("sym\n--\n+", [["--"], ["+"]]),
        ("a|b\n-|--\n+|x", [["-", "--"], ["+", "x"]]),
        ("| a | b |\n| - | - |\n| + | x |", [["-", "-"], ["+", "x"]]),
        ("a|b\n---|--\n+|x", [["---", "--"], ["+", "x"]]),
        ("a|b\n---|---\n---|---", [["---", "---"]]),
        ("| a | b |\n|:-|-:|\n| + | x |", [["+", "x"]]),
    ],
)
def test_a_row_of_dashes_is_a_row(text, rows):
    assert texts(text)[1:] == rows


def test_quotes_keep_blanks_bars_and_quotes():
    assert texts("a | b\n\" x | y \" | 'it''s'\n\"\" | 'NULL'") == [
        ["a", "b"],
        [" x | y ", "it's"],
        ["", "NULL"],
    ]
    # In CSV only double quotes are quotes.
    assert texts('a,b\n"x,""y""",\'z\'\n') == [["a", "b"], ['x,"y"', "'z'"]]


def test_a_quote_inside_of_a_text_is_part_of_it():
    assert texts("a | b\nO'Hare | 5\" nails\n")[1] == ["O'Hare", '5" nails']


def test_a_header_may_have_separators_in_brackets_and_names():
    assert texts("n DECIMAL(4, 2), b STRUCT<x INT, y INT>\n1,2")[0] == [
        "n DECIMAL(4, 2)",
        "b STRUCT<x INT, y INT>",
    ]
    # One column of bars, though there is a comma.
    assert texts("n DECIMAL(4, 2)\n1,5")[1] == ["1,5"]
    assert texts('"a|b" INT | c\n1 | 2')[0] == ['"a|b" INT', "c"]


def test_one_column_needs_no_separator():
    assert texts("at\n10:00\n11:00\n") == [["at"], ["10:00"], ["11:00"]]
    assert texts("a b\n1 2\n", is_file=True) == [["a b"], ["1 2"]]


def test_blank_lines_between_rows_group_them():
    groups = [
        row.group
        for row in read_grid(ScriptText("\na|b\n\n1|1\n2|2\n\n \n3|3\n\n4|4\n\n")).rows
    ]
    assert groups == [0, 0, 1, 2]
    assert not read_grid(ScriptText("\na|b\n\n1|1\n2|2\n\n")).is_grouped


def test_cells_know_their_places():
    source = ScriptText("a | b\n  1 |  'x y'\n")
    cells = read_grid(source).rows[0].cells
    assert [source.line_and_column(cell.span.start) for cell in cells] == [
        (2, 3),
        (2, 8),
    ]
    assert source.text[cells[1].span.start : cells[1].span.end] == "'x y'"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a|b\n1|2\n1|2|3|4", "<cell>:3:5", "the line has 4 cells, the header has 2"),
        ("a|b|c\n1", "<cell>:2:1", "the line has 1 cell, the header has 3"),
        ("|a|b|\n|1|2|3|", "<cell>:2:6", "the line has 3 cells, the header has 2"),
        ('a,b\n1,"x', "<cell>:2:3", "a quote is not closed"),
        ("a|b\n1|'x\ny'|2", "<cell>:2:3", "a quote is not closed"),
        ('"a|b\n1|2', "<cell>:1:1", "a quote is not closed"),
        ('a|b\n"x" y|2', "<cell>:2:5", "a '|' is missing behind the quoted text"),
        ("", "", "there are no rows"),
        (" \n \n", "", "there are no rows"),
    ],
)
def test_what_is_wrong_has_its_place(text, place, said):
    with pytest.raises(ArroyoError) as error:
        read_grid(ScriptText(text))
    assert said in str(error.value)
    assert str(error.value).startswith(place)


def test_each_wrong_line_is_told_up_to_a_bound():
    with pytest.raises(ArroyoError) as error:
        read_grid(ScriptText("a|b\n" + "1|2|3\n" * 30))
    lines = [str(problem).split(" ")[0] for problem in error.value.problems]
    assert lines == [f"<cell>:{n}:5:" for n in range(2, 22)]
