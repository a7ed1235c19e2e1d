"""A run inside of a micro-batch: after some of the rows that this has read.

What the run has given is that of the batch before: Spark reads the rows of a batch at
once and writes its results at its end. The rows come in the order of the sample.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.late_ledger import (
    is_late_for_sessions,
    last_missed,
    late_rows,
)
from arroyo_nb.run.observe.plan_steps import without_counts
from arroyo_nb.run.observe.snapshot import (
    Arrival,
    BatchArrivals,
    LateRows,
    MarkPoint,
    Moment,
    RunState,
    Snapshot,
    SourceArrivals,
)
from arroyo_nb.schema import EPOCH, MICROSECOND
from arroyo_nb.spark.observe import pane

if TYPE_CHECKING:
    from arroyo_nb.run.observe.moments import Moments, OutputTrace, TracedWindow
    from arroyo_nb.run.observe.row_trace import TracedArrivals
    from arroyo_nb.run.observe.trace import TracedBatch


def arrivals_of(trace: OutputTrace, batch_id: int) -> BatchArrivals | None:
    """The sampled rows of a batch; None: it had none, or is not recorded."""
    batch = _recorded(trace, batch_id)
    return batch.arrivals if batch is not None and batch.sample_us else None


def snapshot_within(
    moments: Moments, newest: Snapshot, batch_id: int, taken: int, rows: int
) -> Snapshot:
    """The run after some of the rows of a batch.

    Parameters
    ----------
    moments
        The recorded batches.
    newest
        A snapshot of now, for what does not change.
    batch_id
        The batch; it has :func:`arrivals_of`.
    taken
        How many of its sampled rows have come, from 1.
    rows
        How many of the newest result rows to include.
    """
    came = arrivals_of(moments.trace, batch_id)
    assert came is not None, "only a row that is there is asked for"
    taken = min(taken, len(came.times))
    if taken == len(came.times):
        made = moments.snapshot(newest, batch_id, rows)
    else:
        made = _partial(moments, newest, came, taken, rows)
    arrival = Arrival(
        number=taken,
        drawn=len(came.times),
        rows=came.rows,
        time=came.times[taken - 1],
        watermark=came.late_before,
        source=came.source_of(taken - 1),
        late=_is_late(moments.trace.window, batch_id, taken),
        values=came.sample[taken - 1].values,
    )
    ends = moments.first, moments.last
    moment = Moment(batch_id, *ends, is_newest=False, arrival=arrival)
    return replace(made, moment=moment)


def _partial(
    moments: Moments, newest: Snapshot, came: BatchArrivals, taken: int, rows: int
) -> Snapshot:
    totals = moments.trace.totals.before_or_at(came.batch_id - 1)
    if totals is None:
        made = _before_the_first(newest)
    else:
        made = moments.snapshot(newest, totals.batch_id, rows)
    times = came.times[:taken]
    seen = max((*times, *filter(None, [made.max_event_time])))
    point = MarkPoint(came.batch_id, came.elapsed_s, seen, made.watermark)
    late = _late_of(moments.trace.window, came.batch_id, taken)
    arrived = replace(
        came,
        rows=taken,
        times=times,
        sources=tuple(_first(came.sources, taken)),
        lines=came.lines[:taken],
    )
    return replace(
        made,
        arrivals=(*made.arrivals, arrived),
        history=(*made.history, point),
        late=(*made.late, *late),
        late_rows=made.late_rows + sum(each.rows for each in late),
    )


def _first(sources: Sequence[SourceArrivals], taken: int) -> Sequence[SourceArrivals]:
    """The tables of the first rows of a sample."""
    made = []
    for source in sources:
        drawn = min(source.drawn, taken)
        taken -= drawn
        if drawn:
            made.append(replace(source, rows=drawn, drawn=drawn))
    return made


def _recorded(trace: OutputTrace, batch_id: int) -> TracedBatch | TracedArrivals | None:
    batches: Sequence[TracedBatch | TracedArrivals]
    batches = trace.rows_read if trace.window is None else trace.window.batches
    at = bisect_left(batches, batch_id, key=attrgetter("batch_id"))
    found = batches[at : at + 1]
    return found[0] if found and found[0].batch_id == batch_id else None


def _late_of(
    traced: TracedWindow | None, batch_id: int, taken: int
) -> Sequence[LateRows]:
    """The late ones among the first sampled rows of a batch."""
    if traced is None:
        return ()
    at = bisect_left(traced.batches, batch_id, key=attrgetter("batch_id"))
    batch = traced.batches[at]
    length = pane(traced.window)
    panes = Counter(_pane(time, length) for time in batch.sample_us[:taken])
    came = replace(batch, pane_rows=panes, sample_us=batch.sample_us[:taken])
    return tuple(late_rows(traced.window, came, traced.batches[:at]))


def _is_late(traced: TracedWindow | None, batch_id: int, taken: int) -> bool:
    if traced is None:
        return False
    at = bisect_left(traced.batches, batch_id, key=attrgetter("batch_id"))
    batch, length = traced.batches[at], pane(traced.window)
    if batch.late_watermark <= EPOCH:
        return False
    time_us = batch.sample_us[taken - 1]
    if isinstance(traced.window, nodes.SessionWindow):
        time = EPOCH + time_us * MICROSECOND
        return is_late_for_sessions(time, traced.window.gap, batch.late_watermark)
    start = _pane(time_us, length)
    return last_missed(traced.window, start, batch.late_watermark) is not None


def _pane(time_us: int, length: timedelta) -> datetime:
    return EPOCH + time_us * MICROSECOND // length * length


def _before_the_first(newest: Snapshot) -> Snapshot:
    """The run before its first batch has ended."""
    sources = (
        replace(source, rows=0, max_event_time=None, ended=False, dropped_rows=0)
        for source in newest.sources
    )
    return Snapshot(
        name=newest.name,
        state=RunState.RUNNING,
        handle=newest.handle,
        windowed=newest.windowed,
        window_text=newest.window_text,
        sessions=newest.sessions,
        sources=tuple(sources),
        columns=newest.columns,
        numeric=newest.numeric,
        updating=newest.updating,
        result_rows=None if newest.result_rows is None else 0,
        more_outputs=newest.more_outputs,
        unwritten=newest.unwritten,
        order_text=newest.order_text,
        can_pause=newest.can_pause,
        paused=newest.paused,
        output=newest.output,
        outputs=newest.outputs,
        plan=tuple(without_counts(newest.plan)),
        speed=newest.speed,
        stepping=newest.stepping,
        facts=newest.facts,
    )
