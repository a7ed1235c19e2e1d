"""Event time against processing time: what is drawn, where, and what is said."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from drawing import assert_is_sound, labels, pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import END, FAILED, STARTING, UNWINDOWED, UPDATING, at
from time_scenes import MINUTE, TIMES, Stream, failed

from arroyo_nb.run.observe.snapshot import (
    BatchArrivals,
    LateRows,
    MarkPoint,
    RunState,
    Selection,
    Snapshot,
    SourceArrivals,
    WindowBar,
    WindowState,
)
from arroyo_nb.views import static_html
from arroyo_nb.views.panel import body
from arroyo_nb.views.sections.arrivals import VIEW
from arroyo_nb.views.sections.arrivals.layout import (
    MOST_CROSSES,
    MOST_DOTS,
    ClosedWindows,
    layout,
)
from arroyo_nb.views.sections.arrivals.picture import picture

TUMBLE = TIMES["tumble"].snapshot()


def dots(svg: str, kind: str = "dot") -> int:
    """How many marks the paths of a class have."""
    paths = re.findall(rf'<path class="{kind}[^"]*" d="([^"]*)"', svg)
    if kind == "dot":  # the legend has one
        return sum(path.count("M") for path in paths) - 1
    return sum(path.count("M") for path in paths)


def test_without_a_window_rows_behind_the_watermark_are_rings() -> None:
    kept = [
        replace(b, sources=(SourceArrivals("flights", b.rows, len(b.times)),))
        for b in TUMBLE.arrivals
    ]
    snapshot = replace(
        TUMBLE,
        windowed=False,
        windows=(),
        late=(),
        late_rows=0,
        arrivals=tuple(kept),
    )
    made = picture(snapshot)
    assert made is not None
    drawn = [b for b in kept if b.batch_id >= made.from_batch]
    behind = sum(b.is_behind(time) for b in drawn for time in b.times)
    assert behind > 10
    frame = body(snapshot, view="arrivals")
    (svg,) = pictures(frame)
    assert_is_sound(svg)
    assert dots(frame, "behind") == behind
    assert "crosses" not in frame
    assert f"{behind} rows behind the watermark" in frame
    assert f"also the {behind} that came behind the watermark" in frame


@pytest.mark.parametrize("name", TIMES)
def test_each_stream_is_drawn_soundly_and_small(name: str) -> None:
    snapshot = TIMES[name].snapshot()
    for drawn in (snapshot, failed(snapshot)):
        frame = body(drawn, view="arrivals", keys=True)
        assert len(frame.encode()) <= 50_000
        (svg,) = pictures(frame)
        assert_is_sound(svg)
        still = static_html.bundle(drawn, view="arrivals")["text/html"]
        assert len(still.encode()) <= static_html.MOST_BYTES
        assert "data:image/svg+xml;base64," in still
        assert "A dot is a row" in still


def test_each_row_is_a_dot_and_each_late_one_a_cross() -> None:
    made = picture(TUMBLE)
    assert made is not None
    assert made.dots == MOST_DOTS < sum(batch.rows for batch in TUMBLE.arrivals)
    assert dots(made.svg, "crosses") == TUMBLE.late_rows > 0
    few = TIMES["class"].snapshot()
    made = picture(few)
    assert made is not None
    assert dots(made.svg) + dots(made.svg, "crosses") == 8
    assert dots(made.svg, "crosses") == few.late_rows == 1
    shown = [text for text, _ in labels(pictures(made.svg)[0])]
    assert made.svg.count("<title>event time 08:53:11, micro-batch 4</title>") == 1
    # Rows of a class room carry their event times.
    assert sum(bool(re.fullmatch(r"\d\d:\d\d:\d\d", text)) for text in shown) == 8


def test_each_of_few_rows_tells_its_key_and_values_late_ones_too() -> None:
    batch = BatchArrivals(
        *(3, 1.0, 2, (at(8, 10), at(9, 30)), at(9)),
        lines=('{"user":"ann <b>","fare":"12.50"}', '{"user":"bob","fare":null}'),
    )
    shown = replace(TUMBLE, arrivals=(batch,), late=())
    made = picture(shown)
    assert made is not None
    on_time = "user bob, fare NULL, event time 09:30, micro-batch 3"
    late = "user ann &lt;b&gt;, fare 12.50, event time 08:10, micro-batch 3, late"
    for words in (on_time, late):
        assert f'<g role="img"><title>{words}</title><path class=' in made.svg
    # Within an image a screen reader would find none of them.
    assert 'role="group"' in made.svg
    many = replace(batch, rows=300, times=batch.times * 150, lines=batch.lines * 150)
    assert "user bob" not in picture(replace(shown, arrivals=(many,))).svg


def test_what_is_drawn_of_many_rows_is_bounded_and_told() -> None:
    many = Stream(rows=1_000, batches=20, sample=1_000, delay=MINUTE).snapshot()
    assert many.late_rows > MOST_CROSSES
    made = picture(many)
    assert made is not None
    assert made.dots <= MOST_DOTS
    assert dots(made.svg, "crosses") <= MOST_CROSSES
    said = body(many, view="arrivals")
    assert f"20,000 rows in 20 micro-batches, {made.dots:,} of them drawn" in said


def test_late_rows_are_counted_where_their_sample_is_smaller() -> None:
    many = TIMES["40,000 rows"].snapshot()
    shown = [text for text, _ in labels(pictures(body(many, view="arrivals"))[0])]
    counts = [int(text.split()[0]) for text in shown if re.fullmatch(r"\d+ late", text)]
    assert counts
    assert max(counts) == max(rows.rows for rows in many.late)


def test_a_window_is_shaded_from_where_it_closed() -> None:
    made = layout(TUMBLE)
    assert made is not None
    svg = body(TUMBLE, view="arrivals")
    past = [
        float(x) for x in re.findall(r'class="past" x="([\d.]+)" y="\d+\.?\d*" w', svg)
    ]
    closed = [bar for bar in made.bands if bar.state is WindowState.CLOSED]
    for bar in closed:
        assert bar.closed_in is not None
        (point,) = (p for p in TUMBLE.history if p.batch_id == bar.closed_in)
        assert made.closing_x(bar) == pytest.approx(made.x_of(point))
        assert any(x == pytest.approx(made.closing_x(bar), abs=0.06) for x in past)
    assert f"closed in batch {closed[-1].closed_in}" in svg
    # A late row comes where its window is shaded.
    for dot in made.dots:
        if dot.late:
            bar = next(b for b in made.bands if b.start <= dot.moment < b.end)
            x = made.closing_x(bar)
            assert x is not None
            assert dot.x >= x - 8


def test_windows_that_overlap_have_their_ends_drawn() -> None:
    svg = body(TIMES["hop"].snapshot(), view="arrivals")
    assert 'class="band' not in svg
    assert svg.count('<line class="end') > 5
    assert 'class="closing"' in svg


def test_the_newest_of_many_windows_are_drawn_and_the_picture_says_so() -> None:
    many = TIMES["500 windows"].snapshot()
    made = layout(many)
    assert made is not None
    assert 3 <= len(made.bands) <= 40
    assert made.from_batch > 250
    said = body(many, view="arrivals")
    assert f"Batches before {made.from_batch} are not drawn." in said
    cut = picture(TIMES["rows of the newest batches"].snapshot())
    assert cut is not None
    assert cut.from_batch >= 100


def test_of_a_long_run_an_even_choice_of_batches_is_drawn() -> None:
    long = Stream(batches=900, rows=4).snapshot()
    thinned = replace(long, arrivals=long.arrivals[::4])
    said = body(thinned, view="arrivals")
    assert re.search(r"Of \d+ micro-batches these are an even choice\.", said)
    assert "an even choice" not in body(long, view="arrivals")
    # A batch without rows is no thinning.
    gaps = replace(TUMBLE, arrivals=TUMBLE.arrivals[::2])
    assert "an even choice" not in body(gaps, view="arrivals")


def test_a_selected_window_dims_what_does_not_belong_to_it() -> None:
    bar = TUMBLE.windows[2]
    chosen = replace(TUMBLE, selected=Selection(bar.start, bar.end))
    svg = body(chosen, view="arrivals")
    inside = [t for b in TUMBLE.arrivals for t in b.times if bar.start <= t < bar.end]
    bright = re.search(r'<path class="dot" d="([^"]*)"', svg)
    assert bright is not None
    made = picture(chosen)
    assert made is not None
    assert 0 < bright[1].count("M") <= len(inside)
    assert '<path class="dot dim"' in svg
    picks = re.findall(
        r'class="(pick[^"]*)"[^>]*data-do="select window (\S+) (\S+)"', svg
    )
    assert [look for look, start, _ in picks if start == bar.start.isoformat()] == [
        "pick"
    ]
    assert sum(look == "pick dim" for look, *_ in picks) == len(picks) - 1
    by_key = replace(TUMBLE, selected=Selection(key=3))
    assert " dim" not in body(by_key, view="arrivals").replace("pick dim", " dim")


def test_each_window_can_be_pressed() -> None:
    for view in ("arrivals", "windows"):
        svg = body(TUMBLE, view=view)
        for bar in TUMBLE.windows:
            do = f"select window {bar.start.isoformat()} {bar.end.isoformat()}"
            mark = re.search(rf'<g [^>]*data-do="{do}"[^>]*>', svg)
            assert mark is not None, view
            assert 'tabindex="0"' in mark[0]
            assert 'role="button"' in mark[0]


def test_the_ideal_line_is_there_where_the_speed_is_known() -> None:
    assert 'class="ideal"' not in body(TUMBLE, view="arrivals")
    # Six minutes of event time come in 0.4 s.
    played = replace(TUMBLE, speed=900.0, clock_axis=True)
    svg = body(played, view="arrivals")
    line = re.search(
        r'<line class="ideal" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"',
        svg,
    )
    assert line is not None
    made = layout(played)
    assert made is not None
    newest = TUMBLE.history[0].max_event_time
    assert newest is not None
    last_x, last_y = float(line[3]), float(line[4])
    assert last_x == pytest.approx(made.across.right, abs=1)
    passed = timedelta(seconds=900 * (TUMBLE.elapsed_s - TUMBLE.history[0].elapsed_s))
    assert last_y == pytest.approx(made.up.at(newest + passed), abs=1)
    for speed in (0.001, 1e9, 1e300):
        assert_is_sound(
            pictures(body(replace(played, speed=speed), view="arrivals"))[0]
        )


def test_micro_batches_have_equal_room_and_seconds_where_the_clock_is_chosen() -> None:
    """Whoever steps waits: seconds say nothing of the stream."""
    few = TIMES["class"].snapshot()
    waits = {batch: float(3**batch) for batch in range(len(few.history))}
    stepped = replace(
        few,
        history=tuple(replace(p, elapsed_s=waits[p.batch_id]) for p in few.history),
        arrivals=tuple(replace(b, elapsed_s=waits[b.batch_id]) for b in few.arrivals),
    )
    made = layout(stepped)
    assert made is not None
    xs = [made.x_of(point) for point in made.points]
    gaps = [b - a for a, b in pairwise(xs)]
    assert max(gaps) == pytest.approx(min(gaps), abs=0.2)
    html = body(stepped, view="arrivals")
    assert "micro-batch →" in html
    assert "processing time →" not in html
    assert "axis: show" not in html  # nobody would hear it
    clock = layout(replace(stepped, clock_axis=True))
    assert clock is not None
    gaps = [b - a for a, b in pairwise(map(clock.x_of, clock.points))]
    assert gaps[-1] > 20 * gaps[1]
    html = body(replace(stepped, clock_axis=True), view="arrivals")
    assert "processing time →" in html
    assert 'data-do="axis batches"' in html
    turned = body(replace(stepped, clock_axis=False), view="arrivals")
    assert 'data-do="axis clock"' in turned


def test_the_end_of_the_input_is_no_time() -> None:
    svg = body(TIMES["end of input"].snapshot(), view="arrivals")
    assert "end of input" in svg
    assert "9998" not in svg


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (STARTING, "No event time seen yet."),
        (UNWINDOWED, "Without a window no row is late"),
        (UPDATING, "No event time seen yet."),
        (FAILED, "The watermark follows the newest event"),
        (replace(TUMBLE, arrivals=()), "The watermark follows the newest event"),
    ],
)
def test_without_rows_it_says_what_there_is(snapshot: Snapshot, said: str) -> None:
    assert said in body(snapshot, view="arrivals")
    still = static_html.bundle(snapshot, view="arrivals")["text/html"]
    assert said in still
    # Where it was not asked for, it takes no place.
    assert "No event time" not in static_html.bundle(snapshot, view="all")[
        "text/html"
    ] or (not snapshot.history)


def test_rows_far_behind_lie_at_the_lower_edge() -> None:
    old = at(0) - timedelta(days=900)
    first = TUMBLE.arrivals[5]
    arrivals = (*TUMBLE.arrivals[:5], replace(first, times=(old, *first.times)))
    svg = body(
        replace(TUMBLE, arrivals=(*arrivals, *TUMBLE.arrivals[6:])), view="arrivals"
    )
    assert "1 dot at the lower edge: earlier events." in svg
    assert "2010" not in svg
    assert_is_sound(pictures(svg)[0])


def test_a_row_is_late_where_a_window_of_its_had_ended() -> None:
    bars = [
        WindowBar(at(8, 30 * i), at(9, 30 * i), 1, 0, WindowState.CLOSED)
        for i in range(4)
    ]
    known = ClosedWindows(bars)
    assert not known.has_missed(at(8, 10), None)
    assert not known.has_missed(at(8, 10), at(8, 59))
    assert known.has_missed(at(8, 10), at(9))
    assert known.has_missed(at(8, 40), at(9))  # the first of its two windows
    assert not known.has_missed(at(9, 10), at(9))
    assert not known.has_missed(at(7), at(9))  # no window is known to have had it


moments = st.datetimes(datetime(1970, 1, 1), datetime(2030, 1, 1))
marks = st.none() | moments | st.just(END)


@st.composite
def runs(draw: st.DrawFn) -> Snapshot:
    """Runs whose times are anything, as long as batches follow each other."""
    number = draw(st.integers(1, 12))
    history, arrivals, late = [], [], []
    for batch in range(number):
        elapsed_s = batch * draw(st.floats(0, 1e5)) + batch
        history.append(
            MarkPoint(batch, elapsed_s, draw(st.none() | moments), draw(marks))
        )
        times = tuple(draw(st.lists(moments, max_size=6)))
        arrivals.append(
            BatchArrivals(
                batch,
                elapsed_s,
                len(times) + draw(st.integers(0, 9)),
                times,
                draw(marks),
            )
        )
        if draw(st.booleans()):
            start = draw(moments)
            end = start + draw(st.timedeltas(timedelta(seconds=1), timedelta(days=9)))
            mark = end + draw(st.timedeltas(timedelta(), timedelta(days=9)))
            late.append(
                LateRows(batch, elapsed_s, start, end, mark, draw(st.integers(1, 99)))
            )
    history.sort(key=lambda point: (point.elapsed_s, point.batch_id))
    arrivals.sort(key=lambda batch: (batch.elapsed_s, batch.batch_id))
    bars = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(moments)
        end = start + draw(st.timedeltas(timedelta(milliseconds=1), timedelta(days=99)))
        state = draw(st.sampled_from(WindowState))
        bars.append(
            WindowBar(start, end, 3, 1, state, draw(st.none() | st.integers(0, 12)))
        )
    return Snapshot(
        "q",
        draw(st.sampled_from(RunState)),
        windowed=True,
        windows=tuple(bars),
        history=tuple(history),
        arrivals=tuple(arrivals),
        late=tuple(late),
        speed=draw(st.sampled_from([0.0, 1.0, 60.0])),
        sessions=draw(st.booleans()),
    )


@settings(max_examples=150, deadline=None)
@given(runs())
def test_any_run_is_drawn_soundly(run: Snapshot) -> None:
    html = VIEW.live(run, "")
    assert len(html.encode()) <= 50_000
    for svg in pictures(html):
        assert_is_sound(svg)


def test_where_no_dot_says_its_row_the_panel_says_how_to_read_one() -> None:
    said = "To read one row, go to it with ‹ and › beside the slider."
    assert dots(VIEW.live(TUMBLE, "")) > 100
    assert said in VIEW.live(TUMBLE, "")
    assert said not in VIEW.static(TUMBLE, "", asked=True), "it has no slider"
    few = replace(TUMBLE, arrivals=TUMBLE.arrivals[-2:])
    assert said not in VIEW.live(few, "")
