"""Draws a run as a :class:`~arroyo_nb.run.snapshot.Snapshot`: values, no Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.functions.types import is_number
from arroyo_nb.plan import nodes
from arroyo_nb.run.snapshot import MarkPoint, RunState, Snapshot, WindowBar, naive

if TYPE_CHECKING:
    from arroyo_nb.run.output import Output
    from arroyo_nb.run.run import Run

HISTORY_POINTS = 400
"""Batches of watermark history that a picture holds; older ones are thinned."""


def draw(run: Run, rows: int) -> Snapshot:
    """The picture of a run's first output.

    Parameters
    ----------
    run
        What to draw; its lock is held by the caller.
    rows
        How many of the newest result rows to include.
    """
    output = run.outputs[0]
    progress = output.progress
    preview = output.preview
    trace = output.traces[0] if output.traces else None
    return Snapshot(
        name=run.name,
        state=run.state,
        sql=run.plan.source.text,
        note=run.note if run.state is not RunState.STARTING else run.waiting_for,
        error=str(run.error) if run.error else None,
        elapsed_s=run.elapsed_s,
        rows_in=run.rows_in,
        rows_out=sum(o.preview.total_rows for o in run.outputs if o.preview),
        rows_per_s=run.rows_per_s,
        late_rows=sum(o.late_rows for o in run.outputs),
        batch_id=progress.batch_id if progress else None,
        batch_ms=progress.batch_ms if progress else None,
        watermark=naive(progress.watermark) if progress else None,
        max_event_time=naive(output.max_event_time),
        windowed=output.sink.window is not None,
        window_text=window_text(output.sink.window),
        windows=_bars(run, output),
        history=_history(output),
        sources=tuple(
            replace(s, dropped_rows=s.dropped_rows + output.dropped_rows[s.name])
            for s in run.feeds.sources()
        ),
        columns=output.sink.schema.names,
        numeric=tuple(is_number(f.type) for f in output.sink.schema),
        rows=tuple(preview.newest(rows)) if preview else (),
        rows_kept=preview.kept_rows if preview else 0,
        rows_cut=preview.cut_rows if preview else 0,
        windows_cut=trace.forgotten if trace else 0,
        recorded_to=trace.cut_after if trace else None,
        exact=trace.exact if trace else True,
        can_pause=not run.state.ended,
        paused=run.feeds.paused,
    )


def window_text(window: nodes.Window | None) -> str:
    """The window in the dialect's words.

    >>> window_text(nodes.Hop(timedelta(minutes=5), timedelta(hours=1)))
    'hop 5 min, 1 h'
    """
    match window:
        case nodes.Tumble(width):
            return f"tumble {duration_text(width)}"
        case nodes.Hop(slide, width):
            return f"hop {duration_text(slide)}, {duration_text(width)}"
        case nodes.Session(gap):
            return f"session {duration_text(gap)}"
        case None:
            return ""


UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration_text(length: timedelta) -> str:
    """A duration in its largest units.

    >>> duration_text(timedelta(hours=1, minutes=30))
    '1 h 30 min'
    >>> duration_text(timedelta(milliseconds=250))
    '0.25 s'
    """
    seconds = length.total_seconds()
    if seconds != int(seconds):
        return f"{seconds:g} s"
    parts = []
    for unit, size in UNITS:
        count, seconds = divmod(int(seconds), size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"


def _bars(run: Run, output: Output) -> tuple[WindowBar, ...]:
    if not output.traces:
        return ()
    newest = output.max_event_time
    delays = [s.delay for s in run.feeds.sources()]
    ahead = newest - max(delays) if newest and delays else None
    if run.state is RunState.STOPPED:
        ahead = None
    bars = output.traces[0].windows(ahead)
    return tuple(_naive_bar(bar) for bar in bars)


def _naive_bar(bar: WindowBar) -> WindowBar:
    start, end = naive(bar.start), naive(bar.end)
    assert start is not None
    assert end is not None
    return replace(bar, start=start, end=end)


def _history(output: Output) -> tuple[MarkPoint, ...]:
    if not output.traces:
        return ()
    batches = output.traces[0].batches
    every = 1 + len(batches) // HISTORY_POINTS
    return tuple(
        MarkPoint(b.batch_id, b.elapsed_s, naive(b.max_event_time), naive(b.watermark))
        for b in batches[::every]
    )
