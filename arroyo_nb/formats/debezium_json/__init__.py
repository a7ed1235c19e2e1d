"""``debezium_json``: changes of rows, one JSON object a record (arroyo-semantics c.3
and c.4).

A record is ``{"before": row, "after": row, "op": "c" | "u" | "d"}``, a row being the
table's columns as ``json`` writes them, but for timestamps and decimals: they are the
numbers and bytes that Debezium has for them. A source reads ``r`` too, and numbers of
its timestamps in the unit of their columns: ``TIMESTAMP(3)`` is what is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.formats import (
    IMAGE,
    Decoder,
    Framing,
    PayloadDecoder,
    PayloadWriter,
    Register,
    counted,
)
from arroyo_nb.formats.debezium_json.documents import (
    DocumentDecoder,
    DocumentPayloads,
    DocumentRows,
)
from arroyo_nb.formats.debezium_json.unsent import UNSENT
from arroyo_nb.formats.json import JsonFormat, decimals, unframed
from arroyo_nb.formats.json.decimals import EITHER
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT, json_sql
from arroyo_nb.schema import Schema
from arroyo_nb.tape import RecordCounts
from arroyo_nb.with_options import OptionValue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder

_DEFAULTS = {TIMESTAMP_FORMAT: "unix_millis", DECIMAL_ENCODING: "bytes"}

_AVRO = (
    "changes are read as JSON alone: set Debezium's key.converter and value.converter "
    "to org.apache.kafka.connect.json.JsonConverter, and write format = 'debezium_json'"
)

_WITHOUT_IT = (
    "; a source without it asks the schema beside the record, else takes a text for a "
    "number where it can be nothing else, such as '19.99', and for bytes where it is "
    "no number: '1999' may be both, and is bad data"
)


class DebeziumJsonFormat(JsonFormat):
    """The format: what it does not say itself is as of ``json``."""

    name = "debezium_json"
    doc = "changes of rows, one JSON object with before, after and op a record"
    framings = frozenset({Framing.LINES, Framing.MESSAGES})
    updating = True
    elsewhere: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(
            ("debezium-avro", "debezium_avro", "debezium-avro-confluent"), _AVRO
        )
    )
    counts = frozenset({"plain_decimals", "unsent"})
    # A change has a row on either side, whose columns are declared.
    options = tuple(
        replace(
            option,
            default=_DEFAULTS[option.name],
            fills_in=option.name != DECIMAL_ENCODING,
            doc=option.doc + (_WITHOUT_IT if option.name == DECIMAL_ENCODING else ""),
        )
        for option in JsonFormat.options
        if option.name in _DEFAULTS
    )

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

    def envelope(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        register: Register,
    ) -> tuple[bytes, bytes]:
        """As of ``json``, of the document's schema."""
        from arroyo_nb.formats.json.schema_export import changed

        return super().envelope(changed(schema), _written(options), register)

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,
    ) -> PayloadWriter:
        """Writes documents: each row is created."""
        from arroyo_nb.formats.debezium_json.payload_writer import DeclaredDocuments

        return DeclaredDocuments(table, schema, _written(options), read=read)

    def shape_note(
        self,
        documents: Sequence[Mapping[str, Any]],  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> str | None:
        """None: a schema beside a document is found."""
        return None

    def count_notes(self, counts: RecordCounts) -> Iterable[str]:
        """That texts are numbers, and values placeholders. Empty records are no news:
        behind each row that is deleted Debezium writes a tombstone."""
        if counts.plain_decimals:
            yield (
                "texts of DECIMAL columns are numbers, such as '19.99', and are read "
                f"as such; write '{DECIMAL_ENCODING}' = 'string' to read those, too, "
                "that may be bytes, such as '1999'"
            )
        if counts.unsent:
            changes = counted(counts.unsent, "change", "has", "have")
            yield (
                f"{changes} '{UNSENT}' for a value that the database did not send, "
                "as an UPDATE had not changed it (TOAST of Postgres): write ALTER "
                "TABLE ... REPLICA IDENTITY FULL there"
            )

    # A schema that lies beside the document is found without being told of.
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

    def image(self, schema: Schema, options: Mapping[str, OptionValue]) -> str:
        """The JSON text of a row."""
        return json_sql(schema, _written(options))

    def change_texts(self, changes: pa.Table) -> pa.ChunkedArray:
        """The text of each document."""
        import pyarrow.compute as pc

        before, after = (
            pc.fill_null(pc.struct_field(changes[row], IMAGE), "null")
            for row in ("before", "after")
        )
        op = changes["op"]
        parts = ('{"before":', before, ',"after":', after, ',"op":"', op, '"}')
        return pc.binary_join_element_wise(*parts, "")


def _rows(
    schema: Schema, options: Mapping[str, OptionValue], primary_key: tuple[str, ...]
) -> DocumentRows:
    counted = _written(options)[TIMESTAMP_FORMAT] != "RFC3339"
    return DocumentRows(schema, primary_key, decimals(options, EITHER), counted)


def _written(options: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
    """The options of what writes documents: a value has one form."""
    return {**_DEFAULTS, **options}


def created_sql(schema: Schema, options: Mapping[str, OptionValue]) -> str:
    """What :meth:`DebeziumJsonFormat.encoded` evaluates, as Spark SQL."""
    row = json_sql(schema, _written(options))
    return f"""concat('{{"before":null,"after":', {row}, ',"op":"c"}}')"""


FORMAT = DebeziumJsonFormat()
