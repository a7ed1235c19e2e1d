"""``json``: one JSON object a record (arroyo-semantics c.1, c.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arroyo_nb.formats import PayloadDecoder
from arroyo_nb.formats.json.encode import DECIMAL_ENCODING, json_column
from arroyo_nb.formats.json.lines import LineDecoder
from arroyo_nb.formats.json.strict import RecordReader
from arroyo_nb.formats.json.vectorized import BlockReader
from arroyo_nb.formats.json.wrapped import WrappedBlocks, WrappedReader
from arroyo_nb.schema import Schema
from arroyo_nb.with_options import Option, OptionKind, OptionValue

if TYPE_CHECKING:
    from pyspark.sql import Column

    from arroyo_nb.codecs.sql_decoder import SqlDecoder

REGISTRY, INCLUDE_SCHEMA = "json.confluent_schema_registry", "json.include_schema"


class JsonFormat:
    """The format."""

    name = "json"
    doc = "one JSON object a record"
    updating = False
    by_name = True
    options = (
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
    )

    payload_options = (
        Option(
            REGISTRY,
            OptionKind.BOOL,
            "whether a record starts with the id of its schema in Confluent's "
            "registry: five bytes, which are skipped",
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
    ) -> LineDecoder:
        """A reader of JSON lines."""
        given = (schema, event_time, decimals(options))
        drop = options.get("bad_data") == "drop"
        return LineDecoder(BlockReader(*given), RecordReader(*given), drop=drop)

    def payload_problem(self, schema: Schema) -> str | None:  # noqa: ARG002
        """None: an object has any columns."""
        return None

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
        if options.get(INCLUDE_SCHEMA):
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
        unread = [f"'{n}' is {type_}" for n, type_ in unread_types(schema, options)]
        return ", ".join(unread) or json_decoder(schema, event_time)

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One JSON object a row, as text."""
        return json_column(schema, options)


def decimals(options: Mapping[str, OptionValue]) -> str:
    """What a text of a DECIMAL is to a reader."""
    return str(options.get(DECIMAL_ENCODING, "number"))


def unframed(
    decoder: PayloadDecoder, options: Mapping[str, OptionValue]
) -> PayloadDecoder:
    """The decoder, of payloads as the table's options say that they begin."""
    from arroyo_nb.formats.json.payloads import Unframed

    return Unframed(decoder) if options.get(REGISTRY) else decoder


FORMAT = JsonFormat()
