"""``debezium_json``: changes of rows, one JSON object a record (arroyo-semantics c.3
and c.4).

A record is ``{"before": row, "after": row, "op": "c" | "u" | "d"}``, a row being the
table's columns as ``json`` writes them, but for timestamps and decimals: they are the
numbers and bytes that Debezium has for them. A source reads ``r`` too, and numbers of
its timestamps in the unit of their columns: ``TIMESTAMP(3)`` is what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.formats import Decoder, PayloadDecoder
from arroyo_nb.formats.debezium_json.documents import (
    DocumentDecoder,
    DocumentPayloads,
    DocumentRows,
)
from arroyo_nb.formats.json import JsonFormat, decimals, unframed
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT, json_sql
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from arroyo_nb.codecs.sql_decoder import SqlDecoder

ROW = "row"
"""What the JSON text of a row is called on its way into a document."""

_DEFAULTS = {TIMESTAMP_FORMAT: "unix_millis", DECIMAL_ENCODING: "bytes"}


class DebeziumJsonFormat:
    """The format."""

    name = "debezium_json"
    doc = "changes of rows, one JSON object with before, after and op a record"
    updating = True
    by_name = True
    options = tuple(replace(o, default=_DEFAULTS[o.name]) for o in JsonFormat.options)
    # A schema that lies beside the document is found, and passed over, without being
    # told of.
    payload_options = JsonFormat.payload_options

    def decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,  # noqa: ARG002
        primary_key: tuple[str, ...] = (),
    ) -> Decoder:
        """A reader of documents; the time of a change is when it arrives."""
        rows = _rows(schema, options, primary_key)
        return DocumentDecoder(rows, drop=options.get("bad_data") == "drop")

    def payload_problem(self, schema: Schema) -> str | None:  # noqa: ARG002
        """None: a row has any columns."""
        return None

    def payload_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,  # noqa: ARG002
        primary_key: tuple[str, ...] = (),
    ) -> PayloadDecoder:
        """A reader of documents; the time of a change is that of its record."""
        return unframed(DocumentPayloads(_rows(schema, options, primary_key)), options)

    def sql_decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
    ) -> SqlDecoder | str:
        """None: a document may be two changes."""
        return "they are changes"

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One change a row, as text: rows that are only appended are created."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.expr(created_sql(schema, options)).alias("value")


def _rows(
    schema: Schema, options: Mapping[str, OptionValue], primary_key: tuple[str, ...]
) -> DocumentRows:
    options = {**_DEFAULTS, **options}
    counted = options[TIMESTAMP_FORMAT] != "RFC3339"
    return DocumentRows(schema, primary_key, decimals(options), counted)


def created_sql(schema: Schema, options: Mapping[str, object]) -> str:
    """What :meth:`DebeziumJsonFormat.encoded` evaluates, as Spark SQL."""
    row = json_sql(schema, options)
    return f"""concat('{{"before":null,"after":', {row}, ',"op":"c"}}')"""


def changes_as_text(
    batch: DataFrame, schema: Schema, options: Mapping[str, object]
) -> pa.ChunkedArray:
    """One document for each row that a micro-batch changes; one action.

    Parameters
    ----------
    batch
        The columns of ``schema``, the weight and the row's id.
    """
    from arroyo_nb.changelog.debezium import documents

    row = f"{json_sql(schema, options)} AS {ROW}"
    found = documents(batch.selectExpr(row, WEIGHT, ROW_ID).toArrow())
    return document_texts(found)


def document_texts(found: pa.Table) -> pa.ChunkedArray:
    """The text of each of the documents.

    Parameters
    ----------
    found
        As :func:`arroyo_nb.changelog.debezium.documents` gives them; the images have
        the JSON text of their row as :data:`ROW`.
    """
    import pyarrow.compute as pc

    before, after = (
        pc.fill_null(pc.struct_field(found[image], ROW), "null")
        for image in ("before", "after")
    )
    parts = ('{"before":', before, ',"after":', after, ',"op":"', found["op"], '"}')
    return pc.binary_join_element_wise(*parts, "")


FORMAT = DebeziumJsonFormat()
