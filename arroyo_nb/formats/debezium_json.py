"""``debezium_json``: changes of rows, one JSON object a record (arroyo-semantics c.3).

A record is ``{"before": row, "after": row, "op": "c" | "u" | "d"}``, a row being the
table's columns as ``json`` writes them, but for timestamps and decimals: they are the
numbers and bytes that Debezium has for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from arroyo_nb.changelog import ROW_ID, WEIGHT
from arroyo_nb.errors import Unsupported
from arroyo_nb.formats import Decoder
from arroyo_nb.formats._encode import DECIMAL_ENCODING, TIMESTAMP_FORMAT, json_sql
from arroyo_nb.formats.json import JsonFormat
from arroyo_nb.options import OptionValue
from arroyo_nb.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

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


def changes_as_text(
    batch: DataFrame, schema: Schema, options: Mapping[str, object]
) -> pa.ChunkedArray:
    """One document for each row that a micro-batch changes; one action.

    Parameters
    ----------
    batch
        The columns of ``schema``, the weight and the row's id.
    """
    import pyarrow.compute as pc

    from arroyo_nb.changelog.debezium import documents

    row = f"{json_sql(schema, options)} AS row"
    found = documents(batch.selectExpr(row, WEIGHT, ROW_ID).toArrow())
    before, after = (
        pc.fill_null(pc.struct_field(found[image], "row"), "null")
        for image in ("before", "after")
    )
    parts = ('{"before":', before, ',"after":', after, ',"op":"', found["op"], '"}')
    return pc.binary_join_element_wise(*parts, "")


FORMAT = DebeziumJsonFormat()
