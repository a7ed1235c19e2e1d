"""``json``: one JSON object a record (arroyo-semantics c.1, c.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from arroyo_nb.codecs.declared_rows import DeclaredRows
from arroyo_nb.errors import ArroyoError, CatalogProblem
from arroyo_nb.formats import (
    Decoder,
    FormatBase,
    Framing,
    PayloadDecoder,
    PayloadWriter,
    Register,
)
from arroyo_nb.formats.json import unstructured
from arroyo_nb.formats.json.decimals import NUMBER, DecimalForms
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, json_column
from arroyo_nb.formats.json.foreign_files import CSV, CSV_HINT
from arroyo_nb.formats.json.lines import LineDecoder
from arroyo_nb.formats.json.strict import RecordReader
from arroyo_nb.formats.json.told_decimals import SCHEMA
from arroyo_nb.formats.json.vectorized import BlockReader
from arroyo_nb.formats.json.wrapped import PAYLOAD, WrappedBlocks, WrappedReader
from arroyo_nb.schema import Schema
from arroyo_nb.schema_registry import JSON_SCHEMA, registry_client
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder

UNSTRUCTURED = "json.unstructured"
REGISTRY, INCLUDE_SCHEMA = "json.confluent_schema_registry", "json.include_schema"


class JsonFormat(FormatBase):
    """The format ``json``: one JSON object a record, or a line of a file."""

    name = "json"
    doc = "one JSON object a record"
    framings = frozenset({Framing.LINES, Framing.MESSAGES, Framing.VALUES})
    usual = True
    by_name = True
    content_type = "application/json"
    elsewhere: Mapping[str, str] = MappingProxyType(dict.fromkeys(CSV, CSV_HINT))
    extension = "json"
    options: tuple[Option, ...] = (
        Option(
            "json.timestamp_format",
            OptionKind.ENUM,
            "how a sink writes timestamps: RFC 3339 text, or milliseconds",
            default="RFC3339",
            choices=("RFC3339", "unix_millis", "UnixMillis"),
        ),
        Option(
            "json.decimal_encoding",
            OptionKind.ENUM,
            "how DECIMAL is written, and what a text of it is that is read: a number, "
            "the same as text, or base64 of its bytes",
            default="number",
            choices=("number", "string", "bytes"),
        ),
        Option(
            UNSTRUCTURED,
            OptionKind.BOOL,
            "whether a record that is read is one value of any form: the table has one "
            "column, `value JSON`",
            default=False,
        ),
    )

    payload_options = (
        Option(
            REGISTRY,
            OptionKind.BOOL,
            "whether a record starts with the id of its schema in Confluent's "
            "registry; where 'schema_registry.endpoint' is set, a record of another "
            "id than that of a JSON schema is bad data",
            default=False,
        ),
        Option(
            INCLUDE_SCHEMA,
            OptionKind.BOOL,
            "whether a record is a document of a schema and a payload, the row",
            default=False,
        ),
    )

    def decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),  # noqa: ARG002
    ) -> Decoder:
        """A reader of JSON lines."""
        drop = options.get("bad_data") == "drop"
        if options.get(UNSTRUCTURED):
            return unstructured.UnstructuredLines(schema, drop=drop)
        given = (schema, event_time, decimals(options))
        return LineDecoder(BlockReader(*given), RecordReader(*given), drop=drop)

    def column_problem(
        self, schema: Schema, options: Mapping[str, OptionValue]
    ) -> tuple[str, str] | None:
        """That a record without fields has others than its value."""
        if not options.get(UNSTRUCTURED):
            return None
        problem = unstructured.column_problem(schema)
        return None if problem is None else (UNSTRUCTURED, problem)

    def payload_option_problems(
        self, options: Mapping[str, OptionValue]
    ) -> Iterable[tuple[str, ArroyoError]]:
        """That a record would begin in two ways."""
        if options.get(REGISTRY) and options.get(INCLUDE_SCHEMA):
            yield (
                INCLUDE_SCHEMA,
                CatalogProblem(
                    f"at most one of `{REGISTRY}` and `{INCLUDE_SCHEMA}` may be set"
                ),
            )

    def may_be_empty(
        self,
        options: Mapping[str, OptionValue],  # noqa: ARG002
    ) -> bool:
        """No: an object has two braces."""
        return False

    def shape_note(
        self,
        documents: Sequence[Mapping[str, Any]],
        options: Mapping[str, OptionValue],
    ) -> str | None:
        """That each has its schema beside it, as Kafka Connect writes it."""
        wrapped = [d for d in documents if set(d) == {SCHEMA, PAYLOAD}]
        if options.get(INCLUDE_SCHEMA) or len(wrapped) < len(documents):
            return None
        return (
            "each record is a document of a schema and a payload, as Kafka Connect "
            f"writes it: write '{INCLUDE_SCHEMA}' = 'true'"
        )

    def asks_registry(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether the ids of schemas are looked up."""
        return bool(options.get(REGISTRY))

    def registering_option(self, options: Mapping[str, OptionValue]) -> str | None:
        """The option that has a record start with the number of its schema."""
        return REGISTRY if options.get(REGISTRY) else None

    def envelope(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        register: Register,
    ) -> tuple[bytes, bytes]:
        """The schema, or its number, as the options say."""
        from arroyo_nb.formats.json.schema_export import connect_schema, json_schema
        from arroyo_nb.schema_registry.prefix import prefix

        if options.get(INCLUDE_SCHEMA):
            text = json.dumps(connect_schema(schema, options), ensure_ascii=False)
            return f'{{"schema":{text},"payload":'.encode(), b"}"
        if options.get(REGISTRY):
            text = json.dumps(json_schema(schema, options))
            return prefix(register(JSON_SCHEMA, text)), b""
        return b"", b""

    def payload_writer(
        self,
        table: str,
        schema: Schema,
        options: Mapping[str, OptionValue],
        *,
        read: bool,
    ) -> PayloadWriter:
        """Writes JSON objects; and what is read as a whole, as a whole."""
        from arroyo_nb.formats.json.payload_writer import DeclaredPayloads, adapted

        if read and options.get(UNSTRUCTURED):
            rows = DeclaredRows(table, schema, adapted)
            return unstructured.UnstructuredWriter(rows)
        return DeclaredPayloads(table, schema, options, read=read)

    def payload_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
        primary_key: tuple[str, ...] = (),  # noqa: ARG002
    ) -> PayloadDecoder:
        """A reader of JSON objects."""
        from arroyo_nb.formats.json.payloads import JsonPayloads

        given = (schema, event_time, decimals(options))
        made: PayloadDecoder
        if options.get(UNSTRUCTURED):
            made = unstructured.UnstructuredPayloads(schema)
        elif options.get(INCLUDE_SCHEMA):
            made = JsonPayloads(WrappedBlocks(*given), WrappedReader(*given))
        else:
            made = JsonPayloads(BlockReader(*given), RecordReader(*given))
        return unframed(made, options)

    def sql_decoder(
        self,
        schema: Schema,
        options: Mapping[str, OptionValue],
        event_time: str | None,
    ) -> SqlDecoder | str:
        """A reader of JSON objects of plain columns."""
        from arroyo_nb.formats.json.sql import json_decoder, unread_types

        for option in (REGISTRY, INCLUDE_SCHEMA):
            if options.get(option):
                return f"'{option}' is set"
        if options.get(UNSTRUCTURED):
            return unstructured.SQL_DECODER
        unread = [f"'{n}' is {type_}" for n, type_ in unread_types(schema, options)]
        return ", ".join(unread) or json_decoder(schema, event_time)

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One JSON object a row, as text."""
        return json_column(schema, options)


def decimals(options: Mapping[str, OptionValue], default: str = NUMBER) -> DecimalForms:
    """What a text of a DECIMAL is to a reader."""
    return DecimalForms(str(options.get(DECIMAL_ENCODING, default)))


def unframed(
    decoder: PayloadDecoder, options: Mapping[str, OptionValue]
) -> PayloadDecoder:
    """The decoder, of payloads as the table's options say that they begin."""
    from arroyo_nb.formats.json.payloads import Unframed

    if not options.get(REGISTRY):
        return decoder
    return Unframed(decoder, registry_client(options))


FORMAT = JsonFormat()
