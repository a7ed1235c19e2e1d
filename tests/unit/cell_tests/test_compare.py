"""Rows that came out against rows that were expected, and how they are shown."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from arroyo_nb.cell_tests import Check, TestFailure, TestResult
from arroyo_nb.cell_tests.compare import Mark, difference, same_value
from arroyo_nb.cell_tests.render import MOST_LINES, value_text

CELLS = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["a", "b"]))
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=6)


def marks(expected, found, **options):
    columns = [f"c{n}" for n in range(len((*expected, *found)[0]))]
    made = difference(columns, expected, found, **options)
    return [] if made is None else [line.mark.value for line in made.lines]


@for_all(ROWS, ROWS)
def test_rows_are_the_same_where_they_are_the_same_bag(expected, found):
    made = difference(("a", "b"), expected, found)
    assert (made is None) == (Counter(expected) == Counter(found))
    if made is None:
        return
    # Each row of both sides is in the difference once.
    lines = made.lines
    assert Counter(x.expected for x in lines if x.expected) == Counter(expected)
    assert Counter(x.found for x in lines if x.found) == Counter(found)
    for line in lines:
        is_same = line.expected == line.found
        assert is_same == (line.mark is Mark.SAME)
        if line.mark is Mark.CHANGED:
            pairs = zip(line.expected, line.found, strict=True)
            odd = {n for n, (e, f) in enumerate(pairs) if e != f}
            assert line.changed == odd


@for_all(ROWS, ROWS)
def test_the_order_counts_where_it_is_asked_for(expected, found):
    made = difference(("a", "b"), expected, found, ordered=True)
    assert (made is None) == (expected == found)
    if made is not None:
        assert any(line.mark is not Mark.SAME for line in made.lines)
        is_moved = Counter(expected) == Counter(found)
        assert (made.summary == "the rows come in another order") == is_moved


@for_all(st.lists(st.floats(-10, 10), max_size=8), st.integers(0, 99))
def test_floats_are_matched_in_the_best_way(values, seed):
    # 1.5 fits 1.0 and 2.0: which one it is given decides whether the other fits.
    expected = [(value,) for value in values]
    found = [(value + 0.9,) for value in values]
    random.Random(seed).shuffle(found)
    assert difference(("x",), expected, found, tolerance=1.0) is None
    if values:
        lost = [*found[1:], (50.0,)]
        assert difference(("x",), expected, lost, tolerance=1.0) is not None


@pytest.mark.parametrize(
    ("expected", "found", "tolerance", "is_same"),
    [
        (0.3, 0.1 + 0.2, None, True),
        (1.33, 4 / 3, None, False),
        (1.33, 4 / 3, 0.01, True),
        (1.3, 4 / 3, 0.01, False),
        (float("nan"), float("nan"), None, True),
        (float("nan"), 1.0, 100, False),
        (float("inf"), float("inf"), None, True),
        (Decimal("12.50"), Decimal("12.5"), None, True),
        (Decimal("12.51"), Decimal("12.5"), None, False),
        (1, True, None, False),
        (None, 0, None, False),
        ("", None, None, False),
        (b"a", b"a", None, True),
        ({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]}, None, True),
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, None, False),
        ({"a": 1}, {"b": 1}, None, False),
    ],
)
def test_values(expected, found, tolerance, is_same):
    assert same_value(tolerance)(expected, found) is is_same
    made = difference(("x",), [(expected,)], [(found,)], tolerance=tolerance)
    assert (made is None) is is_same


@pytest.mark.parametrize(
    ("expected", "found", "is_same"),
    [
        # Each is near the first row, and the second ones are not near each other.
        ([1.0, 1.009], [1.0, 0.991], False),
        ([1.0, 1.005], [1.006, 1.011], True),
    ],
)
def test_rows_in_order_are_each_near_its_own(expected, found, is_same):
    rows = [[("a", value) for value in side] for side in (expected, found)]
    assert bool(marks(*rows, ordered=True, tolerance=0.01)) is not is_same


def test_rows_of_one_key_stand_side_by_side():
    expected = [("ann", 1, 1.0), ("bob", 2, 2.0), ("cy", 3, 3.0)]
    found = [("bob", 5, 9.0), ("ann", 1, 1.0), ("dee", 3, 3.0)]
    assert marks(expected, found) == [" ", "~", "-", "+"]


def test_rows_without_a_key_are_put_together_by_what_they_share():
    expected = [("a", "x", 1), ("a", "x", 1), ("a", "y", 2)]
    found = [("a", "x", 1), ("a", "x", 7), ("b", "z", 9)]
    assert marks(expected, found) == [" ", "~", "-", "+"]


def test_a_row_that_comes_too_often_is_unexpected():
    assert marks([("a",)], [("a",), ("a",)]) == [" ", "+"]
    assert marks([("a",), ("a",)], [("a",)]) == [" ", "-"]


def result(expected, found, columns=("user", "n"), **options):
    made = difference(columns, expected, found, **options)
    return TestResult("clicks", (Check("EXPECT TABLE", 7, made),), 1.25)


def test_a_difference_as_text():
    made = result(
        [("ann", 1), ("bob", 2), ("cy", 3)], [("ann", 1), ("bob", 5), ("d", 4)]
    )
    assert str(made).splitlines() == [
        "✗ clicks: 1 of 1 expectation failed, 1.2 s",
        "",
        "EXPECT TABLE (line 7): 1 row missing, 1 row unexpected, 1 row with other "
        "values",
        "    user | n",
        "    ann  | 1",
        "  ~ bob  | 2 → 5",
        "  − cy   | 3",
        "  + d    | 4",
        "  − missing   + unexpected   ~ expected → found",
    ]
    assert not made.passed
    with pytest.raises(TestFailure, match=r"bob  \| 2 → 5"):
        made.raise_failure()


def test_what_passes_is_one_line():
    made = result([("ann", 1)], [("ann", 1)])
    assert str(made) == "✓ clicks: passed, 1 expectation, 1.2 s"
    assert made.raise_failure() is made


def test_a_long_difference_is_cut_and_says_so():
    made = result([], [(f"u{n}", n) for n in range(200)])
    lines = str(made).splitlines()
    assert len(lines) < MOST_LINES + 8
    assert f"… {200 - MOST_LINES} more that differ" in str(made)
    rows = [(f"u{n}", n) for n in range(100)]
    made = result(rows, [*rows[:50], ("u50", 7), *rows[51:]])
    assert "u50  | 50 → 7" in str(made)
    assert "95 more as expected" in str(made)


def test_html_is_escaped():
    hostile = "<img src=x onerror=alert(1)>"
    made = result(
        [(hostile, hostile)], [("b", hostile), (hostile, "</td>")], (hostile, "n")
    )
    page = made._repr_html_()
    assert "<img" not in page
    assert "</td></td>" not in page
    assert page.count("&lt;img") >= 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("", '""'),
        ("null", '"null"'),
        ("a | b", '"a | b"'),
        (True, "true"),
        (b"\x0a\xff", "0x0aff"),
        (timedelta(seconds=35), "00:00:35"),
        (timedelta(seconds=-1.5), "-00:00:01.5"),
        (Decimal("1.50"), "1.50"),
        ([1, None, "a"], '[1, null, "a"]'),
        (
            {"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 2)},
            "2026-01-01 00:00:00 – 2026-01-02 00:00:00",
        ),
        ({"a": datetime(2026, 1, 1)}, '{"a": "2026-01-01 00:00:00"}'),
    ],
)
def test_values_are_shown_as_they_are_written(value, text):
    assert value_text(value) == text
