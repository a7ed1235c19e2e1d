"""Reads a trace from a file that may come from anywhere: see
:mod:`arroyo_nb.run.observe.trace_file`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import DataProblem
from arroyo_nb.frames import typed_rows
from arroyo_nb.plan import nodes
from arroyo_nb.run.observe.batch_log import BatchLog, BatchTotals
from arroyo_nb.run.observe.history import thinned
from arroyo_nb.run.observe.idle_sources import IdlePeriods, SourceAtBatch
from arroyo_nb.run.observe.moments import OutputTrace, TracedWindow
from arroyo_nb.run.observe.row_trace import TracedArrivals
from arroyo_nb.run.observe.sampled_rows import read_values
from arroyo_nb.run.observe.snapshot import (
    MarkPoint,
    RunState,
    Snapshot,
    SourceArrivals,
    SourceProgress,
)
from arroyo_nb.run.observe.trace import TracedBatch
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
from arroyo_nb.run.observe.trace_header import check_header
from arroyo_nb.run.results.changes import ChangesPreview
from arroyo_nb.run.results.preview import Preview
from arroyo_nb.schema import (
    EPOCH,
    MICROSECOND,
    NULL,
    WINDOW_STRUCT,
    Field,
    Schema,
    StructOf,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


NO_TIME = timedelta(0)

KEEP_BYTES = 2**40
"""Of a loaded trace all rows are kept: as many as the file has."""


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
        return _load(pq.ParquetFile(path), folder)
    except (KeyError, pa.ArrowException):
        what = "is no trace of a run"
    except _DAMAGES:
        # A file may come from anywhere, and say anything.
        what = "is no trace of a run, or is damaged"
    raise DataProblem(f"'{path}' {what}", hint="run.save_trace(path) writes one")


_DAMAGES = (
    *(ArithmeticError, AssertionError, AttributeError, IndexError, RecursionError),
    *(TypeError, ValueError),
)
"""What values that are not as :func:`save` writes them lead to."""


def _load(file: pq.ParquetFile, folder: Path) -> SavedRun:
    header = json.loads((file.schema_arrow.metadata or {})[METADATA])
    if header["version"] > VERSION:
        raise DataProblem(
            "the trace was written by a later version of arroyo_nb",
            hint="pip install --upgrade arroyo_nb",
        )
    _check_columns(file.schema_arrow)
    check_header(header, STATIC, OF_SOURCE)
    found = [
        _Loading(number, told, folder / str(number), file.schema_arrow)
        for number, told in enumerate(header["outputs"])
    ]
    if not found:
        raise ValueError(header["outputs"])
    for batch in file.iter_batches(BATCHES_A_GROUP):
        for row, number in enumerate(batch.column("output").to_pylist()):
            if not 0 <= number < len(found):
                raise IndexError(number)
            found[number].take(batch.slice(row, 1))
    made = [one.traced() for one in found]
    return SavedRun(str(header["sql"]), str(header["plan"]), made)


def _check_columns(found: pa.Schema) -> None:
    """Raise where a column has another type than :func:`save` gives it: KeyError or
    ValueError."""
    import pyarrow as pa

    for column in file_schema(SavedRun("", "")):
        if column.name in (ROWS_READ, IDLE, VALUES) and column.name not in found.names:
            continue
        if found.field(column.name).type != column.type:
            raise ValueError(column.name)
    for column in found:
        is_rows = pa.types.is_list(column.type)
        is_rows = is_rows and pa.types.is_struct(column.type.value_type)
        if column.name.startswith(RESULT) and not is_rows:
            raise ValueError(column.name)


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
        _check_header(told)
        self._told = told
        self._column = f"{RESULT}{number}"
        self._totals = BatchLog()
        self._batches: list[TracedBatch] = []
        self._rows_read: list[TracedArrivals] = []
        self._idle_periods = IdlePeriods()
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
        if len(visible) != len(self._told["columns"]):
            raise ValueError(visible.names)
        if not {key.column for key in self._order} <= {*visible.names}:
            raise ValueError(self._order)
        _, typed = typed_rows(visible.empty_table())
        columns = map(_as_planned, typed, visible)
        schema = Schema(tuple(columns))
        kind = ChangesPreview if self._told["updating"] else Preview
        made = kind(schema, order=self._order, limit=self._told["limit"])
        made.keep_in(folder, KEEP_BYTES)
        return made

    def take(self, row: pa.RecordBatch) -> None:
        """Take one row of the file."""
        import pyarrow as pa

        names = [n for n in row.schema.names if not n.startswith(RESULT)]
        (told,) = row.select(names).to_pylist()
        _check_batch(told, self._totals)
        self._sources[told["batch"]] = {s["name"]: s for s in told["sources"]}
        came = told["rows_out"] - (self._totals[-1].rows_out if self._totals else 0)
        self._totals.add(totals := _totals_of(told))
        self._idle_periods.add(
            totals.batch_id,
            totals.elapsed_s,
            {n: source.idle_s for n, source in totals.sources.items() if source.idle_s},
            [source["name"] for source in told["sources"] if source["ended"]],
        )
        if told["panes"] is not None:
            self._batches.append(_batch_of(told))
        elif told.get(ROWS_READ) is not None:
            self._rows_read.append(_rows_read_of(told))
        if self._preview is not None:
            found = row.column(self._column)
            rows = pa.Table.from_struct_array(found.flatten())
            # A batch that gave nothing is taken, too: one that is left out is a gap, as
            # it is where rows came that were not kept.
            if rows.num_rows or not came:
                self._preview.take(rows, told["batch"])

    def traced(self) -> TracedOutput:
        """The output, once all rows are taken."""
        told, window = self._told, _window_of(self._told["window"])
        traced = None
        if window is not None:
            delay = _length(told.get("delay"))
            traced = TracedWindow(window, told["has_key"], self._batches, delay)
        trace = OutputTrace(
            self._totals, traced, self._preview, self._sources_at, self._rows_read
        )
        batches: Sequence[TracedArrivals | TracedBatch] = self._rows_read
        came = thinned(batches if traced is None else self._batches)
        static = {name: _value(told[name]) for name in STATIC}
        newest = Snapshot(
            **static,
            state=RunState(told["state"]),
            error=told["error"],
            gap=window.gap if isinstance(window, nodes.SessionWindow) else None,
            sources=tuple(map(_source_of, told["sources"])),
            history=tuple(map(self._point, thinned(self._totals.since(0)))),
            arrivals=tuple(a for b in came if (a := b.arrivals).rows),
            idle_periods=self._idle_periods.known,
        )
        return TracedOutput(newest, trace, self._order, told["limit"])

    def _point(self, totals: BatchTotals) -> MarkPoint:
        known = self._sources[totals.batch_id]
        times = {name: source["max_event_time"] for name, source in known.items()}
        return MarkPoint(
            totals.batch_id,
            totals.elapsed_s,
            totals.max_event_time,
            totals.watermark,
            tuple((name, time) for name, time in times.items() if time is not None)
            if len(known) > 1
            else (),
        )

    def _sources_at(self, totals: BatchTotals) -> tuple[SourceProgress, ...]:
        known = self._sources.get(totals.batch_id, {})
        return tuple(
            replace(
                _source_of(told),
                **{name: known[told["name"]][name] for name in AT_BATCH},
                dropped_rows=totals.dropped_rows.get(told["name"], 0),
                bad=(),
                idle_s=totals.sources.get(told["name"], SourceAtBatch()).idle_s,
                idle_partitions=totals.sources.get(
                    told["name"], SourceAtBatch()
                ).idle_partitions,
            )
            for told in self._told["sources"]
            if told["name"] in known
        )


def _check_header(told: Mapping[str, Any]) -> None:
    """Raise where views would fail on what a file says of an output."""
    texts = (*("name", "handle", "window_text", "order_text", "cut_text", "note"),)
    for names, kind in ((texts, str), (("elapsed_s",), int | float)):
        for name in names:
            if not isinstance(told[name], kind):
                raise TypeError(name)
    lists = ("columns", "outputs", "unwritten", "numeric", "sources")
    if not all(isinstance(told[name], list) for name in lists):
        raise TypeError(lists)
    named = (*told["columns"], *told["outputs"], *told["unwritten"])
    if not all(isinstance(name, str) for name in named):
        raise TypeError(named)
    if not isfinite(told["elapsed_s"]):
        raise ValueError(told["elapsed_s"])
    if not isinstance(told["limit"], int | None):
        raise TypeError(told["limit"])
    window = _window_of(told["window"])
    if (
        window is not None
        and min(length for _, length in lengths_of(window)) <= NO_TIME
    ):
        raise ValueError(window)


def _check_batch(told: Mapping[str, Any], before: BatchLog) -> None:
    """Raise where a row of a file is no micro-batch that comes after those before."""
    if before and told["batch"] <= before[-1].batch_id:
        raise ValueError(told["batch"])
    if not (isfinite(told["elapsed_s"]) and isfinite(told["batch_ms"])):
        raise ValueError(told["elapsed_s"])


def _as_planned(column: Field, found: pa.Field) -> Field:
    """The column, as a window where it is one, by which views order rows, and as NULL
    where it has nothing else."""
    if str(found.type) == "null":
        return Field(column.name, NULL)
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
        **{name: told[name] for name in COUNTS},
        dropped_rows={s["name"]: s["rows"] for s in told["dropped_rows"]},
        sources={s["name"]: _source_at_batch(s) for s in told.get(IDLE) or ()},
    )


def _source_at_batch(told: Mapping[str, Any]) -> SourceAtBatch:
    if not isfinite(told["idle_s"]):
        raise ValueError(told["idle_s"])
    return SourceAtBatch(None, told["idle_s"], tuple(told["partitions"]))


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
        sample_us=_sample_of(told),
        sample_values=_values_of(told),
    )


def _rows_read_of(told: Mapping[str, Any]) -> TracedArrivals:
    sources = tuple(SourceArrivals(**source) for source in told[ROWS_READ])
    sample_us = _sample_of(told)
    drawn = [source.drawn for source in sources]
    if sum(drawn) != len(sample_us) or not all(0 <= s.drawn <= s.rows for s in sources):
        raise ValueError(drawn)
    return TracedArrivals(
        told["batch"],
        told["elapsed_s"],
        _aware(told["late_watermark"]),
        sources,
        sample_us,
        _values_of(told),
    )


def _sample_of(told: Mapping[str, Any]) -> list[int]:
    return [(_aware(time) - EPOCH) // MICROSECOND for time in told["event_times"]]


def _values_of(told: Mapping[str, Any]) -> Sequence[str]:
    lines = told.get(VALUES) or []
    for line in filter(None, lines):
        read_values(line)  # a view takes it for an object of texts
    if lines and len(lines) != len(told["event_times"]):
        raise ValueError(lines)
    return lines


def _source_of(told: Mapping[str, Any]) -> SourceProgress:
    return SourceProgress(
        **{name: told[name] for name in OF_SOURCE},
        max_event_time=None,
        delay=_length(told["delay"]),
        bad=tuple(told["bad"]),
        notes=tuple(told["notes"]),
    )


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else micros * MICROSECOND


def _aware(instant: datetime) -> datetime:
    return instant.replace(tzinfo=UTC)
