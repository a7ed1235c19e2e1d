"""The rows of micro-batches as Arrow, from the job that computes a batch.

The tasks encode their rows, and Spark's driver sends them here before it commits the
batch; see ``ArrowSink.java`` for why this is no ``foreachBatch``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from arroyo_nb.engine.external_session import has_class
from arroyo_nb.errors import RunProblem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

_FORMAT = "arroyo_nb.ArrowSink"

Receive = Callable[[], "pa.Table"]
"""Receives the rows of a batch, once."""

Take = Callable[[Receive, int], None]
"""Takes the rows of a batch; the number is the batch's."""


def has_arrow_sink(spark: SparkSession) -> bool:
    """Whether the session has our sink: one that a user has made need not."""
    return has_class(spark, "ArrowSink")


class ArrowSink:
    """Takes the rows of a query.

    Parameters
    ----------
    begin
        Called before a batch is computed; when it returns, the batch is.
    take
        Called with a function that receives the rows of a batch, and its number. What
        either raises ends the query.
    """

    def __init__(self, begin: Callable[[], None], take: Take) -> None:
        self._begin = begin
        self._take = take
        self._key = secrets.token_hex(8)
        self._java: Any = None

    def stream(self, rows: DataFrame) -> DataStreamWriter:
        """A query over rows that gives them here."""
        from pyspark.sql.pandas.types import to_arrow_schema

        from arroyo_nb.engine.callbacks import start_server

        spark = rows.sparkSession
        start_server(spark.sparkContext._gateway)
        schema = to_arrow_schema(rows.schema, timezone="UTC")
        self._java = spark._jvm.arroyo_nb.ArrowSink
        self._java.register(self._key, _Receiver(schema, self._begin, self._take))
        return rows.writeStream.format(_FORMAT).option("receiver", self._key)

    def close(self) -> None:
        """Take no more rows; harmless twice, and when the engine is gone."""
        from py4j.protocol import Py4JError

        java, self._java = self._java, None
        if java is not None:
            with suppress(Py4JError, OSError):
                java.forget(self._key)


class _Receiver:
    """What Java calls."""

    def __init__(
        self, schema: pa.Schema, begin: Callable[[], None], take: Take
    ) -> None:
        self._schema = schema
        self._take = take
        self.begin = begin

    def take(self, batch_id: int, rows: int, address: Any, secret: str | None) -> None:
        """Have the rows of a batch taken."""
        self._take(partial(self._received, rows, address, secret), batch_id)

    def _received(self, rows: int, address: Any, secret: str | None) -> pa.Table:
        import pyarrow as pa
        from pyspark.util import local_connect_and_auth

        if address is None:
            return self._schema.empty_table()
        stream, connection = local_connect_and_auth(address, secret)
        lost = RunProblem(
            f"not all of the {rows:,} rows of a batch arrived: Spark's process ended, "
            "or could not send them"
        )
        with closing(connection), closing(stream):
            connection.settimeout(None)
            try:
                received = pa.ipc.open_stream(stream).read_all()
            except (pa.ArrowInvalid, OSError) as cut:
                raise lost from cut
        # Where Spark dies between two messages, Arrow takes the end for the end of the
        # stream; and a sink that has noted a part as the batch never writes the rest.
        if received.num_rows != rows:
            raise lost
        return received

    class Java:
        implements = ("arroyo_nb.ArrowSink$Receiver",)
