"""Draws a run as a :class:`~arroyo_nb.run.observe.snapshot.Snapshot`: values, no
Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING

from arroyo_nb.functions.types import is_number
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.late_ledger import late_in_results
from arroyo_nb.run.observe.late_shares import of_source
from arroyo_nb.run.observe.late_table import table_names
from arroyo_nb.run.observe.plan_steps import plan_steps
from arroyo_nb.run.observe.snapshot import (
    Moment,
    OutputProgress,
    Snapshot,
    SourceProgress,
    naive,
)
from arroyo_nb.run.results.preview_state import ShownRows
from arroyo_nb.tape import SHOWN_BAD_ROWS
from arroyo_nb.tape.fit import Fit

if TYPE_CHECKING:
    from arroyo_nb.run.observe.batch_log import BatchLog
    from arroyo_nb.run.observe.query_observation import QueryObservation
    from arroyo_nb.run.run import Run


def build_snapshot(run: Run, rows: int, output: int = 0) -> Snapshot:
    """The picture of one output of a run.

    Parameters
    ----------
    run
        What to draw; its lock and that of the output are held by the caller.
    rows
        How many of the newest result rows to include.
    output
        Which output.
    """
    # `newest` may be a batch of an earlier run, which says where things stand; only one
    # of this run has a duration.
    query = run.outputs[output]
    seen, all_seen = query.observation, [o.observation for o in run.outputs]
    progress, newest = seen.progress, seen.newest_batch
    shown = seen.shown
    trace = seen.traces[0] if seen.traces else None
    names = query.sink.schema.names
    headers = dict(zip(names, query.sink.headers or names, strict=True))
    order = (replace(key, column=headers[key.column]) for key in query.sink.order)
    newest_rows = shown.pictured(rows) if shown else ShownRows()
    sources = tuple(_sources(run, seen))
    output_rows = shown.total_rows if shown else seen.written_rows
    return Snapshot(
        name=run.name,
        state=run.state,
        handle=run.handle,
        note=run.activity,
        stale=run.stale,
        error=str(run.error) if run.error else None,
        elapsed_s=run.elapsed_s,
        rows_in=run.rows_in,
        rows_out=sum(seen.rows_out for seen in all_seen),
        rows_per_s=run.rows_per_s,
        late_rows=late_in_results([t for o in all_seen for t in o.late_inputs]),
        late_results=sum(o.late_rows > 0 for o in all_seen),
        batch_id=newest.batch_id if newest else None,
        batch_ms=progress.batch_ms if progress else None,
        watermark=naive(newest.watermark) if newest else None,
        max_event_time=naive(seen.max_event_time),
        windowed=query.sink.window is not None,
        window_text=_windows_drawn(run.handle, query.sink, seen.aggregates),
        sessions=trace is not None and isinstance(trace.window, nodes.SessionWindow),
        gap=_gap(trace.window) if trace else None,
        density=trace.density() if trace and seen.aggregates[0].keys else (),
        open_sessions=progress.open_sessions if progress else None,
        closed_sessions=trace.closed_sessions if trace else 0,
        windows=trace.windows() if trace else (),
        arrivals=seen.arrivals,
        late=trace.late if trace else (),
        lateness=trace.lateness if trace else None,
        history=seen.history.points,
        sources=sources,
        columns=tuple(headers.values()),
        numeric=tuple(is_number(f.type) for f in query.sink.schema),
        rows=newest_rows.rows,
        updating=nodes.is_updating(query.sink),
        result_rows=shown.result_rows if shown else None,
        hints=run.hints if run.rows_in and not (shown and shown.total_rows) else (),
        more_outputs=len(run.outputs) - 1,
        unwritten=tuple(dict.fromkeys(o.unwritten for o in run.outputs if o.unwritten)),
        changes=newest_rows.changes,
        rows_kept=shown.kept_rows if shown else 0,
        rows_cut=shown.cut_rows if shown else 0,
        cut_text=shown.cut_text if shown else "",
        order_text=", ".join(map(str, order)),
        windows_cut=trace.forgotten if trace else 0,
        recorded_to=trace.cut_after if trace else seen.totals.cut_after,
        exact=trace.exact if trace else True,
        late_exact=all(t.late_exact for o in all_seen for t in o.traces),
        can_pause=run.can_pause and not run.state.ended,
        paused=run.sources.paused and not run.is_stepping,
        speed=0.0 if isinstance(run.speed, str) else float(run.speed),
        output=output,
        outputs=output_names(run),
        output_rows=output_rows,
        row_keys=newest_rows.row_keys,
        histories=newest_rows.histories,
        plan=plan_steps(
            run.plan,
            query,
            sources=_source_rates(run, sources),
            rows_out=output_rows,
        ),
        moment=_newest_moment(seen.totals),
        stepping=run.options.step,
        silent_s=seen.silent_s(time.monotonic()),
        facts=run.facts,
        output_counts=tuple(
            OutputProgress(o.sink.name, o.observation.rows_out) for o in run.outputs
        ),
        idle_periods=seen.idle_periods.known,
    )


def _gap(window: nodes.Window) -> timedelta | None:
    return window.gap if isinstance(window, nodes.SessionWindow) else None


def output_names(run: Run) -> tuple[str, ...]:
    """What each output is called: the table of its INSERT, or the number of its
    SELECT."""
    tables = [output.sink.table for output in run.outputs]
    unnamed = sum(table is None for table in tables)
    numbers = count(1)
    return tuple(
        table.name
        if table is not None
        else f"result {next(numbers)}"
        if unnamed > 1
        else "result"
        for table in tables
    )


def _source_rates(
    run: Run, sources: Sequence[SourceProgress]
) -> Mapping[str, tuple[int, float | None]]:
    """The rows of each source and its rate, where that is known."""
    streams = [source for source in sources if not source.looked_up]
    # Two tables may have one name: then nothing says which is which.
    names = Counter(source.name for source in streams)
    only = len(streams) == 1
    return {
        source.name: (
            source.rows,
            run.rows_per_s if only else source.rows_per_s or None,
        )
        for source in streams
        if names[source.name] == 1
    }


def _newest_moment(totals: BatchLog) -> Moment | None:
    """The newest batch among those that can be shown."""
    if not totals:
        return None
    last = totals[-1].batch_id
    return Moment(last, totals[0].batch_id, last)


def _windows_drawn(
    handle: str, sink: nodes.Sink, aggregates: Sequence[nodes.WindowAggregate]
) -> str:
    """The window of the query; where several tables are put into windows, as on both
    sides of a join, of which one they are drawn, and where the others are."""
    text = window_text(sink.window)
    drawn, *others = (f"'{name}'" for name in table_names(aggregates) or [""])
    if not others:
        return text
    return f"{text} of {drawn}, {handle}.windows() has {' and '.join(others)} too"


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
        case nodes.SessionWindow(gap):
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
        number, seconds = divmod(int(seconds), size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts) or "0 s"


def data_notes(run: Run, wait_s: float = 0.0) -> Mapping[str, tuple[str, ...]]:
    """What is odd in the rows of a run's sources, by their names.

    Parameters
    ----------
    run
        The run.
    wait_s
        How long to wait until records have been looked into.
    """

    return run.sources.fit_notes(lambda name: _fit_of_topic(run, name), wait_s)


def _fit_of_topic(run: Run, name: str) -> Fit:
    """What queries know of the rows of a topic."""
    # Each output reads the same records, sooner or later; all of them may be bad.
    found = (o.observation.fits.get(name, Fit()) for o in run.outputs)
    return max(found, key=attrgetter("rows", "counts.unknown", "counts.empty"))


def _sources(run: Run, seen_here: QueryObservation) -> Iterator[SourceProgress]:
    """The sources as one output has read them; tables that are looked up only where
    records were left out."""
    all_seen = [output.observation for output in run.outputs]
    known = run.sources.sources(seen_here.positions_of_batch or {})
    notes = data_notes(run)
    streams = [source for source in known if not source.looked_up]
    counted = [shares for seen in all_seen for shares in seen.late_shares]
    for source in known:
        dropped = [seen.dropped_rows[source.name] for seen in all_seen]
        # Of unusable event times each output that reads the source finds the same ones,
        # sooner or later; bad records of a store each finds by rows of its own.
        more = sum(dropped) if source.looked_up else max(dropped)
        bad = (str(row) for seen in all_seen for row in seen.bad.get(source.name, ()))
        fit = run.sources.fit(source.name) + _fit_of_topic(run, source.name)
        found = replace(
            source,
            dropped_rows=source.dropped_rows + more,
            unknown_records=fit.counts.unknown,
            bad=(*source.bad, *dict.fromkeys(bad))[:SHOWN_BAD_ROWS],
            notes=notes.get(source.name, ()),
            late_shares=of_source(counted, source.name),
            max_event_time=seen_here.newest_time(source),
        )
        then = seen_here.sources_now.get(source.name)
        if then is not None and not source.ended:
            found = replace(found, idle_s=then.idle_s)
        if streams == [source]:  # its times are the query's, also where Spark made them
            found = replace(found, max_event_time=naive(seen_here.max_event_time))
        if found.dropped_rows or not found.looked_up:
            yield found
