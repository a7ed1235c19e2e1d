"""Rows of Python as payloads of Avro, where there is no Spark to write them."""

from __future__ import annotations

from collections.abc import Sequence

from arroyo_nb.codecs.declared_rows import DeclaredRows, Row
from arroyo_nb.formats.avro.encode import RowEncoder
from arroyo_nb.formats.json.payload_writer import adapted
from arroyo_nb.schema import Schema, arrow_type


class DeclaredDatums:
    """Writes the rows of a declared table as datums.

    Parameters
    ----------
    table
        Its name, for errors.
    encoder
        Writes columns.
    head, tail
        What stands before and behind each datum.
    """

    def __init__(
        self, table: str, encoder: RowEncoder, head: bytes, tail: bytes
    ) -> None:
        self._rows = DeclaredRows(table, encoder.schema, adapted)
        self._encoder = encoder
        self._head = head
        self._tail = tail

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of a record's fields."""
        return self._rows.names

    def __call__(self, rows: Sequence[Row]) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        RunProblem
            When a row has another column, or a value that its column does not take.
        """
        import pyarrow as pa

        columns = [
            pa.array(values, arrow_type(field.type))
            for values, field in zip(
                self._rows.columns(rows), self._schema, strict=True
            )
        ]
        datums: list[bytes] = self._encoder.datums(columns).to_pylist()
        return [self._head + datum + self._tail for datum in datums]

    @property
    def _schema(self) -> Schema:
        return self._encoder.schema
