"""Expected rows have the types of the rows that came out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from arroyo_nb.cell_tests.compare import same_value
from arroyo_nb.cell_tests.expected import expected_rows, read_value
from arroyo_nb.cell_tests.render import value_text
from arroyo_nb.errors import ArroyoError
from arroyo_nb.source import ScriptText

WINDOW = pa.struct({"start": pa.timestamp("us"), "end": pa.timestamp("us")})
SCHEMA = pa.schema(
    {
        "window": WINDOW,
        "n": pa.int64(),
        "user": pa.string(),
        "a.b": pa.int32(),
        "deep": pa.struct({"x": pa.struct({"y": pa.float64()})}),
        "users": pa.list_(pa.string()),
        "days": pa.list_(pa.int64()),
    }
)
CHANGES = pa.schema(
    {
        "op": pa.string(),
        "batch": pa.int64(),
        "before": pa.struct({"user": pa.string(), "n": pa.int64()}),
        "after": pa.struct({"user": pa.string(), "n": pa.int64()}),
    }
)
NINE, TEN = datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10)


def rows(text, schema=SCHEMA, **options):
    return expected_rows(ScriptText(text), schema, **options)


def test_columns_are_named_and_others_left_out():
    read = rows("n | window.start | a.b | deep.x.y\n7 | 9:00 | NULL | 1.5")
    assert read.rows == ((7, NINE, None, 1.5),)
    found = pa.Table.from_pylist(
        [{"n": 7, "window": {"start": NINE, "end": TEN}, "user": "ann", "a.b": 3}],
        schema=SCHEMA,
    )
    assert read.of(found) == [(7, NINE, 3, None)]


def test_a_window_is_one_cell_too():
    window = {"start": NINE, "end": TEN}
    for text in ("9:00 – 10:00", "09:00:00 - 10:00", "9:00 to 10:00"):
        assert rows(f"window\n{text}").rows == ((window,),)
    assert rows('window\n{"start": "9:00", "end": "10:00"}').rows == ((window,),)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("nn\n1", "1:1", "no column 'nn'"),
        ("n | n\n1 | 2", "1:5", "two columns 'n'"),
        ("n\nx", "2:1", "'x' is not a value of 'n', which is BIGINT"),
        ("n | window.start\n1 | 25:99", "2:5", "which is TIMESTAMP"),
        ("n | user\n1", "2:1", "the line has 1 cell, the header has 2"),
        ("window\n[1]", "2:1", "is not a value of 'window'"),
        ("users\n[ann]", "2:1", "which is TEXT[]\n"),
        ("users\nann", "2:1", 'hint: write a list as ["a", "b"]'),
        ("days\n1", "2:1", "hint: write a list as [1, 2]"),
        ('window\n{"begin": 1}', "2:1", "is not a value of 'window'"),
    ],
)
def test_what_is_wrong_has_its_place(text, place, message):
    with pytest.raises(ArroyoError) as raised:
        rows(text)
    assert message in str(raised.value)
    assert f"<cell>:{place}: " in str(raised.value)


def test_changes_have_the_row_that_they_leave():
    text = "op | user | n | before.n | batch\n~ | ann | 2 | 1 | 4\n- | bob | 1 | 1 |"
    read = rows(text, CHANGES, is_changelog=True)
    assert read.rows == (("u", "ann", 2, 1, 4), ("d", "bob", 1, 1, None))
    one, two = {"user": "ann", "n": 1}, {"user": "ann", "n": 2}
    found = pa.Table.from_pylist(
        [
            {"op": "u", "batch": 4, "before": one, "after": two},
            {"op": "d", "batch": 5, "before": two, "after": None},
            {"op": "c", "batch": 6, "before": None, "after": one},
        ],
        schema=CHANGES,
    )
    assert read.of(found) == [
        ("u", "ann", 2, 1, 4),
        ("d", "ann", 2, 2, 5),
        ("c", "ann", 1, None, 6),
    ]


def test_no_rows_are_compared_in_all_columns():
    assert [c.name for c in expected_rows(None, SCHEMA).columns] == SCHEMA.names
    changes = expected_rows(None, CHANGES, is_changelog=True)
    assert [c.name for c in changes.columns] == ["op", "batch", "user", "n"]


def test_rows_as_values_of_python():
    given = [{"n": 1, "user": "ann"}, {"n": 2}]
    assert expected_rows(given, SCHEMA).rows == ((1, "ann"), (2, None))
    frame = pd.DataFrame({"n": [1], "window.start": [pd.Timestamp(TEN)]})
    read = expected_rows(frame, SCHEMA)
    assert read.rows == ((1, TEN),)
    assert expected_rows([{"window.start": "10:00"}], SCHEMA).rows == ((TEN,),)
    assert expected_rows([], SCHEMA).rows == ()
    with pytest.raises(ArroyoError, match="an expected row is a int"):
        expected_rows([1], SCHEMA)
    with pytest.raises(ArroyoError, match="no column 'm'"):
        expected_rows([{"m": 1}], SCHEMA)


TYPES = [
    (pa.bool_(), st.booleans()),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats(allow_nan=True)),
    (pa.decimal128(20, 3), st.decimals(-(10**9), 10**9, places=3)),
    (pa.timestamp("us"), st.datetimes()),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.duration("us"), st.timedeltas(timedelta(days=-99), timedelta(days=99))),
    (pa.list_(pa.int64()), st.lists(st.none() | st.integers(-9, 9), max_size=4)),
    (
        pa.struct({"a": pa.bool_(), "b": pa.timestamp("us")}),
        st.fixed_dictionaries({"a": st.booleans(), "b": st.none() | st.datetimes()}),
    ),
]


@for_all(st.sampled_from(TYPES).flatmap(lambda t: st.tuples(st.just(t[0]), t[1])))
def test_what_a_difference_shows_can_be_written_into_the_expectation(case):
    type_, value = case
    if len(value_text(value)) < 80:  # a longer cell is cut
        assert same_value()(read_value(value_text(value), type_), value)


@for_all(st.binary(max_size=12))
def test_bytes_are_hexadecimal(value):
    assert read_value(value_text(value), pa.binary()) == value


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("35 seconds", pa.duration("us"), timedelta(seconds=35)),
        ("35 s", pa.duration("us"), timedelta(seconds=35)),
        ("1.5 min", pa.duration("us"), timedelta(seconds=90)),
        ("12.50", pa.decimal128(9, 2), Decimal("12.5")),
        ("2026-01-31", pa.date32(), date(2026, 1, 31)),
        ("10:00:05", pa.time64("us"), time(10, 0, 5)),
        ("2026-01-31T10:00:00+01:00", pa.timestamp("us"), datetime(2026, 1, 31, 9)),
        ("-inf", pa.float64(), float("-inf")),
        (r"\x0aff", pa.binary(), b"\x0a\xff"),
        ("[[1], null]", pa.list_(pa.list_(pa.int64())), [[1], None]),
    ],
)
def test_values(text, type_, value):
    assert read_value(text, type_) == value


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("1.5", pa.int64()),
        ("yes", pa.bool_()),
        ("x", pa.float64()),
        ("nan", pa.decimal128(9, 2)),
        ("tomorrow", pa.date32()),
        ("0a", pa.binary()),
        ("0xzz", pa.binary()),
        ("soon", pa.duration("us")),
        ("1, 2", pa.list_(pa.int64())),
        ("[true]", pa.list_(pa.int64())),
    ],
)
def test_what_is_no_value_is_refused(text, type_):
    with pytest.raises(ValueError, match=r"write|no cell"):
        read_value(text, type_)
