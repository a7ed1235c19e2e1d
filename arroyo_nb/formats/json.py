"""``json``: one JSON object a record (arroyo-semantics c.1, c.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arroyo_nb.formats._encode import DECIMAL_ENCODING, json_column
from arroyo_nb.formats._json_blocks import BlockReader
from arroyo_nb.formats._json_records import RecordReader
from arroyo_nb.formats._lines import LineDecoder
from arroyo_nb.options import Kind, Option, OptionValue
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column


class JsonFormat:
    """The format."""

    name = "json"
    doc = "one JSON object a record"
    updating = False
    options = (
        Option(
            "json.timestamp_format",
            Kind.ENUM,
            "how a sink writes timestamps: RFC 3339 text, or milliseconds",
            default="RFC3339",
            choices=("RFC3339", "unix_millis", "UnixMillis"),
        ),
        Option(
            "json.decimal_encoding",
            Kind.ENUM,
            "how DECIMAL is written, and what a text of it is that is read: a number, "
            "the same as text, or base64 of its bytes",
            default="number",
            choices=("number", "string", "bytes"),
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

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One JSON object a row, as text."""
        return json_column(schema, options)


def decimals(options: Mapping[str, OptionValue]) -> str:
    """What a text of a DECIMAL is to a reader."""
    return str(options.get(DECIMAL_ENCODING, "number"))


FORMAT = JsonFormat()
