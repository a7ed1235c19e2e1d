"""Reading Parquet files, some rows of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, TypeAlias

from arroyo_nb.errors import RunProblem
from arroyo_nb.file_errors import refusals
from arroyo_nb.formats import ListedFile, Piece
from arroyo_nb.formats.parquet.columns import ColumnDecoder
from arroyo_nb.formats.parquet.types import declared_type
from arroyo_nb.schema import NULL, Field, Schema
from arroyo_nb.tape import Position

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_BYTES = 2**20
"""About what is read at once, whatever the size of a row group."""
_MOST_ROWS = 2**16

_Batch: TypeAlias = "tuple[pa.RecordBatch, pa.RecordBatch | None]"
"""Rows, and those of their columns that are checked in a coarser unit."""


class ParquetReader:
    """Reads Parquet files (see :class:`arroyo_nb.formats.FileReader`)."""

    def __init__(self, decoder: ColumnDecoder) -> None:
        self._decoder = decoder

    @contextmanager
    def open(self, file: ListedFile, place: Position | None) -> Iterator[ReadRows]:
        """A file from a place on.

        Raises
        ------
        RunProblem
            When it is no Parquet file, or one of another schema.
        """
        with (
            refusals("read", file.name),
            file.path.open("rb") as stream,
            _checked(stream, file.name) as found,
        ):
            self._decoder.check(found.schema_arrow, file.name)
            there = set(found.schema_arrow.names)
            names = [name for name in self._decoder.names if name in there]
            coarse = _Coarse.of(stream, found, names)
            yield ReadRows(found, names, coarse, file.name, self._decoder, place)


def columns_of(file: ListedFile) -> Schema:
    """The columns of a file, as a table declares them; of the type NULL where a column
    has nothing else.

    Raises
    ------
    RunProblem
        When it is no Parquet file.
    """
    import pyarrow as pa

    with (
        refusals("read", file.name),
        file.path.open("rb") as stream,
        _checked(stream, file.name) as found,
    ):
        fields = found.schema_arrow
    return Schema(
        tuple(
            Field(
                f.name,
                # Other files may have values in a column of nothing but NULLs.
                NULL if pa.types.is_null(f.type) else declared_type(f.type),
                nullable=f.nullable,
            )
            for f in fields
        )
    )


def _checked(stream: IO[bytes], name: str) -> pq.ParquetFile:
    import pyarrow as pa

    try:
        return _opened(stream, "us")
    except pa.ArrowInvalid as problem:
        raise RunProblem(f"'{name}' is not a Parquet file: {problem}") from None


def _opened(stream: IO[bytes], unit: str) -> pq.ParquetFile:
    """The file, its times of the type INT96 in a unit: the nanoseconds that they have
    would hold the years 1677 to 2262 alone."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        stream, buffer_size=BATCH_BYTES, coerce_int96_timestamp_unit=unit
    )


@dataclass(frozen=True)
class _Coarse:
    """The columns of a file with times of the type INT96, in milliseconds, which hold
    all of them: microseconds wrap around without a word.

    Parameters
    ----------
    file
        The file, opened once more.
    names
        These columns.
    """

    file: pq.ParquetFile
    names: list[str]

    @classmethod
    def of(
        cls, stream: IO[bytes], file: pq.ParquetFile, names: Sequence[str]
    ) -> _Coarse | None:
        """Those of some columns; None where no time is of that type."""
        leaves = (file.schema.column(n) for n in range(len(file.schema)))
        paths = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
        found = [n for n in names if any(f"{p}.".startswith(f"{n}.") for p in paths)]
        return cls(_opened(stream, "ms"), found) if found else None


class ReadRows:
    """A Parquet file that is being read."""

    def __init__(
        self,
        file: pq.ParquetFile,
        names: list[str],
        coarse: _Coarse | None,
        name: str,
        decoder: ColumnDecoder,
        place: Position | None,
    ) -> None:
        self._file = file
        self._names = names
        self._coarse = coarse
        self._name = name
        self._decoder = decoder
        self._group: int = place["group"] if place else 0
        self._batch: int = place["batch"] if place else 0
        meta = file.metadata
        groups = [meta.row_group(n) for n in range(meta.num_row_groups)]
        if self._group > len(groups):
            raise RunProblem(
                f"'{name}' is shorter than what was read of it before",
                hint="start afresh: the file is not the one that the run had read",
            )
        size_bytes = sum(group.total_byte_size for group in groups)
        row_bytes = max(1, size_bytes // max(1, meta.num_rows))
        self._rows_at_once = min(max(1, BATCH_BYTES // row_bytes), _MOST_ROWS)
        self._row: int = sum(group.num_rows for group in groups[: self._group])
        if self._batch:
            # The last batch of a group may be smaller.
            read = self._batch * self._rows_at_once
            self._row += min(read, groups[self._group].num_rows)
        self._groups = len(groups)
        ahead = islice(self._batches(), self._batch, None)
        self._ahead: Iterator[_Batch] = ahead

    @property
    def place(self) -> Position:
        """The row group, and which of its batches comes next."""
        return {"group": self._group, "batch": self._batch}

    @property
    def records(self) -> int:
        """The rows up to there."""
        return self._row

    def read(self, size_bytes: int) -> Piece | None:  # noqa: ARG002
        """The next rows."""
        import pyarrow as pa

        while self._group < self._groups:
            if (read := next(self._ahead, None)) is not None:
                batch, coarse = read
                self._batch += 1
                first_row, self._row = self._row + 1, self._row + len(batch)
                rows = pa.Table.from_batches([batch])
                checked = {}
                if coarse is not None:
                    table = pa.Table.from_batches([coarse])
                    checked = dict(zip(table.column_names, table.columns, strict=True))
                decoded = self._decoder.decode(rows, self._name, first_row, checked)
                return Piece(decoded, rows.nbytes)
            self._group, self._batch = self._group + 1, 0
            self._ahead = self._batches()
        return None

    def _batches(self) -> Iterator[_Batch]:
        if self._group == self._groups:
            return iter(())

        def batches(file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
            found: Iterator[pa.RecordBatch] = file.iter_batches(
                self._rows_at_once, row_groups=[self._group], columns=names
            )
            return found

        fine = batches(self._file, self._names)
        if self._coarse is None:
            return ((batch, None) for batch in fine)
        return zip(fine, batches(self._coarse.file, self._coarse.names), strict=True)
