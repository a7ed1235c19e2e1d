"""Rows that lie in a ``payload`` beside their ``schema``, as Kafka Connect writes them.

The table's columns are those of the payload; what the schema says is not asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arroyo_nb.formats.json.strict import FIRST_US, RecordReader, mismatch
from arroyo_nb.formats.json.vectorized import BlockReader
from arroyo_nb.schema import Field, Schema, StructOf, arrow_schema
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    import pyarrow as pa

PAYLOAD = "payload"


class WrappedBlocks:
    """Reads blocks of such documents, or refuses; parameters as of
    :class:`~arroyo_nb.formats.json.vectorized.BlockReader`."""

    def __init__(self, schema: Schema, event_time: str | None, decimals: str) -> None:
        # What may not be NULL is looked at here: Arrow would have to in a struct.
        row = StructOf(tuple(replace(field, nullable=True) for field in schema))
        self._reader = BlockReader(Schema((Field(PAYLOAD, row),)), None, decimals)
        self._schema = schema
        self._event_time = event_time

    def read(self, block: bytes) -> pa.Table | None:
        """The rows; None where they must be read one by one."""
        import pyarrow as pa

        found = self._reader.read(block)
        if found is None or found[PAYLOAD].null_count:
            return None
        columns = dict(zip(self._schema.names, found[PAYLOAD].flatten(), strict=True))
        if not all(
            self._is_sound(field, columns[field.name]) for field in self._schema
        ):
            return None
        return pa.table(columns, schema=arrow_schema(self._schema))

    def _is_sound(self, field: Field, column: pa.ChunkedArray) -> bool:
        is_time = field.name == self._event_time
        if (not field.nullable or is_time) and column.null_count:
            return False
        return not is_time or _is_in_time(column)


def _is_in_time(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.min_max(column.cast(pa.int64())).as_py()
    low, high = found["min"], found["max"]
    return low is None or FIRST_US <= low <= high < END_OF_TIME_US


class WrappedReader(RecordReader):
    """Reads such documents one by one, and says why one is bad."""

    def _read(self, document: Any) -> dict[str, Any]:
        if not isinstance(document, dict) or PAYLOAD not in document:
            raise mismatch(f"'{PAYLOAD}' is missing")
        return self._record(document[PAYLOAD])
