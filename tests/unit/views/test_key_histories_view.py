"""An updating result: values in their place, struck-through old ones, histories."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st
from result_scenes import HISTORIES, groups
from scenes import TUMBLE

from arroyo_nb.run.observe.snapshot import Selection
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body, frame
from arroyo_nb.views.sparkline import HEIGHT, WIDTH, bars, sparkline

numbers = st.lists(
    st.one_of(st.none(), st.floats(allow_nan=False), st.integers().map(float)),
    max_size=60,
)


@settings(deadline=None)
@given(numbers)
def test_a_line_stays_in_its_place(values: list[float | None]) -> None:
    drawn = sparkline(values, '"<&')
    if not drawn:
        assert len(values) < 2 or set(values) == {None}
        return
    root = ElementTree.fromstring(drawn)
    path = next(child for child in root if child.tag == "path").attrib["d"]
    found = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]
    assert len(found) == sum(value is not None for value in values)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in found)
    assert [x for x, _ in found] == sorted(x for x, _ in found)
    assert len(bars(values)) == min(len(values), 12)


def test_a_larger_number_is_higher() -> None:
    path = sparkline([1, 3, 2], "n")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert heights[1] < heights[2] < heights[0]
    assert bars([1.0, 3.0, 2.0]) == "▁█▅"
    assert bars([5.0, 5.0]) == "▅▅"
    assert bars([math.inf, 1.0]) == "▅▅"


def test_rows_keep_their_places_and_strike_through_what_was() -> None:
    text = body(HISTORIES, keys=True)
    assert "<s>1011</s> 1018" in text
    assert "<s>3.25</s> " in text
    assert "<s>UA</s>" not in text  # it has not changed
    assert re.findall(r'<tr data-key="(r[^"]*)"', text) == ["r11-0", "r-12-0", "r13-0"]
    assert text.count("<tr data-key") == text.count('class="spark"') + 1  # one is new
    assert "changed 7×" in text
    assert "changed 4×" in text
    assert "history of n" in text
    assert re.search(r'"r11-0" class="fresh"', text)
    assert not re.search(r'"r-12-0" class="fresh"', text)


def test_a_key_with_several_rows_has_a_place_for_each() -> None:
    twice = replace(HISTORIES, row_keys=(11, 11, 13))
    found = re.findall(r'<tr data-key="(r[^"]*)"', body(twice, keys=True))
    assert found == ["r11-0", "r11-1", "r13-0"]


def test_a_change_has_the_history_of_its_row_and_a_place_that_stays() -> None:
    text = body(HISTORIES, view="changelog", keys=True)
    assert '<tr class="changed" data-key="c58.11.0">' in text
    assert '<tr class="gone" data-key="c55.14.0">' in text
    assert "<s>990</s> 991" in text
    older = replace(HISTORIES, changes=HISTORIES.changes[1:])
    assert 'data-key="c55.14.0"' in body(older, view="changelog", keys=True)


def test_what_stays_has_bars_of_text() -> None:
    made = static_html.bundle(HISTORIES)["text/html"]
    assert "<s>1011</s> 1018" in made
    assert "▁▂▃▄▅▆██" in made
    assert "changed 7×" in made
    assert "svg" not in Page(made).tags
    assert "data-do" not in made


def test_rows_that_only_come_have_the_table_that_they_had() -> None:
    text = body(TUMBLE, keys=True)
    assert "history" not in text
    assert "<s>" not in text
    assert "spark" not in text


@pytest.mark.parametrize("number", [1, 50, 500])
@pytest.mark.parametrize("columns", [3, 40])
def test_frames_stay_small(number: int, columns: int) -> None:
    snapshot = groups(number, columns)
    for view in ("table", "changelog"):
        drawn = frame(snapshot, view=view)
        assert Page(drawn)
        assert len(drawn.encode()) <= 50_000
        assert "changed" in drawn
    assert sum(map(len, static_html.bundle(snapshot).values())) <= 60_000


def test_a_selected_row_is_marked() -> None:
    text = body(replace(HISTORIES, selected=Selection(key=11)), keys=True)
    assert 'data-do="select key 11" aria-pressed="true"' in text
    assert 'data-do="select key -12" aria-pressed="false"' in text
