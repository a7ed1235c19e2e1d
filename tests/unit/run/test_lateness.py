"""What a trace tells of late rows and of other delays, against runs that are made up
row by row."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arroyo_nb.plan.nodes import Hop, SessionWindow, Tumble
from arroyo_nb.run.observe.lateness import MILLISECOND, lateness
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.schema import EPOCH
from arroyo_nb.spark.observe import pane

SECOND = timedelta(seconds=1)
BEGIN = datetime(2013, 2, 8, tzinfo=UTC)


def watermarks(rows, delay):
    """The late watermark of each batch, and that which closes its windows, as Spark
    has them."""
    closing, newest, found = EPOCH, None, []
    for batch in rows:
        late = closing
        if newest is not None:
            below_ms = (newest - EPOCH) // MILLISECOND * MILLISECOND
            closing = max(closing, EPOCH + below_ms - delay)
        found.append((late if found else EPOCH, closing))
        newest = max([*batch, *([newest] if newest else [])], default=None)
    return found


def windows(row, window):
    """The ends of all windows of a row, one by one."""
    match window:
        case SessionWindow(gap):
            return [row + gap - timedelta(microseconds=1)]
        case Tumble(width):
            slide = width
        case Hop(slide, width):
            pass
    start = row - (row - EPOCH) % slide
    ends = []
    while start + width > row:
        ends.append(start + width)
        start -= slide
    return ends


def late_rows(rows, window, delay):
    """How many rows miss a window."""
    return sum(
        any(end <= late for end in windows(row, window))
        for batch, (late, _) in zip(rows, watermarks(rows, delay), strict=True)
        for row in batch
    )


def traced(rows, window, delay):
    """As a run records it."""
    width, newest, batches = pane(window), None, []
    for number, (batch, marks) in enumerate(
        zip(rows, watermarks(rows, delay), strict=True)
    ):
        newest = max([*batch, *([newest] if newest else [])], default=None)
        starts = (row - (row - EPOCH) % width for row in batch)
        batches.append(
            TracedBatch(
                batch_id=number,
                elapsed_s=number,
                watermark=marks[1],
                late_watermark=marks[0],
                stretches={},
                max_event_time=newest,
                pane_rows=Counter(starts),
            )
        )
    return batches


fixed = st.one_of(
    st.integers(1, 40).map(lambda n: Tumble(n * SECOND)),
    st.tuples(st.integers(1, 12), st.integers(1, 5)).map(
        lambda n: Hop(n[0] * SECOND, n[0] * n[1] * SECOND)
    ),
    st.just(Hop(4 * SECOND, 6 * SECOND)),
)
delays = st.integers(0, 90_000).map(lambda ms: ms * MILLISECOND)
# Times of a millisecond and a bit: Spark's watermark cuts the bit off.
offsets = st.integers(0, 200_000_000).map(lambda us: timedelta(microseconds=us))
streams = st.lists(st.lists(offsets, max_size=12), min_size=1, max_size=12)


def dated(stream, begin=BEGIN):
    return [[begin + offset for offset in batch] for batch in stream]


@given(streams, fixed, delays)
def test_late_rows_and_delays_are_those_of_every_row_by_itself(stream, window, delay):
    rows = dated(stream)
    found = lateness(traced(rows, window, delay), window, delay)
    total = sum(map(len, rows))
    assert found.rows == total
    assert found.late_rows == late_rows(rows, window, delay)
    shares = {990: found.keep_99, 999: found.keep_999, 1000: found.keep_all}
    for per_mille, needed in shares.items():
        allowed = total * (1000 - per_mille) / 1000
        assert late_rows(rows, window, needed) <= allowed
        if needed:
            # A millisecond less loses one row too many.
            assert late_rows(rows, window, needed - MILLISECOND) > allowed


@given(streams, st.integers(1, 30), delays)
def test_of_sessions_no_row_is_lost_that_the_delay_promised_to_keep(stream, gap, delay):
    window = SessionWindow(gap * SECOND)
    rows = dated(stream)
    batches = traced(rows, window, delay)
    found = lateness(batches, window, delay)
    trace = Trace(window)
    for batch in batches:
        trace.add(batch)
    assert found.late_rows == trace.late_rows
    assert late_rows(rows, window, found.keep_all) == 0
    # Pieces of the gap are late as a whole: the promise is that much too long at most.
    slack = pane(window) + MILLISECOND
    if found.keep_all > slack:
        assert late_rows(rows, window, found.keep_all - slack) > 0


@given(streams, fixed, delays)
def test_a_row_is_as_late_as_the_newest_one_before_its_batch_less_its_pane(
    stream, window, delay
):
    rows = dated(stream)
    found = lateness(traced(rows, window, delay), window, delay)
    width, newest, expected = pane(window), None, []
    for batch in rows:
        for row in batch:
            end = row - (row - EPOCH) % width + width
            expected.append(max(newest - end, 0 * SECOND) if newest else 0 * SECOND)
        newest = max([*batch, *([newest] if newest else [])], default=None)
    expected.sort()
    assert sum(each.rows for each in found.bins) == len(expected)
    assert len(found.bins) <= 40
    assert [b.low for b in found.bins[1:]] == [b.high for b in found.bins[:-1]]
    for each in found.bins:
        inside = [late for late in expected if each.low <= late < each.high]
        assert each.rows == len(inside)
    if expected:
        assert found.longest == expected[-1]
        assert found.p50 == expected[(len(expected) + 1) // 2 - 1]
        assert found.p99 == expected[-(-len(expected) * 99 // 100) - 1]


def test_one_row_an_hour_after_its_window_needs_a_delay_of_more_than_an_hour():
    window = Tumble(60 * SECOND)
    hour = 3600 * SECOND
    rows = [
        [BEGIN],
        [BEGIN + hour + 60 * SECOND],  # moves the watermark, two batches later
        [BEGIN + hour + 61 * SECOND],
        [BEGIN + 5 * SECOND],  # its window ended an hour before what had come
    ]
    found = lateness(traced(rows, window, SECOND), window, SECOND)
    assert (found.rows, found.late_rows) == (4, 1)
    # Three of four are too few for 99 of 100.
    assert found.keep_99 == found.keep_all == hour + MILLISECOND
    assert found.kept_share == pytest.approx(0.75)


def test_nothing_is_late_where_nothing_came():
    found = lateness((), Tumble(SECOND), SECOND)
    assert (found.rows, found.late_rows, found.bins) == (0, 0, ())
    assert found.longest == found.keep_all == timedelta(0)
    assert found.kept_share == 1


def test_a_delay_that_reaches_before_the_epoch_hides_nothing():
    """The watermark stays at the epoch: what it was made of is told by the batches."""
    window = Tumble(10 * SECOND)
    rows = [[EPOCH + n * SECOND] for n in (1, 50, 60, 2)]
    long = lateness(traced(rows, window, 300 * SECOND), window, 300 * SECOND)
    short = lateness(traced(rows, window, SECOND), window, SECOND)
    assert long.late_rows == 0
    assert short.late_rows == 1
    assert long.keep_all == short.keep_all == 40 * SECOND + MILLISECOND


def test_the_end_of_the_stream_is_no_time_that_a_delay_could_reach():
    window = Tumble(10 * SECOND)
    batches = traced([[BEGIN], [BEGIN + 30 * SECOND]], window, SECOND)
    end = datetime(9999, 12, 31, tzinfo=UTC)
    after = TracedBatch(2, 2.0, end, end, {}, batches[-1].max_event_time)
    found = lateness([*batches, after], window, SECOND)
    assert found.rows == 2
    assert found.keep_all == timedelta(0)
