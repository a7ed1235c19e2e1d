import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan.nodes import Hop, SessionWindow, Tumble
from arroyo_nb.run.observe.late_table import sampled_late_rows, windows_of
from arroyo_nb.run.observe.moments import TracedWindow
from arroyo_nb.run.observe.snapshot import WindowState
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

HOUR = timedelta(hours=1)


def at(hour):
    """As bars and views have it."""
    return datetime(2013, 2, 8) + hour * HOUR


def aware(hour):
    return at(hour).replace(tzinfo=UTC)


def batch(number, watermark, late_watermark, **panes):
    return TracedBatch(
        batch_id=number,
        elapsed_s=number,
        watermark=watermark and aware(watermark),
        late_watermark=aware(late_watermark) if late_watermark else EPOCH,
        stretches={},
        max_event_time=None,
        pane_rows={aware(int(hour[1:])): rows for hour, rows in panes.items()},
    )


def test_a_window_opens_fills_closes_and_then_counts_late_rows():
    trace = Trace(Tumble(HOUR))
    trace.add(batch(0, None, None, h8=3))
    trace.add(batch(1, None, None, h8=2, h9=1))
    assert [(b.rows, b.state) for b in trace.windows()] == [
        (5, WindowState.OPEN),
        (1, WindowState.OPEN),
    ]
    # The watermark of batch 2 closes [8, 9); rows of that very batch still count.
    trace.add(batch(2, 9, None, h8=1))
    # In batch 3 the closed window's rows are late.
    trace.add(batch(3, 9, 9, h8=4, h9=1))
    first, second = trace.windows()
    assert (first.rows, first.late_rows, first.state, first.closed_in) == (
        6,
        4,
        WindowState.CLOSED,
        2,
    )
    assert (second.rows, second.late_rows, second.state) == (2, 0, WindowState.OPEN)
    assert trace.late_rows == 4
    assert [b.batch_id for b in trace.late_batches] == [3]


def test_a_row_that_misses_one_of_its_hops_is_one_late_row():
    trace = Trace(Hop(slide=HOUR, width=2 * HOUR))
    trace.add(batch(0, 10, None, h9=1))
    trace.add(batch(1, 10, 10, h9=5))
    early, later = trace.windows()
    assert (early.end, early.rows, early.late_rows) == (at(10), 1, 5)
    assert (later.end, later.rows, later.late_rows) == (at(11), 6, 0)
    assert trace.late_rows == 5


def test_rows_of_windows_before_1970_are_late_from_the_start():
    trace = Trace(Tumble(HOUR))
    first = batch(0, None, None)
    before = EPOCH - 2 * HOUR
    trace.add(replace(first, pane_rows={before: 3, EPOCH: 1}))
    assert trace.late_rows == 3


