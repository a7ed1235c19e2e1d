"""What cells mean: the types of columns without one, and values with their bounds."""

from datetime import datetime
from decimal import Decimal as Number10

import pytest

from arroyo_nb.row_tables.grid import read_grid
from arroyo_nb.row_tables.values import inferred_type, reader, time_of
from arroyo_nb.schema import (
    BIGINT,
    BIGINT_UNSIGNED,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    INT,
    INT_UNSIGNED,
    JSON,
    TEXT,
    Decimal,
    Timestamp,
)
from arroyo_nb.source import ScriptText


@pytest.mark.parametrize(
    ("cells", "type_"),
    [
        (["1", "-2", ""], BIGINT),
        (["9223372036854775807"], BIGINT),
        # As a DOUBLE it would lose digits.
        (["9223372036854775808", "1"], TEXT),
        (["1", "2.5", "NULL"], DOUBLE),
        (["1e-3", "1.5e3", ".5", "-1."], DOUBLE),
        # What may be a code is no number.
        (["07307", "10115"], TEXT),
        (["+4912345"], TEXT),
        (["0049"], TEXT),
        (["12E34"], TEXT),
        (["00.5"], TEXT),
        # As a DOUBLE it would lose digits.
        (["0.1234567890123456789"], TEXT),
        (["true", "FALSE"], BOOLEAN),
        (["10:00", "9:59:30", "10:00:00.5"], Timestamp()),
        (["2013-02-08", "2013-02-08T10:00:00Z", "2013-02-08 9:00 +01:00"], Timestamp()),
        # A slip of a time is an error with its place, and no text.
        (["10:00", "26:00"], Timestamp()),
        (["10:00", "noon"], TEXT),
        (["1", "x"], TEXT),
        (["nan"], TEXT),
        (["1", '"2"'], TEXT),
        (["", "NULL"], TEXT),
    ],
)
def test_a_column_without_a_type_gets_one(cells, type_):
    grid = read_grid(ScriptText("x | y\n" + "".join(f"{c} | \n" for c in cells)))
    column = [row.cells[0] for row in grid.rows]
    assert inferred_type(column, is_csv=False) == type_


def test_a_number_in_quotes_is_a_text_in_csv_and_a_time_is_a_time():
    grid = read_grid(ScriptText('x,y,z,t\n"1","",1,"10:00"\n'))
    types = [
        inferred_type([cell], is_csv=grid.form.is_csv) for cell in grid.rows[0].cells
    ]
    assert types == [TEXT, TEXT, BIGINT, Timestamp()]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INT, "-2147483648", -(2**31)),
        (INT_UNSIGNED, "4294967295", 2**32 - 1),
        (BIGINT, "+7", 7),
        (BIGINT_UNSIGNED, "18446744073709551615", 2**64 - 1),
        (DOUBLE, "1", 1.0),
        (Decimal(4, 2), "12.5", Number10("12.50")),
        (Decimal(38, 0), "9" * 38, Number10("9" * 38)),
        (BOOLEAN, "TRUE", True),
        (TEXT, "1", "1"),
        (JSON, '{"a": 1}', '{"a": 1}'),
        (Timestamp(), "2013-02-08T10:00:00.000001Z", datetime(2013, 2, 8, 10, 0, 0, 1)),
        (Timestamp(), "2013-02-08", datetime(2013, 2, 8)),
    ],
)
def test_values(type_, text, value):
    assert reader(type_)(text) == value


@pytest.mark.parametrize(
    ("type_", "text", "said"),
    [
        (INT, "2147483648", "from -2147483648 to 2147483647"),
        (INT_UNSIGNED, "-1", "from 0 to 4294967295"),
        (INT, "1.0", "write a whole number"),
        (DOUBLE, "1e999", "write a number"),
        (DOUBLE, "nan", "write a number"),
        (Decimal(4, 2), "1.234", "at most 2 digits before the point, 2 behind"),
        (Decimal(4, 2), "100", "at most 2 digits before the point, 2 behind"),
        (BOOLEAN, "yes", "write true or false"),
        (JSON, "{a", "it is no JSON"),
        (Timestamp(), "2013-02-30", "there is no such time"),
        (Timestamp(), "24:30", "there is no such time"),
        (Timestamp(), "0001-01-01 00:00 +01:00", "there is no such time"),
        (Timestamp(), "noon", "which is of 2026-01-01"),
    ],
)
def test_what_is_no_value(type_, text, said):
    with pytest.raises(ValueError, match=said):
        reader(type_)(text)


def test_a_time_without_a_day_is_of_the_fixed_one():
    assert time_of("23:59:59.25") == datetime(2026, 1, 1, 23, 59, 59, 250_000)


def test_what_no_cell_can_hold():
    assert reader(BYTEA) is None
