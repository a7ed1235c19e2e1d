"""``debezium_json``: changes of rows, one JSON object a record (arroyo-semantics c.3).

A record is ``{"before": row, "after": row, "op": "c" | "u" | "d"}``, a row being the
table's columns as ``json`` writes them, but for timestamps and decimals: they are the
numbers and bytes that Debezium has for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from arroyo_nb.errors import Unsupported
from arroyo_nb.formats import Decoder
from arroyo_nb.formats._encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT, json_sql
from arroyo_nb.formats.json import JsonFormat
from arroyo_nb.options import OptionValue
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column

_DEFAULTS = {TIMESTAMP_FORMAT: "unix_millis", DECIMAL_ENCODING: "bytes"}


class DebeziumJsonFormat:
    """The format."""

    name = "debezium_json"
    doc = "changes of rows, one JSON object with before, after and op a record"
    updating = True
    options = tuple(replace(o, default=_DEFAULTS[o.name]) for o in JsonFormat.options)

    def decoder(
        self,
        schema: Schema,  # noqa: ARG002
        options: Mapping[str, OptionValue],  # noqa: ARG002
        event_time: str | None,  # noqa: ARG002
    ) -> Decoder:
        """Refused.

        Raises
        ------
        Unsupported
            Always: a plan that reads changes is refused before it is started.
        """
        raise Unsupported("reading debezium_json is not supported yet")

    def encoded(self, schema: Schema, options: Mapping[str, OptionValue]) -> Column:
        """One change a row, as text: rows that are only appended are created."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.expr(created_sql(schema, options)).alias("value")


def created_sql(schema: Schema, options: Mapping[str, object]) -> str:
    """What :meth:`DebeziumJsonFormat.encoded` evaluates, as Spark SQL."""
    row = json_sql(schema, options)
    return f"""concat('{{"before":null,"after":', {row}, ',"op":"c"}}')"""


FORMAT = DebeziumJsonFormat()
