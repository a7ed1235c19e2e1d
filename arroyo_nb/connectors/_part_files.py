"""How rows are laid down in the files of a folder: parts, and several of them as one.

Spark encodes lines and partition keys; what comes to Python is Arrow, in pieces that
are written as they are.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.connectors._line_writers import Lines, joined
from arroyo_nb.formats.parquet import COMPRESSION, ROW_GROUP_SIZE
from arroyo_nb.schema import Schema, arrow_schema, quoted
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import Column, DataFrame

JSON_COMPRESSION = "json.compression"
KEY = "/partition"
"""The column of a batch that has the key of each row's partition."""

Pieces = Iterator["pa.Table"]


class PartFormat(Protocol):
    """A kind of file."""

    extension: str

    def rows(self, batch: DataFrame, key: str) -> pa.Table:
        """What is written of a micro-batch, and each row's key; one action.

        Parameters
        ----------
        batch
            The rows.
        key
            Spark SQL of the key.
        """

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write pieces into a new file, at least one and as many as there is room
        for; returns its size in bytes."""

    def join(self, parts: Sequence[Path], path: Path) -> None:
        """Write the rows of all parts into one new file."""


def parts_of(schema: Schema, options: Mapping[str, OptionValue]) -> PartFormat:
    """The kind of file that a table's options ask for."""
    if options["format"] == "parquet":
        return ParquetParts(schema, options)
    return LineParts(schema, options)


class LineParts:
    """Files of lines, plain or packed with gzip: several are one behind another."""

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._lines = Lines(schema, options)
        self._is_packed = options.get(JSON_COMPRESSION) == "gzip"
        self.extension = "json.gz" if self._is_packed else "json"

    def rows(self, batch: DataFrame, key: str) -> pa.Table:
        """Lines and keys; changes, of which no two may be parted, have one key."""
        import pyarrow as pa

        if WEIGHT in batch.columns:
            lines = self._lines.column(batch)
            return pa.table({"value": lines, KEY: pa.repeat("[]", len(lines))})
        return batch.select(self._lines.encoded(), _named(key)).toArrow()

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write lines."""
        with path.open("wb") as file, self._packed(file) as packed:
            for piece in pieces:
                for text in joined(piece["value"]):
                    packed.write(text)
                packed.flush()
                if file.tell() >= room_bytes:
                    break
        return path.stat().st_size

    def join(self, parts: Sequence[Path], path: Path) -> None:
        """Packed or not, the bytes of the parts are those of the whole."""
        with path.open("wb") as file:
            for part in parts:
                with part.open("rb") as found:
                    shutil.copyfileobj(found, file, 2**20)

    @contextmanager
    def _packed(self, file: BinaryIO) -> Iterator[BinaryIO]:
        if not self._is_packed:
            yield file
            return
        # Neither name nor time: the same rows are the same bytes.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield cast("BinaryIO", packed)


class ParquetParts:
    """Parquet files, their columns of the types that the table has."""

    extension = "parquet"

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        import pyarrow as pa

        fields = (field.with_nullable(True) for field in arrow_schema(schema))
        self._schema = pa.schema(fields)
        name = str(options[COMPRESSION])
        self._codec = {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name)
        self._group_bytes = max(1, int(cast(int, options[ROW_GROUP_SIZE])))

    def rows(self, batch: DataFrame, key: str) -> pa.Table:
        """The table's columns and keys."""
        names = [quoted(name) for name in self._schema.names]
        return batch.select(*names, _named(key)).toArrow()

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write row groups: as much as one may hold, or there is room for."""
        with path.open("wb") as file, self._writer(file) as writer:
            groups = _Groups(writer, min(self._group_bytes, room_bytes))
            for piece in pieces:
                groups.add(piece.drop_columns(KEY).cast(self._schema))
                if file.tell() + groups.waiting_bytes >= room_bytes:
                    break
            groups.flush()
        return path.stat().st_size

    def join(self, parts: Sequence[Path], path: Path) -> None:
        """Small row groups become large ones."""
        import pyarrow.parquet as pq

        with path.open("wb") as file, self._writer(file) as writer:
            groups = _Groups(writer, self._group_bytes)
            for part in parts:
                with pq.ParquetFile(part) as found:
                    for number in range(found.num_row_groups):
                        groups.add(found.read_row_group(number))
            groups.flush()

    def _writer(self, file: BinaryIO) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(file, self._schema, compression=self._codec)


class _Groups:
    """Gathers tables until they are a row group."""

    def __init__(self, writer: pq.ParquetWriter, most_bytes: float) -> None:
        self._writer = writer
        self._most_bytes = most_bytes
        self._waiting: list[pa.Table] = []
        self.waiting_bytes = 0

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self.waiting_bytes += table.nbytes
        if self.waiting_bytes >= self._most_bytes:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            table = pa.concat_tables(self._waiting)
            self._writer.write_table(table, row_group_size=max(1, len(table)))
        self._waiting, self.waiting_bytes = [], 0


def split(rows: pa.Table) -> dict[str, list[pa.Table]]:
    """The rows of each key in their order, in pieces of Arrow's own size."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[str, list[pa.Table]] = {}
    for batch in rows.to_batches():
        keys = pc.dictionary_encode(batch[KEY])
        # The sort is stable: rows of one key stay in their order.
        table = pa.Table.from_batches([batch]).take(pc.sort_indices(keys.indices))
        counts = np.bincount(keys.indices.to_numpy())
        begins = np.cumsum(counts) - counts
        for key, begin, count in zip(
            keys.dictionary.to_pylist(), begins, counts, strict=True
        ):
            found.setdefault(key, []).append(table.slice(begin, count))
    return found


def _named(key: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(key).alias(KEY)