def test_what_is_let_go_is_counted(monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.trace.TRACE_BATCHES", 3)
    monkeypatch.setattr("arroyo_nb.run.observe.late_row_counts.TRACE_WINDOWS", 2)
    trace = Trace(Tumble(HOUR))
    for number in range(5):
        trace.add(batch(number, number or None, None, **{f"h{number}": 1}))
    assert [b.batch_id for b in trace.batches] == [0, 1, 2]
    assert trace.cut_after == 2
    assert [bar.start for bar in trace.windows()] == [at(3), at(4)]
    assert (trace.forgotten, trace.exact) == (3, True)
    trace.add(replace(batch(5, 5, 5), exact=False))
    trace.add(batch(6, 6, 6))
    assert not trace.exact


FIXED = (
    Tumble(6 * HOUR),
    Hop(slide=HOUR, width=6 * HOUR),
    Hop(slide=4 * HOUR, width=6 * HOUR),
)


def covering(hour, window):
    """The windows [start, end) of a row, one by one, in hours since the epoch."""
    slide = getattr(window, "slide", None) or window.width
    slide, width = slide // HOUR, window.width // HOUR
    starts = range(hour // slide * slide, hour - width, -slide)
    return [(start, start + width) for start in starts]


@pytest.mark.parametrize("window", FIXED)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 40), st.integers(1, 9), max_size=6),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_counts_are_those_of_each_window_by_itself(window, tape):
    trace, marks = Trace(window), [0]
    rows, late, missed = Counter(), Counter(), 0
    size = pane(window) // HOUR
    for number, (hours, step) in enumerate(tape):
        marks.append(marks[-1] + step)
        panes = Counter()
        for hour, n in hours.items():
            panes[EPOCH + hour // size * size * HOUR] += n
            ends = covering(hour, window)
            for span in ends:
                (late if span[1] <= marks[-2] else rows)[span] += n
            missed += n * any(end <= marks[-2] for _, end in ends)
        trace.add(
            replace(
                batch(number, None, None),
                watermark=EPOCH + marks[-1] * HOUR,
                late_watermark=EPOCH + marks[-2] * HOUR,
                pane_rows=panes,
            )
        )
    closed_in = {
        span: next((n for n, m in enumerate(marks[1:]) if span[1] <= m), None)
        for span in rows | late
    }
    start = EPOCH.replace(tzinfo=None)
    assert [
        ((b.start - start) // HOUR, (b.end - start) // HOUR, b.rows, b.late_rows)
        for b in trace.windows()
    ] == [(*span, rows[span], late[span]) for span in sorted(rows | late)]
    assert [b.closed_in for b in trace.windows()] == [
        closed_in[span] for span in sorted(closed_in)
    ]
    assert (trace.late_rows, trace.late_exact) == (missed, True)


def test_a_hop_of_thousands_of_windows_costs_what_its_panes_do():
    second = timedelta(seconds=1)
    trace = Trace(Hop(slide=second, width=HOUR))
    first = aware(0)
    panes = {first + n * second: 10 for n in range(500)}
    began = time.process_time()
    trace.add(replace(batch(0, None, None), pane_rows=panes))
    # Window by window it takes seconds: 1.8 million counts.
    assert time.process_time() - began < 0.5
    bars = trace.windows()
    assert len(bars) == 3600 + 499
    assert sum(bar.rows for bar in bars) == 500 * 10 * 3600


def test_late_rows_of_panes_that_were_counted_together_are_at_most_so_many():
    trace = Trace(Tumble(HOUR))
    together = replace(batch(0, 6, None, h4=2, h6=1), exact=False)
    trace.add(together)
    assert (trace.late_rows, trace.late_exact, trace.exact) == (0, True, False)
    trace.add(replace(batch(1, 8, 6, h4=3, h8=1), exact=False))
    assert (trace.late_rows, trace.late_exact) == (3, False)


def test_only_closed_windows_are_let_go(monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.late_row_counts.TRACE_WINDOWS", 3)
    trace = Trace(Hop(slide=HOUR, width=2 * HOUR))
    trace.add(batch(0, None, None, h5=1, h6=2, h7=3, h8=4))
    assert (len(trace.windows()), trace.forgotten) == (5, 0)
    kept = trace.windows()[1:]
    trace.add(batch(1, 6, None, h9=0))
    assert trace.forgotten == 1
    assert (
        [b.rows for b in trace.windows()[:4]] == [b.rows for b in kept] == [3, 5, 7, 4]
    )
    trace.add(batch(2, 9, 6, h20=1))
    assert trace.forgotten == 4
    assert [(b.start, b.rows, b.closed_in) for b in trace.windows()] == [
        (at(8), 4, None),
        (at(19), 1, None),
        (at(20), 1, None),
    ]


GAP = 8 * HOUR
"""Rows of such sessions are counted by the hour."""


def test_a_session_is_one_bar_until_it_closes_and_stays_as_it_closed():
    trace = Trace(SessionWindow(GAP))
    assert pane(trace.window) == HOUR
    trace.add(batch(0, None, None, h0=1, h7=2, h30=4))
    first, second = trace.windows()
    assert (first.start, first.end, first.rows) == (at(0), at(16), 3)
    assert (second.start, second.rows, second.state) == (at(30), 4, WindowState.OPEN)
    # A row that fills the time between is of the same session.
    trace.add(batch(1, 15, None, h14=1))
    assert [(b.end, b.rows, b.state) for b in trace.windows()] == [
        (at(23), 4, WindowState.OPEN),
        (at(39), 4, WindowState.OPEN),
    ]
    trace.add(batch(2, 23, 15))
    closed, _ = trace.windows()
    assert (closed.state, closed.closed_in) == (WindowState.CLOSED, 2)
    # This one is in time, and Spark begins a session with it: that one was final.
    trace.add(batch(3, 23, 23, h16=9))
    assert trace.windows()[0] == closed
    assert [(b.start, b.rows) for b in trace.windows()[1:]] == [
        (at(16), 9),
        (at(30), 4),
    ]


def test_late_rows_of_sessions_are_counted_as_far_as_pieces_can_tell():
    trace = Trace(SessionWindow(GAP))
    trace.add(batch(0, 20, None, h10=5))
    # A row misses its session if it came the gap before the watermark: at 12:00.
    trace.add(batch(1, 20, 20, h11=2, h13=7))
    assert (trace.late_rows, trace.late_exact) == (2, True)
    half_past = replace(batch(2, 20, 20, h12=3), late_watermark=aware(20.5))
    trace.add(half_past)
    assert (trace.late_rows, trace.late_exact) == (5, False)
    assert [b.batch_id for b in trace.late_batches] == [1, 2]
    bars = trace.windows()
    assert sum(b.rows for b in bars) == 12
    assert sum(b.late_rows for b in bars) == 5


def sampled(number, watermark, late_watermark, *hours):
    """A batch whose sample has all of its rows."""
    times = [aware(hour) for hour in hours]
    panes = Counter(time.replace(minute=0, second=0, microsecond=0) for time in times)
    return replace(
        batch(number, watermark, late_watermark),
        pane_rows=panes,
        sample_us=tuple((time - EPOCH) // MICROSECOND for time in times),
    )


def test_a_late_row_beside_an_open_session_belongs_to_none():
    """The gap is 8 h: at a watermark of 20:00 rows up to 12:00 are late, also where
    they would have made an open session longer."""
    trace = Trace(SessionWindow(GAP))
    trace.add(sampled(0, None, None, 15, 19))
    trace.add(sampled(1, 20, 20, 12, 12.5, 13))
    assert (trace.late_rows, trace.late_exact) == (1, True)
    (late,) = trace.late
    assert (late.start, late.end - late.start) == (at(12), MICROSECOND)
    assert (late.rows, late.gap, late.closed_in) == (1, GAP, None)
    assert late.closed_for == timedelta(0)
    (alone,) = (bar for bar in trace.windows() if bar.late_only)
    (session,) = (bar for bar in trace.windows() if not bar.late_only)
    assert (alone.start, alone.rows, alone.late_rows) == (at(12), 0, 1)
    assert (session.rows, session.late_rows) == (4, 0)
    assert session.state is WindowState.OPEN
    table = windows_of(trace.windows()).to_pylist()
    assert {row["state"] for row in table} == {None, "open"}


def test_the_delay_that_keeps_a_late_row_of_a_session_exceeds_how_late_it_is():
    trace = Trace(SessionWindow(GAP), HOUR)
    trace.add(replace(sampled(0, None, None, 21), max_event_time=aware(21)))
    trace.add(sampled(1, 20, None, 20))
    trace.add(sampled(2, 20, 20, 11.5))
    (late,) = trace.late
    half = timedelta(minutes=30)
    assert late.closed_for == half
    # The delay is an hour; longer by half an hour, the watermark reaches the limit.
    assert trace.lateness.keep_all == HOUR + half + timedelta(milliseconds=1)


def test_a_stream_without_a_pause_is_one_bar_of_bounded_size():
    trace = Trace(SessionWindow(GAP))
    for number in range(200):
        mark = max(number - 2, 1)
        trace.add(batch(number, mark, mark, **{f"h{number}": 1}))
    (bar,) = trace.windows()
    assert (bar.start, bar.rows, bar.state) == (at(0), 200, WindowState.OPEN)
    assert len(trace._tally._open) < 15
    # What was closed is let go like any window, and so is what came too late for it.
    trace.add(batch(200, 600, 198, h500=3))
    assert [b.rows for b in trace.windows()] == [200, 3]
    assert {b.closed_in for b in trace.windows()} == {200}
    trace.add(batch(201, 600, 600, h300=1, h301=1, h400=5))
    assert [(b.rows, b.late_rows) for b in trace.windows()[1:3]] == [(0, 2), (0, 5)]


def test_of_sessions_the_newest_are_kept(monkeypatch):
    monkeypatch.setattr("arroyo_nb.run.observe.late_row_counts.TRACE_WINDOWS", 2)
    trace = Trace(SessionWindow(GAP))
    for number in range(5):
        hours = {f"h{100 * number}": 1}
        trace.add(batch(number, 100 * number or None, None, **hours))
    assert [bar.start for bar in trace.windows()] == [at(200), at(300), at(400)]
    assert trace.forgotten == 2


def test_sessions_without_a_key_are_bars_of_their_own():
    trace = Trace(SessionWindow(GAP))
    trace.add(batch(0, 10, None, h0=1, h7=2, h15=4))
    # By pieces of an hour these may be one session; Spark says that they are two.
    assert [b.rows for b in trace.windows()] == [7]
    two = [(aware(0.5), aware(15.5)), (aware(15.9), aware(26))]
    trace.add(replace(batch(1, 23, 10, h17=3), sessions=two[:1]))
    closed, stretch = trace.windows()
    assert (closed.start, closed.end, closed.rows) == (at(0.5), at(15.5), 3)
    assert (closed.state, closed.closed_in) == (WindowState.CLOSED, 1)
    assert (stretch.rows, stretch.state) == (7, WindowState.OPEN)
    trace.add(replace(batch(2, 26, 23), sessions=two[1:]))
    assert [(b.rows, b.closed_in) for b in trace.windows()] == [(3, 1), (7, 2)]


def test_sessions_that_merge_say_where():
    trace = Trace(SessionWindow(GAP))
    early, late = 0 * GAP, 3 * GAP
    parts = {
        0: [early, late],  # two sessions, three gaps apart
        1: [early + GAP * 3 // 4, late - GAP * 3 // 4],
        2: [GAP * 3 // 2],  # the row between them joins both
    }
    start = aware(1)
    for number, moments in parts.items():
        panes = {start + moment: 1 for moment in moments}
        trace.add(replace(batch(number, 1, None), pane_rows=panes))
        bars = trace.windows()
        if number < 2:
            assert [bar.seams for bar in bars] == [(), ()]
    (bar,) = trace.windows()
    assert bar.rows == 5
    assert len(bar.seams) == 1
    assert bar.start < bar.seams[0] < bar.end
    trace.add(replace(batch(3, 90, 1), pane_rows={}))
    (closed,) = trace.windows()
    assert closed.state is WindowState.CLOSED
    assert closed.seams == bar.seams


@pytest.mark.parametrize("window", FIXED)
@pytest.mark.parametrize("kept", [3, 25, 1000])
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 60), st.integers(1, 9), max_size=6),
            st.integers(0, 9),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_a_trace_that_was_looked_at_has_the_windows_of_one_that_was_not(
    window, kept, tape
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arroyo_nb.run.observe.late_row_counts.TRACE_WINDOWS", kept)
        looked_at, other, mark = Trace(window), Trace(window), 0
        size = pane(window) // HOUR
        for number, (hours, step, is_looked_at) in enumerate(tape):
            panes = Counter()
            for hour, rows in hours.items():
                panes[EPOCH + hour // size * size * HOUR] += rows
            made = replace(
                batch(number, None, None),
                watermark=EPOCH + (mark + step) * HOUR,
                late_watermark=EPOCH + mark * HOUR,
                pane_rows=panes,
            )
            mark += step
            looked_at.add(made)
            other.add(made)
            if is_looked_at:
                looked_at.windows()
        assert looked_at.windows() == other.windows()
        assert looked_at.windows() == other.windows()
        assert looked_at.forgotten == other.forgotten


def test_many_windows_cost_a_batch_and_a_picture_what_is_new():
    minute, trace = HOUR / 60, Trace(Tumble(HOUR / 60))

    def add(number):
        panes = {aware(0) + (100 * number + n) * minute: 3 for n in range(100)}
        panes |= {aware(0) + (100 * number - 30 - n) * minute: 1 for n in range(5)}
        mark = aware(0) + (100 * number + 90) * minute
        before = replace(batch(number, None, None), watermark=mark)
        late = mark - 100 * minute
        trace.add(replace(before, late_watermark=late, pane_rows=panes))

    for number in range(300):
        add(number)
    trace.windows()
    begun = time.process_time()
    for number in range(300, 400):
        add(number)
        windows = trace.windows()
    # Looking at all 20,000 windows each time takes ten seconds.
    assert time.process_time() - begun < 2
    assert 18_000 <= len(windows) <= 22_000
    assert trace.forgotten + len(windows) == 40_000 + 5


def test_late_rows_and_lateness_are_known_with_each_batch():
    trace = Trace(Tumble(HOUR), delay=HOUR)
    trace.add(replace(batch(0, None, None, h8=1), max_event_time=aware(8)))
    trace.add(replace(batch(1, 7, None, h11=2), max_event_time=aware(11)))
    trace.add(replace(batch(2, 10, 7, h11=1), max_event_time=aware(11)))
    assert trace.late == ()
    trace.add(replace(batch(3, 10, 10, h8=3, h9=4), max_event_time=aware(11)))
    assert [(r.start, r.rows, r.closed_for, r.closed_in) for r in trace.late] == [
        (at(8), 3, HOUR, 2),
        (at(9), 4, timedelta(), 2),
    ]
    assert trace.lateness.late_rows == trace.late_rows == 7
    assert trace.lateness.rows == 11
    assert trace.lateness.longest == 2 * HOUR
    assert Trace(Tumble(HOUR)).lateness is None


def test_late_rows_are_listed_up_to_a_bound():
    trace = Trace(Tumble(HOUR))
    trace.add(batch(0, 600, None, h0=1))
    panes = {f"h{hour}": 1 for hour in range(550)}
    trace.add(batch(1, 600, 600, **panes))
    assert [late.start for late in trace.late] == [at(n) for n in range(50, 550)]


def drawn(rows, mark, *hours, lines=()):
    """A batch of rows, some of which are in its sample."""
    panes = Counter(aware(int(hour)) for hour in hours)
    panes[aware(int(hours[0]))] += rows - len(hours)
    return TracedBatch(
        batch_id=7,
        elapsed_s=7,
        watermark=None,
        late_watermark=aware(mark),
        stretches={},
        max_event_time=None,
        pane_rows=panes,
        sample_us=[(aware(hour) - EPOCH) // MICROSECOND for hour in hours],
        sample_values=lines,
    )


def test_late_rows_of_a_sample_have_their_values_and_the_last_window_they_missed():
    lines = ('{"k":"a"}', '{"k":"b"}', '{"k":null}')
    hop = Hop(HOUR, 3 * HOUR)
    traced = TracedWindow(hop, True, [drawn(3, 12, 8.5, 9.5, 10.5, lines=lines)])
    found = sampled_late_rows(traced, "output 0").to_pylist()
    # At 08:30 [6, 9), [7, 10) and [8, 11) are missed, at 10:30 [8, 11) and [9, 12).
    assert [(row["k"], row["missed_windows"], row["late_by"]) for row in found] == [
        ("a", 3, 3.5 * HOUR),
        ("b", 3, 2.5 * HOUR),
        (None, 2, 1.5 * HOUR),
    ]
    assert {(row["batch"], row["event_time"].tzinfo) for row in found} == {(7, None)}
    last = [(row["window_start"], row["window_end"]) for row in found]
    assert last == [(at(8), at(11)), (at(9), at(12)), (at(9), at(12))]


def test_late_rows_that_are_not_in_a_sample_are_told_as_a_number():
    traced = TracedWindow(Tumble(HOUR), False, [drawn(70, 12, 8.5, 9.5)])
    with pytest.warns(UserWarning, match="the trace has 2 of 70 late rows"):
        assert sampled_late_rows(traced, "output 0").num_rows == 2
    gap = SessionWindow(HOUR)
    in_time = TracedWindow(gap, False, [drawn(2, 8, 8.5, 9.5)])
    empty = sampled_late_rows(in_time, "output 0")
    assert (empty.num_rows, empty.column_names[0]) == (0, "event_time")
    late = TracedWindow(gap, False, [drawn(2, 9.6, 8.5, 9.5)])
    (row,) = sampled_late_rows(late, "output 0").to_pylist()
    assert (row["event_time"], row["window_end"]) == (at(8.5), None)
    with pytest.raises(RunProblem, match="output 1 of 'r' puts no rows into windows"):
        sampled_late_rows(None, "output 1 of 'r'")
