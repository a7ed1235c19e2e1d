"""Writes a trace: see :mod:`arroyo_nb.run.observe.trace_file`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.durable_files import replaced_whole
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.batch_log import BatchTotals
from arroyo_nb.run.observe.moments import OutputTrace
from arroyo_nb.run.observe.snapshot import SourceProgress
from arroyo_nb.run.observe.trace import START, TracedBatch
from arroyo_nb.run.observe.trace_file import (
    AT_BATCH,
    BATCHES_A_GROUP,
    COUNTS,
    IDLE,
    METADATA,
    OF_SOURCE,
    RESULT,
    ROWS_READ,
    STATIC,
    VALUES,
    VERSION,
    SavedRun,
    TracedOutput,
    file_schema,
    lengths_of,
)
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import MICROSECOND

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.run.observe.row_trace import TracedArrivals


def save(run: SavedRun, path: Path, cancel_check: Callable[[], None]) -> int:
    """Write a trace; returns how many micro-batches it has.

    Parameters
    ----------
    run
        What is written.
    path
        The file; one that is there is replaced once the new one is whole.
    cancel_check
        Is called again and again; what it raises ends the writing, and leaves nothing.
    """
    import pyarrow.parquet as pq

    header = json.dumps(_header(run)).encode()
    schema = file_schema(run).with_metadata({METADATA: header})
    count = 0
    with (
        replaced_whole(path) as unfinished,
        pq.ParquetWriter(unfinished, schema, compression="zstd") as writer,
    ):
        for group in _groups(run, schema):
            cancel_check()
            writer.write_table(group)
            count += group.num_rows
    return count


def _header(run: SavedRun) -> dict[str, Any]:
    return {
        "version": VERSION,
        "sql": run.sql,
        "plan": run.plan,
        "outputs": [_told(output) for output in run.outputs],
    }


def _told(output: TracedOutput) -> dict[str, Any]:
    newest, window = output.newest, output.trace.window
    static = {name: getattr(newest, name) for name in STATIC}
    return {
        **static,
        "state": newest.state.value,
        "error": newest.error,
        "window": None if window is None else _window_text(window.window),
        "has_key": window is not None and window.has_key,
        "delay": None if window is None else _micros(window.delay),
        "order": [asdict(key) for key in output.order],
        "limit": output.limit,
        "sources": [_source_text(source) for source in newest.sources],
    }


def _window_text(window: nodes.Window) -> dict[str, int | str]:
    lengths = {name: length // MICROSECOND for name, length in lengths_of(window)}
    return {"kind": type(window).__name__, **lengths}


def _source_text(source: SourceProgress) -> dict[str, Any]:
    return {
        **{name: getattr(source, name) for name in OF_SOURCE},
        "delay": _micros(source.delay),
        "bad": list(source.bad),
        "notes": list(source.notes),
    }


def _groups(run: SavedRun, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    plain = pa.schema([f for f in schema if not f.name.startswith(RESULT)])
    for number, output in enumerate(run.outputs):
        totals, results = output.trace.totals.since(0), _Results(output.trace.preview)
        window = output.trace.window
        traced = {b.batch_id: b for b in window.batches} if window else {}
        rows_read = {b.batch_id: b for b in output.trace.rows_read}
        for first in range(0, len(totals), BATCHES_A_GROUP):
            group = totals[first : first + BATCHES_A_GROUP]
            records = [
                {
                    "output": number,
                    **_totals_record(output.trace, known),
                    **_window_record(traced.get(known.batch_id)),
                    **_rows_record(rows_read.get(known.batch_id)),
                }
                for known in group
            ]
            made = pa.Table.from_pylist(records, plain)
            for column in schema.names[len(plain) :]:
                kind = schema.field(column).type
                own = column == f"{RESULT}{number}"
                ids = [known.batch_id for known in group]
                values = results.lists(ids, kind) if own else pa.nulls(len(ids), kind)
                made = made.append_column(schema.field(column), values)
            yield made.replace_schema_metadata(schema.metadata)


def _totals_record(trace: OutputTrace, totals: BatchTotals) -> dict[str, Any]:
    sources = [
        {name: getattr(source, name) for name in ("name", *AT_BATCH)}
        for source in trace.sources_at(totals)
    ]
    dropped = [{"name": n, "rows": rows} for n, rows in totals.dropped_rows.items()]
    return {
        "batch": totals.batch_id,
        "elapsed_s": totals.elapsed_s,
        "batch_ms": totals.batch_ms,
        "watermark": totals.watermark,
        "max_event_time": totals.max_event_time,
        **{name: getattr(totals, name) for name in COUNTS},
        "dropped_rows": dropped,
        "sources": sources,
        IDLE: [
            {
                "name": name,
                "idle_s": source.idle_s,
                "partitions": source.idle_partitions,
            }
            for name, source in totals.sources.items()
            if source.idle_s or source.idle_partitions
        ],
    }


def _window_record(batch: TracedBatch | None) -> dict[str, Any]:
    if batch is None:
        return {}
    spans = batch.sessions
    return {
        "late_watermark": _naive(batch.late_watermark),
        "panes": [
            {"start": _naive(start), "rows": rows}
            for start, rows in batch.pane_rows.items()
        ],
        "exact": batch.exact,
        "sessions_closed": batch.closed_sessions,
        "sessions": None
        if spans is None
        else [{"start": _naive(a), "end": _naive(b)} for a, b in spans],
        "event_times": [START + time * MICROSECOND for time in batch.sample_us],
        VALUES: batch.sample_values,
    }


def _rows_record(batch: TracedArrivals | None) -> dict[str, Any]:
    if batch is None:
        return {}
    return {
        "late_watermark": _naive(batch.late_watermark),
        "event_times": [START + time * MICROSECOND for time in batch.sample_us],
        VALUES: batch.sample_values,
        ROWS_READ: [asdict(source) for source in batch.sources],
    }


class _Results:
    """The kept rows of an output, asked for batch by batch in their order."""

    def __init__(self, preview: Preview | None) -> None:
        self._frames = iter(preview.frames() if preview is not None else ())
        self._next = next(self._frames, None)

    def lists(self, ids: Sequence[int], kind: pa.DataType) -> pa.Array:
        """A list of rows for each batch."""
        import pyarrow as pa

        lengths, row = [0], kind.value_type
        found: list[pa.StructArray] = []
        for batch_id in ids:
            length = 0
            while self._next is not None and self._next[0] <= batch_id:
                if self._next[0] == batch_id:
                    rows = self._next[1]
                    found += [batch.to_struct_array() for batch in rows.to_batches()]
                    length += rows.num_rows
                self._next = next(self._frames, None)
            lengths.append(lengths[-1] + length)
        empty = pa.array([], row)
        # Not cast where it needn't be: Arrow 26 cuts columns of type null in a list.
        cast = (rows if rows.type == row else rows.cast(row) for rows in found)
        values = pa.concat_arrays([empty, *cast])
        return pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), values, kind)


def _micros(length: timedelta | None) -> int | None:
    return None if length is None else length // MICROSECOND


def _naive(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(tzinfo=None)
