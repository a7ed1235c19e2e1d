"""Pictures of arbitrary windows: each is drawn or counted, inside of the frame."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import MANY, TUMBLE, at

from arroyo_nb.run.observe.snapshot import (
    MarkPoint,
    RunState,
    Snapshot,
    WindowBar,
    WindowState,
)
from arroyo_nb.views.axis_ticks import STEPS, Axis
from arroyo_nb.views.event_time_axis import CHAR, WIDTH, ticks
from arroyo_nb.views.formatting import DAY
from arroyo_nb.views.panel import frame
from arroyo_nb.views.sections.watermark import strip
from arroyo_nb.views.sections.windows.timeline import (
    POSSIBLE,
    lanes,
    newest_that_fit,
    timeline,
)

OPEN_HOUR = WindowBar(at(12), at(13), 79, 0, WindowState.OPEN)

moments = st.datetimes(datetime(1970, 1, 1), datetime(2030, 1, 1))
lengths = st.timedeltas(timedelta(milliseconds=1), timedelta(days=400))


@st.composite
def bars(draw: st.DrawFn) -> WindowBar:
    start, length = draw(moments), draw(lengths)
    rows, late = draw(st.integers(0, 10**12)), draw(st.integers(0, 1000))
    state = draw(st.sampled_from(WindowState))
    return WindowBar(start, start + length, rows, late, state)


@st.composite
def regular(draw: st.DrawFn) -> list[WindowBar]:
    """Tumble and hop windows as queries make them: equal widths, equal slides."""
    start, slide = draw(moments), draw(lengths)
    width = slide * draw(st.integers(1, 70))
    return [
        WindowBar(start + i * slide, start + i * slide + width, i, 0, WindowState.OPEN)
        for i in range(draw(st.integers(1, 120)))
    ]


windows = st.one_of(
    st.lists(bars(), min_size=1, max_size=30, unique_by=lambda b: (b.start, b.end)),
    regular(),
)


def is_inside(svg: str) -> bool:
    root = ElementTree.fromstring(svg)
    shifts = re.findall(r"translate\((-?[\d.]+)px", svg)
    return root.get("viewBox", "").startswith("0 0 ") and all(
        0 <= float(x) <= WIDTH for x in shifts
    )


@given(windows, st.none() | moments, st.none() | moments)
def test_every_window_is_drawn_or_counted(
    made: list[WindowBar], mark: datetime | None, newest: datetime | None
) -> None:
    snapshot = replace(
        TUMBLE, windows=tuple(made), watermark=mark, max_event_time=newest
    )
    picture = timeline(snapshot)
    assert picture is not None
    drawn = len(re.findall(r'data-key="w\d', picture.svg))
    assert drawn + picture.hidden_windows == len(made)
    assert drawn >= 1
    assert is_inside(picture.svg)


@given(windows)
def test_no_two_windows_of_a_lane_overlap(made: list[WindowBar]) -> None:
    placed = lanes(made)
    ends: dict[int, datetime] = {}
    for lane, bar in placed.bars:
        assert ends.get(lane, bar.start) <= bar.start
        ends[lane] = bar.end
    assert sorted(ends) == list(range(placed.number))
    shown = newest_that_fit(made, None)
    assert len(shown) == 1 or lanes(shown).number <= POSSIBLE[1]


@given(moments, lengths, st.floats(20, 400))
def test_ticks_are_round_and_apart(
    low: datetime, length: timedelta, apart: float
) -> None:
    axis = Axis(low, low + length, 0, 880)
    places = [axis.at(moment) for moment, _ in axis.ticks(apart)]
    assert all(b - a >= apart - 0.2 for a, b in itertools.pairwise(places))
    step = axis._step(apart)
    assert step in STEPS

    epoch = datetime(1970, 1, 1)
    assert not any((m - epoch) % step for m, _ in axis.ticks(apart))


@given(st.lists(st.tuples(moments, st.none() | moments), max_size=600))
def test_strip_draws_any_history(marks: list[tuple[datetime, datetime | None]]) -> None:
    history = tuple(
        MarkPoint(i, i * 0.1, newest, mark) for i, (newest, mark) in enumerate(marks)
    )
    svg = strip(Snapshot("q", TUMBLE.state, history=history))
    assert bool(svg) == bool(marks)
    if svg:
        ElementTree.fromstring(svg)
        assert len(svg) <= 60_000


def test_the_watermark_and_the_last_closed_window_are_in_the_picture() -> None:
    minute = timedelta(minutes=1)
    made = tuple(
        WindowBar(at(8) + i * minute, at(8) + (i + 1) * minute, 1, 0, state)
        for i in range(120)
        for state in [WindowState.CLOSED if i < 70 else WindowState.OPEN]
    )
    picture = timeline(
        replace(TUMBLE, windows=made, watermark=at(9, 10), max_event_time=at(10))
    )
    assert picture is not None
    svg = picture.svg
    assert 'class="bar closed" width' in svg
    assert "← watermark" not in svg
    x = re.search(r'data-key="watermark"[^>]*translate\(([\d.]+)px', svg)
    assert x is not None
    assert float(x[1]) == pytest.approx(30, abs=30)


def test_a_flat_line_has_no_room_above_it() -> None:
    def height(*newest: datetime) -> int:
        points = tuple(MarkPoint(i, i, n, None) for i, n in enumerate(newest))
        drawn = strip(Snapshot("q", TUMBLE.state, history=points))
        found = re.search(r'viewBox="0 0 \d+ (\d+)"', drawn)
        assert found is not None
        return int(found[1])

    assert height(at(8), at(8)) < 60 < height(at(8), at(9))


def test_what_has_ended_is_drawn_as_a_whole() -> None:
    old = [replace(bar, late_rows=3) for bar in MANY.windows[:5]]
    running = replace(MANY, windows=(*old, *MANY.windows[5:]), handle="by_minute")
    live = frame(running)
    assert (
        "earlier windows not drawn, 15 late in them · by_minute.windows() has" in live
    )
    assert "late: came after its window had closed" not in live  # no × is drawn
    ended = replace(running, state=RunState.FINISHED)
    whole = timeline(ended)
    assert whole is not None
    assert (whole.hidden_windows, whole.hidden_late) == (0, 0)
    assert whole.svg.count('class="late"') == 5 + 1  # and the legend
    assert "not drawn" not in frame(ended)
    # Windows with days between them would be columns of less than a pixel.
    far = [replace(bar, start=bar.start + 9 * n * DAY, end=bar.end + 9 * n * DAY)
           for n, bar in enumerate(MANY.windows)]  # fmt: skip
    sparse = timeline(replace(ended, windows=tuple(far)))
    assert sparse is not None
    assert sparse.hidden_windows > 0


def test_no_line_crosses_a_count_that_has_room_beside_it() -> None:
    shown = timeline(replace(TUMBLE, watermark=at(10, 50), windows=(OPEN_HOUR,)))
    assert shown is not None
    line = re.search(r'class="newest"[^>]*translate\(([0-9.]+)px', shown.svg)
    label = re.search(
        r'data-key="l.*?translate\(([0-9.]+)px.*?x="([0-9.]+)"[^>]*>([^<]*)', shown.svg
    )
    assert line is not None
    assert label is not None
    newest, middle = float(line[1]), float(label[1]) + float(label[2])
    text = label[3]
    assert text == "79 so far"
    assert abs(middle - newest) > len(text) * CHAR / 2


@pytest.mark.parametrize("days", range(1, 30))
def test_no_text_of_a_tick_is_cut_at_the_edge(days: int) -> None:
    low = datetime(2013, 3, 4, 10)
    axis = Axis(low, low + timedelta(days=days, hours=17), 14, WIDTH - 14)
    drawn = "".join(ticks(axis, 100))
    texts = re.findall(r"translate\(([\d.]+)px,0\)\"><line[^>]*/><text[^>]*>([^<]+)<",
                       drawn)  # fmt: skip
    assert texts
    assert all(float(x) + 2 + len(text) * CHAR <= WIDTH for x, text in texts)


def test_the_delay_is_not_written_over_the_label_of_the_watermark() -> None:
    """Near the left edge that label stands at the right of its line."""
    early = replace(
        TUMBLE,
        windows=(
            WindowBar(at(5), at(6), 400, 0, WindowState.OPEN),
            WindowBar(at(6), at(7), 80, 0, WindowState.OPEN),
        ),
    )
    sides = set()
    for minute in range(1, 60, 2):
        mark = at(5, minute)
        shown = replace(early, watermark=mark, max_event_time=mark + DAY / 24)
        drawn = timeline(shown)
        assert drawn is not None
        label = re.search(
            r'class="watermark"[^>]*><line[^>]*/><text[^>]*anchor="(\w+)"', drawn.svg
        )
        assert label is not None
        sides.add(label[1])
        assert label[1] == "end" or " behind</text>" not in drawn.svg
    assert sides == {"start", "end"}
