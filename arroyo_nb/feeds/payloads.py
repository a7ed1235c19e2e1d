"""The rows of a sink as payloads of messages: Spark encodes them, all sinks alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.connectors import CollectingWriter, with_schema
from arroyo_nb.formats import IMAGE, Envelope, change_format, payload_format
from arroyo_nb.schema import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from arroyo_nb.connectors import TableSpec

VALUE = "/payload"
"""The column of payloads, as bytes; no column of a table has its name."""


class EncodingWriter(CollectingWriter):
    """A writer whose rows Spark encodes by the table's format.

    Parameters
    ----------
    spec
        The table, its variables resolved.
    beside
        Columns that are wanted beside the payloads.
    """

    def __init__(self, spec: TableSpec, beside: Sequence[str] = ()) -> None:
        # Files and servers are asked for the schema once, and not for each batch.
        self._spec = with_schema(spec)
        self._format = str(spec.options["format"])
        self._beside = tuple(beside)

    def columns(self, names: Sequence[str]) -> list[Column]:
        """The payload of each row, or what the document of a change is made of."""
        from pyspark.sql import functions as F  # noqa: N812

        schema, options = self._spec.physical, self._spec.options
        if WEIGHT in names:
            image = change_format(self._format).image(schema, options)
            return [F.expr(image).alias(IMAGE), F.col(WEIGHT), F.col(ROW_ID)]
        beside = [F.col(quoted(name)) for name in self._beside]
        payload = payload_format(self._format).encoded(schema, options)
        return [payload.alias(VALUE), *beside]

    def messages(self, rows: pa.Table) -> pa.Table:
        """The messages of a micro-batch: their payloads as :data:`VALUE`, none of them
        NULL, and the columns beside them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if WEIGHT in rows.column_names:
            from arroyo_nb.changelog.debezium_changes import documents

            texts = change_format(self._format).change_texts(documents(rows))
            return pa.table({VALUE: texts.cast(pa.binary())})
        # A payload cannot be NULL: it is empty instead.
        payloads = pc.fill_null(rows[VALUE].cast(pa.binary()), b"")
        payloads = self._envelope.around(payloads)
        return rows.set_column(rows.column_names.index(VALUE), VALUE, payloads)

    @cached_property
    def _envelope(self) -> Envelope:
        format_, spec = payload_format(self._format), self._spec
        return Envelope(*format_.envelope(spec.physical, spec.options, _no_registry))


def _no_registry(schema_type: str, text: str) -> int:  # noqa: ARG001
    raise AssertionError("such a sink is refused when its table is declared")
