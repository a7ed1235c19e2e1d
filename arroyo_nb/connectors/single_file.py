"""``single_file``: one file of records, one a line, read once or written anew.

The source reads blocks of whole lines, the first ones small so that the first row
comes fast. The sink creates or empties its file when a run starts for the first
time, and writes every row once however often the run is killed (see
:mod:`arroyo_nb.connectors._line_writers`).
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from arroyo_nb.connectors import Direction, TableSpec, Unasked, Writer
from arroyo_nb.connectors._line_writers import FileWriter
from arroyo_nb.errors import CatalogProblem, RunProblem
from arroyo_nb.formats import FORMATS, Decoder
from arroyo_nb.options import Kind, Option, OptionValue
from arroyo_nb.schema import TIMESTAMP, Schema
from arroyo_nb.tape import ARRIVAL, Chunk, Position, Recorder

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST_BLOCK_BYTES = 128 * 2**10
_LARGEST_BLOCK_BYTES = 16 * 2**20
_LONGEST_LINE_BYTES = 64 * 2**20


class LineFile:
    """Recorder of a file of lines; a position is a byte, a line and a chunk.

    Parameters
    ----------
    path
        Where the file is.
    name
        What messages and places call it.
    decoder
        Reads its records.
    event_time
        Column that is the event time; None: the arrival is.
    """

    bounded = True

    def __init__(
        self, path: Path, name: str, decoder: Decoder, event_time: str | None
    ) -> None:
        self._path = path
        self._name = name
        self._decoder = decoder
        self._event_time = event_time
        with self._open():
            pass  # it can be read: said before the run starts, not in its middle

    def chunks(self, after: Position | None) -> Iterator[Chunk]:
        """The file's rows in blocks that double in size up to 16 MiB.

        Raises
        ------
        RunProblem
            When the file cannot be read, or a record is bad and not dropped.
        """
        place = after or {"byte": 0, "line": 1, "chunk": 0}
        line, number = place["line"], place["chunk"]
        with self._open() as file, self._told():
            self._go_to(file, place["byte"])
            while block := self._block(file, line, number):
                decoded = self._decoder.decode(block, self._name, line)
                line += block.count(b"\n")
                number += 1
                yield Chunk(
                    self._stamped(decoded.rows),
                    {"byte": file.tell(), "line": line, "chunk": number},
                    decoded.dropped_rows,
                    decoded.bad,
                )

    def _open(self) -> BinaryIO:
        if self._path.is_dir():
            raise RunProblem(
                f"'{self._name}' is a folder, not a file",
                hint="give the path of one file",
            )
        with self._told():
            if self._path.exists() and not self._path.is_file():
                raise RunProblem(f"'{self._name}' is not a regular file")
            return self._path.open("rb")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The system's refusals in our words: its own have the path, a secret's."""
        try:
            yield
        except FileNotFoundError:
            raise RunProblem(
                f"there is no file '{self._name}'",
                hint=f"paths are relative to '{Path.cwd()}'",
            ) from None
        except OSError as problem:
            raise RunProblem(
                f"cannot read '{self._name}': {problem.strerror}"
            ) from None

    def _go_to(self, file: BinaryIO, byte: int) -> None:
        if byte == 0:
            has_mark = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
            byte = len(codecs.BOM_UTF8) if has_mark else 0
        elif byte > os.fstat(file.fileno()).st_size:
            raise RunProblem(
                f"'{self._name}' is shorter than what was read of it before",
                hint="start afresh: the file is not the one that the run had read",
            )
        file.seek(byte)

    def _block(self, file: BinaryIO, line: int, number: int) -> bytes:
        """The next whole lines; their amount depends on the chunk's number only."""
        size = min(_FIRST_BLOCK_BYTES << min(number, 16), _LARGEST_BLOCK_BYTES)
        block = file.read(size)
        rest = file.readline(_LONGEST_LINE_BYTES)
        if len(rest) == _LONGEST_LINE_BYTES and not rest.endswith(b"\n"):
            line += block.count(b"\n")
            raise RunProblem(
                f"{self._name}:{line}: the line is longer than "
                f"{_LONGEST_LINE_BYTES // 2**20} MiB",
                hint="write one JSON object on each line",
            )
        return block + rest

    def _stamped(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        instant = pa.timestamp("us", "UTC")
        now = pa.scalar(datetime.now(UTC), instant)
        arrival = pa.repeat(now, rows.num_rows)
        event_time = (
            rows[self._event_time].cast(instant) if self._event_time else arrival
        )
        return rows.append_column(ARRIVAL, arrival).append_column(TIMESTAMP, event_time)


class SingleFile(Unasked):
    """The connector."""

    name = "single_file"
    doc = "one file of records, one a line"
    directions = frozenset(Direction)
    typed = True
    formats = ("json", "debezium_json")
    options = (
        Option("path", Kind.STRING, "path of the file", required=True),
        Option(
            "wait_for_control",
            Kind.BOOL,
            "accepted for Arroyo's sake; no line waits for a control message",
            default=False,
        ),
    )

    def columns(self, options: Mapping[str, OptionValue]) -> Schema | None:
        """None: a file does not say its columns.

        Raises
        ------
        CatalogProblem
            When there is no format.
        """
        if "format" not in options:
            raise CatalogProblem(
                "'format' must be set for a single_file table",
                hint="write format = 'json'",
            )
        return None

    def recorder(self, spec: TableSpec) -> Recorder:
        """Reads the file."""
        format_ = FORMATS.get(str(spec.options["format"]))
        decoder = format_.decoder(
            spec.physical, spec.options, spec.event_time, spec.primary_key
        )
        path = Path(str(spec.options["path"]))
        return LineFile(path, spec.shown("path"), decoder, spec.event_time)

    def writer(self, spec: TableSpec, state: Path) -> Writer:
        """Writes the file."""
        return FileWriter(spec, state)


CONNECTOR = SingleFile()
