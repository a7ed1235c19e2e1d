"""Run a query once more for each delay, all over the same chunks.

The sources are pinned first (:mod:`arroyo_nb.whatif.pinned_tape`). Then one run has an
output for each delay: Spark runs them beside each other, and each reads every chunk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS
from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.interrupts import LOOK_S, STOP_S
from arroyo_nb.run.options import RunOptions
from arroyo_nb.run.prepare import PreparedRun, prepare
from arroyo_nb.run.sources.sources import sources as sources_below
from arroyo_nb.run.sources.tape import TapeReader
from arroyo_nb.tape import Clock
from arroyo_nb.whatif.batch_notes import batch_notes
from arroyo_nb.whatif.delays import (
    chosen_delays,
    own_delays,
    read_delays,
    with_delay,
)
from arroyo_nb.whatif.differences import difference
from arroyo_nb.whatif.outcomes import (
    ArrivalTimes,
    DelayOutcome,
    WhatIf,
    WhatIfViews,
    distinct_windows,
    window_outcomes,
)
from arroyo_nb.whatif.pinned_tape import PinnedTape, pin
from arroyo_nb.whatif.stretches import STRETCHES, has_stretches

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.run.run import Run

SEVERAL_DELAYS = (
    "the query has watermarks with several delays; here all have the same one"
)

ROUNDED = (
    "the delays that keep 99 %, 99.9 % and all rows are rounded up: to whole "
    "milliseconds, and by a tenth at most"
)

SURE_AFTER = 10
"""Batches after which the time that is left is told."""

AT_ONCE = 4
"""Queries that run beside each other: more of them only wait for cores."""


@dataclass(frozen=True)
class WhatIfTools:
    """What is needed of a session.

    Parameters
    ----------
    make_run
        Makes a run that nobody lists.
    work
        An empty folder, to be removed by who made it.
    tell
        Is told how far it is.
    cancel_check
        Is called again and again; what it raises ends everything.
    views
        How the outcome is shown.
    """

    make_run: Callable[[PreparedRun], Run]
    work: Path
    tell: Callable[[str], None]
    cancel_check: Callable[[], None]
    views: WhatIfViews


def what_if(
    run: Run,
    written: str | Iterable[str | timedelta] | None,
    tools: WhatIfTools,
    *,
    every: timedelta | None = None,
    output: int | None = None,
) -> WhatIf:
    """What becomes of the rows and windows of a run with other delays.

    Parameters
    ----------
    run
        Whose query and sources are meant; it is left alone.
    written
        The delays; None: some that its trace makes worth trying.
    tools
        See :class:`WhatIfTools`.
    every
        How much event time a micro-batch has; None: they are those of the run.
    output
        Which output; None: the first one with windows.

    Raises
    ------
    RunProblem
        When the query has no window, or no watermark with a delay; when a source has no
        end; or when a query fails.
    """
    named = None if written is None else read_delays(written)
    number = _windowed_output(run, output)
    sink = run.plan.sinks[number]
    own = own_delays(sink)
    traces = run.outputs[number].observation.traces
    delays = named or chosen_delays(traces, own)
    folders = _pinned(run, sink, every, tools)
    found: dict[timedelta, DelayOutcome] = {}
    notes = [SEVERAL_DELAYS] if len(own) > 1 else []
    tables = {source.table.name: source.table for source in sources_below(sink)}
    notes += batch_notes(tables.values(), every, run.options.speed)
    if named is None:
        notes.append(ROUNDED)
    reference: pa.Table | None = None
    batches = 0
    # The longest first: the results of the others are compared with its result.
    longest_first = delays[::-1]
    for first in range(0, len(delays), AT_ONCE):
        group = longest_first[first : first + AT_ONCE]
        with _finished(run, sink, group, folders, tools) as made:
            arrivals = _arrivals(made)
            for index, delay in enumerate(group):
                result = made.table(index)
                reference = result if reference is None else reference
                found[delay] = _outcome(
                    made, index, delay, arrivals, (delay,) == own, reference
                )
            batches = len(made.outputs[0].observation.traces[0].batches)
            reference = _in_memory(reference)
    ordered = tuple(found[delay] for delay in delays)
    if any(not each.is_exact for each in ordered):
        notes.append(
            "late rows are at most so many: a session's rows are counted by pieces of "
            "its gap"
        )
    are_stretches = any(map(has_stretches, run.outputs[number].observation.aggregates))
    if are_stretches:
        notes.append(STRETCHES)
    return WhatIf(run.name, ordered, batches, tuple(notes), tools.views, are_stretches)


def _windowed_output(run: Run, output: int | None) -> int:
    """Which output is meant.

    Raises
    ------
    RunProblem
        When it has no window that rows are put into.
    """
    sinks = run.plan.sinks
    if output is not None:
        if not 0 <= output < len(sinks):
            raise RunProblem(
                f"the run '{run.name}' has no output {output}",
                hint=f"they are counted from 0: it has {len(sinks)}",
            )
        chosen = [output] if _has_window(sinks[output]) else []
    else:
        chosen = [n for n, sink in enumerate(sinks) if _has_window(sink)]
    if not chosen:
        raise RunProblem(
            f"the run '{run.name}' puts no rows into windows: no delay makes one late",
            hint="a delay matters to tumble, hop and session windows",
        )
    return chosen[0]


def _has_window(sink: nodes.Sink) -> bool:
    return any(
        isinstance(node, nodes.WindowAggregate) and node.assign is not None
        for node in walk(sink)
    )


def _pinned(
    run: Run, sink: nodes.Sink, every: timedelta | None, tools: WhatIfTools
) -> Sequence[_Pinned]:
    """The chunks of each source below a sink."""
    tables = [source.table for source in sources_below(sink)]
    feeds = [feed for feed in run.sources.readers if feed.table in tables]
    for feed in feeds:
        # A topic first: it is refused before anything is recorded.
        if not isinstance(feed, TapeReader):
            raise RunProblem(
                f"'{feed.table.name}' is a topic, whose rows do not come in the same "
                "micro-batches again",
                hint=f"%arroyo record {feed.table.name} -o {feed.table.name}.tape, and "
                "run the query over the tape",
            )
    options = replace(run.options, step=False)
    if every is not None:
        # One release a second, at a speed at which that is so much of the stream.
        second = timedelta(seconds=1)
        options = replace(options, speed=every / second, trigger=second)
    fresh: list[PreparedRun] = []

    def afresh(table: ConnectorTable) -> TapeReader:
        # Made when it is first needed: the run's own readers may be reading.
        if not fresh:
            fresh.append(prepare(run.name, run.plan, options))
        readers = fresh[0].sources.readers
        found = next(reader for reader in readers if reader.table == table)
        assert isinstance(found, TapeReader), "as of the run"
        return found

    pinned = []
    for number, feed in enumerate(feeds):
        assert isinstance(feed, TapeReader), "refused above"
        tools.tell(f"what-if of {run.name}: reading {feed.table.name}")
        folder = pin(
            feed,
            partial(afresh, feed.table),
            tools.work / f"source-{number}",
            is_over=run.state.ended,
            recut=every is not None,
            cancel_check=tools.cancel_check,
        )
        pinned.append(_Pinned(feed.table, folder))
    return pinned


@dataclass(frozen=True)
class _Pinned:
    table: ConnectorTable
    folder: Path


@contextmanager
def _finished(
    run: Run,
    sink: nodes.Sink,
    delays: Sequence[timedelta],
    pinned: Sequence[_Pinned],
    tools: WhatIfTools,
) -> Iterator[Run]:
    """A run with an output for each delay, once it has read everything."""

    def reader(_key: str, table: ConnectorTable) -> PinnedTape:
        folder = next(each.folder for each in pinned if each.table == table)
        return PinnedTape(table, folder)

    sinks = tuple(with_delay(sink, delay) for delay in delays)
    plan = replace(run.plan, sinks=sinks)
    options = RunOptions(sinks=False, keep=True, budget_bytes=run.options.budget_bytes)
    prepared = prepare(f"{run.name}-whatif", plan, options, reader=reader)
    made = tools.make_run(prepared)
    try:
        _run_to_end(made, run.name, delays, tools)
        yield made
    finally:
        made.stop("its query was tried").wait_quietly(STOP_S)
        made.discard()


def _run_to_end(
    made: Run, name: str, delays: Sequence[timedelta], tools: WhatIfTools
) -> None:
    chunks = max(
        (r.chunk_count for r in made.sources.readers if isinstance(r, PinnedTape)),
        default=0,
    )
    told, began = "", time.monotonic()
    delay_count = "1 delay" if len(delays) == 1 else f"{len(delays)} delays"
    heading = f"what-if of {name}: {delay_count}, batch"
    made.start()
    while not made.wait(LOOK_S):
        tools.cancel_check()
        done = min(output.observation.next_batch for output in made.outputs)
        # Nothing is told twenty times a second.
        left = _time_left(time.monotonic() - began, done, chunks)
        said = f"{heading} {done} of {chunks}{left}"
        if said != told:
            told = said
            tools.tell(said)
    # The last batches ended between two looks.
    if told != (said := f"{heading} {chunks} of {chunks}"):
        tools.tell(said)


def _time_left(took_s: float, done: int, chunks: int) -> str:
    """About how long it still takes; empty where that is soon or cannot be told yet.

    >>> _time_left(20.0, 50, 300)
    ', about 2 min left; an interrupt ends it, --every makes fewer batches'
    """
    minutes = round(took_s / max(done, 1) * (chunks - done) / 60)
    if done < SURE_AFTER or not minutes:
        return ""
    return (
        f", about {minutes} min left; an interrupt ends it, --every makes fewer batches"
    )


def _outcome(
    made: Run,
    index: int,
    delay: timedelta,
    arrivals: ArrivalTimes,
    as_run: bool,
    reference: pa.Table,
) -> DelayOutcome:
    traces = made.outputs[index].observation.traces
    result = made.table(index)
    apart = difference(result, reference)
    windows = [w for trace in traces for w in window_outcomes(trace, arrivals)]
    return DelayOutcome(
        delay=delay,
        as_run=as_run,
        rows=sum(trace.rows for trace in traces),
        late_rows=sum(trace.late_rows for trace in traces),
        windows=distinct_windows(windows),
        result_rows=result.num_rows,
        differing_rows=max(apart.only_first, apart.only_second),
        is_exact=all(trace.late_exact for trace in traces),
    )


def _arrivals(made: Run) -> Mapping[str, Sequence[int | None]]:
    """When the chunks arrived of those sources whose arrivals were recorded."""
    found = {}
    for reader in made.sources.readers:
        clock = CONNECTORS.get(reader.table.connector).info.clock
        if isinstance(reader, PinnedTape) and clock is Clock.ARRIVAL:
            moments = reader.arrivals_us()
            # All at once says nothing: it was written by a program, not recorded.
            if len(set(moments) - {None}) > 1:
                found[reader.key] = moments
    return found


def _in_memory(table: pa.Table | None) -> pa.Table | None:
    """The table without the file that it may be mapped from, which is removed."""
    if table is None:
        return None
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
