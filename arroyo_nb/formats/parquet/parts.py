"""Writing Parquet files, a row group at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from arroyo_nb.formats import PARTITION_KEY, Pieces, partition_key
from arroyo_nb.schema import Schema, arrow_schema, nullable, quoted
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import Column

COMPRESSION, ROW_GROUP_SIZE = "parquet.compression", "parquet.row_group_size"


class ParquetParts:
    """Parquet files, their columns of the types that the table has."""

    extension = "parquet"

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._schema = arrow_schema(nullable(schema))
        name = str(options[COMPRESSION])
        self._codec = {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name)
        self._group_bytes = max(1, int(cast(int, options[ROW_GROUP_SIZE])))

    def columns(self, names: Sequence[str], key: str) -> list[Column]:  # noqa: ARG002
        """The table's columns and keys."""
        from pyspark.sql import functions as F  # noqa: N812

        return [*(F.col(quoted(n)) for n in self._schema.names), partition_key(key)]

    def rows(self, computed: pa.Table) -> pa.Table:
        """As they are."""
        return computed

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write row groups: as much as one may hold, or there is room for."""
        with path.open("wb") as file, self._writer(file) as writer:
            groups = _Groups(writer, min(self._group_bytes, room_bytes))
            for piece in pieces:
                groups.add(piece.drop_columns(PARTITION_KEY).cast(self._schema))
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
        """Add rows; a row group is written once enough bytes are waiting."""
        self._waiting.append(table)
        self.waiting_bytes += table.nbytes
        if self.waiting_bytes >= self._most_bytes:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as one row group."""
        import pyarrow as pa

        if self._waiting:
            table = pa.concat_tables(self._waiting)
            self._writer.write_table(table, row_group_size=max(1, len(table)))
        self._waiting, self.waiting_bytes = [], 0
