"""Labels of pictures: none lies over another, and lines of text keep their order."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.views.label_places import (
    LINE,
    Box,
    LabelPlaces,
    spread_apart,
    text_box,
)

spots = st.tuples(
    st.floats(-50, 950),
    st.floats(-50, 350),
    st.sampled_from(["start", "middle", "end"]),
)


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=30), spots)))
def test_no_label_lies_over_another_or_outside(
    wanted: list[tuple[str, tuple[float, float, str]]],
) -> None:
    places = LabelPlaces(Box(0, 0, 880, 300))
    drawn = [
        text_box(*spot[:2], text, spot[2])
        for text, spot in wanted
        if places.label(text, [spot])
    ]
    assert drawn == places.taken
    assert not any(a.overlaps(b) for a, b in combinations(drawn, 2))
    assert all(
        box.left >= 0 and box.right <= 880 and box.top >= 0 and box.bottom <= 300
        for box in drawn
    )


def test_a_label_takes_the_first_place_that_is_free() -> None:
    places = LabelPlaces(Box(0, 0, 200, 100))
    places.take(Box(0, 0, 100, 100))
    made = places.label("late", [(50, 50, "start"), (150, 50, "middle")], "late")
    assert (
        made == '<text class="late" x="150.0" y="50.0" text-anchor="middle">late</text>'
    )
    assert places.label("x", [(50, 50, "start"), (150, 50, "middle")]) == ""


def test_what_is_written_is_text() -> None:
    places = LabelPlaces(Box(0, 0, 880, 100))
    assert "&lt;b&gt;" in places.label("<b>", [(10, 50, "start")])


@given(st.lists(st.floats(0, 300), max_size=12))
def test_lines_are_spread_in_their_order(wanted: list[float]) -> None:
    placed = spread_apart(wanted, 0, 300)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    ordered = [placed[i] for i in order]
    assert all(b - a >= LINE - 1e-6 for a, b in pairwise(ordered))
    assert all(position <= 300 for position in ordered)


def test_lines_with_room_stay_where_they_are() -> None:
    assert spread_apart([200, 10, 100], 0, 300) == [200, 10, 100]
    assert spread_apart([], 0, 300) == []
    assert spread_apart([5.0], 0, 300) == pytest.approx([5.0])
