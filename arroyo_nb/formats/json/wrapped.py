"""Rows that lie in a ``payload`` beside their ``schema``, as Kafka Connect writes them.

The table's columns are those of the payload. The schema is asked for one thing: what
texts of DECIMALs are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arroyo_nb.formats.json.decimals import DecimalForms
from arroyo_nb.formats.json.strict import FIRST_US, BadRecord, RecordReader, mismatch
from arroyo_nb.formats.json.told_decimals import SCHEMA, common_schema, told_decimals
from arroyo_nb.formats.json.vectorized import BlockReader, first_record, has_decimals
from arroyo_nb.schema import Field, Schema, StructOf, arrow_schema
from arroyo_nb.tape import END_OF_TIME_US

if TYPE_CHECKING:
    import pyarrow as pa

PAYLOAD = "payload"


class PayloadReaders:
    """Fast readers of documents with a payload, one for each schema beside it.

    Parameters
    ----------
    schema
        The columns of a document.
    row
        Those of its payload.
    forms
        What texts of DECIMALs are where the schema does not say it.
    """

    def __init__(self, schema: Schema, row: StructOf, forms: DecimalForms) -> None:
        self._schema, self._row, self._forms = schema, row, forms
        self._readers: dict[DecimalForms, BlockReader] = {}
        self._has_decimals = has_decimals(row)

    def read_like(self, block: bytes, first: Any, like: Any) -> pa.Table | None:
        """The documents, read as one like ``like``; None where they must be read one by
        one. ``first`` is the first of them."""
        if not isinstance(first, dict):
            return None
        told: Iterable[tuple[str, int | None]] = ()
        if self._has_decimals:
            beside = common_schema(block, first)
            if beside is None:
                return None
            told = told_decimals(self._row.fields, beside[0])
        forms = self._forms.with_told(told).below(PAYLOAD)
        if forms not in self._readers:
            self._readers = {forms: BlockReader(self._schema, None, forms)}
        return self._readers[forms].read_like(block, like)


class WrappedBlocks:
    """Reads blocks of such documents, or refuses; parameters as of
    :class:`~arroyo_nb.formats.json.vectorized.BlockReader`."""

    def __init__(
        self, schema: Schema, event_time: str | None, forms: DecimalForms
    ) -> None:
        # What may not be NULL is looked at here: Arrow would have to in a struct.
        row = StructOf(tuple(replace(field, nullable=True) for field in schema))
        self._readers = PayloadReaders(Schema((Field(PAYLOAD, row),)), row, forms)
        self._schema = schema
        self._event_time = event_time

    def read(self, block: bytes) -> pa.Table | None:
        """The rows; None where they must be read one by one."""
        import pyarrow as pa

        try:
            first = first_record(block)
        except BadRecord:
            return None
        found = self._readers.read_like(block, first, first)
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
        return self._record(document[PAYLOAD], document.get(SCHEMA))
