"""The recorded micro-batches of a run's outputs, to be looked at again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from arroyo_nb.run.observe.moments import Moments, OutputTrace, TracedWindow

if TYPE_CHECKING:
    from arroyo_nb.run.observe.batch_log import BatchTotals
    from arroyo_nb.run.observe.snapshot import SourceProgress
    from arroyo_nb.run.run import Run


def moments_of(run: Run, output: int = 0) -> Moments:
    """The batches of an output.

    Parameters
    ----------
    run
        The run; what it records later can be shown, too.
    output
        Which output.
    """
    written = run.outputs[output]
    seen = written.observation
    window = None
    if seen.traces:
        trace = seen.traces[0]
        window = TracedWindow(trace.window, bool(seen.aggregates[0].keys), trace.record)
    at = partial(_sources_at, run)
    return Moments(OutputTrace(seen.totals, window, written.preview, at))


def _sources_at(run: Run, totals: BatchTotals) -> tuple[SourceProgress, ...]:
    """The sources as they had been read. What is odd in their rows is not known by the
    batch."""
    known = run.sources.sources(totals.positions)
    streams = [source for source in known if not source.looked_up]
    made = []
    for source in known:
        dropped = totals.dropped_rows.get(source.name, 0)
        newest = source.max_event_time
        if streams == [source]:
            newest = totals.max_event_time
        at = replace(
            source, dropped_rows=dropped, bad=(), paused=False, max_event_time=newest
        )
        if dropped or not source.looked_up:
            made.append(at)
    return tuple(made)
