"""The records of a topic as the rows of a source.

::

    records --mapInArrow: payloads are decoded in Python workers-->
            the source's columns, the event time, and what is wrong with a record

No record goes through the driver. One without a value, a tombstone, is no row; the
workers count it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from arroyo_nb.connectors import CONNECTORS, decoding_options
from arroyo_nb.engine.pane_counts import has_pane_counts, placed
from arroyo_nb.formats import count_columns, reads_fields
from arroyo_nb.records import OFFSET, PARTITION, TIME, VALUE, Records
from arroyo_nb.schema import TIMESTAMP, quoted, spark_type
from arroyo_nb.spark.arrow_schema import spark_arrow_schema
from arroyo_nb.spark.bad_rows import drops_records
from arroyo_nb.spark.lower import changelog_columns
from arroyo_nb.tape import UNREAD
from arroyo_nb.tape.fit import SEEN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from arroyo_nb.connectors import Stream, TableSpec
    from arroyo_nb.plan import nodes

_TYPES = {TIMESTAMP: "timestamp", UNREAD: "string"}


def decoded(
    records: DataFrame, stream: Stream, source: nodes.Source, *, windowed: bool
) -> DataFrame:
    """The rows of a source, as :data:`arroyo_nb.spark.lower.Read` gives them.

    Parameters
    ----------
    records
        As Spark gives them.
    stream
        What they are read from.
    source
        What they are read for.
    windowed
        Whether rows get windows.
    """
    spec = source.table.spec
    worker = _worker(stream.topic, source, windowed=windowed)
    types = [spark_type(field.type) for field in spec.physical]
    types += (_TYPES.get(name, "bigint") for name in worker.beside)
    columns = ", ".join(
        f"{quoted(name)} {type_}"
        for name, type_ in zip(worker.names, types, strict=True)
    )
    named = (
        f"{quoted(word)} AS {quoted(name)}"
        for word, name in zip(
            worker.names, (*spec.physical.names, *worker.beside), strict=True
        )
    )
    if windowed and has_pane_counts(records.sparkSession):
        records = placed(records, source.table.name, stream.record[PARTITION])
    found = payloads(records, stream, spec)
    return found.mapInArrow(worker, columns).selectExpr(*named)


def payloads(records: DataFrame, stream: Stream, spec: TableSpec) -> DataFrame:
    """The value of each record, its time and place, and of what is told beside it what
    the table asks for, under :func:`words`."""
    given = (
        f"{stream.metadata[spec.metadata[column]]} AS {word}"
        for column, word in words(spec).items()
    )
    names = (VALUE, TIME, PARTITION, OFFSET)
    record = (f"{stream.record[name]} AS {name}" for name in names)
    return records.selectExpr(*record, *given)


def words(spec: TableSpec) -> Mapping[str, str]:
    """What each column that is told of a record beside it is called on the way."""
    return {name: f"m_{number}" for number, name in enumerate(spec.metadata)}


def _worker(topic: str, source: nodes.Source, *, windowed: bool) -> Records:
    table, spec = source.table, source.table.spec
    connector, format_ = CONNECTORS.get(table.connector), str(table.format)
    drops = (UNREAD,) if drops_records(table) else ()
    seen = (SEEN,) if reads_fields(format_) else ()
    return Records(
        topic,
        format_,
        spec.record,
        spark_arrow_schema(spec.physical),
        decoding_options(connector, spec),
        spec.event_time,
        spec.primary_key,
        words(spec),
        (
            TIMESTAMP,
            *changelog_columns(source),
            *drops,
            *seen,
            *count_columns(format_),
        ),
        windowed,
        uses_time=not spec.computes_time,
    )
