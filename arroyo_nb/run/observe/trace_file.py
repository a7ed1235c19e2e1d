"""A trace as one Parquet file: what a run did, micro-batch by micro-batch.

::

    a row for each micro-batch of each output
        output, batch                       which
        elapsed_s, batch_ms, ...            the totals after it (BatchTotals)
        sources                             how far each source had been read
        idle                                the sources that were idle
        late_watermark, panes, ...          what came into its windows (TracedBatch)
        event_times, values                 of some of these rows
        rows_read                           without a window, what it has read
                                            (TracedArrivals)
        result_0, result_1, ...             the rows that each output has put out; of an
                                            updating one changes with their weights
    the file's metadata, "arroyo_nb.trace"  what does not change, as JSON

Any reader of Parquet can look into it. Times are UTC; durations in the metadata are
microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.moments import OutputTrace
from arroyo_nb.run.observe.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

METADATA, VERSION = b"arroyo_nb.trace", 1

RESULT = "result_"
"""What the columns of rows begin with; the number of the output follows."""

ROWS_READ = "rows_read"
"""A column that files of earlier versions have not."""
VALUES = "values"
"""The key and the first values of each sampled row, a line of JSON; files of earlier
versions have none."""
IDLE = "idle"
"""The column of idle sources, which files of earlier versions do not have."""

BATCHES_A_GROUP = 256
"""Micro-batches of one row group: what is in memory at once."""

STATIC = (
    *("name", "handle", "windowed", "window_text", "sessions", "columns", "numeric"),
    *("updating", "order_text", "exact", "late_exact", "output", "outputs"),
    *("more_outputs", "unwritten", "recorded_to", "cut_text", "elapsed_s", "note"),
)
"""What a snapshot has that is the same at each moment, or is of the end."""


@dataclass(frozen=True)
class TracedOutput:
    """One output of a run, as its trace is saved.

    Parameters
    ----------
    newest
        Its last snapshot.
    trace
        What was recorded of it.
    order, limit
        What its result is sorted by, and how many rows it has.
    """

    newest: Snapshot
    trace: OutputTrace
    order: Sequence[nodes.SortKey] = ()
    limit: int | None = None


@dataclass(frozen=True)
class SavedRun:
    """What a file says of a run beside its batches.

    Parameters
    ----------
    sql
        The script.
    plan
        The text of its plan.
    outputs
        The outputs.
    """

    sql: str
    plan: str
    outputs: Sequence[TracedOutput] = field(default=())


def file_schema(run: SavedRun) -> pa.Schema:
    """The columns of its file."""
    import pyarrow as pa

    time = pa.timestamp("us")
    span = pa.struct([("start", time), ("end", time)])
    idle: list[tuple[str, pa.DataType]] = [
        ("name", pa.string()),
        ("idle_s", pa.float64()),
        ("partitions", pa.list_(pa.int32())),
    ]
    source: list[tuple[str, pa.DataType]] = [
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("max_event_time", time),
        ("ended", pa.bool_()),
        ("unread", pa.bool_()),
    ]
    read = [*source[:2], ("drawn", pa.int64())]
    fields: list[tuple[str, pa.DataType]] = [
        ("output", pa.int32()),
        ("batch", pa.int64()),
        ("elapsed_s", pa.float64()),
        ("batch_ms", pa.float64()),
        ("watermark", time),
        ("max_event_time", time),
        *((name, pa.int64()) for name in COUNTS),
        ("dropped_rows", pa.list_(pa.struct(source[:2]))),
        ("sources", pa.list_(pa.struct(source))),
        (IDLE, pa.list_(pa.struct(idle))),
        ("late_watermark", time),
        ("panes", pa.list_(pa.struct([("start", time), ("rows", pa.int64())]))),
        ("exact", pa.bool_()),
        ("sessions_closed", pa.int64()),
        ("sessions", pa.list_(span)),
        ("event_times", pa.list_(time)),
        (VALUES, pa.list_(pa.string())),
        (ROWS_READ, pa.list_(pa.struct(read))),
    ]
    for number, output in enumerate(run.outputs):
        if output.trace.preview is not None:
            row = pa.struct(list(output.trace.preview.frame_schema))
            fields.append((f"{RESULT}{number}", pa.list_(row)))
    return pa.schema(fields)


COUNTS = (
    *("rows_in", "rows_out", "late_rows", "closed_sessions", "open_sessions"),
    "state_rows",
)
"""Totals that are whole numbers."""


def lengths_of(window: nodes.Window) -> Iterator[tuple[str, timedelta]]:
    """The lengths that a window is made of, by name."""
    return ((name, getattr(window, name)) for name in window.__dataclass_fields__)


AT_BATCH = ("rows", "max_event_time", "ended", "unread")
"""What a source has at each batch."""

OF_SOURCE = ("name", "rows", "bounded", "ended", "dropped_rows", "looked_up")
