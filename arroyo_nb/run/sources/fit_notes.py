"""Notes on rows that do not fit their columns, and on what the records have instead.

The names of fields are in the records alone. They are looked at once, in a sample, and
only where a column has no value at all, or no likely time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arroyo_nb.connectors import CONNECTORS, OnDisk, Streaming, packing_of
from arroyo_nb.errors import ArroyoError
from arroyo_nb.formats import FORMATS, reads_fields
from arroyo_nb.kafka.peek.column_types import time_unit
from arroyo_nb.kafka.peek.guess import documents_of_records, rows_of_records
from arroyo_nb.registry import nearest_name
from arroyo_nb.tape.fit import ENOUGH_ROWS, Fit, FittedRecorder
from arroyo_nb.tape.format import HEADER
from arroyo_nb.tape.records import RecordTape

if TYPE_CHECKING:
    from arroyo_nb.catalog import ConnectorTable
    from arroyo_nb.tape import Recorder

SAMPLE_RECORDS = 200
SAMPLE_BYTES = 256 * 2**10

NAMED = 5
"""How many undeclared fields a note names."""

WAIT_S = 5.0
"""How long somebody who asks for the notes waits for the sample."""


class FitNotes:
    """What is told of one source's rows; it looks into the records when it must.

    Parameters
    ----------
    table
        The source.
    """

    def __init__(self, table: ConnectorTable) -> None:
        self._table = table
        self._sample: tuple[dict[str, Any], ...] | None = None
        self._shape: str | None = None
        self._sampling: threading.Thread | None = None

    def _look(self, fit: Fit) -> None:
        """Look into the records, in the background, if the rows do not fit."""
        if self._sampling is not None or not _is_odd(self._table, fit):
            return
        self._sampling = threading.Thread(
            target=self._take_sample, name=f"look {self._table.name}", daemon=True
        )
        self._sampling.start()

    def notes(self, fit: Fit, wait_s: float = 0.0) -> tuple[str, ...]:
        """What is odd, each in a sentence.

        Parameters
        ----------
        fit
            What is known of the rows.
        wait_s
            How long to wait for the sample.
        """
        self._look(fit)
        if self._sampling is not None:
            self._sampling.join(wait_s)
        return tuple(fit_notes(self._table, fit, self._sample, self._shape))

    def _take_sample(self) -> None:
        try:
            payloads = sampled_payloads(self._table)
            documents = tuple(documents_of_records(payloads))
            if documents and self._table.format is not None:
                format_ = FORMATS.get(self._table.format)
                options = self._table.spec.options
                self._shape = format_.shape_note(documents, options)
            self._sample = tuple(rows_of_records(payloads))
        except (ArroyoError, OSError, ValueError):
            self._sample = None  # that a column has no value is told all the same


def fitted(recorder: Recorder, table: ConnectorTable) -> Recorder:
    """The recorder, its rows looked at where they are made of fields with names."""
    if not reads_fields(table.format):
        return recorder
    return FittedRecorder(recorder, table.physical)


def fit_of(recorder: Recorder) -> Fit:
    """What is known of the rows of a recorder."""
    return recorder.fit if isinstance(recorder, FittedRecorder) else Fit()


def _is_odd(table: ConnectorTable, fit: Fit) -> bool:
    physical = table.physical
    return bool(fit.empty_columns(physical) or fit.epoch_columns(physical))


def fit_notes(
    table: ConnectorTable,
    fit: Fit,
    sample: tuple[dict[str, Any], ...] | None,
    shape: str | None = None,
) -> Iterator[str]:
    """What is odd in rows.

    Parameters
    ----------
    table
        What they are rows of.
    fit
        What is known of them.
    sample
        Some records; empty or None: none were looked at, or none was there.
    shape
        Why they have none of the columns; None: they may have them.
    """
    if fit.counts and table.format is not None:
        yield from FORMATS.get(table.format).count_notes(fit.counts)
    declared = table.spec.record.names
    names = {name: None for row in sample or () for name in row}
    others = [name for name in names if name not in declared]
    empty = fit.empty_columns(table.physical)
    if shape is not None and set(declared) <= set(empty):
        yield shape
        empty = ()
    for column in empty:
        if column not in declared or column in names:
            continue  # a record that says null means it
        if not sample:
            # Of a few records nobody knows whether they could have had it.
            if fit.rows >= ENOUGH_ROWS:
                yield f"'{column}' is NULL in all of {fit.rows:,} rows"
            continue
        yield f"no record of {fit.rows:,} had '{column}'{_instead(column, others)}"
    for column in fit.epoch_columns(table.physical):
        values = [row[column] for row in sample or () if row.get(column) is not None]
        if values and all(_may_be_days(value) for value in values):
            asked, made = "days", f"to_timestamp_seconds({column} * 86400)"
        else:
            unit = next(filter(None, map(time_unit, values)), "millis")
            asked, made = _UNITS[unit], f"to_timestamp_{unit}({column})"
        yield (
            f"all times of '{column}' lie in January 1970: {asked}? declare it BIGINT "
            f"and write `{made}`"
        )


FIRST_DAYS, LAST_DAYS = 1_000, 100_000
"""Numbers of days since 1970 that may be meant: of the years 1972 to 2243."""


def _may_be_days(value: Any) -> bool:
    return isinstance(value, int) and FIRST_DAYS <= value <= LAST_DAYS


_UNITS = {
    "seconds": "seconds",
    "millis": "milliseconds",
    "micros": "microseconds",
    "nanos": "nanoseconds",
}


def _instead(column: str, others: list[str]) -> str:
    if near := nearest_name(column, others):
        return f"; did you mean '{near}'?"
    if not others:
        return ""
    more = ", ..." if len(others) > NAMED else ""
    listed = ", ".join(f"'{name}'" for name in others[:NAMED])
    return f"; not declared: {listed}{more}"


def sampled_payloads(table: ConnectorTable) -> tuple[bytes, ...]:
    """Some of a source's first records.

    Raises
    ------
    ArroyoError
        When they cannot be read.
    """
    return tuple(islice(_payloads(table), SAMPLE_RECORDS))


def _payloads(table: ConnectorTable) -> Iterable[bytes]:
    spec = table.spec.resolved()
    connector = CONNECTORS.get(table.connector)
    if isinstance(connector, Streaming):
        return connector.stream(spec).first_payloads(SAMPLE_RECORDS)
    found = connector.paths(spec) if isinstance(connector, OnDisk) else ()
    paths = [path for _, path in found]
    return _of_path(paths[0]) if paths else ()


def _of_path(path: Path) -> Iterable[bytes]:
    if (path / HEADER).is_file():
        chunks = RecordTape(path, str(path)).chunks()
        first = (records["value"].slice(0, SAMPLE_RECORDS) for _, records in chunks)
        values: list[Any] = next((column.to_pylist() for column in first), [])
        return [value for value in values if value is not None]
    if path.is_dir():
        files = (p for p in sorted(path.rglob("*")) if p.is_file())
        seen = (p for p in files if not p.name.startswith((".", "_")))
        # What was read may have been moved away since.
        return next((_first_lines(file) for file in seen), [])
    return _first_lines(path)


def _first_lines(path: Path) -> list[bytes]:
    import pyarrow as pa

    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        packed = packing_of(start)
        stream = pa.CompressedInputStream(file, packed) if packed else file
        block: bytes = stream.read(SAMPLE_BYTES)
    # The last line may be cut; a record of which nothing is known is left out anyway.
    return block.split(b"\n")


def recorded_notes(table: ConnectorTable) -> tuple[str, ...]:
    """What is odd in the rows of a recording, or of files, read here and now.

    Raises
    ------
    ArroyoError
        When it cannot be read.
    """
    connector = CONNECTORS.get(table.connector)
    if isinstance(connector, Streaming) or not reads_fields(table.format):
        return ()
    recorder = fitted(connector.recorder(table.spec.resolved()), table)
    for _ in recorder.chunks(None):
        if fit_of(recorder).rows >= CHECKED_ROWS:
            break
    return FitNotes(table).notes(fit_of(recorder), WAIT_S)


CHECKED_ROWS = 100_000
"""How many rows of a recording are looked at."""
