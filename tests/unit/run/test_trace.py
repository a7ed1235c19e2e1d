from dataclasses import replace
from datetime import UTC, datetime, timedelta

from arroyo_nb.plan.nodes import Hop, Tumble
from arroyo_nb.run.snapshot import WindowState
from arroyo_nb.run.trace import Trace, TracedBatch
from arroyo_nb.schema import EPOCH

HOUR = timedelta(hours=1)


def at(hour):
    return datetime(2013, 2, 8, tzinfo=UTC) + hour * HOUR


def batch(number, watermark, late_watermark, **panes):
    return TracedBatch(
        batch_id=number,
        elapsed_s=number,
        watermark=watermark and at(watermark),
        late_watermark=at(late_watermark) if late_watermark else EPOCH,
        chunks={},
        max_event_time=None,
        pane_rows={at(int(hour[1:])): rows for hour, rows in panes.items()},
    )


def test_a_window_opens_fills_closes_and_then_counts_late_rows():
    trace = Trace(Tumble(HOUR))
    trace.add(batch(0, None, None, h8=3))
    trace.add(batch(1, None, None, h8=2, h9=1))
    assert [(b.rows, b.state) for b in trace.windows()] == [
        (5, WindowState.OPEN),
        (1, WindowState.OPEN),
    ]
    assert trace.windows(at(9))[0].state is WindowState.CLOSING
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
    assert [b.batch_id for b in trace.late_batches()] == [3]


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
    monkeypatch.setattr("arroyo_nb.run.trace.TRACE_BATCHES", 3)
    monkeypatch.setattr("arroyo_nb.run.trace.TRACE_WINDOWS", 2)
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
