from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import CatalogProblem
from arroyo_nb.plan.expressions.intervals import in_words, interval_text, parse_interval

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        ("5 minutes", None, 300),
        ("1 hour 30 minutes", None, 5400),
        ("1 day 2 hours", None, 93_600),
        ("1.5 s", None, 1.5),
        ("250ms", None, 0.25),
        ("7", "DAYS", 604_800),
        ("3", None, 3),
        ("1 week -1 day", None, 518_400),
        ("2 HOURS", None, 7200),
        ("10us", None, 0.00001),
    ],
)
def test_texts(text: str, unit: str | None, seconds: float) -> None:
    interval = parse_interval(text, unit)
    assert interval.months == 0
    assert interval.duration == timedelta(seconds=seconds)


@pytest.mark.parametrize(("text", "months"), [("1 month", 1), ("2 years 3 mons", 27)])
def test_months_have_no_duration(text: str, months: int) -> None:
    assert parse_interval(text).months == months
    assert parse_interval(text).duration == timedelta()


@pytest.mark.parametrize(
    "text", ["", " ", "apples", "5 apples", "02:30:00", "1 2:3", "9e99 days"]
)
def test_no_interval(text: str) -> None:
    with pytest.raises(CatalogProblem, match="expected an interval, but found"):
        parse_interval(text)


@given(st.timedeltas(timedelta(days=-999), timedelta(days=999)))
def test_a_printed_interval_is_the_same(duration: timedelta) -> None:
    assert parse_interval(interval_text(duration)).duration == duration


@given(st.timedeltas(MICROSECOND, timedelta(days=99)))
def test_words_are_an_interval_too(duration: timedelta) -> None:
    assert parse_interval(in_words(duration).replace("µ", "u")).duration == duration
