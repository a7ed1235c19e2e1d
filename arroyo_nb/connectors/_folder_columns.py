"""Columns whose values name the folders of a file, as Hive, Spark and the sink of
folders lay rows down: ``day=2024-01-01/town=Bonn/part.parquet``.

A value of the file itself comes before that of its folder, which is only a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from arroyo_nb.connectors._partitions import NOTHING
from arroyo_nb.errors import RunProblem
from arroyo_nb.formats import Decoded, FileReader, ListedFile, Piece, Reading
from arroyo_nb.schema import (
    BYTEA,
    INTERVAL,
    JSON,
    TEXT,
    TIME,
    ListOf,
    Schema,
    StructOf,
    Type,
    arrow_type,
    maybe_null,
)
from arroyo_nb.tape import Position

if TYPE_CHECKING:
    import pyarrow as pa

MakeReader: TypeAlias = "Callable[[Schema, str | None, frozenset[str]], FileReader]"
"""Makes a reader of columns, one of which is the event time; of the last ones a file
may have none."""


def folder_values(path: str) -> Mapping[str, str | None]:
    """The values in the names of a path's folders.

    >>> folder_values("2024/town=K%C3%B6ln/n=__HIVE_DEFAULT_PARTITION__/a=b.json")
    {'town': 'Köln', 'n': None}
    """
    pairs = (name.partition("=") for name in PurePosixPath(path).parts[:-1])
    return {
        unquote(name): None if value == NOTHING else unquote(value)
        for name, equals, value in pairs
        if name and equals
    }


@dataclass(frozen=True)
class FolderColumns:
    """A reader of files whose folders may have values of some columns.

    Parameters
    ----------
    schema
        All columns.
    event_time
        The one that is the event time.
    make
        Makes the reader of what a file has itself.
    """

    schema: Schema
    event_time: str | None
    make: MakeReader
    _readers: dict[tuple[frozenset[str], frozenset[str]], FileReader] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @contextmanager
    def open(self, file: ListedFile, place: Position | None) -> Iterator[Reading]:
        """A file from a place on.

        Raises
        ------
        RunProblem
            When it cannot be read, or a folder's name is no value of its column.
        """
        named = [f for f in self.schema if f.name in file.folders and _is_told(f.type)]
        values = {
            field.name: _value(file, field.name, field.type)
            for field in named
            if file.folders[field.name] is not None
        }
        elsewhere = frozenset(field.name for field in named)
        with self._reader(frozenset(values), elsewhere).open(file, place) as reading:
            yield _Filled(reading, values) if values else reading

    def _reader(self, told: frozenset[str], elsewhere: frozenset[str]) -> FileReader:
        """What reads the files whose folders tell these columns, made once: a folder
        may have thousands of small files."""
        if (told, elsewhere) not in self._readers:
            # What every row gets from its folder may be missing in the file.
            fields = (maybe_null(f) if f.name in told else f for f in self.schema)
            event_time = None if self.event_time in told else self.event_time
            reader = self.make(Schema(tuple(fields)), event_time, elsewhere)
            self._readers[told, elsewhere] = reader
        return self._readers[told, elsewhere]


class _Filled:
    """A file that is being read, and the values of its folders."""

    def __init__(self, reading: Reading, values: Mapping[str, pa.Scalar]) -> None:
        self._reading = reading
        self._values = values

    @property
    def place(self) -> Position:
        """That of the file."""
        return self._reading.place

    @property
    def records(self) -> int:
        """Those of the file."""
        return self._reading.records

    def read(self, size_bytes: int) -> Piece | None:
        """The next rows."""
        piece = self._reading.read(size_bytes)
        if piece is None:
            return None
        rows, found = piece.decoded.rows, piece.decoded
        for name, value in self._values.items():
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, rows[name].fill_null(value))
        return Piece(Decoded(rows, found.dropped_rows, found.bad), piece.size_bytes)


def _is_told(type_: Type) -> bool:
    """Whether the text of a folder's name can be a value."""
    has_parts = isinstance(type_, ListOf | StructOf)
    return not has_parts and type_ not in (BYTEA, JSON, TIME, INTERVAL)


def _value(file: ListedFile, name: str, type_: Type) -> pa.Scalar:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = file.folders[name]
    try:
        return pc.cast(pa.scalar(text, pa.string()), arrow_type(type_))
    except pa.ArrowInvalid:
        raise RunProblem(
            f"the folder '{name}={text}' of '{file.name}' is no value of the column "
            f"'{name}', which is {type_}",
            hint=f"declare '{name}' as {TEXT}",
        ) from None
