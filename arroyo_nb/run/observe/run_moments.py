"""The recorded micro-batches of a run's outputs, to be looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.engine.paths import user_path
from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals, require_file
from arroyo_nb.run.interrupts import defer_interrupts
from arroyo_nb.run.observe.idle_sources import SourceAtBatch
from arroyo_nb.run.observe.moments import Moments, OutputTrace, TracedWindow

if TYPE_CHECKING:
    from arroyo_nb.run.observe.batch_log import BatchTotals
    from arroyo_nb.run.observe.snapshot import SourceProgress
    from arroyo_nb.run.run import Run


T = TypeVar("T")


def moments_of(run: Run, output: int = 0) -> Moments:
    """The batches of an output.

    Parameters
    ----------
    run
        The run; what it records later can be shown, too.
    output
        Which output.
    """
    written = numbered_output(run.outputs, output)
    seen = written.observation
    window = None
    if seen.traces:
        trace = seen.traces[0]
        has_key = bool(seen.aggregates[0].keys)
        window = TracedWindow(trace.window, has_key, trace.record, trace.delay)
    at = partial(_sources_at, run)
    read = seen.row_trace.record
    return Moments(OutputTrace(seen.totals, window, written.preview, at, read))


def numbered_output(outputs: Sequence[T], number: int) -> T:
    """An output of a run.

    Raises
    ------
    RunProblem
        When there is none of that number.
    """
    if not -len(outputs) <= number < len(outputs):
        known = "0" if len(outputs) == 1 else f"0 to {len(outputs) - 1}"
        raise RunProblem(f"there is no output {number}", hint=f"there are: {known}")
    return outputs[number]


def save_trace(run: Run, path: str | Path) -> Path:
    """Write the trace of a run; see :meth:`arroyo_nb.run.run.Run.save_trace`."""
    from arroyo_nb.run.observe.trace_file import SavedRun, TracedOutput
    from arroyo_nb.run.observe.trace_writer import save

    file = user_path(path)
    allowed = current_roots()
    if not allowed.allow(file):
        raise allowed.refusal(f"the trace '{file}'")
    require_file(file)
    outputs = [
        TracedOutput(
            run.snapshot(0, number),
            moments_of(run, number).trace,
            output.sink.order,
            output.sink.limit,
        )
        for number, output in enumerate(run.outputs)
    ]
    saved = SavedRun(run.plan.source.text, run.plan.explain(), outputs)
    with refusals("write", str(file)), defer_interrupts() as interrupts:
        save(saved, file, interrupts.check)
    return file


def with_idle(source: SourceProgress, then: SourceAtBatch) -> SourceProgress:
    """The source, as idle as it was at a batch."""
    idle = then.idle_partitions
    return replace(
        source,
        idle_s=then.idle_s,
        idle_partitions=idle,
        partitions=tuple(
            replace(partition, idle=partition.number in idle)
            for partition in source.partitions
        ),
    )


def _sources_at(run: Run, totals: BatchTotals) -> tuple[SourceProgress, ...]:
    """The sources as they had been read. What is odd in their rows is not known by the
    batch."""
    known = run.sources.sources(totals.positions)
    streams = [source for source in known if not source.looked_up]
    made = []
    for source in known:
        dropped = totals.dropped_rows.get(source.name, 0)
        then = totals.sources.get(source.name, SourceAtBatch())
        newest = source.max_event_time or then.max_event_time
        if streams == [source]:
            newest = totals.max_event_time
        at = replace(
            with_idle(source, then),
            dropped_rows=dropped,
            bad=(),
            paused=False,
            max_event_time=newest,
        )
        if dropped or not source.looked_up:
            made.append(at)
    return tuple(made)
