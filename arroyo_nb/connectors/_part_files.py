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
from typing import TYPE_CHECKING, BinaryIO, cast

from arroyo_nb.changelog import WEIGHT
from arroyo_nb.connectors._line_writers import Lines, joined
from arroyo_nb.formats import PARTITION_KEY as KEY
from arroyo_nb.formats import (
    PartFormat,
    Pieces,
    file_format,
    line_format,
    partition_key,
)
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

JSON_COMPRESSION = "json.compression"


def parts_of(schema: Schema, options: Mapping[str, OptionValue]) -> PartFormat:
    """The kind of file that a table's options ask for."""
    format_ = file_format(str(options["format"]))
    if format_ is not None:
        return format_.parts(schema, options)
    return LineParts(schema, options)


class LineParts:
    """Files of lines, plain or packed with gzip: several are one behind another."""

    def __init__(self, schema: Schema, options: Mapping[str, OptionValue]) -> None:
        self._lines = Lines(schema, options)
        self._is_packed = options.get(JSON_COMPRESSION) == "gzip"
        extension = line_format(str(options["format"])).extension
        self.extension = f"{extension}.gz" if self._is_packed else extension

    def columns(self, names: Sequence[str], key: str) -> list[Column]:
        """Lines and keys; changes, of which no two may be parted, have no key."""
        keys = [] if WEIGHT in names else [partition_key(key)]
        return [*self._lines.columns(names), *keys]

    def rows(self, computed: pa.Table) -> pa.Table:
        """Lines and keys; those of all changes are one."""
        import pyarrow as pa

        if KEY in computed.column_names:
            return computed
        lines = self._lines.texts(computed)
        return pa.table({"value": lines, KEY: pa.repeat("[]", len(lines))})

    def write(self, path: Path, pieces: Pieces, room_bytes: float) -> int:
        """Write lines to a part file until it has no room; returns its bytes."""
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
