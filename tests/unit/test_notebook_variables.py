"""Parameters of a cell: what is one, what it becomes, and where it is wrong."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import ArroyoError
from arroyo_nb.notebook_variables import bind, literal


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (True, "TRUE"),
        (7, "7"),
        (-7, "(-7)"),
        (2.5, "2.5"),
        (-0.0, "(-0.0)"),
        (1e-7, "1e-07"),
        (Decimal("1.50"), "1.5"),
        ("O'Hare\\n", "'O''Hare\\n'"),
        (None, "NULL"),
        (date(2013, 1, 2), "CAST('2013-01-02' AS DATE)"),
        (datetime(2013, 1, 1, 10, 0, 0, 5), "TIMESTAMP '2013-01-01 10:00:00.000005'"),
        (
            datetime(2013, 1, 1, 10, tzinfo=timezone(timedelta(hours=2))),
            "TIMESTAMP '2013-01-01 08:00:00'",
        ),
        (datetime(2013, 1, 1, tzinfo=UTC), "TIMESTAMP '2013-01-01 00:00:00'"),
        (timedelta(minutes=90), "INTERVAL '5400 seconds'"),
        (
            timedelta(days=1, microseconds=86_399_999_999),
            "INTERVAL '1 days 86399.999999 seconds'",
        ),
    ],
)
def test_literals(value: object, sql: str) -> None:
    assert literal(value) == sql


def test_numpy_scalars_are_their_values() -> None:
    numpy = pytest.importorskip("numpy")
    assert literal(numpy.int32(3)) == "3"
    assert literal(numpy.bool_(True)) == "TRUE"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ':n', E'it\\'s :n', \":n\", $$ :n $$, $a$ :n $a$",
        "-- :n\nSELECT 1 /* :n /* :n */ :n */",
        "SELECT a::n, value:n, a[1]:n, '{{ :n }}', {{ :n }}",
        "SELECT ':n",
        "/* :n",
        "a : n",
    ],
)
def test_what_is_no_parameter_stays(text: str) -> None:
    assert bind(text, {"n": 1}) == text


def test_each_wrong_parameter_is_told_with_its_place() -> None:
    script = "SELECT :carrer,\n  :rows FROM t"
    with pytest.raises(ArroyoError) as caught:
        bind(script, {"carrier": "UA", "rows": [1]})
    first, second = caught.value.problems
    assert str(first) == (
        "<cell>:1:8: parameter ':carrer' has no value\n"
        "  SELECT :carrer,\n"
        "         ^^^^^^^\n"
        "  hint: did you mean 'carrier'?"
    )
    assert "<cell>:2:3: parameter ':rows' is a list" in str(second)


@pytest.mark.parametrize("value", [2**64, float("nan"), "a\0b", timedelta(-1), b"x"])
def test_values_without_a_literal_are_refused(value: object) -> None:
    with pytest.raises(ArroyoError, match="parameter ':v'"):
        bind("SELECT :v", {"v": value})


@given(st.text())
def test_text_cannot_leave_its_literal(text: str) -> None:
    value = text.replace("\0", "")
    written = bind("SELECT :v", {"v": value})
    inner = written.removeprefix("SELECT '").removesuffix("'")
    assert "'" not in inner.replace("''", "")
    assert inner.replace("''", "'") == value
