"""A trace as one Parquet file: what a run did, micro-batch by micro-batch.

::

    a row for each micro-batch of each output
        output, batch                       which
        elapsed_s, batch_ms, ...            the totals after it (BatchTotals)
        sources                             how far each source had been read
        late_watermark, panes, ...          what came into its windows (TracedBatch)
        result_0, result_1, ...             the rows that each output has put out; of an
                                            updating one changes with their weights
    the file's metadata, "arroyo_nb.trace"  what does not change, as JSON

Any reader of Parquet can look into it. Times are UTC; durations in the metadata are
microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import DataProblem
from arroyo_nb.frames import typed_rows
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
from arroyo_nb.run.observe.history import thinned
from arroyo_nb.run.observe.moments import OutputTrace, TracedWindow
from arroyo_nb.run.observe.snapshot import (
    MarkPoint,
    RunState,
    Snapshot,
    SourceProgress,
)
from arroyo_nb.run.observe.trace import START, TracedBatch
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import (
    EPOCH,
    MICROSECOND,
    WINDOW_STRUCT,
    Field,
    Schema,
    StructOf,
)

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = b"arroyo_nb.trace"

_RESULT = "result_"
VERSION = 1

BATCHES_A_GROUP = 256
"""Micro-batches of one row group: what is in memory at once."""

KEEP_BYTES = 2**40
"""Of a loaded trace all rows are kept: as many as the file has."""

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

    schema = _schema(run)
    unfinished = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for group in _groups(run, schema):
                cancel_check()
                writer.write_table(group)
                count += group.num_rows
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def load(path: Path, folder: Path) -> SavedRun:
    """Read a trace.

    Parameters
    ----------
    path
        The file.
    folder
        Where its rows are kept, to be looked at batch by batch.

    Raises
    ------
    DataProblem
        When it is no such file, or was written by a later version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        header = json.loads((file.schema_arrow.metadata or {})[METADATA])
    except (KeyError, ValueError, pa.ArrowException):
        raise DataProblem(
            f"'{path}' is no trace of a run", hint="run.save_trace(path) writes one"
        ) from None
    if header["version"] > VERSION:
        raise DataProblem(
            f"'{path}' was written by a later version of arroyo_nb",
            hint="pip install --upgrade arroyo_nb",
        )
    found = [
        _Loading(number, told, folder / str(number), file.schema_arrow)
        for number, told in enumerate(header["outputs"])
    ]
    for batch in file.iter_batches(BATCHES_A_GROUP):
        for row, number in enumerate(batch.column("output").to_pylist()):
            found[number].take(batch.slice(row, 1))
    made = [one.traced() for one in found]
    return SavedRun(header["sql"], header["plan"], made)


def _schema(run: SavedRun) -> pa.Schema:
    import pyarrow as pa

    time = pa.timestamp("us")
    span = pa.struct([("start", time), ("end", time)])
    source: list[tuple[str, pa.DataType]] = [
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("max_event_time", time),
        ("ended", pa.bool_()),
        ("unread", pa.bool_()),
    ]
    fields: list[tuple[str, pa.DataType]] = [
        ("output", pa.int32()),
        ("batch", pa.int64()),
        ("elapsed_s", pa.float64()),
        ("batch_ms", pa.float64()),
        ("watermark", time),
        ("max_event_time", time),
        *((name, pa.int64()) for name in _COUNTS),
        ("dropped_rows", pa.list_(pa.struct(source[:2]))),
        ("sources", pa.list_(pa.struct(source))),
        ("late_watermark", time),
        ("panes", pa.list_(pa.struct([("start", time), ("rows", pa.int64())]))),
        ("exact", pa.bool_()),
        ("sessions_closed", pa.int64()),
        ("sessions", pa.list_(span)),
        ("event_times", pa.list_(time)),
    ]
    for number, output in enumerate(run.outputs):
        if output.trace.preview is not None:
            row = pa.struct(list(output.trace.preview.frame_schema))
            fields.append((f"{_RESULT}{number}", pa.list_(row)))
    return pa.schema(fields, {METADATA: json.dumps(_header(run)).encode()})


_COUNTS = (
    *("rows_in", "rows_out", "late_rows", "closed_sessions", "open_sessions"),
    "state_rows",
)
"""Totals that are whole numbers."""


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
        "delay": _micros(window.delay) if window is not None else None,
        "order": [asdict(key) for key in output.order],
        "limit": output.limit,
        "sources": [_source_text(source) for source in newest.sources],
    }


