"""Latencies of windows from a trace, and what views show of delays."""

from datetime import UTC, datetime, timedelta

import pytest

from arroyo_nb.plan.nodes import Tumble
from arroyo_nb.run.observe.trace import Trace, TracedBatch
from arroyo_nb.schema import EPOCH
from arroyo_nb.views.whatif import WHAT_IF_VIEWS
from arroyo_nb.whatif.outcomes import (
    DelayOutcome,
    WhatIf,
    WindowOutcome,
    distinct_windows,
    percentile,
    window_outcomes,
)

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
END = datetime(9999, 1, 1, tzinfo=UTC)


def at(hours):
    return datetime(2013, 2, 8, tzinfo=UTC) + hours * HOUR


def batch(number, newest, mark, late_mark, panes, chunk):
    return TracedBatch(
        number,
        number,
        mark,
        late_mark,
        {"tape": (chunk - 1, chunk)},
        newest,
        {at(hour): rows for hour, rows in panes.items()},
    )


def traced():
    trace = Trace(Tumble(HOUR))
    trace.add(batch(0, at(8.5), EPOCH, EPOCH, {8: 3}, 1))
    trace.add(batch(1, at(10.25), EPOCH, EPOCH, {10: 2}, 2))
    # The watermark reaches 9:15: [8, 9) closes, and 10:50 has been seen.
    trace.add(batch(2, at(10 + 5 / 6), at(9.25), EPOCH, {10: 1}, 3))
    trace.add(batch(3, at(10 + 5 / 6), END, at(9.25), {8: 1}, 4))
    return trace


def test_a_window_waits_until_the_newest_event_is_so_far_past_its_end():
    arrivals = {
        "tape": [(at(h) - EPOCH) // timedelta.resolution for h in (9, 11, 12, 13)]
    }
    first, second = window_outcomes(traced(), arrivals)
    assert first == WindowOutcome(
        at(8).replace(tzinfo=None),
        at(9).replace(tzinfo=None),
        rows=3,
        late_rows=1,
        event_latency=timedelta(hours=1, minutes=50),
        arrival_latency=3 * HOUR,
    )
    # The end of the tape closed it: that is no wait.
    assert (second.rows, second.event_latency, second.arrival_latency) == (
        3,
        None,
        None,
    )


def test_latencies_by_arrival_are_left_out_where_arrivals_say_nothing():
    first, _ = window_outcomes(traced(), {})
    assert first.event_latency is not None
    assert first.arrival_latency is None


def test_both_sides_of_a_join_have_one_window():
    start = at(8).replace(tzinfo=None)
    left = WindowOutcome(start, start + HOUR, 3, 1, 2 * SECOND, None)
    right = WindowOutcome(start, start + HOUR, 4, 0, 5 * SECOND, SECOND)
    longer = WindowOutcome(start, start + 2 * HOUR, 1, 0, None, None)
    assert distinct_windows([longer, left, right]) == (
        WindowOutcome(start, start + HOUR, 7, 1, 5 * SECOND, SECOND),
        longer,
    )


@pytest.mark.parametrize(
    ("percent", "nth"), [(1, 0), (50, 4), (51, 5), (99, 9), (100, 9)]
)
def test_percentiles_are_values_that_were_there(percent, nth):
    values = [n * SECOND for n in range(10)]
    assert percentile(values, percent) == values[nth]


def outcome(seconds, late, *, wait=None, differing=0, **others):
    start = at(8).replace(tzinfo=None)
    latency = None if wait is None else wait * SECOND
    windows = (WindowOutcome(start, start + HOUR, 10, late, latency, None),)
    return DelayOutcome(
        seconds * SECOND, others.pop("as_run", False), 10, late, windows, 4, differing
    )


def what_if(name="by_hour", **others):
    outcomes = (
        outcome(0, 3, wait=30, differing=2),
        outcome(60, 1, wait=90, as_run=True),
        outcome(3600, 0),
    )
    return WhatIf(name, outcomes, 7, ("a note",), WHAT_IF_VIEWS, **others)


def test_the_table_has_a_row_for_each_delay():
    rows = what_if().table().to_pylist()
    assert [row["delay"] for row in rows] == [0 * SECOND, 60 * SECOND, 3600 * SECOND]
    assert [(row["kept"], row["late"], row["late_share"]) for row in rows] == [
        (7, 3, 0.3),
        (9, 1, 0.1),
        (10, 0, 0.0),
    ]
    assert [row["latency_p50"] for row in rows] == [30 * SECOND, 90 * SECOND, None]
    assert [row["closed_at_end"] for row in rows] == [0, 0, 1]
    assert [row["same_result"] for row in rows] == [False, True, True]
    assert what_if().windows().num_rows == 3


def test_the_text_says_what_each_delay_loses():
    text = repr(what_if())
    lines = [line for line in text.splitlines() if "%" in line]
    assert "0 ms" in lines[0]
    assert "30 %" in lines[0]
    assert "2 differ" in lines[0]
    assert "1 min (as run)" in lines[1]
    assert "1 (1 at the end)" in lines[2]
    assert "7 micro-batches" in text
    assert "a note" in text


def test_the_page_has_no_script_and_no_text_of_the_users_as_html():
    page = what_if('<script>alert("x")</script>')._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "data:image/svg+xml;base64," in page


def test_the_chart_has_a_point_for_each_delay():
    drawn = what_if().plot().to_dict()
    (data,) = drawn["datasets"].values()
    assert [point["delay"] for point in data] == ["0 ms", "1 min", "1 h"]
    assert [point["lost"] for point in data] == [0.3, 0.1, 0.0]
    # Arrow is altair's only when it draws: the units are those of the longest wait.
    assert [point["wait"] for point in data] == [30.0, 90.0, 0.0]


def test_stretches_of_sessions_are_not_called_windows():
    text = repr(what_if(has_stretches=True))
    assert "window" not in text
    assert "stretches of sessions" in text.splitlines()[2]
    assert "A stretch of sessions waits until" in text
    assert "windows" in repr(what_if()).splitlines()[2]
