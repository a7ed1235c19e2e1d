"""``tape``: a recording of a topic, played again.

Its records are read by what reads those of the topic (see
:mod:`arroyo_nb.records`), so a query gets the same of either: rows, times,
bad records. A chunk of the tape is a micro-batch, so it is the same rows that are late,
each time. Unlike the topic a tape ends, and with it every window that is still open.
Not in Arroyo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from arroyo_nb.allowed_roots import current_roots
from arroyo_nb.connectors import (
    ConnectorInfo,
    Direction,
    SourceOnly,
    TableSpec,
    decoding_options,
)
from arroyo_nb.errors import ArroyoError
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import FORMATS, Framing
from arroyo_nb.kafka.table import METADATA
from arroyo_nb.kafka.table_options import SCHEMA_REGISTRY, format_problems
from arroyo_nb.schema import TIMESTAMP, Schema, arrow_schema
from arroyo_nb.tape import ARRIVAL, KEPT_BAD_ROWS, Chunk, Clock, Position, Recorder
from arroyo_nb.tape.records import ROWS, RecordTape, record_times
from arroyo_nb.with_options import Holds, Option, OptionKind, OptionValue

if TYPE_CHECKING:
    import pyarrow as pa

    from arroyo_nb.records import Records

_BESIDE: Mapping[str, str] = MappingProxyType(
    {
        "offset_id": "offset",
        "partition": "partition",
        "topic": "topic",
        "timestamp": "milliseconds",
        "key": "key",
        "headers": "headers",
    }
)
"""What each key of METADATA FROM is of a record."""

AT_ONCE_US, AT_ONCE_RECORD_US = 1_000_000, 50
"""What arrived within a second, or was emitted at 20,000 records a second and more,
came as fast as it was written: its arrival says nothing that it could be played by."""


class TapeConnector(SourceOnly):
    """Recordings of topics, read as sources."""

    info = ConnectorInfo(
        name="tape",
        doc="a recording of a topic, made by %arroyo record",
        directions=frozenset({Direction.SOURCE}),
        typed=False,
        has_event_time=True,
        clock=Clock.ARRIVAL,
        framings=frozenset({Framing.MESSAGES}),
        metadata=METADATA,
        bounded=True,
        synthetic="a recording",
        in_arroyo=False,
        options=(
            Option(
                "path",
                OptionKind.STRING,
                "folder of the tape",
                required=True,
                example="events.tape",
                holds=Holds.PATH,
            ),
            Option(
                "type",
                OptionKind.ENUM,
                "a tape is only read; may be left out",
                default="source",
                choices=("source",),
            ),
            *SCHEMA_REGISTRY,
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:  # noqa: ARG002
        """None: bytes do not say their columns."""
        return None

    def check(
        self,
        spec: TableSpec,
        direction: Direction,  # noqa: ARG002
    ) -> Iterable[tuple[str, ArroyoError]]:
        """What is wrong with the options."""
        return format_problems(spec)

    def paths(self, spec: TableSpec) -> Iterable[tuple[str, Path]]:
        """The folder of the tape, with the option that names it."""
        yield "path", Path(str(spec.options["path"]))

    def recorder(self, spec: TableSpec) -> Recorder:
        """Plays the tape.

        Raises
        ------
        RunProblem
            When it is no tape of records, or not whole; or when a link in it leads out
            of the folders that are allowed.
        """
        name, folder = spec.shown("path"), Path(str(spec.options["path"]))
        with refusals("read", name):
            allowed = current_roots()
            # Each file, as a chunk may be a link: the folder alone being allowed says
            # nothing of where that leads.
            for path in folder.glob("*"):
                allowed.check(path, f"{name}/{path.name}")
            tape = RecordTape(folder, name)
        return TapeRecorder(tape, spec)


class TapeRecorder:
    """Plays a tape of records; a position is the number of a chunk.

    Parameters
    ----------
    tape
        The recording.
    spec
        The table that it is read as.
    """

    bounded = True
    live = False

    def __init__(self, tape: RecordTape, spec: TableSpec) -> None:
        self._tape = tape
        self._spec = spec
        self._drop = spec.options.get("bad_data") == "drop"

    @property
    def arrived_at_once(self) -> bool:
        """Whether its records arrived within a moment, or were emitted as fast as they
        could be written."""
        # Of a topic so many may really have arrived: their chunks stay as they are.
        each_us = AT_ONCE_RECORD_US if self._tape.emitted else 0
        longest_us = AT_ONCE_US + self._tape.records * each_us
        return self._tape.span_us(ARRIVAL) < longest_us

    @property
    def is_of_rows(self) -> bool:
        """Whether a user wrote its rows down, and with them the micro-batches."""
        return self._tape.made_by == ROWS

    @property
    def has_times(self) -> bool:
        """Whether the times of its records are spread over more than a moment."""
        return self._tape.span_us(TIMESTAMP) >= AT_ONCE_US

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The tape's chunks as rows.

        Raises
        ------
        RunProblem
            When a chunk cannot be read, or a record is bad and not dropped.
        """
        from arroyo_nb.codecs.bad_records import refusal

        reader = self._reader()
        decoder = reader.decoder()
        for number, found in self._tape.chunks(after["chunk"] if after else 0):
            records, before = self._records(found), decoder.counts
            decoded, bad_rows, bad = reader.split_bad(records, decoder)
            if bad_rows and not self._drop:
                raise refusal(next(bad))
            names = (*self._spec.physical.names, *reader.beside)
            sample = tuple(islice(bad, KEPT_BAD_ROWS))
            rows = decoded.rename_columns(list(names))
            counts = decoder.counts - before
            yield Chunk(rows, {"chunk": number}, bad_rows, sample, counts=counts)

    def _reader(self) -> Records:
        from arroyo_nb.changelog import SEQUENCE, WEIGHT
        from arroyo_nb.records import Records

        spec, format_ = self._spec, str(self._spec.options["format"])
        told = (WEIGHT, SEQUENCE) if FORMATS.get(format_).updating else ()
        return Records(
            self._tape.topic,
            format_,
            spec.record,
            arrow_schema(spec.physical),
            decoding_options(CONNECTOR, spec),
            spec.event_time,
            spec.primary_key,
            {name: _BESIDE[key] for name, key in spec.metadata.items()},
            (*told, ARRIVAL, TIMESTAMP),
            # Times that no window can hold are looked at where the recorder is wrapped
            # (WindowTimes), as for every tape.
            windowed=False,
            uses_time=not spec.computes_time,
        )

    def _records(self, found: pa.Table) -> pa.Table:
        """The records, as Spark would give them."""
        import pyarrow as pa

        milliseconds = found["timestamp"].combine_chunks()
        at = found.column_names.index("timestamp")
        records = found.set_column(at, "timestamp", record_times(milliseconds))
        topic = pa.repeat(self._tape.topic, len(records))
        beside = {"milliseconds": milliseconds, "topic": topic}
        for name, column in beside.items():
            records = records.append_column(name, column)
        return records


CONNECTOR = TapeConnector()
