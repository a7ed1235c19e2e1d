"""Tables that are made from a trace when they are asked for.

Late rows are found by a batch query: the lowered input of the window aggregate over
what each batch read in which the trace counted a late row, kept where the window
had closed before. The stream itself pays nothing for it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from functools import partial, reduce
from itertools import chain, count
from typing import TYPE_CHECKING

from arroyo_nb.errors import RunProblem
from arroyo_nb.plan import nodes
from arroyo_nb.plan.tree import walk
from arroyo_nb.run.observe.late_ledger import last_missed
from arroyo_nb.run.observe.late_ledger import late_rows as late_in_batch
from arroyo_nb.run.observe.snapshot import WindowBar, naive
from arroyo_nb.run.observe.trace import TracedBatch
from arroyo_nb.schema import EPOCH, arrow_type
from arroyo_nb.spark.late_row_query import END, LATE_BY, MISSED, START
from arroyo_nb.spark.late_row_query import late_rows as late_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from arroyo_nb.engine import Engine
    from arroyo_nb.run.observe.moments import TracedWindow
    from arroyo_nb.run.observe.query_observation import QueryObservation
    from arroyo_nb.run.sources.sources import Sources

NOTHING = TracedBatch(
    batch_id=-1,
    elapsed_s=0,
    watermark=None,
    late_watermark=EPOCH,
    stretches={},
    max_event_time=None,
)
"""A batch without rows."""

_TOLD = ("event_time", START, END, MISSED, LATE_BY, "batch")
"""What is told of a late row, behind its columns."""

UNION_BATCHES = 16
"""Batches asked for in one Spark job: few jobs, and plans that stay small."""


def late_rows(
    engine: Engine,
    observation: QueryObservation,
    feeds: Sources,
    what: str,
    tell: Callable[[str], None] | None = None,
) -> pa.Table:
    """Each late row of an output, in the order of arrival. Spark is asked on the
    worker, which is free for others in between, and only where the trace has counted
    a late row.

    Parameters
    ----------
    engine, output, feeds
        Whose rows they are, and what reads them again.
    what
        The output, for messages.
    tell
        Is told again and again how far it is; None: nobody is.

    Raises
    ------
    KeyboardInterrupt
        When it was interrupted: what Spark has begun goes on, and is dropped.
    RunProblem
        When the run was not traced, or a window's input cannot be made again: its
        rows are gone, or it depends on more than the rows of one batch.
    """
    import pyarrow as pa

    _refuse_untraced(observation, what)
    if not observation.traces:
        raise _no_windows(what)
    # State cannot be asked what it held at an earlier batch: only an input made from
    # the rows of one batch can be made again.
    for aggregate in observation.aggregates:
        if any(isinstance(below, nodes.Stateful) for below in walk(aggregate.input)):
            raise RunProblem(
                f"the late rows of {what} cannot be listed: what came "
                "into its windows was made from rows of earlier batches too",
                hint="they are counted: run.windows()",
            )
    pairs = zip(observation.aggregates, observation.traces, strict=True)
    groups = [
        (aggregate, batches)
        for aggregate, trace in pairs
        for batches in _groups(trace.late_batches)
    ]
    every = sum(len(batches) for _, batches in groups)
    if not any(trace.late_batches for trace in observation.traces):
        tables = map(_no_rows, observation.aggregates)
        return pa.concat_tables(tables, promote_options="default")
    done, found = 0, []
    for aggregate, batches in groups:
        said = f"late rows of {what}: {done:,} of {every:,} micro-batches read again"
        check = None if tell is None else partial(tell, said)
        work = (_late_table, engine, aggregate, batches, feeds)
        found.append(engine.worker.call(*work, check=check))
        done += len(batches)
    if gone := sum(missing for _, missing in found):
        warnings.warn(
            f"the rows of {gone} batches with late rows are gone, as a live source, or "
            "a topic, keeps its newest: their late rows are counted, but not in this "
            "table",
            stacklevel=3,
        )
    return pa.concat_tables((table for table, _ in found), promote_options="default")


def sampled_late_rows(traced: TracedWindow | None, what: str) -> pa.Table:
    """The late rows of an output that the sample of its trace has, in the order of
    arrival: their key and first values as text, then what :func:`late_rows` tells.

    A warning says how many others there were.

    Parameters
    ----------
    traced
        The windows of the output; None: it has none.
    what
        The output, for messages.

    Raises
    ------
    RunProblem
        When it puts no rows into windows.
    """
    import pyarrow as pa

    if traced is None:
        raise _no_windows(what)
    found = [row for batch in traced.batches for row in _sampled_late(traced, batch)]
    counted = sum(
        rows.rows
        for batch in traced.batches
        for rows in late_in_batch(traced.window, batch, ())
    )
    if len(found) < counted:
        warnings.warn(
            f"the trace has {len(found):,} of {counted:,} late rows: it keeps some of "
            "the rows of a micro-batch, 64 at most; run.late() of the run itself has "
            "all of them",
            stacklevel=3,
        )
    names = dict.fromkeys(name for values, _ in found for name in values)
    columns = [
        *([values.get(name) for values, _ in found] for name in names),
        *zip(*(told for _, told in found), strict=True),
    ] or [[]] * len(_TOLD)
    time = pa.timestamp("us")
    types = [pa.string()] * len(names)
    types += [time, time, time, pa.int64(), pa.duration("us"), pa.int64()]
    arrays = map(pa.array, columns, types)
    return pa.table([*arrays], names=_late_columns([*names]))


def _sampled_late(
    traced: TracedWindow, batch: TracedBatch
) -> Iterator[tuple[Mapping[str, str | None], tuple[object, ...]]]:
    """The values of each late row of a sample, and what is told of it."""
    window, mark = traced.window, batch.late_watermark
    if mark <= EPOCH:
        return
    for row in batch.arrivals.sample:
        time = row.time.replace(tzinfo=UTC)
        missed = last_missed(window, time, mark)
        if missed is None:
            continue
        of_window: tuple[object, ...] = (None, None, None)
        if not isinstance(window, nodes.SessionWindow):
            slide = window.slide if isinstance(window, nodes.Hop) else window.width
            before = missed[0] - (time - window.width)
            # The first of its windows begins at most a slide after time - width.
            of_window = (*map(naive, missed), -(-before // slide))
        told = (row.time, *of_window, mark - time, batch.batch_id)
        yield row.values, told


def windows_table(observation: QueryObservation, what: str) -> pa.Table:
    """What :meth:`arroyo_nb.run.observe.trace.Trace.windows` tells, as a table.

    Raises
    ------
    RunProblem
        When the run was not traced.
    """
    import pyarrow as pa

    _refuse_untraced(observation, what)
    tables = table_names(observation.aggregates)
    found = [
        (table, bar)
        for table, trace in zip(tables, observation.traces, strict=True)
        for bar in trace.windows()
    ]
    windows = windows_of([bar for _, bar in found])
    if len(tables) < 2:
        return windows
    column = pa.array([table for table, _ in found], pa.string())
    return windows.add_column(0, "table", column)


def table_names(aggregates: Sequence[nodes.WindowAggregate]) -> list[str]:
    """The table whose rows each aggregate puts into windows. Aggregates over the same
    one are numbered, such as ``clicks (1)`` and ``clicks (2)``."""
    names = [" and ".join(_tables_below(aggregate)) for aggregate in aggregates]
    often, before = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        before[name] += 1
        numbered.append(name if often[name] == 1 else f"{name} ({before[name]})")
    return numbered


def _tables_below(aggregate: nodes.WindowAggregate) -> Iterator[str]:
    sources = (node for node in walk(aggregate) if isinstance(node, nodes.Source))
    return iter(dict.fromkeys(source.table.name for source in sources))


def windows_of(bars: Sequence[WindowBar]) -> pa.Table:
    """Windows as a table: start, end, rows, late rows, state, batch that closed it."""
    import pyarrow as pa

    time = pa.timestamp("us")
    return pa.table(
        {
            "start": pa.array([b.start for b in bars], time),
            "end": pa.array([b.end for b in bars], time),
            "rows": pa.array([b.rows for b in bars], pa.int64()),
            "late_rows": pa.array([b.late_rows for b in bars], pa.int64()),
            # No session has late rows: there is none to be open or closed.
            "state": pa.array(
                [None if b.late_only else b.state.value for b in bars], pa.string()
            ),
            "closed_in_batch": pa.array([b.closed_in for b in bars], pa.int64()),
        }
    )


def _no_windows(what: str) -> RunProblem:
    return RunProblem(
        f"{what} puts no rows into windows: none can be late",
        hint="late rows are those whose tumble, hop or session has closed",
    )


def _refuse_untraced(observation: QueryObservation, what: str) -> None:
    if not observation.is_traced:
        raise RunProblem(
            f"the rows of windows were not counted in {what}",
            hint="session.run(..., traced=True) does",
        )


def _no_rows(aggregate: nodes.WindowAggregate) -> pa.Table:
    """The columns of late rows, without a row: Spark is not asked for them."""
    import pyarrow as pa

    time = pa.timestamp("us")
    fields = aggregate.input.schema.fields
    types = [arrow_type(field.type) for field in fields]
    types += [time, time, time, pa.int64(), pa.duration("us"), pa.int64()]
    names = _late_columns(aggregate.input.schema.names)
    return _naive(pa.schema(zip(names, types, strict=True)).empty_table())


def _groups(batches: Sequence[TracedBatch]) -> Iterator[Sequence[TracedBatch]]:
    # Without a late row, the query over nothing still names the columns.
    batches = batches or (NOTHING,)
    for start in range(0, len(batches), UNION_BATCHES):
        yield batches[start : start + UNION_BATCHES]


def _late_table(
    engine: Engine,
    aggregate: nodes.WindowAggregate,
    batches: Sequence[TracedBatch],
    feeds: Sources,
) -> tuple[pa.Table, int]:
    """The late rows of some batches, and how many of them have no rows any more."""
    spark = engine.session
    # Asked before the query is planned: a chunk or record that is gone would fail all
    # sixteen batches.
    there = [batch for batch in batches if feeds.has(batch.stretches)]
    frames = (_late_frame(spark, aggregate, b, feeds) for b in there or (NOTHING,))
    rows = reduce(lambda above, below: above.union(below), frames).toArrow()
    return _naive(rows), len(batches) - len(there)


def _late_frame(
    spark: SparkSession,
    aggregate: nodes.WindowAggregate,
    batch: TracedBatch,
    feeds: Sources,
) -> DataFrame:
    read = partial(feeds.read_again, spark, batch.stretches)
    frame = late_frame(aggregate, read, batch.late_watermark)
    frame = frame.selectExpr("*", f"{batch.batch_id}L")
    # By position: a column of the user's may have any of these names.
    return frame.toDF(*_late_columns(aggregate.input.schema.names))


def _late_columns(columns: Sequence[str]) -> list[str]:
    """The columns of a late row, then what is told of it; what a column is called
    already has another name then, such as ``event_time_1``."""
    names = list(columns)
    for name in _TOLD:
        others = (f"{name}_{number}" for number in count(1))
        names.append(next(n for n in chain([name], others) if n not in names))
    return names


def _naive(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    fields = [
        f.with_type(pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))
