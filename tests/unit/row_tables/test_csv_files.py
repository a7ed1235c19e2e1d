"""CSV as it is met: its separators, its types, and what is told of them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arroyo_nb.errors import ArroyoError
from arroyo_nb.row_tables.define import read_rows
from arroyo_nb.schema import BIGINT, DOUBLE, TEXT, Decimal, Timestamp
from arroyo_nb.session import Session


def read(path, text, **options):
    path = path / "a.csv" if path.is_dir() else path
    path.write_text(text)
    return read_rows(path, None, "arrives", **options)


@pytest.mark.parametrize(
    ("separator", "said"),
    [(";", "a ';'"), ("\t", "a tab"), ("|", "a '|'"), (",", None)],
)
def test_the_separator_of_a_file_is_found_and_told(tmp_path, separator, said):
    text = separator.join(("zip:TEXT", "town", "n", "last\n"))
    text += separator.join(("07307", f'"a{separator}b"', "1", "\n"))
    text += separator.join(("10115", "", "", "\n"))
    text += separator.join(("", "", "", "x\n"))
    found = read(tmp_path, text)
    assert found.schema.names == ("zip", "town", "n", "last")
    assert list(found.rows[0].values()) == ["07307", f"a{separator}b", 1, None]
    assert list(found.rows[1].values()) == ["10115", None, None, None]
    assert list(found.rows[2].values()) == [None, None, None, "x"]
    wanted = [] if said is None else [f"{said} separates its columns"]
    assert list(found.notes) == wanted


@pytest.mark.parametrize(
    "text",
    [
        # The header has more than one of them: the rows decide.
        "name, first;age\nDoe, Ann;3\nRoe, Bob;4\n",
        "a|b;c\n1;2\n3;4\n",
        "when;price, net\n2026-01-01;1,5\n2026-01-02;2,25\n",
    ],
)
def test_of_several_separators_the_rows_decide(tmp_path, text):
    found = read(tmp_path, text)
    assert len(found.schema) == 2
    assert found.notes[0] == "a ';' separates its columns"


@settings(max_examples=100)
@given(
    separator=st.sampled_from(",;\t|"),
    rows=st.lists(
        st.lists(st.text("ab ,;|'", max_size=5), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
)
def test_what_the_csv_module_writes_is_read(tmp_path_factory, separator, rows):
    # Blank lines end micro-batches, and blanks around a cell are none of it.
    rows = [[cell.strip() for cell in row] for row in rows]
    written = io.StringIO()
    # Quotes keep an empty text and a blank one from being NULL.
    writer = csv.writer(
        written, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n"
    )
    writer.writerows(rows)
    assume(all(cell.upper() != "NULL" for row in rows for cell in row))
    text = f"x{separator}y{separator}z\n{written.getvalue()}"
    found = read(tmp_path_factory.mktemp("csv"), text)
    assert [list(row.values()) for row in found.rows] == rows


def test_types_are_told_behind_the_name(tmp_path):
    text = "id,price,at,n\n7,1.5,2026-01-01,3\n"
    types = {"id": "TEXT", "price": "DECIMAL(8, 2)"}
    found = read(tmp_path, text, types=types)
    assert [f.type for f in found.schema] == [TEXT, Decimal(8, 2), Timestamp(), BIGINT]
    assert found.rows[0]["id"] == "7"
    # Rows of a cell have them too.
    (row,) = read_rows("id | n\n7 | 8", None, "arrives", types={"id": "TEXT"}).rows
    assert row == {"id": "7", "n": 8}


@pytest.mark.parametrize(
    ("types", "said", "hint"),
    [
        ({"idd": "TEXT"}, "there is no column 'idd'", "did you mean 'id'?"),
        ({"id": "TEXTT"}, "the type in 'id=TEXTT': ", None),
        ({"id": "INT, x INT"}, "is not a type alone", None),
        ({"n": "TEXT"}, "'n' has the type INT in the header, and TEXT", "leave one"),
        ({"id": "BYTEA"}, "'id' is BYTEA, which no cell can hold", None),
        ({"arrives": "TEXT"}, "is the time of arrival", None),
    ],
)
def test_a_type_that_is_told_wrong(tmp_path, types, said, hint):
    with pytest.raises(ArroyoError, match=said) as failed:
        read(tmp_path, "id,n:INT,arrives\n7,8,10:00\n", types=types)
    assert hint is None or hint in failed.value.hint


def test_values_of_python_have_types():
    with pytest.raises(ArroyoError, match="'id=TEXT' tells the type of a column"):
        read_rows([{"id": 1}], None, "arrives", types={"id": "TEXT"})


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "n/a", "3"], "x is TEXT, as 'n/a' in line 3 is no number; an empty"),
        (["1,5", "2"], "x is TEXT, as '1,5' in line 2 has a decimal comma"),
        (["10115", "07307"], "as '07307' in line 3 may be a code; for numbers write"),
        (["10115", "07307"], "write x=BIGINT behind the name of the table"),
        (["1.5", "00.5"], "write x=DOUBLE behind"),
        (['"1"', '"2"'], "as '1' in line 2 stands in quotes"),
        (["1", "9223372036854775808"], "has more digits than a number keeps"),
        (["10:00", "noon", "11:00"], "as 'noon' in line 3 is no time"),
        (["true", "maybe"], "as 'maybe' in line 3 is no truth value"),
        (["a", "b", "1"], None),
        (["", "NULL"], None),
        (["1", "2"], None),
    ],
)
def test_the_value_that_makes_a_column_text_is_named(tmp_path, cells, said):
    found = read(tmp_path, "x;y\n" + "".join(f"{cell};b\n" for cell in cells))
    (_, *notes) = found.notes
    if said is None:
        assert not notes
    else:
        assert said in notes[0]
        # What it says to write is what it takes.
        if "write x=" in notes[0]:
            type_ = notes[0].split("write x=")[1].split()[0]
            again = read(
                tmp_path / "a.csv", (tmp_path / "a.csv").read_text(), types={"x": type_}
            )
            assert again.schema["x"].type in (BIGINT, DOUBLE)
            assert len(again.notes) == 1


@pytest.mark.parametrize(
    ("cells", "reason", "todo"),
    [
        (["0,1", "1.299,99"], "has a decimal comma", "replace(replace(x, '.', ''), '"),
        (["2,288", "194"], "has commas between thousands", "CAST(replace(x, ',', '')"),
        (["12%", "3%"], "has more than a number", "CAST(replace(x, '%', '')"),
        (["$5.50"], "has more than a number", "remove the rest"),
        (["03/04/2024"], "two possible orders", "'%d/%m/%Y' or '%m/%d/%Y')"),
        (["03/04/2024 1:00", "13/04/2024 2:00"], "year last;", ", '%d/%m/%Y %H:%M')"),
        (["1.2.2024 1:00:05"], "two possible", "'%d.%m.%Y %H:%M:%S' or '%m.%d.%Y"),
        (["01-31-2024T1:00:05.25"], "year last;", "'%m-%d-%YT%H:%M:%S%.f')"),
        (["2024-01-01", "31.1.2024"], "as '31.1.2024' in line 3", "'%d.%m.%Y'"),
    ],
)
def test_numbers_and_times_of_another_notation_are_told(tmp_path, cells, reason, todo):
    rows = "".join(f"{cell};a\n" for cell in cells)
    found = read(tmp_path, f"x;y\n{rows}")
    assert found.schema["x"].type == TEXT
    _, note = found.notes
    assert reason in note
    assert todo in note


@pytest.mark.parametrize(
    "cells", [["10.0.12", "1.2.3"], ["12-11-10"], ["a,1", "b,2"], ["4711/12/1"]]
)
def test_what_may_be_anything_is_a_text_without_a_note(tmp_path, cells):
    rows = "".join(f"{cell};a\n" for cell in cells)
    assert len(read(tmp_path, f"x;y\n{rows}").notes) == 1


@pytest.mark.parametrize(
    ("cell", "type_", "todo"),
    [
        ("2,288", "DOUBLE", "or declare it TEXT, and for numbers write CAST(replace("),
        ("13/4/2024", "TIMESTAMP", "write to_timestamp(x, '%d/%m/%Y')"),
    ],
)
def test_a_value_of_another_notation_is_refused_with_a_way(tmp_path, cell, type_, todo):
    with pytest.raises(ArroyoError) as caught:
        read(tmp_path, f"x;y\n{cell};a\n", types={"x": type_})
    assert todo in str(caught.value.hint)


def test_a_quote_behind_a_backslash_has_its_way(tmp_path):
    with pytest.raises(ArroyoError) as caught:
        read(tmp_path, 'x,y\n1,"a \\"b\\", c"\n')
    assert "escapechar='\\\\'" in str(caught.value.hint)


def test_a_cell_may_have_semicolons_or_tabs():
    with Session() as session:
        made = session.rows("t", "at;user\n10:00;ann\n10:01;")
        assert made.notes == ("a ';' separates its columns",)
        made = session.rows("t", "at\tuser\n10:00\tann\n10:01\t")
        assert made.notes == ("a tab separates its columns",)
        # A tab behind a name may stand before its type.
        made = session.rows("t", "n\tINT\n1\n2")
        assert session.catalog.get("t").schema["n"].type.name == "INT"


def test_columns_without_bars_between_are_told_how_to_be_separated():
    with pytest.raises(ArroyoError) as caught:
        read_rows("at user n\n10:00 ann 1\n", None, "arrives")
    assert "separate columns by bars: at | user | n" in str(caught.value.hint)
