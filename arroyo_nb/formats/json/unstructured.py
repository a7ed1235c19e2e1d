"""Records whose whole text is a value of JSON: ``json.unstructured``. One of blanks
alone is no record.

A record is not looked into when it is read: that is for the query, which finds nothing
in what is no JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from arroyo_nb.codecs.bad_records import refusal
from arroyo_nb.codecs.declared_rows import DeclaredRows
from arroyo_nb.codecs.sql_decoder import AS_MARKED_TEXT, HOLDS_TEXT, TEXT, SqlDecoder
from arroyo_nb.formats import Decoded, DecodedPayloads
from arroyo_nb.formats.json.foreign_files import conversion_hint
from arroyo_nb.formats.json.strict import BLANKS
from arroyo_nb.schema import JSON, Schema, arrow_schema
from arroyo_nb.tape import KEPT_BAD_ROWS, BadRow, RecordCounts, shown_text

if TYPE_CHECKING:
    import pyarrow as pa

VALUE = "value"
NOT_TEXT = "not UTF-8"

SQL_DECODER = SqlDecoder(
    (AS_MARKED_TEXT,), (TEXT,), f"IF({TEXT} IS NULL, '{NOT_TEXT}', NULL)", HOLDS_TEXT
)
"""The reader of such payloads in Spark's own expressions."""


def column_problem(schema: Schema) -> str | None:
    """What is wrong with the columns of such records."""
    if [(field.name, field.type) for field in schema] == [(VALUE, JSON)]:
        return None
    return (
        "json.unstructured requires a schema with a single field called "
        f"`{VALUE}` of type {JSON}"
    )


class UnstructuredPayloads:
    """Reads payloads as they are; they must be UTF-8.

    Parameters
    ----------
    schema
        The one column.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def decode(self, payloads: pa.Array) -> DecodedPayloads:
        """Read a batch of payloads."""
        import pyarrow as pa

        from arroyo_nb.formats.json.payloads import without_mark

        records = {
            n: p
            for n, p in enumerate(without_mark(payloads).to_pylist())
            if p.strip(BLANKS)
        }
        found = {number: _decoded(record) for number, record in records.items()}
        bad = tuple((n, NOT_TEXT) for n, text in found.items() if text is None)
        numbers = pa.array((n for n, t in found.items() if t is not None), pa.int64())
        rows = _rows(self._schema, [*found.values()])
        counts = RecordCounts(empty=len(payloads) - len(records))
        return DecodedPayloads(rows, numbers, bad, counts)


class UnstructuredLines:
    """Reads the lines of a file as they are; blank ones are no records.

    Parameters
    ----------
    schema
        The one column.
    drop
        Whether bad records are left out and counted; else they are an error.
    """

    def __init__(self, schema: Schema, *, drop: bool) -> None:
        self._schema = schema
        self._drop = drop

    def decode(self, block: bytes, origin: str, first_line: int) -> Decoded:
        """Read a block of lines.

        Raises
        ------
        RunProblem
            When a line is no text, and bad data is not dropped.
        """
        lines = enumerate(block.split(b"\n"), first_line)
        records = [(n, line.removesuffix(b"\r")) for n, line in lines if line.strip()]
        found = [_decoded(record) for _, record in records]
        bad = [
            BadRow.in_file(origin, line, shown_text(record), NOT_TEXT)
            for (line, record), text in zip(records, found, strict=True)
            if text is None
        ]
        if bad and not self._drop:
            raise refusal(bad[0], conversion_hint(bad[0]))
        kept = tuple(islice(bad, KEPT_BAD_ROWS))
        return Decoded(_rows(self._schema, found), len(bad), kept)


class UnstructuredWriter:
    """Writes rows of Python as the payloads that are read so.

    Parameters
    ----------
    rows
        The rows of the table.
    """

    def __init__(self, rows: DeclaredRows) -> None:
        self._rows = rows

    def __call__(self, rows: Sequence[Any]) -> list[bytes]:
        """The payloads of some rows.

        Raises
        ------
        RunProblem
            When a row has another column.
        """
        (values,) = self._rows.columns(rows)
        return [b"null" if v is None else v.encode() for v in values]


def _decoded(record: bytes) -> str | None:
    try:
        return record.decode()
    except UnicodeDecodeError:
        return None


def _rows(schema: Schema, texts: Sequence[str | None]) -> pa.Table:
    import pyarrow as pa

    found = [text for text in texts if text is not None]
    return pa.table([pa.array(found, pa.string())], schema=arrow_schema(schema))