def _window_text(window: nodes.Window) -> dict[str, int | str]:
    lengths = {name: length // MICROSECOND for name, length in _lengths(window)}
    return {"kind": type(window).__name__, **lengths}


def _lengths(window: nodes.Window) -> Iterator[tuple[str, timedelta]]:
    return ((name, getattr(window, name)) for name in window.__dataclass_fields__)


def _window_of(told: Mapping[str, Any] | None) -> nodes.Window | None:
    if told is None:
        return None
    kinds = {kind.__name__: kind for kind in _WINDOWS}
    lengths = {n: v * MICROSECOND for n, v in told.items() if n != "kind"}
    made: nodes.Window = kinds[told["kind"]](**lengths)
    return made


_WINDOWS: tuple[Callable[..., Any], ...] = (
    nodes.Tumble,
    nodes.Hop,
    nodes.SessionWindow,
)


def _source_text(source: SourceProgress) -> dict[str, Any]:
    return {
        **{name: getattr(source, name) for name in _OF_SOURCE},
        "delay": _micros(source.delay),
        "bad": list(source.bad),
        "notes": list(source.notes),
    }


_AT_BATCH = ("rows", "max_event_time", "ended", "unread")
"""What a source has at each batch."""

_OF_SOURCE = ("name", "rows", "bounded", "ended", "dropped_rows", "looked_up")


def _groups(run: SavedRun, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    plain = pa.schema([f for f in schema if not f.name.startswith(_RESULT)])
    for number, output in enumerate(run.outputs):
        totals, results = output.trace.totals.since(0), _Results(output.trace.preview)
        window = output.trace.window
        traced = {b.batch_id: b for b in window.batches} if window else {}
        for first in range(0, len(totals), BATCHES_A_GROUP):
            group = totals[first : first + BATCHES_A_GROUP]
            records = [
                {
                    "output": number,
                    **_totals_record(output.trace, known),
                    **_window_record(traced.get(known.batch_id)),
                }
                for known in group
            ]
            made = pa.Table.from_pylist(records, plain)
            for column in schema.names[len(plain) :]:
                kind = schema.field(column).type
                own = column == f"{_RESULT}{number}"
                ids = [known.batch_id for known in group]
                values = results.lists(ids, kind) if own else pa.nulls(len(ids), kind)
                made = made.append_column(schema.field(column), values)
            yield made.replace_schema_metadata(schema.metadata)


def _totals_record(trace: OutputTrace, totals: BatchTotals) -> dict[str, Any]:
    sources = [
        {name: getattr(source, name) for name in ("name", *_AT_BATCH)}
        for source in trace.sources_at(totals)
    ]
    dropped = [{"name": n, "rows": rows} for n, rows in totals.dropped_rows.items()]
    return {
        "batch": totals.batch_id,
        "elapsed_s": totals.elapsed_s,
        "batch_ms": totals.batch_ms,
        "watermark": totals.watermark,
        "max_event_time": totals.max_event_time,
        **{name: getattr(totals, name) for name in _COUNTS},
        "dropped_rows": dropped,
        "sources": sources,
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
        values = pa.concat_arrays([empty, *(rows.cast(row) for rows in found)])
        return pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), values).cast(
            kind
        )


class _Loading:
    """One output of a file that is being read.

    Parameters
    ----------
    number
        Which output.
    told
        What the file's metadata say of it.
    folder
        Where its rows are kept.
    schema
        The columns of the file.
    """

    def __init__(
        self, number: int, told: Mapping[str, Any], folder: Path, schema: pa.Schema
    ) -> None:
        self._told = told
        self._column = f"{_RESULT}{number}"
        self._totals = BatchLog()
        self._batches: list[TracedBatch] = []
        self._sources: dict[int, Mapping[str, Mapping[str, Any]]] = {}
        self._order = [nodes.SortKey(**key) for key in told["order"]]
        self._preview: Preview | None = None
        if self._column in schema.names:
            row = schema.field(self._column).type.value_type
            self._preview = self._made(row, folder)

    def _made(self, row: pa.StructType, folder: Path) -> Preview:
        import pyarrow as pa

        hidden = (WEIGHT, ROW_ID) if self._told["updating"] else ()
        visible = pa.schema([f for f in row if f.name not in hidden])
        _, typed = typed_rows(visible.empty_table())
        columns = map(_as_window, typed, visible)
        schema = Schema(tuple(columns))
        kind = ChangesPreview if self._told["updating"] else Preview
        made = kind(schema, order=self._order, limit=self._told["limit"])
        made.keep_in(folder, KEEP_BYTES)
        return made

    def take(self, row: pa.RecordBatch) -> None:
        """Take one row of the file."""
        import pyarrow as pa

        names = [n for n in row.schema.names if not n.startswith(_RESULT)]
        (told,) = row.select(names).to_pylist()
        self._sources[told["batch"]] = {s["name"]: s for s in told["sources"]}
        self._totals.add(_totals_of(told))
        if told["panes"] is not None:
            self._batches.append(_batch_of(told))
        if self._preview is not None:
            found = row.column(self._column)
            rows = pa.Table.from_struct_array(found.flatten())
            if rows.num_rows:
                self._preview.take(rows, told["batch"])

    def traced(self) -> TracedOutput:
        """The output, once all rows are taken."""
        told, window = self._told, _window_of(self._told["window"])
        traced = None
        if window is not None:
            delay = told["delay"]
            length = None if delay is None else delay * MICROSECOND
            traced = TracedWindow(window, told["has_key"], self._batches, length)
        trace = OutputTrace(self._totals, traced, self._preview, self._sources_at)
        static = {name: _value(told[name]) for name in STATIC}
        newest = Snapshot(
            **static,
            state=RunState(told["state"]),
            error=told["error"],
            sources=tuple(map(_source_of, told["sources"])),
            history=tuple(map(self._point, thinned(self._totals.since(0)))),
            arrivals=tuple(b.arrivals for b in thinned(self._batches) if b.pane_rows),
        )
        return TracedOutput(newest, trace, self._order, told["limit"])

    def _point(self, totals: BatchTotals) -> MarkPoint:
        known = self._sources.get(totals.batch_id, {})
        times = ((name, source["max_event_time"]) for name, source in known.items())
        return MarkPoint(
            totals.batch_id,
            totals.elapsed_s,
            totals.max_event_time,
            totals.watermark,
            tuple((name, newest) for name, newest in times if newest is not None),
        )

    def _sources_at(self, totals: BatchTotals) -> tuple[SourceProgress, ...]:
        known = self._sources.get(totals.batch_id, {})
        return tuple(
            replace(
                _source_of(told),
                **{name: known[told["name"]][name] for name in _AT_BATCH},
                dropped_rows=totals.dropped_rows.get(told["name"], 0),
                bad=(),
            )
            for told in self._told["sources"]
            if told["name"] in known
        )


def _as_window(column: Field, found: pa.Field) -> Field:
    """The column, as a window where it is one. Views order rows by it."""
    type_ = column.type
    if not isinstance(type_, StructOf):
        return column
    edges = [(edge.name, edge.type) for edge in type_.fields]
    if edges != [(edge.name, edge.type) for edge in WINDOW_STRUCT.fields]:
        return column
    # Of one that may be NULL itself, the edges may be, too.
    return Field(column.name, WINDOW_STRUCT, found.type[0].nullable)


def _totals_of(told: Mapping[str, Any]) -> BatchTotals:
    return BatchTotals(
        batch_id=told["batch"],
        elapsed_s=told["elapsed_s"],
        batch_ms=told["batch_ms"],
        watermark=told["watermark"],
        max_event_time=told["max_event_time"],
        **{name: told[name] for name in _COUNTS},
        dropped_rows={s["name"]: s["rows"] for s in told["dropped_rows"]},
    )


def _batch_of(told: Mapping[str, Any]) -> TracedBatch:
    spans = told["sessions"]
    return TracedBatch(
        batch_id=told["batch"],
        elapsed_s=told["elapsed_s"],
        watermark=told["watermark"] and _aware(told["watermark"]),
        late_watermark=_aware(told["late_watermark"]),
        stretches={},
        max_event_time=told["max_event_time"] and _aware(told["max_event_time"]),
        pane_rows={_aware(p["start"]): p["rows"] for p in told["panes"]},
        exact=told["exact"],
        closed_sessions=told["sessions_closed"],
        sessions=None
        if spans is None
        else [(_aware(s["start"]), _aware(s["end"])) for s in spans],
        sample_us=[
            (_aware(time) - EPOCH) // MICROSECOND for time in told["event_times"]
        ],
    )


def _source_of(told: Mapping[str, Any]) -> SourceProgress:
    delay = told["delay"]
    return SourceProgress(
        **{name: told[name] for name in _OF_SOURCE},
        max_event_time=None,
        delay=None if delay is None else delay * MICROSECOND,
        bad=tuple(told["bad"]),
        notes=tuple(told["notes"]),
    )


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _micros(length: timedelta | None) -> int | None:
    return None if length is None else length // MICROSECOND


def _naive(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(tzinfo=None)


def _aware(instant: datetime) -> datetime:
    return instant.replace(tzinfo=UTC)
